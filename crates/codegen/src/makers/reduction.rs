//! All elements become one value.

use std::fmt;
use std::marker::PhantomData;

use cuprum_driver_core::{Context, DeviceBuffer, DeviceViewMut, Function, LaunchConfig, Stream};

use super::arguments::{ArgumentList, Declared, MakerArgs};
use super::text::{Common, SHUFFLES, THREADS, blocks, common_methods, expression, part};
use crate::code::Code;
use crate::error::{Error, ErrorKind, Result};
use crate::repr::DeviceRepr;

/// The names that the expressions have.
const NAMES: &[&str] = &["i", "n", "a", "b"];

/// Elements that a thread should have before another block is worth it.
const PER_THREAD: usize = 8;
/// Blocks of a multiprocessor.
const BLOCKS: u32 = 8;

/// A kernel that makes one value of all elements, as `pycuda.reduction.ReductionKernel`.
///
/// ```
/// use cuprum_codegen::makers::ReductionKernel;
/// use cuprum_driver_core::{Device, DeviceBuffer};
///
/// # fn main() -> Result<(), cuprum_codegen::Error> {
/// let context = Device::default()?.context()?;
/// // SAFETY: only element i of each vector is read.
/// let dot = unsafe {
///     ReductionKernel::<f64>::builder("const float *x, const float *y", "0", "a + b")
///         .map("(double)x[i] * y[i]")
///         .build(&context)?
/// };
/// let stream = context.default_stream();
/// let x = DeviceBuffer::from_slice(&stream, &[1.0f32, 2.0, 3.0])?;
/// let y = DeviceBuffer::from_slice(&stream, &[10.0f32, 20.0, 30.0])?;
/// assert_eq!(dot.call(&stream, (&x, &y))?, 140.0);
/// # Ok(())
/// # }
/// ```
///
/// - `neutral` is the value that changes nothing, and the result of no elements;
/// - `map`, over `i`, `n` and the arguments, is what element `i` gives; without it the element of the first vector;
/// - `reduce`, over `a` and `b`, makes one value of two. It must be associative and commutative: elements are combined in an order that depends on
///   their number and on the device, and is the same each time;
/// - `finish`, over `a` (and `n`), makes the result of the last value, which may have another type.
///
/// Values are of type `A`, any [`DeviceRepr`]: a number, or a structure, which is declared by
/// [`declare`](ReductionBuilder::declare). Results are of type `R`. Many elements take two launches; the second combines what the blocks of the
/// first have found.
#[doc(alias = "pycuda.reduction.ReductionKernel")]
pub struct ReductionKernel<A, R = A> {
    context: Context,
    declared: Declared,
    builder: ReductionBuilder<A, R>,
    elements: Function,
    partials: Function,
}

/// A [`ReductionKernel`] to be.
#[must_use]
pub struct ReductionBuilder<A, R = A> {
    common: Common,
    neutral: String,
    reduce: String,
    map: Option<String>,
    finish: String,
    types: PhantomData<fn() -> (A, R)>,
}

impl<A, R> Clone for ReductionBuilder<A, R> {
    fn clone(&self) -> Self {
        Self {
            common: self.common.clone(),
            neutral: self.neutral.clone(),
            reduce: self.reduce.clone(),
            map: self.map.clone(),
            finish: self.finish.clone(),
            types: PhantomData,
        }
    }
}

impl<A: DeviceRepr, R: DeviceRepr> ReductionBuilder<A, R> {
    common_methods!();

    /// What element `i` gives.
    pub fn map(mut self, expression: impl Into<String>) -> Self {
        self.map = Some(expression.into());
        self
    }

    /// What the last value `a` becomes, in a type of its own.
    pub fn finish<Q: DeviceRepr>(self, expression: impl Into<String>) -> ReductionBuilder<A, Q> {
        ReductionBuilder {
            common: self.common,
            neutral: self.neutral,
            reduce: self.reduce,
            map: self.map,
            finish: expression.into(),
            types: PhantomData,
        }
    }

    /// Compiles the kernel.
    ///
    /// # Errors
    /// [`ErrorKind::Source`] for arguments that cannot be read, or whose names are taken; otherwise as
    /// [`SourceModule::new`](crate::SourceModule::new).
    ///
    /// # Safety
    /// For every `i` from 0 to `n - 1` the expressions read vectors only inside their lengths, and write none. Values that
    /// they give are valid ones of `A` and `R`.
    pub unsafe fn build(mut self, context: &Context) -> Result<ReductionKernel<A, R>> {
        self.common.source = self.common.source.declare::<A>().declare::<R>();
        let common = &self.common;
        let declared = Declared::parse(&common.name, &common.arguments, &common.any_length, NAMES)?;
        let source = common.with_text(self.text(&declared));
        let module = source.build(context)?;
        Ok(ReductionKernel {
            context: context.clone(),
            elements: module.function(&common.name)?,
            partials: module.function(&self.partials_name())?,
            declared,
            builder: self,
        })
    }

    fn partials_name(&self) -> String {
        format!("{}_partials", self.common.name)
    }

    fn text(&self, declared: &Declared) -> String {
        let Common { name, preamble, .. } = &self.common;
        let map = match &self.map {
            Some(map) => map.clone(),
            None => format!("{}[i]", declared.first_vector()),
        };
        let mut code = Code::new();
        code.line(declared.headers()).line(SHUFFLES).line(preamble);
        code.line(format!("typedef {} cuprum_value;", A::c_type()));
        code.line(format!("typedef {} cuprum_result;", R::c_type()));
        code.block(
            "static __device__ __forceinline__ cuprum_value cuprum_reduce(const cuprum_value &a, const cuprum_value &b)",
            |code| {
                expression(code, "reduce", &self.reduce);
            },
        );
        code.block(
            "static __device__ __forceinline__ cuprum_result cuprum_finish(const cuprum_value &a, long long n)",
            |code| {
                expression(code, "finish", &self.finish);
            },
        );
        code.block(
            "static __device__ __forceinline__ cuprum_value cuprum_neutral()",
            |code| {
                expression(code, "neutral", &self.neutral);
            },
        );
        // All threads of the block call it; thread 0 has the result.
        code.block(
            "static __device__ __forceinline__ cuprum_value cuprum_block(cuprum_value cuprum_a)",
            |code| {
                code.line(format!("constexpr int cuprum_warps = {THREADS} / 32;"));
                code.line("__shared__ __align__(16) unsigned char cuprum_space[cuprum_warps * sizeof(cuprum_value)];");
                code.line("cuprum_value *cuprum_shared = reinterpret_cast<cuprum_value *>(cuprum_space);");
                code.line("#pragma unroll");
                code.line("for (int cuprum_d = 16; cuprum_d > 0; cuprum_d >>= 1) cuprum_a = cuprum_reduce(cuprum_a, cuprum_detail::cuprum_shuffle_down(cuprum_a, cuprum_d));");
                code.line("if (threadIdx.x % 32 == 0) cuprum_shared[threadIdx.x / 32] = cuprum_a;");
                code.line("__syncthreads();");
                code.block("if (threadIdx.x < 32)", |code| {
                    code.line("cuprum_a = threadIdx.x < cuprum_warps ? cuprum_shared[threadIdx.x] : cuprum_neutral();");
                    code.line("#pragma unroll");
                    code.line("for (int cuprum_d = cuprum_warps / 2; cuprum_d > 0; cuprum_d >>= 1) cuprum_a = cuprum_reduce(cuprum_a, cuprum_detail::cuprum_shuffle_down(cuprum_a, cuprum_d));");
                });
                code.line("return cuprum_a;");
            },
        );
        let body = |code: &mut Code, count: &str, value: &str| {
            code.line("cuprum_value cuprum_a = cuprum_neutral();");
            code.block(
                format!("for (long long i = (long long)blockIdx.x * {THREADS} + threadIdx.x; i < {count}; i += (long long)gridDim.x * {THREADS})"),
                |code| {
                    code.line("const cuprum_value cuprum_b =");
                    part(code, "map", value, ";");
                    code.line("cuprum_a = cuprum_reduce(cuprum_a, cuprum_b);");
                },
            );
            code.line("cuprum_a = cuprum_block(cuprum_a);");
            code.block("if (threadIdx.x == 0)", |code| {
                code.line("if (gridDim.x == 1) *cuprum_out = cuprum_finish(cuprum_a, n);");
                code.line("else cuprum_partial[blockIdx.x] = cuprum_a;");
            });
        };
        code.block(
            format!(
                "extern \"C\" __global__ void __launch_bounds__({THREADS}) {name}({}long long n, cuprum_value *cuprum_partial, cuprum_result *cuprum_out)",
                declared.parameters()
            ),
            |code| body(code, "n", &map),
        );
        code.block(
            format!(
                "extern \"C\" __global__ void __launch_bounds__({THREADS}) {}(const cuprum_value *cuprum_in, long long cuprum_count, long long n, cuprum_value *cuprum_partial, cuprum_result *cuprum_out)",
                self.partials_name()
            ),
            |code| body(code, "cuprum_count", "cuprum_in[i]"),
        );
        code.into()
    }
}

impl<A: DeviceRepr> ReductionKernel<A> {
    /// Compiles a reduction of the elements of the first vector. [`ReductionKernel::builder`] has the options.
    ///
    /// # Errors
    /// As [`ReductionBuilder::build`].
    ///
    /// # Safety
    /// As for [`ReductionBuilder::build`].
    pub unsafe fn new(
        context: &Context,
        arguments: impl Into<String>,
        neutral: impl Into<String>,
        reduce: impl Into<String>,
    ) -> Result<Self> {
        // SAFETY: the caller's promise is this one.
        unsafe { Self::builder(arguments, neutral, reduce).build(context) }
    }

    /// A kernel to be given options and then built.
    pub fn builder(
        arguments: impl Into<String>,
        neutral: impl Into<String>,
        reduce: impl Into<String>,
    ) -> ReductionBuilder<A> {
        ReductionBuilder {
            common: Common::new("reduction", arguments.into()),
            neutral: neutral.into(),
            reduce: reduce.into(),
            map: None,
            finish: "a".to_owned(),
            types: PhantomData,
        }
    }
}

impl<A: DeviceRepr, R: DeviceRepr> ReductionKernel<A, R> {
    /// Reduces, and brings the result to the host.
    ///
    /// # Errors
    /// [`ErrorKind::Requirement`] for arguments that are not those declared, or vectors of different lengths; what the
    /// launch or the copy returns.
    pub fn call<'a>(&self, stream: &Stream, arguments: impl MakerArgs<'a>) -> Result<R> {
        // SAFETY: `call_into` writes the one element before the copy below, which is ordered after it, reads it.
        let mut out = unsafe { DeviceBuffer::<R>::uninit(stream, 1)? };
        self.call_into(stream, out.view_mut(), arguments)?;
        Ok(out.to_vec()?[0])
    }

    /// Queues the reduction; the result goes to the first element of `out`, on the device.
    ///
    /// # Errors
    /// As [`ReductionKernel::call`]; [`ErrorKind::Requirement`] also if `out` has no element.
    pub fn call_into<'a>(
        &self,
        stream: &Stream,
        out: DeviceViewMut<'_, R>,
        arguments: impl MakerArgs<'a>,
    ) -> Result<()> {
        let mut list = ArgumentList::default();
        arguments.push_all(&mut list);
        let n = self.declared.check(stream, &list)?;
        if out.is_empty() {
            return Err(Error::new(
                ErrorKind::Requirement,
                format!(
                    "kernel `{}`: the output has no element to put the result in",
                    self.builder.common.name
                ),
            ));
        }
        let mut out = out.into_slice(..1);
        let wanted = n.div_ceil(THREADS as usize * PER_THREAD);
        let blocks = blocks(&self.context, wanted, BLOCKS)?;
        // SAFETY: each of the blocks of the first launch writes its element before the second launch, on the same
        // stream, reads them; with one block nothing reads it.
        let mut partial = unsafe { DeviceBuffer::<A>::uninit(stream, blocks as usize)? };
        let n = n as u64;
        {
            let mut args = list.into_args();
            args.scalar(n)
                .write(partial.view_mut())
                .write(out.reborrow());
            // SAFETY: the arguments are those declared, each vector of n elements, and the expressions keep to them,
            // as was promised when the kernel was made; `partial` has an element for each block, `out` has one.
            unsafe {
                self.elements
                    .launch(stream, LaunchConfig::grid_1d(blocks, THREADS), &args)?;
            }
        }
        if blocks > 1 {
            // What is passed where one block writes nothing.
            let mut unused = DeviceBuffer::<A>::zeros(stream, 0)?;
            // SAFETY: `partial` has `blocks` elements, all written by the launch before; one block writes `out` and
            // no partial value.
            unsafe {
                self.partials.launch(
                    stream,
                    LaunchConfig::grid_1d(1, THREADS),
                    (&partial, u64::from(blocks), n, &mut unused, &mut out),
                )?;
            }
        }
        Ok(())
    }

    /// The source of the kernel.
    #[must_use]
    pub fn source(&self) -> String {
        self.builder.text(&self.declared)
    }
}

impl<A, R> fmt::Debug for ReductionBuilder<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReductionBuilder")
            .field("common", &self.common)
            .field("map", &self.map)
            .field("reduce", &self.reduce)
            .finish_non_exhaustive()
    }
}

impl<A, R> fmt::Debug for ReductionKernel<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReductionKernel")
            .field("name", &self.builder.common.name)
            .field("map", &self.builder.map)
            .field("reduce", &self.builder.reduce)
            .finish_non_exhaustive()
    }
}
