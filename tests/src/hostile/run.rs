//! Loads, compiles and runs a text that means no good, and looks whether anything outside the device was harmed.

use std::sync::{Mutex, PoisonError};

use cuprum::driver::{Args, Error, Result};
use cuprum::prelude::*;

/// What became of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All its kernels ran.
    Ran,
    /// The module or a kernel was refused, in these words.
    Refused(String),
    /// A kernel was stopped, and its context lost.
    Stopped(String),
}

/// Bytes of each buffer that kernels are given.
const BYTES: usize = 64 << 10;
/// Most kernels of a module that are tried.
const KERNELS: usize = 4;
/// Threads of a block.
const BLOCK: u32 = 64;

/// A kernel that shows whether a context works: it writes three times the thread's number.
const GOOD: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\
    .visible .entry good(.param .u64 out) { .reg .b32 %r<3>; .reg .b64 %d<4>; ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x;\
    mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d1, %d2; mul.lo.u32 %r2, %r1, 3; st.global.u32 [%d3], %r2; ret; }";

/// Messages of panics, wherever in the process they happen.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A device to attack, and host memory that must stay as it is.
#[derive(Debug)]
pub struct Arena {
    device: Device,
    context: Context,
    canaries: Vec<Vec<u8>>,
}

fn canary(index: usize, at: usize) -> u8 {
    (index * 31 + at * 7 + 3) as u8
}

impl Arena {
    /// An arena on a device. From now on panics are counted, also those that are caught.
    ///
    /// # Errors
    /// If the device gives no context.
    pub fn new(device: Device) -> Result<Arena> {
        std::panic::set_hook(Box::new(|info| {
            PANICS
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(info.to_string());
        }));
        let sizes = [64, 4096, 65_536, 1 << 20];
        let canaries = (0..64)
            .map(|index| {
                (0..sizes[index % sizes.len()])
                    .map(|at| canary(index, at))
                    .collect()
            })
            .collect();
        let context = device.context()?;
        Ok(Arena {
            device,
            context,
            canaries,
        })
    }

    /// Tries a text.
    ///
    /// # Errors
    /// What went wrong that must not: a panic, a failure of the code generator, host memory that changed, a device that does not recover.
    pub fn attack(&mut self, text: &str) -> std::result::Result<Outcome, String> {
        PANICS
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        let (outcome, fatal) = match self.run(text) {
            Ok(()) => (Outcome::Ran, false),
            Err(error) => {
                let told = error.to_string();
                if told.contains("panicked") || told.contains("code generator failed") {
                    return Err(told);
                }
                if error.is_fatal() {
                    (Outcome::Stopped(told), true)
                } else {
                    (Outcome::Refused(told), false)
                }
            }
        };
        if fatal {
            self.context = self
                .device
                .context()
                .map_err(|error| format!("after {outcome:?}: {error}"))?;
        }
        self.good()
            .map_err(|error| format!("a good kernel fails after {outcome:?}: {error}"))?;
        for (index, bytes) in self.canaries.iter().enumerate() {
            if let Some(at) = bytes
                .iter()
                .enumerate()
                .position(|(at, &byte)| byte != canary(index, at))
            {
                return Err(format!(
                    "host memory changed: byte {at} of canary {index} after {outcome:?}"
                ));
            }
        }
        let panics = std::mem::take(&mut *PANICS.lock().unwrap_or_else(PoisonError::into_inner));
        match panics.first() {
            Some(panic) => Err(panic.clone()),
            None => Ok(outcome),
        }
    }

    fn run(&self, text: &str) -> Result<()> {
        let module = Module::from_ptx(&self.context, text)?;
        let stream = self.context.new_stream()?;
        let mut refused: Option<Error> = None;
        let mut buffers = [
            DeviceBuffer::<u8>::zeros(&stream, BYTES)?,
            DeviceBuffer::<u8>::zeros(&stream, BYTES)?,
        ];
        for name in module.functions()?.iter().take(KERNELS) {
            if let Err(error) = launch(&module, name, &stream, &mut buffers) {
                if error.is_fatal() {
                    return Err(error);
                }
                refused = Some(error);
            }
        }
        refused.map_or(Ok(()), Err)
    }

    fn good(&self) -> Result<()> {
        let stream = self.context.default_stream();
        let function = Module::from_ptx(&self.context, GOOD)?.function("good")?;
        let mut out = DeviceBuffer::<u32>::zeros(&stream, 32)?;
        let config = LaunchConfig::new((1, 1, 1), (32, 1, 1));
        // SAFETY: the kernel writes one word for each of 32 threads to its only argument, which has 32.
        unsafe { function.launch(&stream, config, (&mut out,))? };
        let result = out.to_vec()?;
        assert!(
            result.iter().enumerate().all(|(i, &x)| x == 3 * i as u32),
            "a good kernel computes {result:?}"
        );
        Ok(())
    }
}

fn launch(
    module: &Module,
    name: &str,
    stream: &Stream,
    buffers: &mut [DeviceBuffer<u8>; 2],
) -> Result<()> {
    let function = module.function(name)?;
    let mut args = Args::new();
    for (index, param) in function.params().iter().enumerate() {
        // Pointers where one fits, and a small number elsewhere.
        let mut bytes = vec![0; param.size.min(1 << 16) as usize];
        if param.size == 8 {
            bytes = buffers[index % 2].address().to_le_bytes().to_vec();
        } else if let Some(first) = bytes.first_mut() {
            *first = 9;
        }
        args.bytes(&bytes);
    }
    let threads = BLOCK.min(function.max_threads_per_block());
    let config = LaunchConfig::new((2, 1, 1), (threads, 1, 1)).with_shared_bytes(512);
    // SAFETY: none of the promises of a launch is kept: that the software device, whose checks stop what is wrong, does no harm to
    // the process is what is tried here. Arguments have the sizes that the image declares.
    unsafe { function.launch(stream, config, &args)? };
    stream.synchronize()
}
