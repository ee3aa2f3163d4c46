//! Texels: how channels are stored, and what is read out of them.

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use cuprum_driver_sys::{CUarray_format, CUresourceViewFormat, CUresult};
use half::f16;

use crate::error::{Outcome, fail};

/// How one channel is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    U8,
    U16,
    U32,
    I8,
    I16,
    I32,
    F16,
    F32,
}

impl Channel {
    /// Bytes.
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32)
    }

    fn from_code(code: CUarray_format) -> Option<Self> {
        Some(match code {
            CUarray_format::UNSIGNED_INT8 => Self::U8,
            CUarray_format::UNSIGNED_INT16 => Self::U16,
            CUarray_format::UNSIGNED_INT32 => Self::U32,
            CUarray_format::SIGNED_INT8 => Self::I8,
            CUarray_format::SIGNED_INT16 => Self::I16,
            CUarray_format::SIGNED_INT32 => Self::I32,
            CUarray_format::HALF => Self::F16,
            CUarray_format::FLOAT => Self::F32,
            _ => return None,
        })
    }

    pub(crate) fn code(self) -> CUarray_format {
        match self {
            Self::U8 => CUarray_format::UNSIGNED_INT8,
            Self::U16 => CUarray_format::UNSIGNED_INT16,
            Self::U32 => CUarray_format::UNSIGNED_INT32,
            Self::I8 => CUarray_format::SIGNED_INT8,
            Self::I16 => CUarray_format::SIGNED_INT16,
            Self::I32 => CUarray_format::SIGNED_INT32,
            Self::F16 => CUarray_format::HALF,
            Self::F32 => CUarray_format::FLOAT,
        }
    }

    /// Stored bits as a register of 32 bits: integers extended, floats widened.
    fn lane(self, bits: u32) -> u32 {
        match self {
            Self::U8 | Self::U16 | Self::U32 | Self::I32 | Self::F32 => bits,
            Self::I8 => i32::from(bits as u8 as i8).cast_unsigned(),
            Self::I16 => i32::from(bits as u16 as i16).cast_unsigned(),
            Self::F16 => f16::from_bits(bits as u16).to_f32().to_bits(),
        }
    }

    /// Stored bits as a float: 8- and 16-bit integers as fractions of their largest value.
    fn float(self, bits: u32) -> f32 {
        match self {
            Self::U8 => bits as f32 / 255.0,
            Self::U16 => bits as f32 / 65_535.0,
            // The least value is as far from zero as the greatest.
            Self::I8 => (f32::from(bits as u8 as i8) / 127.0).max(-1.0),
            Self::I16 => (f32::from(bits as u16 as i16) / 32_767.0).max(-1.0),
            Self::U32 => bits as f32,
            Self::I32 => bits.cast_signed() as f32,
            Self::F16 => f16::from_bits(bits as u16).to_f32(),
            Self::F32 => f32::from_bits(bits),
        }
    }

    /// A register's bits as stored bits: integers cut off, floats narrowed.
    fn stored(self, lane: u32) -> u32 {
        match self {
            Self::U8 | Self::I8 => lane & 0xff,
            Self::U16 | Self::I16 => lane & 0xffff,
            Self::U32 | Self::I32 | Self::F32 => lane,
            Self::F16 => u32::from(f16::from_f32(f32::from_bits(lane)).to_bits()),
        }
    }
}

/// How a texel is stored: one, two or four channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) channel: Channel,
    pub(crate) channels: u32,
}

impl Format {
    /// The format that a description names.
    ///
    /// # Errors
    /// `INVALID_VALUE` for another number of channels, `NOT_SUPPORTED` for a format other than the eight of arrays of numbers.
    pub(crate) fn new(code: CUarray_format, channels: u32) -> Outcome<Self> {
        if !matches!(channels, 1 | 2 | 4) {
            return fail(
                CUresult::INVALID_VALUE,
                format!("texels of {channels} channels: 1, 2 or 4 are possible"),
            );
        }
        match Channel::from_code(code) {
            Some(channel) => Ok(Self { channel, channels }),
            None => fail(
                if code.0 == 0 {
                    CUresult::INVALID_VALUE
                } else {
                    CUresult::NOT_SUPPORTED
                },
                format!(
                    "array format {:#x} is not supported by the software device",
                    code.0
                ),
            ),
        }
    }

    /// The format of a resource view, or `None` for that of the array.
    pub(crate) fn of_view(code: CUresourceViewFormat) -> Outcome<Option<Self>> {
        use Channel as C;
        let number = code.0;
        if number == 0 {
            return Ok(None);
        }
        // Three formats (1, 2 and 4 channels) for each channel, in this order.
        let order = [C::U8, C::I8, C::U16, C::I16, C::U32, C::I32, C::F16, C::F32];
        match order.get(((number - 1) / 3) as usize) {
            Some(&channel) => Ok(Some(Self {
                channel,
                channels: [1, 2, 4][((number - 1) % 3) as usize],
            })),
            None => fail(
                CUresult::NOT_SUPPORTED,
                format!("resource view format {number:#x} is not supported by the software device"),
            ),
        }
    }

    /// Bytes of a texel: a power of two, 1 to 16.
    pub(crate) fn bytes(self) -> u32 {
        self.channel.bytes() * self.channels
    }

    /// Whether reads can give fractions or floats.
    pub(crate) fn is_fraction(self, as_integer: bool) -> bool {
        self.channel.is_float() || !as_integer && self.channel.bytes() < 4
    }

    fn split(self, texel: u128) -> [u32; 4] {
        let width = self.channel.bytes() * 8;
        let mask = u32::MAX >> (32 - width);
        core::array::from_fn(|index| {
            if (index as u32) < self.channels {
                (texel >> (index as u32 * width)) as u32 & mask
            } else {
                0
            }
        })
    }

    /// The channels as registers of 32 bits; those that are missing are 0, the fourth 1.
    pub(crate) fn lanes(self, texel: u128) -> [u32; 4] {
        let bits = self.split(texel);
        core::array::from_fn(|index| match index {
            _ if (index as u32) < self.channels => self.channel.lane(bits[index]),
            3 if self.channel.is_float() => 1f32.to_bits(),
            3 => 1,
            _ => 0,
        })
    }

    /// The channels as floats; those that are missing are 0, the fourth 1.
    pub(crate) fn floats(self, texel: u128, srgb: bool) -> [f32; 4] {
        let bits = self.split(texel);
        core::array::from_fn(|index| match index {
            _ if (index as u32) < self.channels => {
                let value = self.channel.float(bits[index]);
                if srgb && index < 3 && self.channel == Channel::U8 {
                    linear(value)
                } else {
                    value
                }
            }
            3 => 1.0,
            _ => 0.0,
        })
    }

    /// The texel with these channels.
    pub(crate) fn texel(self, lanes: [u32; 4]) -> u128 {
        let width = self.channel.bytes() * 8;
        let shifted =
            |index: u32| u128::from(self.channel.stored(lanes[index as usize])) << (index * width);
        (0..self.channels)
            .map(shifted)
            .fold(0, |texel, part| texel | part)
    }
}

/// The light that an sRGB value stands for (IEC 61966-2-1).
fn linear(value: f32) -> f32 {
    if value <= 0.040_45 {
        value / 12.92
    } else {
        ((value + 0.055) / 1.055).powf(2.4)
    }
}

/// Reads `bytes` (1, 2, 4, 8 or 16) at an address that is a multiple of that.
///
/// # Safety
/// The memory stays readable during the call. Others may write it meanwhile.
pub(super) unsafe fn read(address: u64, bytes: u32) -> u128 {
    let at = address as usize;
    // SAFETY: the caller vouches for the memory; atomic accesses race with no others of theirs.
    unsafe {
        match bytes {
            1 => u128::from(
                (*core::ptr::with_exposed_provenance::<AtomicU8>(at)).load(Ordering::Relaxed),
            ),
            2 => u128::from(
                (*core::ptr::with_exposed_provenance::<AtomicU16>(at)).load(Ordering::Relaxed),
            ),
            4 => u128::from(
                (*core::ptr::with_exposed_provenance::<AtomicU32>(at)).load(Ordering::Relaxed),
            ),
            8 => u128::from(
                (*core::ptr::with_exposed_provenance::<AtomicU64>(at)).load(Ordering::Relaxed),
            ),
            _ => {
                let halves = core::ptr::with_exposed_provenance::<[AtomicU64; 2]>(at);
                let [low, high] = &*halves;
                u128::from(low.load(Ordering::Relaxed))
                    | u128::from(high.load(Ordering::Relaxed)) << 64
            }
        }
    }
}

/// Writes `bytes` (1, 2, 4, 8 or 16) at an address that is a multiple of that.
///
/// # Safety
/// The memory stays writable during the call. Others may use it meanwhile.
pub(super) unsafe fn write(address: u64, bytes: u32, value: u128) {
    let at = address as usize;
    // SAFETY: the caller vouches for the memory; atomic accesses race with no others of theirs.
    unsafe {
        match bytes {
            1 => (*core::ptr::with_exposed_provenance::<AtomicU8>(at))
                .store(value as u8, Ordering::Relaxed),
            2 => (*core::ptr::with_exposed_provenance::<AtomicU16>(at))
                .store(value as u16, Ordering::Relaxed),
            4 => (*core::ptr::with_exposed_provenance::<AtomicU32>(at))
                .store(value as u32, Ordering::Relaxed),
            8 => (*core::ptr::with_exposed_provenance::<AtomicU64>(at))
                .store(value as u64, Ordering::Relaxed),
            _ => {
                let halves = core::ptr::with_exposed_provenance::<[AtomicU64; 2]>(at);
                let [low, high] = &*halves;
                low.store(value as u64, Ordering::Relaxed);
                high.store((value >> 64) as u64, Ordering::Relaxed);
            }
        }
    }
}
