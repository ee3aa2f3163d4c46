//! `min` and `max` of floating point as PTX defines them, which no host instruction gives.
//!
//! A NaN operand yields the other operand, two yield the canonical NaN; with `.NaN` one suffices. -0 is less than +0.
//! `.xorsign.abs` compares magnitudes and gives the result the exclusive or of the operands' signs.

/// A magnitude with the exclusive or of the operands' signs; NaN stays the canonical one.
macro_rules! signed {
    ($magnitude:expr, $a:ident, $b:ident, $float:ident, $nan:expr, $sign:expr) => {{
        let magnitude: $float = $magnitude;
        let sign = ($a.to_bits() ^ $b.to_bits()) & $sign;
        $float::from_bits(if magnitude.is_nan() {
            $nan
        } else {
            magnitude.to_bits() | sign
        })
    }};
}

macro_rules! family {
    ($float:ident, $nan:expr, $sign:expr,
     $min:ident, $max:ident, $min_nan:ident, $max_nan:ident, $min_xor:ident, $max_xor:ident, $min_nan_xor:ident, $max_nan_xor:ident) => {
        /// `min`: the other operand for a NaN.
        #[inline]
        pub(crate) extern "C" fn $min(a: $float, b: $float) -> $float {
            if a.is_nan() {
                if b.is_nan() {
                    $float::from_bits($nan)
                } else {
                    b
                }
            } else if b < a || (b == a && b.is_sign_negative()) {
                b
            } else {
                a
            }
        }

        /// `max`: the other operand for a NaN.
        #[inline]
        pub(crate) extern "C" fn $max(a: $float, b: $float) -> $float {
            if a.is_nan() {
                if b.is_nan() {
                    $float::from_bits($nan)
                } else {
                    b
                }
            } else if b > a || (b == a && b.is_sign_positive()) {
                b
            } else {
                a
            }
        }

        /// `min.NaN`: NaN for a NaN.
        #[inline]
        pub(crate) extern "C" fn $min_nan(a: $float, b: $float) -> $float {
            if a.is_nan() || b.is_nan() {
                $float::from_bits($nan)
            } else {
                $min(a, b)
            }
        }

        /// `max.NaN`: NaN for a NaN.
        #[inline]
        pub(crate) extern "C" fn $max_nan(a: $float, b: $float) -> $float {
            if a.is_nan() || b.is_nan() {
                $float::from_bits($nan)
            } else {
                $max(a, b)
            }
        }

        /// `min.xorsign.abs`.
        #[inline]
        pub(crate) extern "C" fn $min_xor(a: $float, b: $float) -> $float {
            signed!($min(a.abs(), b.abs()), a, b, $float, $nan, $sign)
        }

        /// `max.xorsign.abs`.
        #[inline]
        pub(crate) extern "C" fn $max_xor(a: $float, b: $float) -> $float {
            signed!($max(a.abs(), b.abs()), a, b, $float, $nan, $sign)
        }

        /// `min.NaN.xorsign.abs`.
        #[inline]
        pub(crate) extern "C" fn $min_nan_xor(a: $float, b: $float) -> $float {
            signed!($min_nan(a.abs(), b.abs()), a, b, $float, $nan, $sign)
        }

        /// `max.NaN.xorsign.abs`.
        #[inline]
        pub(crate) extern "C" fn $max_nan_xor(a: $float, b: $float) -> $float {
            signed!($max_nan(a.abs(), b.abs()), a, b, $float, $nan, $sign)
        }
    };
}

family!(
    f32,
    0x7fff_ffff,
    0x8000_0000,
    min_f32,
    max_f32,
    min_nan_f32,
    max_nan_f32,
    min_xorsign_abs_f32,
    max_xorsign_abs_f32,
    min_nan_xorsign_abs_f32,
    max_nan_xorsign_abs_f32
);
family!(
    f64,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    min_f64,
    max_f64,
    min_nan_f64,
    max_nan_f64,
    min_xorsign_abs_f64,
    max_xorsign_abs_f64,
    min_nan_xorsign_abs_f64,
    max_nan_xorsign_abs_f64
);
