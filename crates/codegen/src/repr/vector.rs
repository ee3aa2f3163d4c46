//! CUDA's built-in vector types, with their sizes and alignments (CUDA C++ Programming Guide, "Built-in Vector Types"). `long` has 64 bits, as
//! NVRTC has it on 64-bit Linux.

use cuprum_driver_core::DeviceCopy;
use half::{bf16, f16};

use super::{CType, Declarations, DeviceRepr};

macro_rules! vectors {
    ($($name:ident $c:literal $element:ty, $align:literal, [$($field:ident)+] $(, $header:literal)?;)+) => {
        $(
            #[doc = concat!("`", $c, "`.")]
            #[doc(alias = $c)]
            #[derive(Debug, Clone, Copy, PartialEq, Default)]
            #[repr(C, align($align))]
            #[allow(missing_docs, reason = "the components are x, y, z and w")]
            pub struct $name {
                $(pub $field: $element,)+
            }

            impl $name {
                #[doc = concat!("As `make_", $c, "`.")]
                #[must_use]
                pub const fn new($($field: $element),+) -> Self {
                    Self { $($field),+ }
                }
            }

            // SAFETY: a `repr(C)` structure of numbers.
            unsafe impl DeviceCopy for $name {}

            // SAFETY: CUDA's type of this name has these components in this order and this alignment, as its guide says.
            unsafe impl DeviceRepr for $name {
                fn c_type() -> CType {
                    CType::named($c)
                }

                fn declare(_declarations: &mut Declarations) {
                    $(_declarations.header($header);)?
                }
            }
        )+
    };
}

vectors! {
    Char1 "char1" i8, 1, [x];
    Char2 "char2" i8, 2, [x y];
    Char3 "char3" i8, 1, [x y z];
    Char4 "char4" i8, 4, [x y z w];
    Uchar1 "uchar1" u8, 1, [x];
    Uchar2 "uchar2" u8, 2, [x y];
    Uchar3 "uchar3" u8, 1, [x y z];
    Uchar4 "uchar4" u8, 4, [x y z w];
    Short1 "short1" i16, 2, [x];
    Short2 "short2" i16, 4, [x y];
    Short3 "short3" i16, 2, [x y z];
    Short4 "short4" i16, 8, [x y z w];
    Ushort1 "ushort1" u16, 2, [x];
    Ushort2 "ushort2" u16, 4, [x y];
    Ushort3 "ushort3" u16, 2, [x y z];
    Ushort4 "ushort4" u16, 8, [x y z w];
    Int1 "int1" i32, 4, [x];
    Int2 "int2" i32, 8, [x y];
    Int3 "int3" i32, 4, [x y z];
    Int4 "int4" i32, 16, [x y z w];
    Uint1 "uint1" u32, 4, [x];
    Uint2 "uint2" u32, 8, [x y];
    Uint3 "uint3" u32, 4, [x y z];
    Uint4 "uint4" u32, 16, [x y z w];
    Long1 "long1" i64, 8, [x];
    Long2 "long2" i64, 16, [x y];
    Long3 "long3" i64, 8, [x y z];
    Long4 "long4" i64, 16, [x y z w];
    Ulong1 "ulong1" u64, 8, [x];
    Ulong2 "ulong2" u64, 16, [x y];
    Ulong3 "ulong3" u64, 8, [x y z];
    Ulong4 "ulong4" u64, 16, [x y z w];
    Longlong1 "longlong1" i64, 8, [x];
    Longlong2 "longlong2" i64, 16, [x y];
    Longlong3 "longlong3" i64, 8, [x y z];
    Longlong4 "longlong4" i64, 16, [x y z w];
    Ulonglong1 "ulonglong1" u64, 8, [x];
    Ulonglong2 "ulonglong2" u64, 16, [x y];
    Ulonglong3 "ulonglong3" u64, 8, [x y z];
    Ulonglong4 "ulonglong4" u64, 16, [x y z w];
    Float1 "float1" f32, 4, [x];
    Float2 "float2" f32, 8, [x y];
    Float3 "float3" f32, 4, [x y z];
    Float4 "float4" f32, 16, [x y z w];
    Double1 "double1" f64, 8, [x];
    Double2 "double2" f64, 16, [x y];
    Double3 "double3" f64, 8, [x y z];
    Double4 "double4" f64, 16, [x y z w];
    Half2 "__half2" f16, 4, [x y], "cuda_fp16.h";
    Bfloat162 "__nv_bfloat162" bf16, 4, [x y], "cuda_bf16.h";
}
