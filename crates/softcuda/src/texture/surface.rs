//! Surfaces: bytes of an array, read and written where they lie.

use std::sync::Arc;

use cuprum_driver_sys::CUresult;

use super::{
    Array, Channel, Format, Geometry, Level, Query, SurfaceAction, SurfaceRequest, format,
};
use crate::error::{Outcome, fail};

/// What happens to an access outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Outside {
    /// The kernel ends.
    Trap = 0,
    /// The nearest texel is accessed.
    Clamp = 1,
    /// Zero is read, nothing is written.
    Zero = 2,
}

/// Why an access ends its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Outside, with `trap`: byte of the row, and row.
    Bounds([i32; 2]),
    /// The byte of the row is no multiple of the access's size.
    Misaligned(i32),
}

/// A surface object.
#[derive(Debug)]
pub(crate) struct Surface {
    /// Keeps the texels.
    pub(crate) array: Arc<Array>,
}

impl Surface {
    /// A surface of the base level.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the array was not created for surfaces.
    pub(crate) fn new(array: Arc<Array>) -> Outcome<Self> {
        if !array.shape.is_writable() {
            return fail(
                CUresult::INVALID_VALUE,
                "surfaces need an array created with CUDA_ARRAY3D_SURFACE_LDST",
            );
        }
        Ok(Self { array })
    }

    pub(crate) fn query(&self, query: Query) -> u32 {
        super::object::query(&self.array.shape.extent, self.array.shape.format, query).unwrap_or(
            match query {
                Query::MipmapLevels | Query::Samples => 1,
                _ => 0,
            },
        )
    }

    /// Executes an access. Slots: see [`SurfaceRequest`]; what is loaded comes into the first ones.
    pub(crate) fn access(
        &self,
        request: SurfaceRequest,
        slots: &mut super::sample::Slots,
    ) -> Result<(), Refused> {
        let level = self.array.base();
        let texel = self.array.shape.format;
        let formatted = request.action == SurfaceAction::StoreFormatted;
        let bytes = if formatted {
            texel.bytes()
        } else {
            request.bytes
        };
        let found = place(level, request, texel, bytes, slots)?;
        let Some(address) = found else {
            if request.action == SurfaceAction::Load {
                slots[..4].fill(0);
            }
            return Ok(());
        };
        let lanes = [slots[4], slots[5], slots[6], slots[7]];
        let given = lanes
            .iter()
            .rev()
            .fold(0u128, |all, &lane| all << 32 | u128::from(lane));
        // SAFETY: `place` has found all bytes inside of the level, aligned, and the surface keeps the array.
        unsafe {
            match request.action {
                SurfaceAction::Load => {
                    let value = format::read(address, bytes);
                    for (index, slot) in slots.iter_mut().take(4).enumerate() {
                        *slot = (value >> (32 * index)) as u32;
                    }
                }
                SurfaceAction::Store => format::write(address, bytes, given),
                SurfaceAction::StoreFormatted => format::write(address, bytes, texel.texel(lanes)),
                _ => reduce(address, request, given as u64),
            }
        }
        Ok(())
    }
}

/// The address of an access, `None` if there is nothing to be done.
fn place(
    level: &Level,
    request: SurfaceRequest,
    texel: Format,
    bytes: u32,
    slots: &super::sample::Slots,
) -> Result<Option<u64>, Refused> {
    let layered = usize::from(request.geometry.is_layered());
    let coordinate = |axis: usize| slots[layered + axis].cast_signed();
    let x = if request.action == SurfaceAction::StoreFormatted {
        // Formatted accesses count texels, others bytes.
        i64::from(coordinate(0)) * i64::from(texel.bytes())
    } else {
        i64::from(coordinate(0))
    };
    let y = if request.geometry.coordinates() > 1 {
        coordinate(1)
    } else {
        0
    };
    let z = match request.geometry {
        Geometry::D3 => coordinate(2),
        _ if layered == 1 => slots[0].cast_signed(),
        _ => 0,
    };
    if x % i64::from(bytes) != 0 {
        return Err(Refused::Misaligned(x as i32));
    }
    let row = i64::from(level.extent[0]) * i64::from(texel.bytes());
    let last = row - i64::from(bytes);
    let inside = |value: i32, size: u32| u32::try_from(value).is_ok_and(|value| value < size);
    if last >= 0
        && (0..=last).contains(&x)
        && inside(y, level.extent[1])
        && inside(z, level.extent[2])
    {
        return Ok(Some(
            level.address + z as u64 * level.slice + y as u64 * level.pitch + x as u64,
        ));
    }
    match request.outside {
        Outside::Trap => Err(Refused::Bounds([x as i32, y])),
        Outside::Clamp if last >= 0 => {
            let clamp =
                |value: i32, size: u32| u64::from((value.max(0).cast_unsigned()).min(size - 1));
            // The last place where an access of this size is aligned.
            let x = x.clamp(0, last / i64::from(bytes) * i64::from(bytes)) as u64;
            Ok(Some(
                level.address
                    + clamp(z, level.extent[2]) * level.slice
                    + clamp(y, level.extent[1]) * level.pitch
                    + x,
            ))
        }
        Outside::Clamp | Outside::Zero => Ok(None),
    }
}

/// An atomic reduction.
///
/// # Safety
/// The address is aligned, and its bytes stay accessible during the call.
unsafe fn reduce(address: u64, request: SurfaceRequest, operand: u64) {
    use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    let combine = |old: u64, wide: bool| -> u64 {
        let signed = |value: u64| {
            if wide {
                value.cast_signed()
            } else {
                i64::from((value as u32).cast_signed())
            }
        };
        let less = if request.signed {
            signed(operand) < signed(old)
        } else {
            operand < old
        };
        match request.action {
            SurfaceAction::Add => old.wrapping_add(operand),
            SurfaceAction::Min if less => operand,
            SurfaceAction::Max if !less => operand,
            SurfaceAction::And => old & operand,
            SurfaceAction::Or => old | operand,
            _ => old,
        }
    };
    let at = address as usize;
    if request.bytes == 8 {
        // SAFETY: the caller vouches for eight aligned bytes.
        let cell = unsafe { &*core::ptr::with_exposed_provenance::<AtomicU64>(at) };
        cell.update(Ordering::Relaxed, Ordering::Relaxed, |old| {
            combine(old, true)
        });
    } else {
        // SAFETY: the caller vouches for four aligned bytes.
        let cell = unsafe { &*core::ptr::with_exposed_provenance::<AtomicU32>(at) };
        let operation = |old: u32| combine(u64::from(old), false) as u32;
        cell.update(Ordering::Relaxed, Ordering::Relaxed, operation);
    }
}

/// The number by which `OpenCL`, whose constants PTX answers, calls the type of a channel.
pub(super) fn data_type(channel: Channel) -> u32 {
    match channel {
        Channel::I8 => 0x10d7,
        Channel::I16 => 0x10d8,
        Channel::I32 => 0x10d9,
        Channel::U8 => 0x10da,
        Channel::U16 => 0x10db,
        Channel::U32 => 0x10dc,
        Channel::F16 => 0x10dd,
        Channel::F32 => 0x10de,
    }
}
