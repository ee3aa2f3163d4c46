//! Tests of the engine from PTX text to results in memory, on a small memory of their own.

mod arithmetic;
mod calls;
mod corpus;
mod faults;
mod groups;
mod inline;
mod memory;
mod progress;
mod speed;
mod sync;

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use super::{CompiledKernel, Fault, Launch, Workers, run};
use crate::config::CodeQuality;
use crate::memory::{MemoryMap, SlowPath};
use crate::printf::PrintfSink;
use crate::program::{LoadError, Program};

const ARENA: usize = 1 << 22;

/// Workers of all tests.
static WORKERS: LazyLock<Workers> =
    LazyLock::new(|| Workers::new(2).expect("threads can be started"));

#[derive(Clone, Copy)]
#[repr(align(256))]
struct Granule(#[expect(dead_code, reason = "memory is accessed by address")] [u8; 256]);

/// Device memory of a test.
struct Arena {
    granules: Box<[std::cell::UnsafeCell<Granule>]>,
    shadow: Box<[AtomicU16]>,
    used: Mutex<usize>,
    /// An address outside the arena that may be read.
    host: Mutex<Option<(u64, u64)>>,
    text: Mutex<Vec<u8>>,
    frees: AtomicU64,
}

// SAFETY: the memory is accessed by address only, by one launch at a time or atomically, as device memory is.
unsafe impl Send for Arena {}
// SAFETY: as for `Send`.
unsafe impl Sync for Arena {}

impl SlowPath for Arena {
    fn allows(&self, addr: u64, size: u32, _write: bool) -> bool {
        let host = *self.host.lock().expect("no test panics with the lock");
        host.is_some_and(|(start, len)| addr >= start && addr + u64::from(size) <= start + len)
    }

    fn extent(&self, addr: u64, _write: bool) -> Option<(u64, u64)> {
        let base = self.base();
        let valid = |granule: usize| usize::from(self.shadow[granule].load(Ordering::Relaxed));
        let mut first = ((addr - base) / 256) as usize;
        let mut last = first;
        while first > 0 && valid(first - 1) > 0 {
            first -= 1;
        }
        while valid(last) == 256 {
            last += 1;
        }
        let end = last * 256 + valid(last);
        ((addr - base) < end as u64).then_some((base + first as u64 * 256, base + end as u64))
    }

    fn describe(&self, addr: u64) -> String {
        format!("{addr:#x} is in no allocation of the test")
    }

    fn malloc(&self, bytes: u64) -> u64 {
        self.alloc(bytes as usize)
    }

    fn free(&self, addr: u64) -> bool {
        let mut granule = ((addr - self.base()) / 256) as usize;
        while self.shadow[granule].swap(0, Ordering::Relaxed) == 256 {
            granule += 1;
        }
        self.frees.fetch_add(1, Ordering::Relaxed);
        true
    }
}

impl Arena {
    fn base(&self) -> u64 {
        self.granules.as_ptr().expose_provenance() as u64
    }

    /// Allocates zeroed memory.
    fn alloc(&self, bytes: usize) -> u64 {
        let mut used = self.used.lock().expect("no test panics with the lock");
        let first = *used;
        let granules = bytes.div_ceil(256);
        for index in 0..granules {
            let valid = (bytes - index * 256).min(256);
            self.shadow[first + index].store(valid as u16, Ordering::Relaxed);
        }
        // One granule stays free after each allocation.
        *used += granules + 1;
        self.base() + first as u64 * 256
    }
}

impl PrintfSink for Arena {
    fn write(&self, text: &[u8]) {
        self.text
            .lock()
            .expect("no test panics with the lock")
            .extend_from_slice(text);
    }
}

/// A device of one test.
struct Machine {
    arena: Arc<Arena>,
}

/// How a kernel is launched.
#[derive(Clone)]
struct Config {
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
    time_limit: Duration,
    resident: u32,
    cancel: Arc<AtomicBool>,
}

impl Config {
    fn new(grid: u32, block: u32) -> Self {
        Self {
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            dynamic_shared: 0,
            time_limit: Duration::from_secs(20),
            resident: 16,
            cancel: Arc::default(),
        }
    }
}

/// An argument of a kernel.
#[derive(Clone, Copy)]
enum Arg {
    U32(u32),
    U64(u64),
    F32(f32),
}

impl Machine {
    fn new() -> Self {
        let granules = (0..ARENA / 256)
            .map(|_| std::cell::UnsafeCell::new(Granule([0; 256])))
            .collect();
        let shadow = (0..ARENA / 256).map(|_| AtomicU16::new(0)).collect();
        Self {
            arena: Arc::new(Arena {
                granules,
                shadow,
                used: Mutex::new(4),
                host: Mutex::default(),
                text: Mutex::default(),
                frees: AtomicU64::new(1),
            }),
        }
    }

    fn base(&self) -> u64 {
        self.arena.base()
    }

    /// Allocates zeroed memory.
    fn alloc(&self, bytes: usize) -> u64 {
        self.arena.alloc(bytes)
    }

    fn upload<T: Copy>(&self, data: &[T]) -> u64 {
        let address = self.alloc(size_of_val(data));
        let target: *mut T = std::ptr::with_exposed_provenance_mut(address as usize);
        // SAFETY: the allocation is as long as the data and aligned to 256; no kernel uses it yet.
        unsafe { target.copy_from_nonoverlapping(data.as_ptr(), data.len()) };
        address
    }

    fn download<T: Copy + Default>(&self, address: u64, count: usize) -> Vec<T> {
        let mut data = vec![T::default(); count];
        let source: *const T = std::ptr::with_exposed_provenance(address as usize);
        // SAFETY: tests download from their own allocations, after the kernel has finished.
        unsafe { data.as_mut_ptr().copy_from_nonoverlapping(source, count) };
        data
    }

    fn text(&self) -> String {
        let text = self
            .arena
            .text
            .lock()
            .expect("no test panics with the lock");
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Loads and compiles a kernel.
    fn prepare(&self, ptx: &str, kernel: &str) -> Arc<CompiledKernel> {
        let program = Program::parse(ptx).unwrap_or_else(|error| panic!("{}", error.message));
        let addresses: Vec<u64> = program
            .variables()
            .iter()
            .map(|variable| self.alloc((variable.size as usize).max(1)))
            .collect();
        for (variable, &address) in program.variables().iter().zip(&addresses) {
            let mut contents = variable.initial.clone();
            contents.resize(variable.size as usize, 0);
            for relocation in &variable.relocations {
                relocation.apply(&mut contents, &addresses);
            }
            let target: *mut u8 = std::ptr::with_exposed_provenance_mut(address as usize);
            // SAFETY: the variable was allocated with this size above.
            unsafe { target.copy_from_nonoverlapping(contents.as_ptr(), contents.len()) };
        }
        let index = program
            .kernels()
            .iter()
            .position(|info| info.name == kernel)
            .expect("the kernel exists");
        program
            .compile(index, &addresses, quality())
            .unwrap_or_else(|error| panic!("{}", error.message))
    }

    fn start(
        &self,
        compiled: &Arc<CompiledKernel>,
        config: &Config,
        args: &[Arg],
    ) -> Result<(), Fault> {
        let mut params = Vec::new();
        for (info, arg) in compiled.info.params.iter().zip(args) {
            params.resize(info.offset as usize, 0);
            match arg {
                Arg::U32(value) => params.extend_from_slice(&value.to_le_bytes()),
                Arg::U64(value) => params.extend_from_slice(&value.to_le_bytes()),
                Arg::F32(value) => params.extend_from_slice(&value.to_le_bytes()),
            }
        }
        assert_eq!(compiled.info.params.len(), args.len());
        let launch = Launch {
            kernel: Arc::clone(compiled),
            grid: config.grid,
            block: config.block,
            dynamic_shared: config.dynamic_shared,
            params: params.into(),
            memory: MemoryMap {
                base: self.base(),
                len: ARENA as u64,
                shadow: self.arena.shadow.as_ptr().cast(),
                writable: self.arena.shadow.as_ptr().cast(),
                frees: &raw const self.arena.frees,
                slow: Arc::clone(&self.arena) as Arc<dyn SlowPath>,
            },
            images: crate::texture::Objects::default()
                .images()
                .expect("nothing is bound"),
            stack_bytes: 1024,
            time_limit: Some(config.time_limit),
            cancel: Arc::clone(&config.cancel),
            printf: Arc::clone(&self.arena) as Arc<dyn PrintfSink>,
            sm_count: 2,
            resident_per_sm: config.resident.div_ceil(2),
            grid_id: 1,
            grid_workspace: 0,
            priority: 0,
        };
        run(&launch, &WORKERS)
    }

    fn launch(&self, ptx: &str, kernel: &str, config: &Config, args: &[Arg]) -> Result<(), Fault> {
        self.start(&self.prepare(ptx, kernel), config, args)
    }

    /// As [`launch`](Self::launch) for kernels that end well.
    fn succeed(&self, ptx: &str, kernel: &str, config: &Config, args: &[Arg]) {
        if let Err(fault) = self.launch(ptx, kernel, config, args) {
            panic!("{}", fault.message);
        }
    }

    /// As [`launch`](Self::launch) for kernels that fault.
    fn fail(&self, ptx: &str, kernel: &str, config: &Config, args: &[Arg]) -> Fault {
        match self.launch(ptx, kernel, config, args) {
            Ok(()) => panic!("the kernel should have faulted"),
            Err(fault) => fault,
        }
    }
}

/// How these tests compile: as `CUPRUM_SOFT_CODE` says.
fn quality() -> CodeQuality {
    crate::Config::from_env()
        .expect("the environment makes sense")
        .code
}

/// A module around a body: one kernel `k` whose only parameter is a pointer, in `%out`.
fn with_out(regs: &str, body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 out) {{\n\
         .reg .pred %p<32>; .reg .b16 %h<32>; .reg .b32 %r<64>; .reg .b64 %d<64>; .reg .f32 %f<32>; .reg .f64 %g<32>; .reg .b64 %out;\n{regs}\n\
         ld.param.u64 %out, [out];\n{body}\nret;\n}}\n"
    )
}

/// Runs `body` with one thread and reads `count` results of 32 bits.
fn one_thread(body: &str, count: usize) -> Vec<u32> {
    let machine = Machine::new();
    let out = machine.alloc(4 * count);
    machine.succeed(
        &with_out("", body),
        "k",
        &Config::new(1, 1),
        &[Arg::U64(out)],
    );
    machine.download(out, count)
}

fn load_error(ptx: &str) -> LoadError {
    let program = Program::parse(ptx).unwrap_or_else(|error| panic!("{}", error.message));
    match program.compile(0, &vec![4096; program.variables().len()], quality()) {
        Ok(_) => panic!("the kernel should not compile"),
        Err(error) => error,
    }
}
