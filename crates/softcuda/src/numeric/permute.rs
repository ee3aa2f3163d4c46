//! `prmt.b32` in all modes.

/// Byte `index` (0 to 7) of `b:a`.
#[inline]
fn byte(a: u32, b: u32, index: u32) -> u32 {
    ((u64::from(b) << 32 | u64::from(a)) >> (8 * index)) as u32 & 0xff
}

/// Builds a word of the bytes of `b:a` that `index` names for each byte of the result.
#[inline]
fn gather(a: u32, b: u32, index: impl Fn(u32) -> u32) -> u32 {
    (0..4).fold(0, |word, i| word | byte(a, b, index(i)) << (8 * i))
}

/// `prmt.b32`: each nibble of `c` selects a byte of `b:a`, or with its top bit the byte's sign in every bit.
#[inline]
pub(crate) extern "C" fn prmt_b32(a: u32, b: u32, c: u32) -> u32 {
    (0..4).fold(0, |word, i| {
        let selector = c >> (4 * i);
        let value = byte(a, b, selector & 7);
        let value = if selector & 8 != 0 {
            (value >> 7) * 0xff
        } else {
            value
        };
        word | value << (8 * i)
    })
}

/// `prmt.b32.f4e`: four bytes upwards from byte `c & 3`.
#[inline]
pub(crate) extern "C" fn prmt_f4e_b32(a: u32, b: u32, c: u32) -> u32 {
    gather(a, b, |i| (c & 3) + i)
}

/// `prmt.b32.b4e`: four bytes downwards from byte `c & 3`, around the eight.
#[inline]
pub(crate) extern "C" fn prmt_b4e_b32(a: u32, b: u32, c: u32) -> u32 {
    gather(a, b, |i| (c & 3).wrapping_sub(i) & 7)
}

/// `prmt.b32.rc8`: byte `c & 3` four times.
#[inline]
pub(crate) extern "C" fn prmt_rc8_b32(a: u32, b: u32, c: u32) -> u32 {
    gather(a, b, |_| c & 3)
}

/// `prmt.b32.ecl`: bytes of `a`, those below `c & 3` replaced by that byte.
#[inline]
pub(crate) extern "C" fn prmt_ecl_b32(a: u32, b: u32, c: u32) -> u32 {
    gather(a, b, |i| i.max(c & 3))
}

/// `prmt.b32.ecr`: bytes of `a`, those above `c & 3` replaced by that byte.
#[inline]
pub(crate) extern "C" fn prmt_ecr_b32(a: u32, b: u32, c: u32) -> u32 {
    gather(a, b, |i| i.min(c & 3))
}

/// `prmt.b32.rc16`: half `c & 1` of `a` twice.
#[inline]
pub(crate) extern "C" fn prmt_rc16_b32(a: u32, b: u32, c: u32) -> u32 {
    gather(a, b, |i| (c & 1) * 2 + (i & 1))
}
