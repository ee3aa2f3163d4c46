//! Integer instructions without a counterpart on hosts, and integer division with the results of hardware.
//!
//! All operands and results travel as `u32` or `u64` bits; narrower signed results come sign-extended.

/// `div.u32`; by zero all ones (seen on hardware).
#[inline]
pub(crate) extern "C" fn div_u32(a: u32, b: u32) -> u32 {
    a.checked_div(b).unwrap_or(u32::MAX)
}

/// `rem.u32`; by zero all ones (seen on hardware).
#[inline]
pub(crate) extern "C" fn rem_u32(a: u32, b: u32) -> u32 {
    a.checked_rem(b).unwrap_or(u32::MAX)
}

/// `div.s32`; by zero all ones, the least value by -1 itself (seen on hardware).
#[inline]
pub(crate) extern "C" fn div_s32(a: u32, b: u32) -> u32 {
    if b == 0 {
        u32::MAX
    } else {
        (a as i32).wrapping_div(b as i32) as u32
    }
}

/// `rem.s32`; by zero all ones, the least value by -1 zero (seen on hardware).
#[inline]
pub(crate) extern "C" fn rem_s32(a: u32, b: u32) -> u32 {
    if b == 0 {
        u32::MAX
    } else {
        (a as i32).wrapping_rem(b as i32) as u32
    }
}

/// `div.u64`; by zero all ones (seen on hardware). Compilers divide operands of 32 bits by `div.u32`, whose all ones they extend by zeros.
#[inline]
pub(crate) extern "C" fn div_u64(a: u64, b: u64) -> u64 {
    a.checked_div(b).unwrap_or(u64::MAX)
}

/// `rem.u64`; by zero all ones (seen on hardware). Compilers divide operands of 32 bits by `rem.u32`, whose all ones they extend by zeros.
#[inline]
pub(crate) extern "C" fn rem_u64(a: u64, b: u64) -> u64 {
    a.checked_rem(b).unwrap_or(u64::MAX)
}

/// `div.s64`; by zero all ones, the least value by -1 itself.
#[inline]
pub(crate) extern "C" fn div_s64(a: u64, b: u64) -> u64 {
    if b == 0 {
        u64::MAX
    } else {
        a.cast_signed()
            .wrapping_div(b.cast_signed())
            .cast_unsigned()
    }
}

/// `rem.s64`; by zero all ones, the least value by -1 zero.
#[inline]
pub(crate) extern "C" fn rem_s64(a: u64, b: u64) -> u64 {
    if b == 0 {
        u64::MAX
    } else {
        a.cast_signed()
            .wrapping_rem(b.cast_signed())
            .cast_unsigned()
    }
}

/// `mul.hi.u64`.
#[inline]
pub(crate) extern "C" fn mul_hi_u64(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// `mul.hi.s64`.
#[inline]
pub(crate) extern "C" fn mul_hi_s64(a: u64, b: u64) -> u64 {
    ((i128::from(a.cast_signed()) * i128::from(b.cast_signed())) >> 64) as u64
}

/// Product of the low 24 bits, unsigned.
#[inline]
fn product24_u32(a: u32, b: u32) -> u64 {
    u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)
}

/// Product of the low 24 bits, signed.
#[inline]
fn product24_s32(a: u32, b: u32) -> i64 {
    i64::from((a << 8) as i32 >> 8) * i64::from((b << 8) as i32 >> 8)
}

/// `mul24.lo.u32`: bits 0 to 31 of the 48-bit product.
#[inline]
pub(crate) extern "C" fn mul24_lo_u32(a: u32, b: u32) -> u32 {
    product24_u32(a, b) as u32
}

/// `mul24.hi.u32`: bits 16 to 47 of the 48-bit product.
#[inline]
pub(crate) extern "C" fn mul24_hi_u32(a: u32, b: u32) -> u32 {
    (product24_u32(a, b) >> 16) as u32
}

/// `mul24.lo.s32`: bits 0 to 31 of the 48-bit product.
#[inline]
pub(crate) extern "C" fn mul24_lo_s32(a: u32, b: u32) -> u32 {
    product24_s32(a, b) as u32
}

/// `mul24.hi.s32`: bits 16 to 47 of the 48-bit product.
#[inline]
pub(crate) extern "C" fn mul24_hi_s32(a: u32, b: u32) -> u32 {
    (product24_s32(a, b) >> 16) as u32
}

/// `sad.u32` (also `.u16`, zero-extended): `c + |a - b|`.
#[inline]
pub(crate) extern "C" fn sad_u32(a: u32, b: u32, c: u32) -> u32 {
    c.wrapping_add(a.abs_diff(b))
}

/// `sad.s32` (also `.s16`, sign-extended): `c + |a - b|`.
#[inline]
pub(crate) extern "C" fn sad_s32(a: u32, b: u32, c: u32) -> u32 {
    c.wrapping_add((a as i32).abs_diff(b as i32))
}

/// `sad.u64`: `c + |a - b|`.
#[inline]
pub(crate) extern "C" fn sad_u64(a: u64, b: u64, c: u64) -> u64 {
    c.wrapping_add(a.abs_diff(b))
}

/// `sad.s64`: `c + |a - b|`.
#[inline]
pub(crate) extern "C" fn sad_s64(a: u64, b: u64, c: u64) -> u64 {
    c.wrapping_add(a.cast_signed().abs_diff(b.cast_signed()))
}

/// `bfe.u32`: the field of `length` bits at `position` (one byte each), zero-extended.
#[inline]
pub(crate) extern "C" fn bfe_u32(a: u32, position: u32, length: u32) -> u32 {
    let (position, length) = (position & 0xff, length & 0xff);
    let shifted = a.checked_shr(position).unwrap_or(0);
    if length >= 32 {
        shifted
    } else {
        shifted & ((1 << length) - 1)
    }
}

/// `bfe.s32`: the field of `length` bits at `position` (one byte each), filled with its top bit, or the operand's if it reaches past it.
#[inline]
pub(crate) extern "C" fn bfe_s32(a: u32, position: u32, length: u32) -> u32 {
    let (position, length) = (position & 0xff, length & 0xff);
    let shifted = (a as i32) >> position.min(31);
    if length == 0 {
        0
    } else if length >= 32 {
        shifted as u32
    } else {
        ((shifted << (32 - length)) >> (32 - length)) as u32
    }
}

/// `bfe.u64`: as [`bfe_u32`].
#[inline]
pub(crate) extern "C" fn bfe_u64(a: u64, position: u32, length: u32) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    let shifted = a.checked_shr(position).unwrap_or(0);
    if length >= 64 {
        shifted
    } else {
        shifted & ((1 << length) - 1)
    }
}

/// `bfe.s64`: as [`bfe_s32`].
#[inline]
pub(crate) extern "C" fn bfe_s64(a: u64, position: u32, length: u32) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    let shifted = a.cast_signed() >> position.min(63);
    if length == 0 {
        0
    } else if length >= 64 {
        shifted.cast_unsigned()
    } else {
        ((shifted << (64 - length)) >> (64 - length)).cast_unsigned()
    }
}

/// `bfi.b32`: `b` with the field of `length` bits at `position` replaced by the low bits of `a`.
#[inline]
pub(crate) extern "C" fn bfi_b32(a: u32, b: u32, position: u32, length: u32) -> u32 {
    let (position, length) = (position & 0xff, length & 0xff);
    let field = if length >= 32 {
        u32::MAX
    } else {
        (1 << length) - 1
    };
    let mask = field.checked_shl(position).unwrap_or(0);
    (b & !mask) | (a.checked_shl(position).unwrap_or(0) & mask)
}

/// `bfi.b64`: as [`bfi_b32`].
#[inline]
pub(crate) extern "C" fn bfi_b64(a: u64, b: u64, position: u32, length: u32) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    let field = if length >= 64 {
        u64::MAX
    } else {
        (1 << length) - 1
    };
    let mask = field.checked_shl(position).unwrap_or(0);
    (b & !mask) | (a.checked_shl(position).unwrap_or(0) & mask)
}

/// `bfind.u32`: position of the most significant one bit, all ones if none.
#[inline]
pub(crate) extern "C" fn bfind_u32(a: u32) -> u32 {
    31u32.wrapping_sub(a.leading_zeros())
}

/// `bfind.s32`: position of the most significant bit that differs from the sign, all ones if none.
#[inline]
pub(crate) extern "C" fn bfind_s32(a: u32) -> u32 {
    bfind_u32(a ^ ((a as i32) >> 31) as u32)
}

/// `bfind.u64`: as [`bfind_u32`].
#[inline]
pub(crate) extern "C" fn bfind_u64(a: u64) -> u32 {
    63u32.wrapping_sub(a.leading_zeros())
}

/// `bfind.s64`: as [`bfind_s32`].
#[inline]
pub(crate) extern "C" fn bfind_s64(a: u64) -> u32 {
    bfind_u64(a ^ (a.cast_signed() >> 63).cast_unsigned())
}

/// `bfind.shiftamt.u32`: how far left to shift that bit into the top, all ones if there is none.
#[inline]
pub(crate) extern "C" fn bfind_shiftamt_u32(a: u32) -> u32 {
    if a == 0 { u32::MAX } else { a.leading_zeros() }
}

/// `bfind.shiftamt.s32`.
#[inline]
pub(crate) extern "C" fn bfind_shiftamt_s32(a: u32) -> u32 {
    bfind_shiftamt_u32(a ^ ((a as i32) >> 31) as u32)
}

/// `bfind.shiftamt.u64`.
#[inline]
pub(crate) extern "C" fn bfind_shiftamt_u64(a: u64) -> u32 {
    if a == 0 { u32::MAX } else { a.leading_zeros() }
}

/// `bfind.shiftamt.s64`.
#[inline]
pub(crate) extern "C" fn bfind_shiftamt_s64(a: u64) -> u32 {
    bfind_shiftamt_u64(a ^ (a.cast_signed() >> 63).cast_unsigned())
}

/// `fns.b32`: position of the `offset`-th set bit of `mask` from `base` on, upwards if positive, downwards if negative; with 0 only
/// `base` itself; all ones if there is none.
pub(crate) extern "C" fn fns_b32(mask: u32, base: u32, offset: u32) -> u32 {
    let offset = offset as i32;
    if base >= 32 {
        return u32::MAX;
    }
    if offset == 0 {
        return if mask >> base & 1 == 1 {
            base
        } else {
            u32::MAX
        };
    }
    let mut left = offset.unsigned_abs();
    let mut position = base as i32;
    while (0..32).contains(&position) {
        left -= mask >> position & 1;
        if left == 0 {
            return position as u32;
        }
        position += offset.signum();
    }
    u32::MAX
}

/// `bmsk.wrap.b32`: ones in `length` bits from `position` up, both modulo 32.
#[inline]
pub(crate) extern "C" fn bmsk_wrap_b32(position: u32, length: u32) -> u32 {
    (((1u64 << (length & 31)) - 1) << (position & 31)) as u32
}

/// `bmsk.clamp.b32`: ones in `length` bits from `position` up, cut off at bit 31.
#[inline]
pub(crate) extern "C" fn bmsk_clamp_b32(position: u32, length: u32) -> u32 {
    (((1u64 << length.min(32)) - 1) << position.min(32)) as u32
}

/// `szext.wrap.u32`: zero-extends the low `length` modulo 32 bits.
#[inline]
pub(crate) extern "C" fn szext_wrap_u32(a: u32, length: u32) -> u32 {
    a & ((1 << (length & 31)) - 1)
}

/// `szext.wrap.s32`: sign-extends the low `length` modulo 32 bits; zero bits give zero.
#[inline]
pub(crate) extern "C" fn szext_wrap_s32(a: u32, length: u32) -> u32 {
    let length = length & 31;
    if length == 0 {
        0
    } else {
        ((a << (32 - length)) as i32 >> (32 - length)) as u32
    }
}

/// `szext.clamp.u32`: zero-extends the low `length` bits, at most 32.
#[inline]
pub(crate) extern "C" fn szext_clamp_u32(a: u32, length: u32) -> u32 {
    if length >= 32 {
        a
    } else {
        szext_wrap_u32(a, length)
    }
}

/// `szext.clamp.s32`: sign-extends the low `length` bits, at most 32.
#[inline]
pub(crate) extern "C" fn szext_clamp_s32(a: u32, length: u32) -> u32 {
    if length >= 32 {
        a
    } else {
        szext_wrap_s32(a, length)
    }
}

/// `shf.l.wrap.b32`: upper half of `b:a << (c mod 32)`.
#[inline]
pub(crate) extern "C" fn shf_l_wrap_b32(a: u32, b: u32, c: u32) -> u32 {
    ((u64::from(b) << 32 | u64::from(a)) << (c & 31) >> 32) as u32
}

/// `shf.l.clamp.b32`: upper half of `b:a << min(c, 32)`.
#[inline]
pub(crate) extern "C" fn shf_l_clamp_b32(a: u32, b: u32, c: u32) -> u32 {
    ((u64::from(b) << 32 | u64::from(a)) << c.min(32) >> 32) as u32
}

/// `shf.r.wrap.b32`: lower half of `b:a >> (c mod 32)`.
#[inline]
pub(crate) extern "C" fn shf_r_wrap_b32(a: u32, b: u32, c: u32) -> u32 {
    ((u64::from(b) << 32 | u64::from(a)) >> (c & 31)) as u32
}

/// `shf.r.clamp.b32`: lower half of `b:a >> min(c, 32)`.
#[inline]
pub(crate) extern "C" fn shf_r_clamp_b32(a: u32, b: u32, c: u32) -> u32 {
    ((u64::from(b) << 32 | u64::from(a)) >> c.min(32)) as u32
}

/// `lop3.b32`: the Boolean function whose truth table is the low byte of `table`.
#[inline]
pub(crate) extern "C" fn lop3_b32(a: u32, b: u32, c: u32, table: u32) -> u32 {
    // Selects by c, then b, then a, from table bits spread over whole words.
    let word = |bit: u32| 0u32.wrapping_sub(table >> bit & 1);
    let select = |mask: u32, one: u32, zero: u32| (one & mask) | (zero & !mask);
    let pair = |low: u32| select(c, word(low + 1), word(low));
    let quad = |low: u32| select(b, pair(low + 2), pair(low));
    select(a, quad(4), quad(0))
}
