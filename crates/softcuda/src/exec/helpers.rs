//! Functions that compiled code calls.
//!
//! They run on the kernel's thread with a pointer to its block. None of them panics: unwinding through compiled code would end the process.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use super::context::{
    BlockContext, FaultRecord, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, STATUS_FAULT, STATUS_OK,
    WINDOW_SHIFT,
};
use super::fault::{AccessSpace, FaultKind};
use super::launch::LaunchState;
use super::printf::{self, Source};

/// The launch that a block belongs to.
///
/// # Safety
///
/// `ctx` points to the context of a block that is running.
unsafe fn launch<'a>(ctx: *const BlockContext) -> &'a LaunchState {
    // SAFETY: the caller vouches for `ctx`; a block's launch state outlives its run.
    unsafe { &*(*ctx).launch }
}

/// Decides an access that the inline check refused: stores the host address to use in the fault record, or 0 and the fault.
///
/// # Safety
///
/// `ctx` points to the context of a block that is running; `site` is a site of its kernel.
pub(crate) unsafe extern "C" fn check(
    ctx: *mut BlockContext,
    thread: u32,
    address: u64,
    site: u32,
) {
    // SAFETY: the caller vouches for `ctx`, which nobody else uses meanwhile.
    let (context, state) = unsafe { (&mut *ctx, launch(ctx)) };
    let resolved = slow(context, state, address, site);
    context.fault = FaultRecord {
        address,
        site,
        thread,
        kind: FaultKind::Memory as u32,
        resolved: resolved.unwrap_or(0),
    };
}

fn slow(context: &BlockContext, state: &LaunchState, address: u64, site: u32) -> Option<u64> {
    let access = state.launch.kernel.sites.get(site as usize)?.access?;
    let size = access.size.next_power_of_two();
    if address & u64::from(size - 1) != 0 {
        return None;
    }
    match access.space {
        AccessSpace::Global | AccessSpace::Generic if address >> WINDOW_SHIFT == 0 => {
            let map = &state.launch.memory;
            let inside = address.wrapping_sub(map.base) < map.len;
            (!inside && map.slow.allows(address, access.size, access.write)).then_some(address)
        }
        // Parameters through generic addresses are rare enough to have no inline path.
        AccessSpace::Generic
            if address >> WINDOW_SHIFT == PARAM_WINDOW >> WINDOW_SHIFT && !access.write =>
        {
            let offset = address - PARAM_WINDOW;
            let fits = offset
                .checked_add(u64::from(access.size))
                .is_some_and(|end| end <= context.param_limits[0]);
            fits.then(|| context.params.addr() as u64 + offset)
        }
        _ => None,
    }
}

/// The whole check of a global or generic access: the host address to use, or 0 and the fault recorded.
///
/// # Safety
///
/// As for [`check`].
pub(crate) unsafe extern "C" fn resolve(
    ctx: *mut BlockContext,
    thread: u32,
    address: u64,
    site: u32,
) -> u64 {
    // SAFETY: the caller vouches for `ctx`, which nobody else uses meanwhile.
    let (context, state) = unsafe { (&*ctx, launch(ctx)) };
    let access = state
        .launch
        .kernel
        .sites
        .get(site as usize)
        .and_then(|site| site.access);
    if let Some(access) = access {
        let memory = ThreadMemory {
            context,
            state,
            thread,
        };
        let window = address >> WINDOW_SHIFT << WINDOW_SHIFT;
        let plain = match window {
            0 => true,
            SHARED_WINDOW => access.space == AccessSpace::Generic,
            LOCAL_WINDOW => access.space == AccessSpace::Generic && !access.atomic,
            // Parameters are left to the slow check, which knows that they cannot be written.
            _ => false,
        };
        let inside = address.wrapping_sub(state.launch.memory.base) < state.launch.memory.len;
        if plain
            && (window != 0 || inside)
            && address.is_multiple_of(u64::from(access.size))
            && let Some(pointer) = memory.translate(address, access.size, access.write)
        {
            return pointer.addr() as u64;
        }
    }
    // SAFETY: as above.
    unsafe {
        check(ctx, thread, address, site);
        (*ctx).fault.resolved
    }
}

/// Records a fault that is no memory access.
///
/// # Safety
///
/// As for [`check`].
pub(crate) unsafe extern "C" fn raise(
    ctx: *mut BlockContext,
    thread: u32,
    site: u32,
    kind: u32,
    address: u64,
) {
    // SAFETY: the caller vouches for `ctx`, which nobody else uses meanwhile.
    unsafe {
        (*ctx).fault = FaultRecord {
            address,
            site,
            thread,
            kind,
            resolved: 0,
        };
    }
}

/// Memory as a thread sees it through generic addresses.
pub(crate) struct ThreadMemory<'a> {
    context: &'a BlockContext,
    state: &'a LaunchState,
    thread: u32,
}

impl ThreadMemory<'_> {
    /// The host address of `size` bytes that may be read, or written.
    fn translate(&self, address: u64, size: u32, write: bool) -> Option<*const u8> {
        let offset = address & ((1 << WINDOW_SHIFT) - 1);
        let within = |limit: u64| {
            offset
                .checked_add(u64::from(size))
                .is_some_and(|end| end <= limit)
        };
        let context = self.context;
        let add = |base: *const u8, more: u64| base.wrapping_add((more + offset) as usize);
        match address >> WINDOW_SHIFT << WINDOW_SHIFT {
            0 => {
                let map = &self.state.launch.memory;
                let from_base = address.wrapping_sub(map.base);
                let allowed = if from_base < map.len {
                    let shadow = if write { map.writable } else { map.shadow };
                    // SAFETY: both maps have an entry for each 256 bytes of the range, and the address is in it.
                    let valid = unsafe { shadow.add((from_base >> 8) as usize).read_volatile() };
                    (address & 255) + u64::from(size) <= u64::from(valid)
                } else {
                    map.slow.allows(address, size, write)
                };
                allowed.then(|| core::ptr::with_exposed_provenance(address as usize))
            }
            SHARED_WINDOW => within(context.shared_limits[0]).then(|| add(context.shared, 0)),
            LOCAL_WINDOW => within(context.local_limits[0])
                .then(|| add(context.local, context.local_stride * u64::from(self.thread))),
            PARAM_WINDOW => within(context.param_limits[0]).then(|| add(context.params, 0)),
            _ => None,
        }
    }
}

impl Source for ThreadMemory<'_> {
    fn byte(&self, address: u64) -> Option<u8> {
        let pointer = self.translate(address, 1, false)?;
        // SAFETY: `translate` answers addresses of readable memory of the block, the launch or the context. Other host threads may write
        // device memory meanwhile, as the kernel's own loads must expect too.
        Some(unsafe { pointer.read_volatile() })
    }
}

/// `vprintf(format, arguments)`: formats and writes one record. Returns the number of arguments, or -1.
///
/// # Safety
///
/// As for [`check`].
pub(crate) unsafe extern "C" fn vprintf(
    ctx: *mut BlockContext,
    thread: u32,
    site: u32,
    format: u64,
    arguments: u64,
) -> u64 {
    if format == 0 {
        return u64::from(u32::MAX);
    }
    // SAFETY: the caller vouches for `ctx`, which nobody else uses meanwhile.
    let (context, state) = unsafe { (&*ctx, launch(ctx)) };
    let memory = ThreadMemory {
        context,
        state,
        thread,
    };
    match printf::format(&memory, format, arguments) {
        Ok((text, count)) => {
            state.launch.printf.write(&text);
            u64::from(count)
        }
        Err(address) => {
            // SAFETY: as above.
            unsafe { raise(ctx, thread, site, FaultKind::Argument as u32, address) };
            BUILTIN_FAULT
        }
    }
}

/// What [`vprintf`] answers when its arguments cannot be read: no `int`.
pub(crate) const BUILTIN_FAULT: u64 = 1 << 63;

/// `__assertfail(message, file, line, function, size)`: prints and faults.
///
/// # Safety
///
/// As for [`check`].
pub(crate) unsafe extern "C" fn assert_fail(
    ctx: *mut BlockContext,
    thread: u32,
    site: u32,
    message: u64,
    file: u64,
    line: u32,
    function: u64,
) {
    // SAFETY: the caller vouches for `ctx`, which nobody else uses meanwhile.
    let (context, state) = unsafe { (&*ctx, launch(ctx)) };
    let memory = ThreadMemory {
        context,
        state,
        thread,
    };
    let text = |address| {
        let mut bytes = Vec::new();
        printf::read_string(&memory, address, &mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let tid = state.tids.get(thread as usize).copied().unwrap_or(0);
    let [bx, by, bz] = context.ctaid;
    let record = format!(
        "{}:{line}: {}: block: [{bx},{by},{bz}], thread: [{},{},{}] Assertion `{}` failed.\n",
        text(file),
        text(function),
        tid & 0x3ff,
        tid >> 10 & 0x3ff,
        tid >> 20,
        text(message),
    );
    state.launch.printf.write(record.as_bytes());
    // SAFETY: as above.
    unsafe { raise(ctx, thread, site, FaultKind::Assert as u32, 0) };
}

/// Device-side `malloc`.
///
/// # Safety
///
/// As for [`check`].
pub(crate) unsafe extern "C" fn malloc(ctx: *mut BlockContext, bytes: u64) -> u64 {
    // SAFETY: the caller vouches for `ctx`.
    unsafe { launch(ctx) }.launch.memory.slow.malloc(bytes)
}

/// Device-side `free`. Freeing what `malloc` did not give is a fault.
///
/// # Safety
///
/// As for [`check`].
pub(crate) unsafe extern "C" fn free(
    ctx: *mut BlockContext,
    thread: u32,
    site: u32,
    address: u64,
) -> u32 {
    // SAFETY: the caller vouches for `ctx`.
    if address == 0 || unsafe { launch(ctx) }.launch.memory.slow.free(address) {
        return STATUS_OK;
    }
    // SAFETY: as above.
    unsafe { raise(ctx, thread, site, FaultKind::Free as u32, address) };
    STATUS_FAULT
}

/// Nanoseconds since the launch began, for the clock registers.
///
/// # Safety
///
/// As for [`check`].
pub(crate) unsafe extern "C" fn clock(ctx: *mut BlockContext) -> u64 {
    // SAFETY: the caller vouches for `ctx`.
    let started: Instant = unsafe { launch(ctx) }.started;
    // A launch of 500 years is stopped before it overflows.
    started.elapsed().as_nanos() as u64
}

/// Gives the host's core to another thread: `nanosleep`.
pub(crate) extern "C" fn pause() {
    std::thread::yield_now();
}

/// Repeats `new = f(old)` until it has replaced `old`, which is returned.
///
/// # Safety
///
/// `place` points to an aligned `u32` that other threads access atomically only.
unsafe fn update32(place: *mut u32, f: impl Fn(u32) -> u32) -> u32 {
    // SAFETY: the caller vouches for `place`.
    let place = unsafe { AtomicU32::from_ptr(place) };
    match place.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| Some(f(old))) {
        Ok(old) | Err(old) => old,
    }
}

/// As [`update32`] for 64 bits.
///
/// # Safety
///
/// As for [`update32`].
unsafe fn update64(place: *mut u64, f: impl Fn(u64) -> u64) -> u64 {
    // SAFETY: the caller vouches for `place`.
    let place = unsafe { AtomicU64::from_ptr(place) };
    match place.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| Some(f(old))) {
        Ok(old) | Err(old) => old,
    }
}

/// `atom.add.f32`: subnormal operands and results are flushed in global memory and, if `keeps`, not in shared memory, as the ISA says.
///
/// # Safety
///
/// `place` is an aligned place that the access check has passed.
pub(crate) unsafe extern "C" fn atomic_add_f32(place: *mut u32, value: u32, keeps: u32) -> u32 {
    let flush = |bits: u32| {
        if keeps == 0 && bits & 0x7f80_0000 == 0 {
            bits & 0x8000_0000
        } else {
            bits
        }
    };
    let value = f32::from_bits(flush(value));
    // SAFETY: the caller vouches for `place`.
    unsafe {
        update32(place, |old| {
            flush((f32::from_bits(flush(old)) + value).to_bits())
        })
    }
}

/// `atom.add.f64`.
///
/// # Safety
///
/// As for [`atomic_add_f32`].
pub(crate) unsafe extern "C" fn atomic_add_f64(place: *mut u64, value: u64) -> u64 {
    let value = f64::from_bits(value);
    // SAFETY: the caller vouches for `place`.
    unsafe { update64(place, |old| (f64::from_bits(old) + value).to_bits()) }
}

/// `atom.inc.u32`: counts up to `bound`, then from 0.
///
/// # Safety
///
/// As for [`atomic_add_f32`].
pub(crate) unsafe extern "C" fn atomic_inc_u32(place: *mut u32, bound: u32) -> u32 {
    // SAFETY: the caller vouches for `place`.
    unsafe { update32(place, |old| if old >= bound { 0 } else { old + 1 }) }
}

/// `atom.dec.u32`: counts down from `bound`, and again from there.
///
/// # Safety
///
/// As for [`atomic_add_f32`].
pub(crate) unsafe extern "C" fn atomic_dec_u32(place: *mut u32, bound: u32) -> u32 {
    // SAFETY: the caller vouches for `place`.
    unsafe {
        update32(place, |old| {
            if old == 0 || old > bound {
                bound
            } else {
                old - 1
            }
        })
    }
}

/// `atom.add` of a pair of halves or a half inside its aligned word; `name` picks the operation of `numeric`.
macro_rules! half_add {
    ($name:ident, $pair:ident, $add:literal) => {
        /// `atom.add.noftz` of a packed pair.
        ///
        /// # Safety
        ///
        /// As for [`atomic_add_f32`].
        pub(crate) unsafe extern "C" fn $pair(place: *mut u32, value: u32) -> u32 {
            let add = pair_add($add);
            // SAFETY: the caller vouches for `place`.
            unsafe { update32(place, |old| add(old, value)) }
        }

        /// `atom.add.noftz` of one half.
        ///
        /// # Safety
        ///
        /// As for [`atomic_add_f32`], for 16 bits.
        pub(crate) unsafe extern "C" fn $name(place: *mut u16, value: u32) -> u32 {
            let add = pair_add($add);
            // The aligned word that holds the half is in the same granule of memory.
            let shift = (place.addr() & 2) * 8;
            let word = place.wrapping_byte_sub(place.addr() & 2).cast::<u32>();
            // SAFETY: the word is aligned, and in the same mapped page as `place`; the other half is written back unchanged, atomically.
            let old = unsafe {
                update32(word, |old| {
                    let sum = add(old >> shift & 0xffff, value & 0xffff) & 0xffff;
                    old & !(0xffff << shift) | sum << shift
                })
            };
            old >> shift & 0xffff
        }
    };
}

half_add!(atomic_add_f16, atomic_add_f16x2, "add_f16x2");
half_add!(atomic_add_bf16, atomic_add_bf16x2, "add_bf16x2");

/// The packed addition of that name.
fn pair_add(name: &str) -> impl Fn(u32, u32) -> u32 {
    let function = crate::numeric::function(name);
    move |a, b| match function {
        // SAFETY: functions of two 32-bit integers with such a result have this signature.
        Some(function) => unsafe {
            core::mem::transmute::<*const u8, extern "C" fn(u32, u32) -> u32>(function.address())(
                a, b,
            )
        },
        None => 0,
    }
}
