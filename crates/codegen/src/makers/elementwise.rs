//! An operation on each element.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use cuprum_driver_core::{Context, Function, LaunchConfig, Stream};

use super::arguments::{ArgumentList, Declared, MakerArgs};
use super::text::{Common, THREADS, blocks, common_methods, part};
use crate::code::Code;
use crate::error::{Error, ErrorKind, Result};

#[cfg(doc)]
use crate::module::SourceModule;

/// The names that the operation has.
const NAMES: &[&str] = &["i", "n"];

/// Blocks of a multiprocessor: eight of 256 threads fill it.
const BLOCKS: u32 = 8;

/// A kernel that does something for each element, as `pycuda.elementwise.ElementwiseKernel`.
///
/// ```
/// use cuprum_codegen::makers::{Elements, ElementwiseKernel};
/// use cuprum_driver_core::{Device, DeviceBuffer};
///
/// # fn main() -> Result<(), cuprum_codegen::Error> {
/// let context = Device::default()?.context()?;
/// // SAFETY: only element i of each vector is accessed.
/// let axpby = unsafe {
///     ElementwiseKernel::new(
///         &context,
///         "float a, const float *x, float b, const float *y, float *z",
///         "z[i] = a * x[i] + b * y[i]",
///     )?
/// };
/// let stream = context.default_stream();
/// let x = DeviceBuffer::from_slice(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
/// let y = DeviceBuffer::from_slice(&stream, &[10.0f32; 4])?;
/// let mut z = DeviceBuffer::<f32>::zeros(&stream, 4)?;
/// axpby.call(&stream, (2.0f32, &x, 0.5f32, &y, &mut z))?;
/// assert_eq!(z.to_vec()?, [7.0, 9.0, 11.0, 13.0]);
///
/// // Every second element, from the end.
/// axpby.call_on(&stream, Elements::slice(None, None, -2), (0.0f32, &x, 0.0f32, &y, &mut z))?;
/// assert_eq!(z.to_vec()?, [7.0, 0.0, 11.0, 0.0]);
/// # Ok(())
/// # }
/// ```
///
/// The operation is a statement, or several with `;` between them, over the arguments, `i` (`long long`, the index) and `n` (the number of elements).
/// It may write several vectors of different types. Vectors are `__restrict__`: what is written is passed exclusively.
#[doc(alias = "pycuda.elementwise.ElementwiseKernel")]
pub struct ElementwiseKernel {
    context: Context,
    declared: Declared,
    builder: ElementwiseBuilder,
    /// Over all elements, and over a range of them: compiled when first called.
    all: OnceLock<Function>,
    some: OnceLock<Function>,
}

/// An [`ElementwiseKernel`] to be.
#[derive(Debug, Clone)]
#[must_use]
pub struct ElementwiseBuilder {
    common: Common,
    operation: String,
    before: String,
    after: String,
}

impl ElementwiseBuilder {
    common_methods!();

    /// Statements that each thread runs before its elements, such as declarations of variables that live through all of them.
    pub fn before_loop(mut self, code: impl Into<String>) -> Self {
        self.before = code.into();
        self
    }

    /// Statements that each thread runs after its elements.
    pub fn after_loop(mut self, code: impl Into<String>) -> Self {
        self.after = code.into();
        self
    }

    /// Compiles the kernel.
    ///
    /// # Errors
    /// [`ErrorKind::Source`] for arguments that cannot be read, or whose names are taken; otherwise as
    /// [`SourceModule::new`].
    ///
    /// # Safety
    /// For every `i` from 0 to `n - 1` the operation accesses vectors only inside their lengths, and writes an element only
    /// if no other `i` accesses it. The statements before and after the loop access none.
    pub unsafe fn build(self, context: &Context) -> Result<ElementwiseKernel> {
        let common = &self.common;
        let declared = Declared::parse(&common.name, &common.arguments, &common.any_length, NAMES)?;
        let kernel = ElementwiseKernel {
            context: context.clone(),
            declared,
            builder: self,
            all: OnceLock::new(),
            some: OnceLock::new(),
        };
        // Now, so that a wrong operation is an error here. Ranges are compiled if they are wanted.
        kernel.function(false)?;
        Ok(kernel)
    }

    /// The source: over all elements, or over a range.
    fn text(&self, declared: &Declared, some: bool) -> String {
        let Common { name, preamble, .. } = &self.common;
        let mut code = Code::new();
        code.line(declared.headers());
        part(&mut code, "preamble", preamble, "");
        let range = if some {
            ", long long cuprum_start, long long cuprum_step, long long cuprum_count"
        } else {
            ""
        };
        code.block(
            format!(
                "extern \"C\" __global__ void __launch_bounds__({THREADS}) {name}({}long long n{range})",
                declared.parameters()
            ),
            |code| {
                part(code, "before_loop", &self.before, "");
                let count = if some { "cuprum_count" } else { "n" };
                let start = format!("(long long)blockIdx.x * {THREADS} + threadIdx.x");
                let index = if some { "cuprum_k" } else { "i" };
                code.block(
                    format!("for (long long {index} = {start}; {index} < {count}; {index} += (long long)gridDim.x * {THREADS})"),
                    |code| {
                        if some {
                            code.line("const long long i = cuprum_start + cuprum_k * cuprum_step;");
                        }
                        part(code, "operation", &self.operation, ";");
                    },
                );
                part(code, "after_loop", &self.after, "");
            },
        );
        code.into()
    }
}

/// Which elements a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Elements {
    /// Each of them.
    All,
    /// From `start` in steps of `step` as long as `stop` is not reached.
    Range {
        /// The first.
        start: i64,
        /// The first that is not reached.
        stop: i64,
        /// The distance of one to the next; may be negative.
        step: i64,
    },
    /// As Python's `start:stop:step`: negative numbers count from the end, what is left out is the whole, what is outside is cut.
    Slice {
        /// The first.
        start: Option<i64>,
        /// The first that is not reached.
        stop: Option<i64>,
        /// The distance of one to the next; may be negative.
        step: i64,
    },
}

impl Elements {
    /// `start..stop` in steps.
    #[must_use]
    pub fn range(start: i64, stop: i64, step: i64) -> Self {
        Self::Range { start, stop, step }
    }

    /// Python's `start:stop:step`.
    #[must_use]
    pub fn slice(start: impl Into<Option<i64>>, stop: impl Into<Option<i64>>, step: i64) -> Self {
        Self::Slice {
            start: start.into(),
            stop: stop.into(),
            step,
        }
    }

    /// First, step and count of the elements among `n`.
    fn resolve(self, n: usize) -> Result<(i64, i64, i64), String> {
        let len = i64::try_from(n).map_err(|_| format!("{n} elements are too many"))?;
        let (start, stop, step) = match self {
            Self::All => return Ok((0, 1, len)),
            Self::Range { start, stop, step } => (start, stop, step),
            Self::Slice { start, stop, step } => {
                // Python's slice.indices: the ends of a backward slice are n - 1 and -1.
                let (low, high) = if step < 0 { (-1, len - 1) } else { (0, len) };
                let place = |end: Option<i64>, missing: i64| match end {
                    None => missing,
                    Some(end) if end < 0 => end.saturating_add(len).clamp(low, high),
                    Some(end) => end.clamp(low, high),
                };
                let (first, last) = if step < 0 { (high, low) } else { (low, high) };
                (place(start, first), place(stop, last), step)
            }
        };
        if step == 0 {
            return Err("the step is 0".to_owned());
        }
        // In 128 bits nothing overflows.
        let (wide_start, wide_stop, wide_step) =
            (i128::from(start), i128::from(stop), i128::from(step));
        let distance = (wide_stop - wide_start) * wide_step.signum();
        if distance <= 0 {
            return Ok((0, 1, 0));
        }
        let size = wide_step.abs();
        let count = (distance + size - 1) / size;
        let last = wide_start + (count - 1) * wide_step;
        for index in [wide_start, last] {
            if !(0..i128::from(len)).contains(&index) {
                return Err(format!("index {index} is outside of {n} elements"));
            }
        }
        let count = i64::try_from(count).expect("not more than there are elements");
        Ok((start, step, count))
    }
}

impl From<Range<usize>> for Elements {
    fn from(range: Range<usize>) -> Self {
        // Beyond the largest i64 there is no element.
        let place = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
        Self::range(place(range.start), place(range.end), 1)
    }
}

impl ElementwiseKernel {
    /// Compiles a kernel from its arguments and its operation. [`ElementwiseKernel::builder`] has the options.
    ///
    /// # Errors
    /// As [`ElementwiseBuilder::build`].
    ///
    /// # Safety
    /// As for [`ElementwiseBuilder::build`].
    pub unsafe fn new(
        context: &Context,
        arguments: impl Into<String>,
        operation: impl Into<String>,
    ) -> Result<Self> {
        // SAFETY: the caller's promise is this one.
        unsafe { Self::builder(arguments, operation).build(context) }
    }

    /// A kernel to be given options and then built.
    pub fn builder(
        arguments: impl Into<String>,
        operation: impl Into<String>,
    ) -> ElementwiseBuilder {
        ElementwiseBuilder {
            common: Common::new("elementwise", arguments.into()),
            operation: operation.into(),
            before: String::new(),
            after: String::new(),
        }
    }

    /// Queues the operation for every element.
    ///
    /// # Errors
    /// [`ErrorKind::Requirement`] for arguments that are not those declared, or vectors of different lengths; what the
    /// launch returns.
    pub fn call<'a>(&self, stream: &Stream, arguments: impl MakerArgs<'a>) -> Result<()> {
        self.call_on(stream, Elements::All, arguments)
    }

    /// Queues the operation for some elements.
    ///
    /// # Errors
    /// As [`ElementwiseKernel::call`]; [`ErrorKind::Requirement`] also for elements that the vectors do not have.
    pub fn call_on<'a>(
        &self,
        stream: &Stream,
        elements: impl Into<Elements>,
        arguments: impl MakerArgs<'a>,
    ) -> Result<()> {
        let mut list = ArgumentList::default();
        arguments.push_all(&mut list);
        let n = self.declared.check(stream, &list)?;
        let elements = elements.into();
        let (start, step, count) = elements.resolve(n).map_err(|what| {
            Error::new(
                ErrorKind::Requirement,
                format!("kernel `{}`: {what}", self.builder.common.name),
            )
        })?;
        if count == 0 {
            return Ok(());
        }
        let some = elements != Elements::All;
        let mut args = list.into_args();
        args.scalar(n as u64);
        if some {
            args.scalar(start).scalar(step).scalar(count);
        }
        let wanted = (count as usize).div_ceil(THREADS as usize);
        let config = LaunchConfig::grid_1d(blocks(&self.context, wanted, BLOCKS)?, THREADS);
        // SAFETY: the arguments are those declared, each vector of n elements; that the operation keeps to them was
        // promised when the kernel was made, for every index from 0 to n - 1, of which `resolve` gives some.
        unsafe { self.function(some)?.launch(stream, config, &args) }.map_err(Into::into)
    }

    /// The kernel, compiled if it is not yet.
    fn function(&self, some: bool) -> Result<Function> {
        let slot = if some { &self.some } else { &self.all };
        if let Some(function) = slot.get() {
            return Ok(function.clone());
        }
        let common = &self.builder.common;
        let source = common.with_text(self.builder.text(&self.declared, some));
        let function = source.build(&self.context)?.function(&common.name)?;
        Ok(slot.get_or_init(|| function).clone())
    }

    /// The source of the kernel over all elements.
    #[must_use]
    pub fn source(&self) -> String {
        self.builder.text(&self.declared, false)
    }
}

impl fmt::Debug for ElementwiseKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ElementwiseKernel")
            .field("name", &self.builder.common.name)
            .field("operation", &self.builder.operation)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_pythons() {
        // Each against the list that Python gives for range(5)[start:stop:step].
        for (start, stop, step, want) in [
            (None, None, 1, vec![0, 1, 2, 3, 4]),
            (None, None, -1, vec![4, 3, 2, 1, 0]),
            (Some(1), Some(-1), 1, vec![1, 2, 3]),
            (Some(-2), None, 1, vec![3, 4]),
            (None, Some(-3), -1, vec![4, 3]),
            (Some(-100), Some(100), 2, vec![0, 2, 4]),
            (Some(100), Some(-100), -3, vec![4, 1]),
            (Some(3), Some(1), 1, vec![]),
            (Some(1), Some(3), -1, vec![]),
            (Some(2), Some(2), 1, vec![]),
        ] {
            let (first, by, count) = Elements::slice(start, stop, step)
                .resolve(5)
                .expect("a slice");
            let got: Vec<i64> = (0..count).map(|k| first + k * by).collect();
            assert_eq!(got, want, "{start:?}:{stop:?}:{step}");
        }
        assert_eq!(Elements::slice(None, None, 1).resolve(0), Ok((0, 1, 0)));
    }

    #[test]
    fn ranges_stay_inside() {
        assert_eq!(Elements::range(4, -1, -2).resolve(5), Ok((4, -2, 3)));
        assert_eq!(Elements::from(1..4).resolve(5), Ok((1, 1, 3)));
        assert_eq!(
            Elements::range(0, 6, 5).resolve(5),
            Err("index 5 is outside of 5 elements".to_owned())
        );
        assert_eq!(
            Elements::range(-1, 2, 1).resolve(5),
            Err("index -1 is outside of 5 elements".to_owned())
        );
        assert_eq!(
            Elements::range(0, 1, 0).resolve(5),
            Err("the step is 0".to_owned())
        );
        assert!(Elements::range(i64::MIN, i64::MAX, 1).resolve(5).is_err());
    }
}
