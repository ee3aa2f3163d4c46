//! Types of texels.

use bytemuck::Pod;
use cuprum_driver_core::DeviceCopy;
use cuprum_driver_core::sys::CUarray_format;
use half::f16;

mod sealed {
    pub trait Sealed {}
}

/// A number that a channel of a texel can be: `u8 i8 u16 i16 u32 i32 f16 f32`.
pub trait Channel: DeviceCopy + Pod + sealed::Sealed {
    /// How CUDA calls it.
    const FORMAT: CUarray_format;
}

macro_rules! channels {
    ($($ty:ty = $format:ident),* $(,)?) => {$(
        impl sealed::Sealed for $ty {}
        impl Channel for $ty {
            const FORMAT: CUarray_format = CUarray_format::$format;
        }
        impl Texel for $ty {
            type Channel = $ty;
            const CHANNELS: u32 = 1;
        }
    )*};
}

channels! {
    u8 = UNSIGNED_INT8,
    i8 = SIGNED_INT8,
    u16 = UNSIGNED_INT16,
    i16 = SIGNED_INT16,
    u32 = UNSIGNED_INT32,
    i32 = SIGNED_INT32,
    f16 = HALF,
    f32 = FLOAT,
}

/// A texel: a channel, or two or four of them (`[f32; 4]` is CUDA's `float4`). Three there are not: hardware has none.
pub trait Texel: DeviceCopy + Pod {
    /// The type of each channel.
    type Channel: Channel;
    /// How many there are.
    const CHANNELS: u32;
}

impl<C: Channel> Texel for [C; 2] {
    type Channel = C;
    const CHANNELS: u32 = 2;
}

impl<C: Channel> Texel for [C; 4] {
    type Channel = C;
    const CHANNELS: u32 = 4;
}
