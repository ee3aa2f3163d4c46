//! Rust types and their CUDA C++ counterparts of the same layout.
//!
//! [`DeviceRepr`] is implemented for the numbers, for [`f16`](half::f16) and [`bf16`](half::bf16), for arrays, for
//! [`Complex`], for CUDA's
//! [vector types](vector), and derived for structures. A source that [declares](crate::Source::declare) a type can use it by
//! its name, and does not compile if the two compilers disagree about its layout.
//!
//! | Rust | CUDA C++ |
//! |---|---|
//! | `i8` `u8` | `signed char`, `unsigned char` |
//! | `i16` `u16` | `short`, `unsigned short` |
//! | `i32` `u32` | `int`, `unsigned int` |
//! | `i64` `u64` | `long long`, `unsigned long long` |
//! | `usize` `isize` | `size_t`, `ptrdiff_t` |
//! | `f32` `f64` | `float`, `double` |
//! | `f16` `bf16` | `__half`, `__nv_bfloat16` |
//! | `bool` | `bool` |
//! | [`Complex<f32>`] [`Complex<f64>`] | `cuprum::complex<float>`, `cuprum::complex<double>`, of `<cuprum/complex.h>` |
//! | [`DevicePtr`] | `void *` |
//! | `[T; N]` | `T name[N]` |

mod argument;
mod complex;
mod declarations;
mod layout;
mod scalar;
pub mod vector;

pub use argument::{CArgument, parse_c_arg, parse_c_args};
pub use cuprum_driver_core::{DeviceCopy, DevicePtr};
pub use declarations::{CType, Declarations, Member};
pub use layout::Layout;
pub use num_complex::Complex;
pub use scalar::Scalar;

/// A type with a CUDA C++ counterpart of the same size, alignment and meaning.
///
/// Derive it for structures:
///
/// ```
/// use cuprum_codegen::{DeviceRepr, Source, repr::vector::Float3};
///
/// #[derive(Clone, Copy, DeviceRepr)]
/// #[repr(C)]
/// struct Particle {
///     position: Float3,
///     mass: f32,
///     history: [f32; 4],
/// }
///
/// let source = Source::new("__global__ void fall(Particle *p) { p[threadIdx.x].position.z -= p[threadIdx.x].mass; }")
///     .declare::<Particle>();
/// assert!(source.declarations().contains("float history[4];"));
/// ```
///
/// # Safety
/// - The declaration that [`declare`](Self::declare) makes, if any, has the layout of the type, or asserts it.
/// - [`c_type`](Self::c_type) names a type of that layout in which the same bytes mean the same value.
pub unsafe trait DeviceRepr: DeviceCopy {
    /// The type's name in C++.
    fn c_type() -> CType;

    /// Declares the type and what it is made of. Types that CUDA knows declare nothing, or the header they need.
    fn declare(declarations: &mut Declarations) {
        let _ = declarations;
    }
}

// SAFETY: a C array is laid out as a Rust array, and its elements mean the same.
unsafe impl<T: DeviceRepr, const N: usize> DeviceRepr for [T; N] {
    fn c_type() -> CType {
        T::c_type().array(N)
    }

    fn declare(declarations: &mut Declarations) {
        T::declare(declarations);
    }
}

// SAFETY: a device address has 64 bits on both sides.
unsafe impl DeviceRepr for DevicePtr {
    fn c_type() -> CType {
        CType::named("void *")
    }
}
