//! Packed 16-bit integers: `add min max` of `.u16x2` and `.s16x2`.

/// Applies an operation to each half.
#[inline(always)]
fn halves(a: u32, b: u32, operation: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(operation((a >> 16) as u16, (b >> 16) as u16)) << 16
        | u32::from(operation(a as u16, b as u16))
}

/// `add.u16x2`, `add.s16x2`.
#[inline]
pub(crate) extern "C" fn add_u16x2(a: u32, b: u32) -> u32 {
    halves(a, b, u16::wrapping_add)
}

/// `min.u16x2`.
#[inline]
pub(crate) extern "C" fn min_u16x2(a: u32, b: u32) -> u32 {
    halves(a, b, u16::min)
}

/// `max.u16x2`.
#[inline]
pub(crate) extern "C" fn max_u16x2(a: u32, b: u32) -> u32 {
    halves(a, b, u16::max)
}

/// `min.s16x2`.
#[inline]
pub(crate) extern "C" fn min_s16x2(a: u32, b: u32) -> u32 {
    halves(a, b, |a, b| {
        a.cast_signed().min(b.cast_signed()).cast_unsigned()
    })
}

/// `max.s16x2`.
#[inline]
pub(crate) extern "C" fn max_s16x2(a: u32, b: u32) -> u32 {
    halves(a, b, |a, b| {
        a.cast_signed().max(b.cast_signed()).cast_unsigned()
    })
}

/// `min.relu.s16x2`.
#[inline]
pub(crate) extern "C" fn min_relu_s16x2(a: u32, b: u32) -> u32 {
    max_s16x2(min_s16x2(a, b), 0)
}

/// `max.relu.s16x2`.
#[inline]
pub(crate) extern "C" fn max_relu_s16x2(a: u32, b: u32) -> u32 {
    max_s16x2(max_s16x2(a, b), 0)
}
