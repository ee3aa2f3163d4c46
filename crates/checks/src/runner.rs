//! Compiling and launching the checks' own kernels, and comparing what they wrote.

use std::fmt::Debug;

use cuprum::codegen::Source;
use cuprum::driver::{DeviceCopy, KernelArgs};
use cuprum::prelude::{DeviceBuffer, Function, LaunchConfig, SourceModule, Stream};

use crate::check::{Failure, Report, Subject, ensure};

/// Launches a kernel of this crate and does not wait.
///
/// The rule that makes this safe to call inside the crate: a kernel's source stands next to its launches, accesses
/// only the views it is given and only inside the lengths told, and has the parameter types that the launch passes.
/// Kernels that break the rule on purpose are launched by [`crate::faults`] alone, with its own reasons.
pub(crate) fn launch(
    function: &Function,
    stream: &Stream,
    config: LaunchConfig,
    args: impl KernelArgs,
) -> cuprum::driver::Result<()> {
    // SAFETY: the rule above; each kernel source and its launch are reviewed together.
    unsafe { function.launch(stream, config, args) }
}

/// A compiled source of a check, with the stream to run it on.
pub(crate) struct Kernels {
    stream: Stream,
    module: SourceModule,
}

impl Kernels {
    /// Compiles `source` for the subject's device.
    pub(crate) fn new(subject: &Subject, source: &str) -> Result<Self, Failure> {
        Self::build(subject, SourceModule::builder(source))
    }

    /// Compiles a source with options.
    pub(crate) fn build(subject: &Subject, source: Source) -> Result<Self, Failure> {
        Ok(Self {
            stream: subject.stream.clone(),
            module: source.build(&subject.context)?,
        })
    }

    pub(crate) fn module(&self) -> &SourceModule {
        &self.module
    }

    pub(crate) fn function(&self, name: &str) -> Result<Function, Failure> {
        Ok(self.module.function(name)?)
    }

    /// Launches `name` on the subject's stream.
    pub(crate) fn launch(
        &self,
        name: &str,
        config: LaunchConfig,
        args: impl KernelArgs,
    ) -> Result<(), Failure> {
        Ok(launch(&self.function(name)?, &self.stream, config, args)?)
    }

    /// A zeroed buffer on the subject's stream.
    pub(crate) fn zeros<T: DeviceCopy>(&self, len: usize) -> Result<DeviceBuffer<T>, Failure> {
        Ok(DeviceBuffer::zeros(&self.stream, len)?)
    }

    /// A buffer with these elements on the subject's stream.
    pub(crate) fn upload<T: DeviceCopy>(&self, elements: &[T]) -> Result<DeviceBuffer<T>, Failure> {
        Ok(DeviceBuffer::from_slice(&self.stream, elements)?)
    }

    /// Runs a kernel `(const A *in, R *out, int n)`, one thread an element.
    pub(crate) fn map<A: DeviceCopy, R: DeviceCopy>(
        &self,
        name: &str,
        input: &[A],
    ) -> Result<Vec<R>, Failure> {
        let device = self.upload(input)?;
        let mut output = self.zeros::<R>(input.len())?;
        // A block size that is no multiple of a warp, so that incomplete warps are the rule.
        self.launch(
            name,
            LaunchConfig::for_elements_in(input.len(), 100),
            (&device, &mut output, length(input.len())),
        )?;
        Ok(output.to_vec()?)
    }

    /// Runs a kernel `(R *out)` with the launch given; `out` has `len` elements, zero before.
    pub(crate) fn fill<R: DeviceCopy>(
        &self,
        name: &str,
        config: LaunchConfig,
        len: usize,
    ) -> Result<Vec<R>, Failure> {
        let mut output = self.zeros::<R>(len)?;
        self.launch(name, config, (&mut output,))?;
        Ok(output.to_vec()?)
    }
}

/// A length as the `int` of a kernel.
pub(crate) fn length(len: usize) -> i32 {
    i32::try_from(len).expect("checks work on few elements")
}

/// Compares element by element for equality and names the first that differs.
pub(crate) fn equal<T: PartialEq + Debug>(
    what: &str,
    got: &[T],
    want: &[T],
) -> Result<Report, Failure> {
    ensure!(
        got.len() == want.len(),
        "{what}: {} elements, want {}",
        got.len(),
        want.len()
    );
    for (index, (got, want)) in got.iter().zip(want).enumerate() {
        ensure!(
            got == want,
            "{what}: element {index} is {got:?}, want {want:?}"
        );
    }
    Ok(Report::exact(got.len() as u64))
}

/// Compares a table of results: for each input a row with one result for each name.
pub(crate) fn equal_rows<A: Debug, R: PartialEq + Debug, const N: usize>(
    names: &[&str; N],
    inputs: &[A],
    got: &[[R; N]],
    want: impl Fn(&A) -> [R; N],
) -> Result<Report, Failure> {
    ensure!(
        got.len() == inputs.len(),
        "{} rows, want {}",
        got.len(),
        inputs.len()
    );
    for (input, row) in inputs.iter().zip(got) {
        for ((name, got), want) in names.iter().zip(row).zip(want(input)) {
            ensure!(
                *got == want,
                "{name} of {input:x?} is {got:x?}, want {want:x?}"
            );
        }
    }
    Ok(Report::exact((got.len() * N) as u64))
}

/// The bits of a float, every NaN the same: any NaN equals any NaN.
pub(crate) trait Bits: Copy {
    fn canonical(self) -> u64;
}

impl Bits for f32 {
    fn canonical(self) -> u64 {
        if self.is_nan() {
            u64::from(f32::NAN.to_bits())
        } else {
            u64::from(self.to_bits())
        }
    }
}

impl Bits for f64 {
    fn canonical(self) -> u64 {
        if self.is_nan() {
            f64::NAN.to_bits()
        } else {
            self.to_bits()
        }
    }
}

/// As [`equal_rows`] for floats: the same bits, or NaN where NaN is wanted.
pub(crate) fn equal_float_rows<A: Debug, R: Bits + Debug, const N: usize>(
    names: &[&str; N],
    inputs: &[A],
    got: &[[R; N]],
    want: impl Fn(&A) -> [R; N],
) -> Result<Report, Failure> {
    ensure!(
        got.len() == inputs.len(),
        "{} rows, want {}",
        got.len(),
        inputs.len()
    );
    for (input, row) in inputs.iter().zip(got) {
        for ((name, got), want) in names.iter().zip(row).zip(want(input)) {
            ensure!(
                got.canonical() == want.canonical(),
                "{name} of {input:?} is {got:?} ({:#x}), want {want:?} ({:#x})",
                got.canonical(),
                want.canonical()
            );
        }
    }
    Ok(Report::exact((got.len() * N) as u64))
}
