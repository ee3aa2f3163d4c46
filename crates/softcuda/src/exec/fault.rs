//! Faults of a launch: what they are, their result codes, and their text.

use std::fmt::Write as _;
use std::sync::Arc;

use cuprum_driver_sys::CUresult;

use super::context::{
    BlockContext, FUNCTION_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_SHIFT,
};
use super::kernel::CompiledKernel;
use super::launch::LaunchState;

/// The end of a launch by its own doing, or by the time limit. Poisons the context.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    /// What `cuStreamSynchronize` and later calls report.
    pub(crate) code: CUresult,
    /// Kernel, source line, block, thread, address, size, nearest allocation: all that is known.
    pub(crate) message: String,
}

/// The state space that an access names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessSpace {
    /// Global memory, which includes module constants.
    Global,
    /// Shared memory of the block.
    Shared,
    /// Local memory of the thread.
    Local,
    /// Kernel parameters.
    Param,
    /// Whatever the address's window says.
    Generic,
}

/// A memory access, for messages and for the slow check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) space: AccessSpace,
    /// Bytes, all elements of a vector together.
    pub(crate) size: u32,
    pub(crate) write: bool,
    pub(crate) atomic: bool,
}

impl Access {
    /// Whether addresses are offsets of 32 bits into a window of their own.
    pub(crate) fn is_narrow(self) -> bool {
        matches!(
            self.space,
            AccessSpace::Shared | AccessSpace::Local | AccessSpace::Param
        )
    }
}

/// Where an instruction stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Line in the PTX text, from 1.
    pub(crate) ptx_line: u32,
    /// File and line in the source that the PTX was made from, if the PTX has line information.
    pub(crate) source: Option<(Arc<str>, u32)>,
}

/// An instruction that can fault.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) place: Place,
    pub(crate) access: Option<Access>,
}

/// What compiled code or a helper found wrong: the `kind` of a [`FaultRecord`](super::context::FaultRecord).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum FaultKind {
    /// An access that the site describes.
    Memory = 1,
    /// `trap`.
    Trap = 2,
    /// A failed device-side assertion; its text has been printed.
    Assert = 3,
    /// A chain of calls deeper than the local or the host stack.
    Stack = 4,
    /// A call through a value that is not the address of a function of the expected shape.
    Call = 5,
    /// `brkpt` with no debugger.
    Breakpoint = 6,
    /// A built-in function was handed memory that the thread may not read (for example a format string).
    Argument = 7,
    /// A device-side `free` of what `malloc` did not give, or a second one.
    Free = 8,
    /// A texture instruction whose operand is no live texture object of the context.
    Texture = 9,
    /// A texture of linear memory that has been freed.
    TextureMemory = 10,
    /// A surface instruction whose operand is no live surface object of the context.
    Surface = 11,
    /// A surface access outside, with `.trap`: the byte of the row in the low half of the address, the row in the high half.
    SurfaceBounds = 12,
    /// A surface access that is not aligned; as before.
    SurfaceAlignment = 13,
}

impl FaultKind {
    fn from_number(kind: u32) -> Option<Self> {
        [
            Self::Memory,
            Self::Trap,
            Self::Assert,
            Self::Stack,
            Self::Call,
            Self::Breakpoint,
            Self::Argument,
            Self::Free,
            Self::Texture,
            Self::TextureMemory,
            Self::Surface,
            Self::SurfaceBounds,
            Self::SurfaceAlignment,
        ]
        .into_iter()
        .find(|known| *known as u32 == kind)
    }
}

/// Splits a packed thread index (see [`BlockContext::tid`]).
fn unpack(tid: u32) -> [u32; 3] {
    [tid & 0x3ff, tid >> 10 & 0x3ff, tid >> 20]
}

/// The text ` at file:line (PTX line n)`.
pub(super) fn place_text(place: &Place) -> String {
    match &place.source {
        Some((file, line)) => format!(" at {file}:{line} (PTX line {})", place.ptx_line),
        None => format!(" at PTX line {}", place.ptx_line),
    }
}

/// Whether kernels may read device memory that they may not write: constants.
pub(super) fn readable(state: &LaunchState, address: u64, size: u32) -> bool {
    let map = &state.launch.memory;
    let offset = address.wrapping_sub(map.base);
    // SAFETY: the shadow has an entry for each 256 bytes of the range, and the address is in it.
    offset < map.len
        && (offset & 255) + u64::from(size)
            <= u64::from(unsafe { map.shadow.add((offset >> 8) as usize).read_volatile() })
}

/// The fault that `ctx.fault` records, in full.
pub(crate) fn describe(state: &LaunchState, ctx: &BlockContext) -> Fault {
    let kernel = &state.launch.kernel;
    let record = &ctx.fault;
    let site = kernel.sites.get(record.site as usize);
    let (code, what) = match FaultKind::from_number(record.kind) {
        Some(FaultKind::Memory) => match site.and_then(|site| site.access) {
            Some(access) => memory(state, ctx, access),
            None => (CUresult::ILLEGAL_ADDRESS, "illegal access".to_owned()),
        },
        Some(FaultKind::Trap) => (
            CUresult::LAUNCH_FAILED,
            "trap instruction executed".to_owned(),
        ),
        Some(FaultKind::Assert) => (CUresult::ASSERT, "device-side assertion failed".to_owned()),
        Some(FaultKind::Stack) => (
            CUresult::HARDWARE_STACK_ERROR,
            format!(
                "stack overflow: a chain of calls needs more than the {} bytes of stack that a thread has",
                ctx.local_limits[0]
            ),
        ),
        Some(FaultKind::Call) => call(kernel, record.address),
        Some(FaultKind::Breakpoint) => (
            CUresult::LAUNCH_FAILED,
            "brkpt instruction executed with no debugger attached".to_owned(),
        ),
        Some(FaultKind::Free) => (
            CUresult::ILLEGAL_ADDRESS,
            format!(
                "free of {:#x}, which device-side malloc did not give, or which is free already; {}",
                record.address,
                state.launch.memory.slow.describe(record.address)
            ),
        ),
        Some(FaultKind::Argument) => (
            CUresult::ILLEGAL_ADDRESS,
            format!(
                "a built-in function was given {:#x}, which the thread cannot read; {}",
                record.address,
                state.launch.memory.slow.describe(record.address)
            ),
        ),
        Some(FaultKind::Texture) => (
            CUresult::ILLEGAL_ADDRESS,
            format!("{:#x} is no texture object of this context", record.address),
        ),
        Some(FaultKind::TextureMemory) => (
            CUresult::ILLEGAL_ADDRESS,
            format!(
                "read of a texture of linear memory that is gone; {}",
                state.launch.memory.slow.describe(record.address)
            ),
        ),
        Some(FaultKind::Surface) => (
            CUresult::ILLEGAL_ADDRESS,
            format!("{:#x} is no surface object of this context", record.address),
        ),
        Some(FaultKind::SurfaceBounds) => (
            CUresult::LAUNCH_FAILED,
            format!(
                "surface access outside of the array, at byte {} of row {}",
                record.address as i32,
                (record.address >> 32) as i32
            ),
        ),
        Some(FaultKind::SurfaceAlignment) => (
            CUresult::MISALIGNED_ADDRESS,
            format!(
                "surface access at byte {} of a row, which is no multiple of its size",
                record.address as i32
            ),
        ),
        None => (CUresult::UNKNOWN, "unknown fault".to_owned()),
    };
    let mut message = format!("kernel `{}`: {what}", kernel.info.name);
    if let Some(site) = site {
        message += &place_text(&site.place);
    }
    let thread = state
        .tids
        .get(record.thread as usize)
        .map_or([record.thread, 0, 0], |&tid| unpack(tid));
    let _ = write!(
        message,
        ", block ({}, {}, {}), thread ({}, {}, {})",
        ctx.ctaid[0], ctx.ctaid[1], ctx.ctaid[2], thread[0], thread[1], thread[2]
    );
    if let Some(access) = site.and_then(|site| site.access)
        && record.kind == FaultKind::Memory as u32
        && is_global(access.space, record.address)
    {
        let _ = write!(
            message,
            "; {}",
            state.launch.memory.slow.describe(record.address)
        );
    }
    Fault { code, message }
}

/// A call through `address`, where there is no code for such a call.
fn call(kernel: &CompiledKernel, address: u64) -> (CUresult, String) {
    let refused = kernel
        .uncallable
        .iter()
        .find(|(index, _)| address == FUNCTION_WINDOW | u64::from(*index));
    match refused {
        // No error of the program: what the device lacks.
        Some((_, name)) => (
            CUresult::LAUNCH_FAILED,
            format!(
                "call of `{name}` through its address: that is not supported for functions that synchronise threads"
            ),
        ),
        None => (
            CUresult::INVALID_PC,
            format!("call through {address:#x}, which is no function of the signature used"),
        ),
    }
}

fn is_global(space: AccessSpace, address: u64) -> bool {
    match space {
        AccessSpace::Global => true,
        AccessSpace::Generic => address >> WINDOW_SHIFT == 0,
        AccessSpace::Shared | AccessSpace::Local | AccessSpace::Param => false,
    }
}

fn memory(state: &LaunchState, ctx: &BlockContext, access: Access) -> (CUresult, String) {
    let address = ctx.fault.address;
    let verb = match (access.atomic, access.write) {
        (true, _) => "atomic operation on",
        (false, true) => "write of",
        (false, false) => "read of",
    };
    // A generic address is resolved to the space that its window names.
    let (space, offset) = match access.space {
        AccessSpace::Generic => match address >> WINDOW_SHIFT {
            w if w == SHARED_WINDOW >> WINDOW_SHIFT => {
                (AccessSpace::Shared, address - SHARED_WINDOW)
            }
            w if w == LOCAL_WINDOW >> WINDOW_SHIFT => (AccessSpace::Local, address - LOCAL_WINDOW),
            w if w == PARAM_WINDOW >> WINDOW_SHIFT => (AccessSpace::Param, address - PARAM_WINDOW),
            w if w == FUNCTION_WINDOW >> WINDOW_SHIFT => {
                return (
                    CUresult::ILLEGAL_ADDRESS,
                    format!(
                        "illegal {verb} {} bytes at the address of a function",
                        access.size
                    ),
                );
            }
            _ => (AccessSpace::Global, address),
        },
        space => (space, address),
    };
    let (name, length) = match space {
        AccessSpace::Global | AccessSpace::Generic => ("global", state.launch.memory.len),
        AccessSpace::Shared => ("shared", ctx.shared_limits[0]),
        AccessSpace::Local => ("local", ctx.local_limits[0]),
        AccessSpace::Param => ("parameter", ctx.param_limits[0]),
    };
    let is_global = space == AccessSpace::Global;
    let at = if is_global {
        format!("{} bytes of global memory at {address:#x}", access.size)
    } else {
        format!(
            "{} bytes of {name} memory at offset {offset:#x}",
            access.size
        )
    };
    if address & u64::from(access.size.next_power_of_two() - 1) != 0 {
        return (
            CUresult::MISALIGNED_ADDRESS,
            format!("misaligned {verb} {at}"),
        );
    }
    let wrong_space = match space {
        AccessSpace::Local => access.atomic,
        AccessSpace::Param => access.atomic || access.write,
        _ => false,
    };
    if wrong_space {
        return (
            CUresult::INVALID_ADDRESS_SPACE,
            format!("{verb} {at}, which does not allow that"),
        );
    }
    let extent = if is_global {
        String::new()
    } else {
        format!(", which has {length} bytes")
    };
    let constant = if is_global && access.write && readable(state, address, access.size) {
        ", which is constant memory"
    } else {
        ""
    };
    (
        CUresult::ILLEGAL_ADDRESS,
        format!("illegal {verb} {at}{extent}{constant}"),
    )
}

/// A thread came to a barrier whose number no barrier has.
pub(super) fn stray_barrier(
    state: &LaunchState,
    block: [u32; 3],
    thread: u32,
    number: u32,
    place: Option<&Place>,
) -> Fault {
    let [x, y, z] = state
        .tids
        .get(thread as usize)
        .map_or([thread, 0, 0], |&tid| unpack(tid));
    Fault {
        code: CUresult::ILLEGAL_INSTRUCTION,
        message: format!(
            "kernel `{}`: a wait at barrier {number}, but a block has barriers 0 to 15{}, block ({}, {}, {}), \
             thread ({x}, {y}, {z})",
            state.launch.kernel.info.name,
            place.map(place_text).unwrap_or_default(),
            block[0],
            block[1],
            block[2],
        ),
    }
}

/// The host has not the memory that a block needs.
pub(super) fn no_memory(state: &LaunchState) -> Fault {
    let launch = &state.launch;
    let kernel = &launch.kernel;
    Fault {
        code: CUresult::LAUNCH_OUT_OF_RESOURCES,
        message: format!(
            "kernel `{}`: the host has not the memory for a block of {} threads with {} bytes of local memory and stack \
             each, and {} bytes of shared memory",
            kernel.info.name,
            state.tids.len(),
            u64::from(kernel.local_bytes)
                + u64::from(if kernel.recursive {
                    launch.stack_bytes
                } else {
                    0
                }),
            u64::from(kernel.static_shared) + u64::from(launch.dynamic_shared),
        ),
    }
}

/// The device's own code failed.
pub(super) fn panicked(state: &LaunchState, text: &str) -> Fault {
    Fault {
        code: CUresult::UNKNOWN,
        message: format!(
            "kernel `{}`: the software device failed: {text}",
            state.launch.kernel.info.name
        ),
    }
}

/// Nobody in the block can go on.
pub(crate) fn deadlock(state: &LaunchState, block: [u32; 3], waiting: &str) -> Fault {
    Fault {
        code: CUresult::LAUNCH_FAILED,
        message: format!(
            "kernel `{}`: deadlock in block ({}, {}, {}): {waiting}",
            state.launch.kernel.info.name, block[0], block[1], block[2]
        ),
    }
}
