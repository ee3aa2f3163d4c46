//! Running a case on a device, and judging what came out.

use cuprum::driver::{Args, Function, Global, Limit, Module};
use cuprum::prelude::{DeviceBuffer, LaunchConfig, Stream};

use super::case::{Argument, Expected, Memory};
use super::image::Placed;
use super::lane::Compare;
use super::setup::Address;
use super::{Bound, Case};

/// What a launch left in the buffers and variables of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    buffers: Vec<Vec<u8>>,
    globals: Vec<Vec<u8>>,
    images: Vec<Vec<u8>>,
}

impl Case {
    /// Launches the kernel on `stream` and reads everything back. The module was loaded from `ptx`, or could not be.
    ///
    /// # Errors
    /// What the driver answered, in words.
    pub fn run(
        &self,
        module: &cuprum::driver::Result<Module>,
        ptx: &str,
        stream: &Stream,
    ) -> Result<Outcome, String> {
        let context = stream.context();
        let own = match self.linked {
            Some(more) => Some(Module::linked(context, &[ptx, more])),
            None => self.alone.then(|| Module::from_ptx(context, ptx)),
        };
        let module = own.as_ref().unwrap_or(module).as_ref();
        let module = module.map_err(ToString::to_string)?;
        self.launch(module, stream)
            .map_err(|error| error.to_string())
    }

    /// Compares what the kernel printed with what it should have, line by line in any order.
    ///
    /// # Errors
    /// The first lines that differ.
    pub fn judge_printed(&self, text: &str) -> Result<(), String> {
        let mut found: Vec<&str> = text.lines().collect();
        let mut want: Vec<&str> = self.printed.iter().flatten().map(String::as_str).collect();
        found.sort_unstable();
        want.sort_unstable();
        let matches = |want: &str, found: &str| match want.strip_suffix('…') {
            Some(start) => found.starts_with(start),
            None => want == found,
        };
        let different = want
            .iter()
            .zip(&found)
            .find(|(want, found)| !matches(want, found));
        match different {
            Some((want, found)) => Err(format!("printed {found:?}, want {want:?}")),
            None if want.len() != found.len() => Err(format!(
                "printed {} lines, want {}",
                found.len(),
                want.len()
            )),
            None => Ok(()),
        }
    }

    fn launch(&self, module: &Module, stream: &Stream) -> cuprum::driver::Result<Outcome> {
        let kernel = module.function(&self.kernel)?;
        let context = stream.context();
        if self.stack_bytes > context.limit(Limit::Stack)? {
            context.set_limit(Limit::Stack, self.stack_bytes)?;
        }
        let globals = self
            .globals
            .iter()
            .map(|memory| {
                let global: Global<u8> = module.global(&memory.name)?;
                global.write(stream, &memory.initial)?;
                Ok(global)
            })
            .collect::<cuprum::driver::Result<Vec<_>>>()?;
        let mut buffers = self
            .buffers
            .iter()
            .map(|memory| DeviceBuffer::from_slice(stream, &memory.initial))
            .collect::<cuprum::driver::Result<Vec<_>>>()?;
        for &Address { into, offset, of } in &self.addresses {
            let address = buffers[of].address().to_ne_bytes();
            buffers[into]
                .slice_mut(offset..offset + address.len())
                .copy_from_slice(&address)?;
        }
        let images = self
            .images
            .iter()
            .map(|image| image.place(stream))
            .collect::<cuprum::driver::Result<Vec<_>>>()?;
        let objects = self
            .objects
            .iter()
            .map(|object| object.make(&images))
            .collect::<cuprum::driver::Result<Vec<_>>>()?;
        for handle in &self.handles {
            let bytes = objects[handle.object].handle().to_ne_bytes();
            buffers[handle.into]
                .slice_mut(handle.offset..handle.offset + bytes.len())
                .copy_from_slice(&bytes)?;
        }
        let mut args = Args::new();
        for argument in &self.arguments {
            match argument {
                // An address as a number: a buffer may be given twice. All is used on one stream.
                Argument::Buffer(index, offset) => {
                    args.scalar(buffers[*index].address() + offset);
                }
                Argument::Variable(name, offset) => {
                    let global: Global<u8> = module.global(name)?;
                    args.bytes(&global.read(stream)?[*offset..offset + 8]);
                }
                Argument::Bytes(bytes) => {
                    args.bytes(bytes);
                }
                // As a number, like a buffer: all is used on one stream.
                Argument::Object(index) => {
                    args.scalar(objects[*index].handle());
                }
            }
        }
        let (gx, gy, gz) = self.grid;
        let (bx, by, bz) = self.block;
        let config =
            LaunchConfig::new((gx, gy, gz), (bx, by, bz)).with_shared_bytes(self.shared_bytes);
        // SAFETY: the case gives the kernel the arguments that its source declares and the sizes that it accesses; the
        // buffers live until everything is read back, on the stream that the kernel runs on.
        unsafe { start(&kernel, self.cooperative, stream, config, args)? };
        stream.synchronize()?;
        let mut found: Vec<Vec<u8>> = buffers
            .iter()
            .map(DeviceBuffer::to_vec)
            .collect::<cuprum::driver::Result<_>>()?;
        // Addresses that are still there are what was there before them: they are not for comparing.
        for &Address { into, offset, of } in &self.addresses {
            let place = offset..offset + size_of::<u64>();
            if found[into][place.clone()] == buffers[of].address().to_ne_bytes() {
                found[into][place.clone()].copy_from_slice(&self.buffers[into].initial[place]);
            }
        }
        // Handles are not for comparing, either.
        for handle in &self.handles {
            let place = handle.offset..handle.offset + size_of::<u64>();
            let initial = &self.buffers[handle.into].initial[place.clone()];
            found[handle.into][place].copy_from_slice(initial);
        }
        Ok(Outcome {
            images: images
                .iter()
                .map(Placed::contents)
                .collect::<cuprum::driver::Result<_>>()?,
            buffers: found,
            globals: globals
                .iter()
                .map(|global| global.read(stream))
                .collect::<cuprum::driver::Result<_>>()?,
        })
    }

    /// Compares with what the host computed; answers with the largest error, in the unit of the bound that allows it.
    ///
    /// # Errors
    /// Which argument or variable is wrong, and where.
    pub fn judge(&self, outcome: &Outcome) -> Result<f64, String> {
        let mut largest = 0.0f64;
        for (memory, found) in self.found(outcome) {
            let judged = match &memory.expected {
                Expected::Unchanged if *found == memory.initial => Ok(0.0),
                Expected::Unchanged => Err("it was changed".to_owned()),
                Expected::Values {
                    want,
                    bound,
                    compare,
                } => compare(want, found, *bound),
                Expected::OneOf {
                    wants,
                    compare,
                    width,
                } => one_of(wants, found, *compare, *width),
                Expected::Judged { judge, .. } => judge(found).map(|()| 0.0),
            };
            largest = largest.max(judged.map_err(|text| format!("{}: {text}", memory.name))?);
        }
        for (image, found) in self.images.iter().zip(&outcome.images) {
            let judged = image.judge(found);
            largest = largest.max(judged.map_err(|text| format!("{}: {text}", image.name))?);
        }
        Ok(largest)
    }

    /// Compares the outcomes of two devices: how far they are apart, in words, or why that is too far. Each is within its
    /// bound of the reference already, so two may be twice as far apart.
    ///
    /// # Errors
    /// Which argument or variable differs, and where.
    pub fn between(&self, one: &Outcome, other: &Outcome) -> Result<String, String> {
        let mut words = "equal".to_owned();
        for ((memory, a), (_, b)) in self.found(one).zip(self.found(other)) {
            if a == b {
                continue;
            }
            match &memory.expected {
                Expected::Unchanged => return Err(format!("{}: it was changed", memory.name)),
                Expected::Values { bound, compare, .. } => {
                    let apart = compare(a, b, bound.doubled())
                        .map_err(|text| format!("{}: between devices: {text}", memory.name))?;
                    words = bound.apart(apart);
                }
                // The same code gives the same bits, whichever they are; any NaN is like any other.
                Expected::OneOf { .. } if self.contracts => {
                    words = "each rounded in one of the allowed ways".to_owned();
                }
                Expected::OneOf { compare, .. } => {
                    compare(a, b, Bound::Equal)
                        .map_err(|text| format!("{}: between devices: {text}", memory.name))?;
                }
                Expected::Judged { what, .. } => words = format!("each {what}"),
            }
        }
        Ok(words)
    }

    fn found<'a>(
        &'a self,
        outcome: &'a Outcome,
    ) -> impl Iterator<Item = (&'a Memory, &'a Vec<u8>)> {
        self.buffers
            .iter()
            .zip(&outcome.buffers)
            .chain(self.globals.iter().zip(&outcome.globals))
    }
}

/// Each element equals that of one of the references.
fn one_of(wants: &[Vec<u8>], found: &[u8], compare: Compare, width: usize) -> Result<f64, String> {
    for (index, element) in found.chunks_exact(width).enumerate() {
        let at = index * width..(index + 1) * width;
        let answers: Vec<String> = wants
            .iter()
            .filter_map(|want| compare(&want[at.clone()], element, Bound::Equal).err())
            .collect();
        if answers.len() == wants.len() {
            let texts: Vec<&str> = answers
                .iter()
                .map(|text| text.trim_start_matches("element 0 "))
                .collect();
            return Err(format!("element {index} {}", texts.join("; or ")));
        }
    }
    Ok(0.0)
}

/// # Safety
/// As for [`Function::launch`].
unsafe fn start(
    kernel: &Function,
    cooperative: bool,
    stream: &Stream,
    config: LaunchConfig,
    args: Args<'_>,
) -> cuprum::driver::Result<()> {
    if cooperative {
        // SAFETY: the caller's promise.
        unsafe { kernel.launch_cooperative(stream, config, args) }
    } else {
        // SAFETY: the caller's promise.
        unsafe { kernel.launch(stream, config, args) }
    }
}
