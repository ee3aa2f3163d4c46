//! Complex numbers.

use num_complex::Complex;

use super::{CType, Declarations, DeviceRepr};
use crate::literal::CLiteral;

/// Cuprum's header for them.
const HEADER: &str = "cuprum/complex.h";

macro_rules! complex {
    ($($part:ty => $c:literal;)+) => {
        $(
            // SAFETY: the C++ class of this name is a structure of two numbers of the same type, real part first, as
            // `num_complex::Complex` is, and neither is aligned to more than one of them.
            unsafe impl DeviceRepr for Complex<$part> {
                fn c_type() -> CType {
                    CType::named($c)
                }

                fn declare(declarations: &mut Declarations) {
                    declarations.header(HEADER);
                }
            }

            impl CLiteral for Complex<$part> {
                fn c_literal(&self) -> String {
                    format!("{}({}, {})", $c, self.re.c_literal(), self.im.c_literal())
                }
            }
        )+
    };
}

complex! {
    f32 => "cuprum::complex<float>";
    f64 => "cuprum::complex<double>";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repr::DeviceCopy;

    #[test]
    fn complex_numbers_are_declared_by_the_header() {
        fn declared<T: DeviceRepr + DeviceCopy>() -> String {
            let mut declarations = Declarations::new();
            declarations.add::<T>();
            declarations.to_string()
        }
        assert_eq!(
            declared::<[Complex<f32>; 2]>(),
            "#include <cuprum/complex.h>\n"
        );
        assert_eq!(
            Complex::new(1.0_f64, -0.5).c_literal(),
            "cuprum::complex<double>(1.0, (-0.5))"
        );
        assert_eq!(
            (size_of::<Complex<f32>>(), align_of::<Complex<f32>>()),
            (8, 4)
        );
        assert_eq!(
            (size_of::<Complex<f64>>(), align_of::<Complex<f64>>()),
            (16, 8)
        );
    }
}
