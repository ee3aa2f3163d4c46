//! Texture and surface instructions: functions that compiled code calls.

use super::context::BlockContext;
use super::fault::{FaultKind, readable};
use super::helpers::{launch, raise};
use crate::texture::{Query, Refused, Slots, SurfaceRequest, TextureRequest};

/// A texture read: operands in the slots, results in the first four. Answers 1 if it is a fault.
///
/// # Safety
///
/// `ctx` points to the context of a block that is running, `slots` to sixteen words.
pub(crate) unsafe extern "C" fn texture(
    ctx: *mut BlockContext,
    thread: u32,
    site: u32,
    request: u32,
    handle: u64,
    slots: *mut Slots,
) -> u32 {
    // SAFETY: the caller vouches for both pointers, which nobody else uses meanwhile.
    let (state, slots) = unsafe { (launch(ctx), &mut *slots) };
    let fault = |kind: FaultKind, address: u64| {
        // SAFETY: as above.
        unsafe { raise(ctx, thread, site, kind as u32, address) };
        1
    };
    let Some(texture) = state.launch.images.texture(handle) else {
        return fault(FaultKind::Texture, handle);
    };
    if let Some((first, last)) = texture.memory {
        for byte in [first, last] {
            if !readable(state, byte, 1) {
                return fault(FaultKind::TextureMemory, byte);
            }
        }
    }
    let results = texture.read(TextureRequest::from_bits(request), slots);
    slots[..4].copy_from_slice(&results);
    0
}

/// A surface access: operands in the slots, what is loaded in the first four. Answers 1 if it is a fault.
///
/// # Safety
///
/// As for [`texture`].
pub(crate) unsafe extern "C" fn surface(
    ctx: *mut BlockContext,
    thread: u32,
    site: u32,
    request: u32,
    handle: u64,
    slots: *mut Slots,
) -> u32 {
    // SAFETY: the caller vouches for both pointers, which nobody else uses meanwhile.
    let (state, slots) = unsafe { (launch(ctx), &mut *slots) };
    let fault = |kind: FaultKind, address: u64| {
        // SAFETY: as above.
        unsafe { raise(ctx, thread, site, kind as u32, address) };
        1
    };
    let Some(surface) = state.launch.images.surface(handle) else {
        return fault(FaultKind::Surface, handle);
    };
    let pack = |x: i32, y: i32| u64::from(x.cast_unsigned()) | u64::from(y.cast_unsigned()) << 32;
    match surface.access(SurfaceRequest::from_bits(request), slots) {
        Ok(()) => 0,
        Err(Refused::Bounds([x, y])) => fault(FaultKind::SurfaceBounds, pack(x, y)),
        Err(Refused::Misaligned(x)) => fault(FaultKind::SurfaceAlignment, pack(x, 0)),
    }
}

/// `txq` and, with bit 31 of the query set, `suq`: the answer goes into the first slot. Answers 1 if it is a fault.
///
/// # Safety
///
/// As for [`texture`].
pub(crate) unsafe extern "C" fn query(
    ctx: *mut BlockContext,
    thread: u32,
    site: u32,
    query: u32,
    handle: u64,
    slots: *mut Slots,
) -> u32 {
    // SAFETY: the caller vouches for both pointers, which nobody else uses meanwhile.
    let (state, slots) = unsafe { (launch(ctx), &mut *slots) };
    let images = &state.launch.images;
    let asked = Query::from_bits(query & !SURFACE);
    let (answer, kind) = if query & SURFACE != 0 {
        let surface = images.surface(handle);
        (
            surface.map(|surface| surface.query(asked)),
            FaultKind::Surface,
        )
    } else {
        let texture = images.texture(handle);
        (
            texture.map(|texture| texture.query(asked)),
            FaultKind::Texture,
        )
    };
    match answer {
        Some(answer) => {
            slots[0] = answer;
            0
        }
        None => {
            // SAFETY: as above.
            unsafe { raise(ctx, thread, site, kind as u32, handle) };
            1
        }
    }
}

/// The bit of a query that asks a surface.
pub(crate) const SURFACE: u32 = 1 << 31;
