//! For each element, one value of it and all before it.

use std::fmt;
use std::marker::PhantomData;

use cuprum_driver_core::{Context, DeviceBuffer, DevicePtr, Function, LaunchConfig, Stream};

use super::arguments::{ArgumentList, Declared, MakerArgs};
use super::text::{self, Common, SHUFFLES, THREADS, blocks, common_methods, expression};
use crate::code::Code;
use crate::error::{Error, ErrorKind, Result};
use crate::repr::DeviceRepr;

/// The names that the expressions have.
const NAMES: &[&str] = &["i", "n", "a", "b", "item", "previous"];

/// Shared memory for the items of a tile, bytes: two blocks of a multiprocessor of the smallest kind.
const TILE_BYTES: usize = 16 << 10;
/// Static shared memory that a block may have.
const SHARED_BYTES: usize = 48 << 10;
/// Items of a thread at most.
const MOST_PER_THREAD: usize = 8;
/// Blocks of a multiprocessor.
const BLOCKS: u32 = 4;
/// Tiles that a block should have before another block is worth it.
const TILES: usize = 2;

/// A kernel that gives for each element what it and those before it are together, as `pycuda.scan.InclusiveScanKernel` and `ExclusiveScanKernel`.
///
/// ```
/// use cuprum_codegen::makers::ScanKernel;
/// use cuprum_driver_core::{Device, DeviceBuffer};
///
/// # fn main() -> Result<(), cuprum_codegen::Error> {
/// let context = Device::default()?.context()?;
/// let stream = context.default_stream();
/// let x = DeviceBuffer::from_slice(&stream, &[3, 1, 4, 1, 5])?;
/// let mut y = DeviceBuffer::<i32>::zeros(&stream, 5)?;
///
/// // SAFETY: only element i of each vector is accessed.
/// let sums = unsafe { ScanKernel::<i32>::inclusive("const int *x, int *y", "a + b").build(&context)? };
/// sums.call(&stream, (&x, &mut y))?;
/// assert_eq!(y.to_vec()?, [3, 4, 8, 9, 14]);
///
/// // Where each of the numbers above 2 goes, if the others are left out.
/// // SAFETY: as above.
/// let places = unsafe {
///     ScanKernel::<i32>::exclusive("const int *x, int *y", "0", "a + b")
///         .input("x[i] > 2")
///         .output("y[i] = x[i] > 2 ? previous : -1")
///         .build(&context)?
/// };
/// places.call(&stream, (&x, &mut y))?;
/// assert_eq!(y.to_vec()?, [0, -1, 1, -1, 2]);
/// # Ok(())
/// # }
/// ```
///
/// - `input`, over `i`, `n` and the arguments, is what element `i` gives; without it the element of the first vector;
/// - `scan`, over `a` and `b`, makes one value of two, `a` of the elements before those of `b`. It must be associative; it need not be commutative;
/// - `output` is a statement that is run for each element, over `item` (of it and those before), `previous` (of those before: `neutral` for the
///   first), `i`, `n` and the arguments; without it `item`, or `previous` of an exclusive scan, goes to the last vector;
/// - `segments` is true for the elements at which the scan begins anew.
///
/// Values are of type `T`, any [`DeviceRepr`]. Element `i` of a vector may be read by the input and written by the output, and then no other
/// element of it may be read. The input is read twice if there are many elements: first each block finds the value of all of its part, then one block scans
/// those, then each scans its part.
#[doc(alias = "pycuda.scan.InclusiveScanKernel")]
pub struct ScanKernel<T> {
    context: Context,
    declared: Declared,
    builder: ScanBuilder<T>,
    totals: Function,
    carries: Function,
    scan: Function,
}

/// A [`ScanKernel`] to be.
#[must_use]
pub struct ScanBuilder<T> {
    common: Common,
    scan: String,
    neutral: Option<String>,
    input: Option<String>,
    output: Option<String>,
    segments: Option<String>,
    exclusive: bool,
    types: PhantomData<fn() -> T>,
}

impl<T> Clone for ScanBuilder<T> {
    fn clone(&self) -> Self {
        Self {
            common: self.common.clone(),
            scan: self.scan.clone(),
            neutral: self.neutral.clone(),
            input: self.input.clone(),
            output: self.output.clone(),
            segments: self.segments.clone(),
            exclusive: self.exclusive,
            types: PhantomData,
        }
    }
}

impl<T: DeviceRepr> ScanBuilder<T> {
    common_methods!();

    /// The value that changes nothing, which `previous` of the first element is.
    pub fn neutral(mut self, expression: impl Into<String>) -> Self {
        self.neutral = Some(expression.into());
        self
    }

    /// What element `i` gives.
    pub fn input(mut self, expression: impl Into<String>) -> Self {
        self.input = Some(expression.into());
        self
    }

    /// What is done with the values of element `i`.
    pub fn output(mut self, statement: impl Into<String>) -> Self {
        self.output = Some(statement.into());
        self
    }

    /// Where the scan begins anew: `i == 0 || key[i] != key[i - 1]`.
    pub fn segments(mut self, expression: impl Into<String>) -> Self {
        self.segments = Some(expression.into());
        self
    }

    /// Compiles the kernel.
    ///
    /// # Errors
    /// [`ErrorKind::Source`] for arguments that cannot be read, or whose names are taken; otherwise as
    /// [`SourceModule::new`](crate::SourceModule::new).
    ///
    /// # Safety
    /// For every `i` from 0 to `n - 1` the expressions access vectors only inside their lengths; the output writes an element only
    /// if no other `i` accesses it, in input and segments too. Values that they give are valid ones of `T`.
    pub unsafe fn build(mut self, context: &Context) -> Result<ScanKernel<T>> {
        self.common.source = self.common.source.declare::<T>();
        let common = &self.common;
        let shared = (Self::TILE + Self::TILE / 32 + 8) * Self::ITEM;
        if shared > SHARED_BYTES {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "kernel `{}`: a scan of values of {} bytes takes {shared} bytes of shared memory, and a block has {SHARED_BYTES}",
                    common.name,
                    size_of::<T>()
                ),
            ));
        }
        let declared = Declared::parse(&common.name, &common.arguments, &common.any_length, NAMES)?;
        let source = common.with_text(self.text(&declared));
        let module = source.build(context)?;
        let kernel = |suffix: &str| module.function(&format!("{}{suffix}", common.name));
        Ok(ScanKernel {
            context: context.clone(),
            totals: kernel("_totals")?,
            carries: kernel("_carries")?,
            scan: kernel("")?,
            declared,
            builder: self,
        })
    }

    /// Bytes of an item in shared memory and between the launches: the value, its state, and what fills it up.
    const ITEM: usize = {
        let align = if align_of::<T>() > 4 {
            align_of::<T>()
        } else {
            4
        };
        (size_of::<T>() + 4).div_ceil(align) * align
    };

    /// Items of a thread.
    const PER_THREAD: usize = {
        let fits = TILE_BYTES / (THREADS as usize * Self::ITEM);
        if fits < 1 {
            1
        } else if fits > MOST_PER_THREAD {
            MOST_PER_THREAD
        } else {
            fits
        }
    };

    /// Elements of a tile.
    const TILE: usize = Self::PER_THREAD * THREADS as usize;

    fn text(&self, declared: &Declared) -> String {
        let Common { name, preamble, .. } = &self.common;
        let input = match &self.input {
            Some(input) => input.clone(),
            None => format!("{}[i]", declared.first_vector()),
        };
        let output = match &self.output {
            Some(output) => output.clone(),
            None => format!(
                "{}[i] = {}",
                declared.last_vector(),
                if self.exclusive { "previous" } else { "item" }
            ),
        };
        let mut code = Code::new();
        code.line(declared.headers()).line(SHUFFLES).line(preamble);
        code.line(format!("typedef {} cuprum_value;", T::c_type()));
        code.line(format!(
            "enum {{ cuprum_per_thread = {}, cuprum_tile = {} }};",
            Self::PER_THREAD,
            Self::TILE
        ));
        code.block(
            "static __device__ __forceinline__ cuprum_value cuprum_scan(const cuprum_value &a, const cuprum_value &b)",
            |code| expression(code, "scan", &self.scan),
        );
        code.line(ITEM);
        code.line(format!(
            "static_assert(sizeof(cuprum_item) == {}, \"an item is laid out as expected\");",
            Self::ITEM
        ));
        code.line(TILE_SCAN);
        let parameters = declared.parameters();
        let first = self.segments.as_deref().unwrap_or("false");
        // The items of a tile, in the order of the elements.
        let load = |code: &mut Code| {
            code.line("#pragma unroll");
            code.block(
                "for (int cuprum_k = 0; cuprum_k < cuprum_per_thread; ++cuprum_k)",
                |code| {
                    code.line(format!(
                        "const int cuprum_j = cuprum_k * {THREADS} + threadIdx.x;"
                    ));
                    code.line("const long long i = cuprum_base + cuprum_j;");
                    code.block("if (i < cuprum_end)", |code| {
                        code.line("const cuprum_value cuprum_v =");
                        text::part(code, "input", &input, ";");
                        code.line("const bool cuprum_first =");
                        text::part(code, "segments", first, ";");
                        code.line("cuprum_at(cuprum_shared, cuprum_j) = cuprum_item(cuprum_v, cuprum_first);");
                    });
                    code.line("else cuprum_at(cuprum_shared, cuprum_j) = cuprum_item();");
                },
            );
        };
        let shared = |code: &mut Code| {
            code.line("__shared__ __align__(16) unsigned char cuprum_space[cuprum_padded * sizeof(cuprum_item)];");
            code.line(
                "cuprum_item *const cuprum_shared = reinterpret_cast<cuprum_item *>(cuprum_space);",
            );
        };
        let part = |code: &mut Code, body: &dyn Fn(&mut Code)| {
            shared(code);
            code.line("const long long cuprum_begin = (long long)blockIdx.x * cuprum_part;");
            code.line("const long long cuprum_end = cuprum_begin + cuprum_part < n ? cuprum_begin + cuprum_part : n;");
            code.block(
                "for (long long cuprum_base = cuprum_begin; cuprum_base < cuprum_end; cuprum_base += cuprum_tile)",
                body,
            );
        };
        // 1: what each block's part gives.
        code.block(
            format!("extern \"C\" __global__ void __launch_bounds__({THREADS}) {name}_totals({parameters}long long n, long long cuprum_part, cuprum_item *cuprum_totals)"),
            |code| {
                code.line("cuprum_item cuprum_carry;");
                part(code, &|code| {
                    load(code);
                    code.line("cuprum_carry = cuprum_scan_tile(cuprum_shared, cuprum_carry);");
                    // The next tile's items take the place of these.
                    code.line("__syncthreads();");
                });
                code.line("if (threadIdx.x == 0) cuprum_totals[blockIdx.x] = cuprum_carry;");
            },
        );
        // 2: what comes before each part, by one block; in place.
        code.block(
            format!("extern \"C\" __global__ void __launch_bounds__({THREADS}) {name}_carries(cuprum_item *cuprum_totals, long long cuprum_count)"),
            |code| {
                shared(code);
                code.line("cuprum_item cuprum_carry;");
                code.block(
                    "for (long long cuprum_base = 0; cuprum_base < cuprum_count; cuprum_base += cuprum_tile)",
                    |code| {
                        code.block(
                            format!("for (int cuprum_j = threadIdx.x; cuprum_j < cuprum_tile; cuprum_j += {THREADS})"),
                            |code| {
                                code.line("cuprum_at(cuprum_shared, cuprum_j) = cuprum_base + cuprum_j < cuprum_count ? cuprum_totals[cuprum_base + cuprum_j] : cuprum_item();");
                            },
                        );
                        code.line("const cuprum_item cuprum_before = cuprum_carry;");
                        code.line("cuprum_carry = cuprum_scan_tile(cuprum_shared, cuprum_carry);");
                        code.block(
                            format!("for (int cuprum_j = threadIdx.x; cuprum_j < cuprum_tile && cuprum_base + cuprum_j < cuprum_count; cuprum_j += {THREADS})"),
                            |code| {
                                code.line("cuprum_totals[cuprum_base + cuprum_j] = cuprum_j > 0 ? cuprum_at(cuprum_shared, cuprum_j - 1) : cuprum_before;");
                            },
                        );
                        code.line("__syncthreads();");
                    },
                );
            },
        );
        // 3: the values of each element.
        code.block(
            format!("extern \"C\" __global__ void __launch_bounds__({THREADS}) {name}({parameters}long long n, long long cuprum_part, const cuprum_item *cuprum_carries)"),
            |code| {
                // One block has nothing before it.
                code.line("cuprum_item cuprum_carry;");
                code.line("if (gridDim.x > 1) cuprum_carry = cuprum_carries[blockIdx.x];");
                part(code, &|code| {
                    load(code);
                    code.line("const cuprum_item cuprum_before = cuprum_carry;");
                    code.line("cuprum_carry = cuprum_scan_tile(cuprum_shared, cuprum_carry);");
                    code.line("#pragma unroll");
                    code.block(
                        "for (int cuprum_k = 0; cuprum_k < cuprum_per_thread; ++cuprum_k)",
                        |code| {
                            code.line(format!(
                                "const int cuprum_j = cuprum_k * {THREADS} + threadIdx.x;"
                            ));
                            code.line("const long long i = cuprum_base + cuprum_j;");
                            code.line("if (i >= cuprum_end) break;");
                            code.line("const cuprum_item cuprum_this = cuprum_at(cuprum_shared, cuprum_j);");
                            code.line("const cuprum_value item = cuprum_this.cuprum_get();");
                            if let Some(neutral) = &self.neutral {
                                code.line("const cuprum_item cuprum_last = cuprum_j > 0 ? cuprum_at(cuprum_shared, cuprum_j - 1) : cuprum_before;");
                                code.line("const bool cuprum_none = (cuprum_this.cuprum_state & cuprum_is_first) || !(cuprum_last.cuprum_state & cuprum_has);");
                                code.line("cuprum_value previous =");
                                text::part(code, "neutral", neutral, ";");
                                code.line("if (!cuprum_none) previous = cuprum_last.cuprum_get();");
                                code.line("(void)previous;");
                            }
                            code.line("(void)item;");
                            text::part(code, "output", &output, ";");
                        },
                    );
                    code.line("__syncthreads();");
                });
            },
        );
        code.into()
    }
}

/// A value with what is known of it. An item without a value changes nothing, so that no neutral value is needed.
const ITEM: &str = r"
enum cuprum_states { cuprum_has = 1, cuprum_begins = 2, cuprum_is_first = 4 };
struct cuprum_item {
    alignas(cuprum_value) unsigned char cuprum_bytes[sizeof(cuprum_value)];
    unsigned cuprum_state;
    __device__ __forceinline__ cuprum_item() : cuprum_state(0) {
#pragma unroll
        for (int cuprum_k = 0; cuprum_k < (int)sizeof(cuprum_value); ++cuprum_k) cuprum_bytes[cuprum_k] = 0;
    }
    __device__ __forceinline__ cuprum_item(const cuprum_value &cuprum_v, bool cuprum_first) : cuprum_state(cuprum_has | (cuprum_first ? cuprum_begins | cuprum_is_first : 0)) {
        *reinterpret_cast<cuprum_value *>(cuprum_bytes) = cuprum_v;
    }
    __device__ __forceinline__ const cuprum_value &cuprum_get() const { return *reinterpret_cast<const cuprum_value *>(cuprum_bytes); }
};
// Of the elements of a, and those of b after them. Where a segment begins in b, what was before counts no more.
static __device__ __forceinline__ cuprum_item cuprum_join(const cuprum_item &cuprum_a, const cuprum_item &cuprum_b) {
    if (!(cuprum_b.cuprum_state & cuprum_has)) return cuprum_a;
    if (!(cuprum_a.cuprum_state & cuprum_has) || (cuprum_b.cuprum_state & cuprum_begins)) {
        cuprum_item cuprum_c = cuprum_b;
        cuprum_c.cuprum_state |= cuprum_a.cuprum_state & cuprum_begins;
        return cuprum_c;
    }
    cuprum_item cuprum_c(cuprum_scan(cuprum_a.cuprum_get(), cuprum_b.cuprum_get()), false);
    cuprum_c.cuprum_state |= cuprum_a.cuprum_state & cuprum_begins;
    cuprum_c.cuprum_state |= cuprum_b.cuprum_state & cuprum_is_first;
    return cuprum_c;
}
// One item in 32 is left free, so that threads that read their own items in order do not all ask the same bank.
enum { cuprum_padded = cuprum_tile + cuprum_tile / 32 };
static __device__ __forceinline__ cuprum_item &cuprum_at(cuprum_item *cuprum_shared, int cuprum_j) { return cuprum_shared[cuprum_j + cuprum_j / 32]; }
";

/// The scan of the items of a tile, in place.
const TILE_SCAN: &str = r"
// Answers with the value of the whole tile and what was carried in, to every thread. All threads of the block have written their items.
static __device__ cuprum_item cuprum_scan_tile(cuprum_item *cuprum_shared, const cuprum_item &cuprum_carry) {
    constexpr int cuprum_warps = 256 / 32;
    __shared__ __align__(16) unsigned char cuprum_space[cuprum_warps * sizeof(cuprum_item)];
    cuprum_item *const cuprum_of_warp = reinterpret_cast<cuprum_item *>(cuprum_space);
    const int cuprum_lane = threadIdx.x % 32, cuprum_warp = threadIdx.x / 32;
    __syncthreads();
    cuprum_item cuprum_own;
#pragma unroll
    for (int cuprum_k = 0; cuprum_k < cuprum_per_thread; ++cuprum_k) cuprum_own = cuprum_join(cuprum_own, cuprum_at(cuprum_shared, threadIdx.x * cuprum_per_thread + cuprum_k));
    // All up to and with this thread's, in its warp.
    cuprum_item cuprum_upto = cuprum_own;
#pragma unroll
    for (int cuprum_d = 1; cuprum_d < 32; cuprum_d <<= 1) {
        const cuprum_item cuprum_before = cuprum_detail::cuprum_shuffle_up(cuprum_upto, cuprum_d);
        if (cuprum_lane >= cuprum_d) cuprum_upto = cuprum_join(cuprum_before, cuprum_upto);
    }
    if (cuprum_lane == 31) cuprum_of_warp[cuprum_warp] = cuprum_upto;
    // All before this thread's.
    cuprum_item cuprum_sum = cuprum_detail::cuprum_shuffle_up(cuprum_upto, 1);
    if (cuprum_lane == 0) cuprum_sum = cuprum_item();
    __syncthreads();
    cuprum_item cuprum_before = cuprum_carry, cuprum_all = cuprum_carry;
#pragma unroll
    for (int cuprum_w = 0; cuprum_w < cuprum_warps; ++cuprum_w) {
        if (cuprum_w == cuprum_warp) cuprum_before = cuprum_all;
        cuprum_all = cuprum_join(cuprum_all, cuprum_of_warp[cuprum_w]);
    }
    cuprum_sum = cuprum_join(cuprum_before, cuprum_sum);
#pragma unroll
    for (int cuprum_k = 0; cuprum_k < cuprum_per_thread; ++cuprum_k) {
        cuprum_item &cuprum_one = cuprum_at(cuprum_shared, threadIdx.x * cuprum_per_thread + cuprum_k);
        const unsigned cuprum_first = cuprum_one.cuprum_state & cuprum_is_first;
        cuprum_sum = cuprum_join(cuprum_sum, cuprum_one);
        cuprum_sum.cuprum_state = (cuprum_sum.cuprum_state & ~(unsigned)cuprum_is_first) | cuprum_first;
        cuprum_one = cuprum_sum;
    }
    __syncthreads();
    return cuprum_all;
}
";

impl<T: DeviceRepr> ScanKernel<T> {
    /// A scan whose element `i` takes part in its own value, to be given options and then built.
    pub fn inclusive(arguments: impl Into<String>, scan: impl Into<String>) -> ScanBuilder<T> {
        ScanBuilder {
            common: Common::new("scan", arguments.into()),
            scan: scan.into(),
            neutral: None,
            input: None,
            output: None,
            segments: None,
            exclusive: false,
            types: PhantomData,
        }
    }

    /// A scan of the elements before `i`, which for the first is `neutral`, to be given options and then built.
    pub fn exclusive(
        arguments: impl Into<String>,
        neutral: impl Into<String>,
        scan: impl Into<String>,
    ) -> ScanBuilder<T> {
        ScanBuilder {
            exclusive: true,
            ..Self::inclusive(arguments, scan).neutral(neutral)
        }
    }

    /// Queues the scan.
    ///
    /// # Errors
    /// [`ErrorKind::Requirement`] for arguments that are not those declared, or vectors of different lengths; what the
    /// launches return.
    pub fn call<'a>(&self, stream: &Stream, arguments: impl MakerArgs<'a>) -> Result<()> {
        let mut list = ArgumentList::default();
        arguments.push_all(&mut list);
        let n = self.declared.check(stream, &list)?;
        if n == 0 {
            return Ok(());
        }
        let tiles = n.div_ceil(ScanBuilder::<T>::TILE);
        let wanted = blocks(&self.context, tiles.div_ceil(TILES), BLOCKS)? as usize;
        // Whole tiles for each block, and no block without any.
        let part = tiles.div_ceil(wanted) * ScanBuilder::<T>::TILE;
        let blocks = u32::try_from(n.div_ceil(part)).map_err(|_| {
            Error::new(
                ErrorKind::Requirement,
                format!(
                    "kernel `{}`: {n} elements are too many",
                    self.builder.common.name
                ),
            )
        })?;
        let bytes = blocks as usize * ScanBuilder::<T>::ITEM;
        // SAFETY: each block of the first launch writes its item before the second launch, on the same stream, reads
        // them; with one block nothing reads it.
        let mut totals = unsafe { DeviceBuffer::<u8>::uninit(stream, bytes)? };
        let config = LaunchConfig::grid_1d(blocks, THREADS);
        let address = DevicePtr(totals.address());
        let mut args = list.into_args();
        args.scalar(n as u64)
            .scalar(part as u64)
            .write(totals.view_mut());
        if blocks > 1 {
            // SAFETY: the arguments are those declared, each vector of n elements, and the expressions keep to them,
            // as was promised when the kernel was made; `totals` has an item for each block, at an address of the
            // allocator's alignment of 256 bytes.
            unsafe { self.totals.launch(stream, config, &args)? };
            // SAFETY: `totals` has `blocks` items, all written by the launch before; it is borrowed by `args` until
            // the launch after this one, all three on one stream.
            unsafe {
                self.carries.launch(
                    stream,
                    LaunchConfig::grid_1d(1, THREADS),
                    (address, u64::from(blocks)),
                )?;
            }
        }
        // SAFETY: as for the first launch; `totals` has what comes before each block's part, which one block does not
        // read.
        unsafe { self.scan.launch(stream, config, &args) }.map_err(Into::into)
    }

    /// The source of the kernel.
    #[must_use]
    pub fn source(&self) -> String {
        self.builder.text(&self.declared)
    }
}

impl<T> fmt::Debug for ScanBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanBuilder")
            .field("common", &self.common)
            .field("scan", &self.scan)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for ScanKernel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanKernel")
            .field("name", &self.builder.common.name)
            .field("scan", &self.builder.scan)
            .finish_non_exhaustive()
    }
}
