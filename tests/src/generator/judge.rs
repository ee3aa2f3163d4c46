//! Runs a kernel on a device and on the interpreter, and compares all results.

use std::fmt::Write as _;

use cuprum::prelude::*;

use super::Kernel;
use super::class::{Class, REGISTERS};
use super::render::{AREA, AREAS, RECORD, TOTALS};
use crate::interpreter::{self, Launch, Memory};

/// What comparing a kernel's results gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All results are equal.
    Agreed,
    /// Something differs, or one of both failed; the text tells.
    Differs(String),
}

/// A device and the context of its runs.
#[derive(Debug)]
pub struct Judge {
    device: Device,
    context: Context,
}

struct Results {
    outputs: Vec<u8>,
    places: Vec<u8>,
    totals: Vec<u8>,
}

/// The bytes that a launch begins with.
struct Inputs {
    records: Vec<u8>,
    places: Vec<u8>,
    totals: Vec<u8>,
}

impl Inputs {
    fn of(kernel: &Kernel) -> Inputs {
        let threads = (kernel.block * kernel.grid) as usize;
        let mut records = Vec::with_capacity(threads * RECORD);
        for thread in 0..threads {
            for class in Class::ALL {
                for register in 0..REGISTERS {
                    records.extend(input(kernel.seed, thread, class, register).to_le_bytes());
                }
            }
        }
        let mut places = Vec::with_capacity(threads * AREA);
        for thread in 0..threads {
            for at in (0..64).step_by(8) {
                let random = mix(kernel.seed ^ 0x5bd1 ^ (thread * AREA + at) as u64);
                places.extend(Class::B64.value(random).to_le_bytes());
            }
            places.extend((64..AREA).map(|i| if i % 4 == 3 { 0x3f } else { i as u8 }));
        }
        Inputs {
            records,
            places,
            totals: vec![0x5a; TOTALS * 8],
        }
    }
}

/// The first value of a register.
fn input(seed: u64, thread: usize, class: Class, register: usize) -> u64 {
    let base = mix(seed ^ class.slot(register) as u64);
    // Some registers are the same, or nearly, in all threads.
    let random = match base >> 60 {
        0 => base,
        1 => mix(base ^ (thread as u64 & 3)),
        _ => mix(base ^ (thread as u64) << 32),
    };
    class.value(random)
}

/// Spreads bits: `splitmix64`.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

impl Judge {
    /// A judge of a device.
    ///
    /// # Errors
    /// If the device gives no context.
    pub fn new(device: Device) -> cuprum::Result<Judge> {
        let context = device.context()?;
        Ok(Judge { device, context })
    }

    /// Runs a kernel on both and compares.
    ///
    /// # Errors
    /// If the device does not give a new context after a kernel that failed.
    pub fn judge(&mut self, kernel: &Kernel) -> cuprum::Result<Verdict> {
        let text = kernel.text();
        let inputs = Inputs::of(kernel);
        let (ours, addresses) = match self.on_device(kernel, &text, &inputs) {
            Ok(results) => results,
            Err(error) => {
                self.context = self.device.context()?;
                return Ok(Verdict::Differs(format!("the device failed: {error}")));
            }
        };
        Ok(match on_interpreter(kernel, &text, &inputs, &addresses) {
            Ok(theirs) => compare(kernel, &text, &ours, &theirs),
            Err(stop) => Verdict::Differs(format!("the interpreter failed: {stop}")),
        })
    }

    fn on_device(
        &self,
        kernel: &Kernel,
        text: &str,
        inputs: &Inputs,
    ) -> cuprum::Result<(Results, [u64; 4])> {
        let stream = self.context.default_stream();
        let module = Module::from_ptx(&self.context, text)?;
        let function = module.function("k")?;
        let records = DeviceBuffer::from_slice(&stream, &inputs.records)?;
        let mut outputs = DeviceBuffer::<u8>::zeros(&stream, inputs.records.len())?;
        let mut places = DeviceBuffer::from_slice(&stream, &inputs.places)?;
        let mut totals = DeviceBuffer::from_slice(&stream, &inputs.totals)?;
        let addresses = [
            records.address(),
            outputs.address(),
            places.address(),
            totals.address(),
        ];
        let config = LaunchConfig::new((kernel.grid, 1, 1), (kernel.block, 1, 1));
        // SAFETY: the kernel takes four pointers and a word; it accesses the buffers at records of its own thread, whose number the
        // buffers were made for, and the totals by atomic operations. If a faulty device makes it do otherwise, the device's checks stop it.
        unsafe {
            function.launch(
                &stream,
                config,
                (
                    &records,
                    &mut outputs,
                    &mut places,
                    &mut totals,
                    kernel.ways,
                ),
            )?;
        }
        let results = Results {
            outputs: outputs.to_vec()?,
            places: places.to_vec()?,
            totals: totals.to_vec()?,
        };
        Ok((results, addresses))
    }
}

fn on_interpreter(
    kernel: &Kernel,
    text: &str,
    inputs: &Inputs,
    addresses: &[u64; 4],
) -> Result<Results, String> {
    let module = cuprum_ptx::parse(text).map_err(|error| error.to_string())?;
    let mut memory = Memory::new();
    memory.add(addresses[0], inputs.records.clone());
    memory.add(addresses[1], vec![0; inputs.records.len()]);
    memory.add(addresses[2], inputs.places.clone());
    memory.add(addresses[3], inputs.totals.clone());
    let mut params: Vec<u8> = addresses.iter().flat_map(|a| a.to_le_bytes()).collect();
    params.extend(kernel.ways.to_le_bytes());
    let launch = Launch {
        grid: [kernel.grid, 1, 1],
        block: [kernel.block, 1, 1],
        dynamic_shared: 0,
        params: &params,
    };
    interpreter::run(&module, "k", &launch, &mut memory).map_err(|stop| format!("{stop:?}"))?;
    let region = |address: u64| {
        memory
            .region(address)
            .expect("the region was added")
            .to_vec()
    };
    Ok(Results {
        outputs: region(addresses[1]),
        places: region(addresses[2]),
        totals: region(addresses[3]),
    })
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Most differences that are told.
const TOLD: usize = 6;

fn compare(kernel: &Kernel, text: &str, ours: &Results, theirs: &Results) -> Verdict {
    let mut told = String::new();
    let mut count = 0;
    let mut tell = |thread: usize, what: &str, a: u64, b: u64| {
        count += 1;
        if count <= TOLD {
            let _ = writeln!(
                told,
                "thread {thread}: {what} is {a:#x} on the device, {b:#x} by the interpreter{}",
                initial(kernel, text, thread)
            );
        }
    };
    let threads = (kernel.block * kernel.grid) as usize;
    for thread in 0..threads {
        for class in Class::ALL {
            for register in 0..REGISTERS {
                let at = thread * RECORD + class.slot(register) * 8;
                let bytes = class.bits().div_ceil(8) as usize;
                let (a, b) = (
                    number(&ours.outputs[at..at + bytes]),
                    number(&theirs.outputs[at..at + bytes]),
                );
                if !class.same(a, b) {
                    tell(thread, &format!("{}{register}", class.prefix()), a, b);
                }
            }
        }
        for (start, end, size, class) in AREAS {
            for offset in (start..end).step_by(size) {
                let at = thread * AREA + offset;
                let (a, b) = (
                    number(&ours.places[at..at + size]),
                    number(&theirs.places[at..at + size]),
                );
                if !class.map_or(a == b, |class| class.same(a, b)) {
                    tell(thread, &format!("its place at {offset}"), a, b);
                }
            }
        }
    }
    for (i, (a, b)) in ours
        .totals
        .chunks(8)
        .zip(theirs.totals.chunks(8))
        .enumerate()
    {
        if a != b {
            tell(0, &format!("total {i}"), number(a), number(b));
        }
    }
    if count == 0 {
        Verdict::Agreed
    } else {
        Verdict::Differs(format!("{count} differences\n{told}"))
    }
}

/// The first values of the registers that the kernel uses, if it is short.
fn initial(kernel: &Kernel, text: &str, thread: usize) -> String {
    let mut told = String::new();
    for class in Class::ALL {
        for register in 0..REGISTERS {
            let at = class.slot(register) * 8;
            if text.contains(&format!("[%in+{at}]")) {
                let _ = write!(
                    told,
                    " {}{register}={:#x}",
                    class.prefix(),
                    input(kernel.seed, thread, class, register)
                );
            }
        }
    }
    if told.len() > 400 {
        String::new()
    } else {
        format!(" (began with{told})")
    }
}
