//! Functions that compiled code calls.
//!
//! They run on the kernel's thread with a pointer to its block. None of them panics: unwinding through compiled code would end the process.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use super::context::{
    BlockContext, FaultRecord, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, STATUS_FAULT, STATUS_OK,
    WINDOW_SHIFT, Window,
};
use super::fault::{Access, AccessSpace, FaultKind};
use super::launch::LaunchState;
use super::printf::{self, Source};

/// The launch that a block belongs to.
///
/// # Safety
///
/// `ctx` points to the context of a block that is running.
pub(super) unsafe fn launch<'a>(ctx: *const BlockContext) -> &'a LaunchState {
    // SAFETY: the caller vouches for `ctx`; a block's launch state outlives its run.
    unsafe { &*(*ctx).launch }
}

/// Decides about a group of accesses that the inline check did not know: stores the host address of the lowest in the fault record, or the fault
/// of the first that is not allowed.
///
/// # Safety
///
/// `ctx` points to the context of a block that is running; `group` is a group of its kernel, and `address` that of its lowest access.
pub(crate) unsafe extern "C" fn check(
    ctx: *mut BlockContext,
    thread: u32,
    address: u64,
    group: u32,
) {
    // SAFETY: the caller vouches for `ctx`, which nobody else uses meanwhile.
    let (context, state) = unsafe { (&mut *ctx, launch(ctx)) };
    let kernel = &state.launch.kernel;
    let group_number = group as usize;
    let group = &kernel.groups[group_number];
    let mut resolved = 0;
    for &(distance, site) in &group.members {
        let memory = ThreadMemory {
            context,
            state,
            thread,
        };
        let access = kernel.sites[site as usize].access;
        let mut at = address.wrapping_add(u64::from(distance));
        if access.is_some_and(Access::is_narrow) && address >> 32 == 0 {
            // The lowest access may be at a negative offset.
            at &= u64::from(u32::MAX);
        }
        let place = access.and_then(|access| memory.allowed(access, at));
        match place {
            Some(place) => resolved = place.wrapping_sub(u64::from(distance)),
            None => {
                context.fault = FaultRecord {
                    address: at,
                    site,
                    thread,
                    kind: FaultKind::Memory as u32,
                    refused: 1,
                    resolved: 0,
                };
                return;
            }
        }
    }
    context.fault.refused = 0;
    context.fault.resolved = resolved;
    // SAFETY: a block has a window for each group of its kernel.
    let window = unsafe { &mut *context.windows.add(group_number) };
    window.misses += 1;
    if window.misses > EAGER && !window.misses.is_multiple_of(PATIENT) {
        return;
    }
    let found = match address >> WINDOW_SHIFT << WINDOW_SHIFT {
        0 => {
            let map = &state.launch.memory;
            let inside = address.wrapping_sub(map.base) < map.len;
            let extent = inside
                .then(|| map.slow.extent(address, group.write))
                .flatten();
            extent.map(|(start, end)| (start, end - start, 0))
        }
        SHARED_WINDOW => {
            let delta = (context.shared.addr() as u64).wrapping_sub(SHARED_WINDOW);
            Some((SHARED_WINDOW, context.shared_limits[0], delta))
        }
        _ => None,
    };
    if let Some((start, len, delta)) = found {
        window.start = start;
        window.limit = len.saturating_sub(u64::from(group.reach)) >> group.size.trailing_zeros();
        window.delta = delta;
    }
}

/// Misses of a group that look for the allocation each.
const EAGER: u64 = 4;
/// Later, one in so many does: a group that goes from one allocation to another would do little else.
const PATIENT: u64 = 16;

/// As [`check`], with the host address, or 0, as the answer.
///
/// # Safety
///
/// As for [`check`].
pub(crate) unsafe extern "C" fn resolve(
    ctx: *mut BlockContext,
    thread: u32,
    address: u64,
    group: u32,
) -> u64 {
    // SAFETY: the caller vouches for all of it.
    unsafe {
        check(ctx, thread, address, group);
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
            refused: 1,
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
    /// The host address of an access, if it is allowed.
    fn allowed(&self, access: Access, address: u64) -> Option<u64> {
        let size = access.size.next_power_of_two();
        if address & u64::from(size - 1) != 0 {
            return None;
        }
        let window = address >> WINDOW_SHIFT << WINDOW_SHIFT;
        let tagged = match access.space {
            AccessSpace::Shared => SHARED_WINDOW,
            AccessSpace::Local => LOCAL_WINDOW,
            AccessSpace::Param => PARAM_WINDOW,
            AccessSpace::Global if window != 0 => return None,
            AccessSpace::Global => 0,
            AccessSpace::Generic => match window {
                // Local memory has no atomic operations, and parameters cannot be written.
                LOCAL_WINDOW if access.atomic => return None,
                PARAM_WINDOW if access.write => return None,
                _ => window,
            },
        };
        let address = match access.space {
            AccessSpace::Shared | AccessSpace::Local | AccessSpace::Param if window != 0 => {
                return None;
            }
            AccessSpace::Shared | AccessSpace::Local | AccessSpace::Param => tagged | address,
            AccessSpace::Global | AccessSpace::Generic => address,
        };
        let map = &self.state.launch.memory;
        if tagged == 0 && address.wrapping_sub(map.base) >= map.len {
            return map
                .slow
                .allows(address, access.size, access.write)
                .then_some(address);
        }
        let pointer = self.translate(address, access.size, access.write)?;
        Some(pointer.addr() as u64)
    }

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
    let state = unsafe { launch(ctx) };
    if address == 0 || state.launch.memory.slow.free(address) {
        // The groups of this block must not remember it; those of others notice at their next stop.
        for group in 0..state.launch.kernel.groups.len() {
            // SAFETY: a block has a window for each group of its kernel.
            unsafe { (*ctx).windows.add(group).write(Window::default()) };
        }
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
