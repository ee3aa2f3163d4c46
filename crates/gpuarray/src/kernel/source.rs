//! The CUDA C++ of a kernel, from its structure.
//!
//! Every kernel has the same parts: helpers, a function `value` that is the expression on the elements of one position, and the kernel that
//! walks the positions. Parameters are, in this order: the output, the count of positions, a pointer for each view (but those that are the output),
//! the sizes and strides of the strided walk, the parameters of the leaves, the scalars.
//!
//! Kernels are compiled without contraction (`-fmad=false`), so that the value of an expression does not depend on how it was fused; a fused
//! multiply-add is [`mul_add`](crate::Operand::mul_add).

use std::fmt::Write as _;

use crate::element::DType;
use crate::expr::{LeafSource, Op, POWER_HELPER};
use crate::kernel::plan::{Access, Walk};
use crate::kernel::program::{Program, Step, Value};

/// What is done with the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Each is stored at its position.
    Map,
    /// They are combined; each block stores one result.
    Reduce {
        op: Reduction,
        accumulator: DType,
        result: DType,
    },
    /// As `Reduce`, but those of each run of `inner` positions (the last parameter) make one result; `count` counts the results.
    Axes {
        op: Reduction,
        accumulator: DType,
        result: DType,
        team: Team,
    },
}

/// The threads that make one result of a reduction along axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Team {
    /// Neighbouring threads make neighbouring results: coalesced where the reduced axes are the outer ones, and best for short runs.
    Thread = 1,
    Warp,
    Block,
}

impl Team {
    /// How many threads it has.
    pub(crate) fn threads(self) -> u32 {
        match self {
            Team::Thread => 1,
            Team::Warp => 32,
            Team::Block => REDUCE_THREADS,
        }
    }
}

/// How values are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Reduction {
    Sum = 1,
    Prod,
    Min,
    Max,
}

/// The name of the kernel function.
pub(crate) const KERNEL_NAME: &str = "cuprum_kernel";

/// Threads of a block of a reduction. Fixed, as the shared memory and the shuffles are written for it.
pub(crate) const REDUCE_THREADS: u32 = 256;

const PACK_HELPER: &str = "\
template <typename T, int N>
struct __align__(16) cuprum_pack { T v[N]; };
";

/// Writes the source of the kernel.
pub(crate) fn generate(kind: Kind, program: &Program<'_, '_>, walk: &Walk) -> String {
    let leaves: Vec<LeafSource> = program
        .leaves
        .iter()
        .enumerate()
        .map(|(at, node)| {
            let mut source = LeafSource::new(format!("l{at}"));
            node.leaf.source(&mut source);
            source
        })
        .collect();
    let mut writer = Writer {
        kind,
        program,
        walk,
        leaves,
        text: String::with_capacity(2048),
    };
    writer.helpers();
    writer.value_function();
    writer.kernel();
    writer.text
}

struct Writer<'s, 'e, 'a> {
    kind: Kind,
    program: &'s Program<'e, 'a>,
    walk: &'s Walk,
    leaves: Vec<LeafSource>,
    text: String,
}

/// Writes a line; a `String` takes every write.
macro_rules! line {
    ($writer:expr, $($arguments:tt)*) => { writeln!($writer.text, $($arguments)*).expect("writing to a string succeeds") };
}

impl Writer<'_, '_, '_> {
    fn outputs(&self) -> usize {
        usize::from(self.kind == Kind::Map)
    }

    fn view_access(&self, view: usize) -> Access {
        self.walk.access[self.outputs() + view]
    }

    fn leaf_access(&self, leaf: usize) -> Access {
        self.walk.access[self.outputs() + self.program.views.len() + leaf]
    }

    fn helpers(&mut self) {
        if self.walk.access.contains(&Access::Vector) {
            self.text.push_str(PACK_HELPER);
        }
        let powers =
            |step: &Step| matches!(step.value, Value::Op { op: Op::PowI, param, .. } if param > 2);
        if self.program.steps.iter().any(powers) {
            self.text.push_str(POWER_HELPER);
        }
        if self.walk.rank > 0 {
            let (size, stride) = if self.walk.wide {
                ("unsigned long long", "long long")
            } else {
                ("unsigned int", "int")
            };
            let strided = self
                .walk
                .access
                .iter()
                .filter(|&&access| access == Access::Strided)
                .count();
            let rank = self.walk.rank;
            line!(
                self,
                "struct cuprum_dims {{ {size} size[{rank}]; {stride} base[{strided}]; {stride} stride[{strided}][{rank}]; }};"
            );
        }
        let mut items: Vec<&str> = Vec::new();
        for leaf in &self.leaves {
            if !leaf.items.is_empty() && !items.contains(&leaf.items.as_str()) {
                items.push(&leaf.items);
            }
        }
        for item in items {
            self.text.push_str(item);
            self.text.push('\n');
        }
        for (at, leaf) in self.leaves.iter().enumerate() {
            let t = self.program.leaves[at].leaf.dtype().c_name();
            let params: String = leaf
                .params()
                .map(|(c_type, name)| format!(", {c_type} {name}"))
                .collect();
            line!(
                self,
                "static __device__ __forceinline__ {t} leaf{at}(const unsigned long long index{params}) {{ return {}; }}",
                leaf.value
            );
        }
    }

    /// `value(x0, .., y0, .., s0, ..)`: elements of the views, values of the leaves, scalars.
    fn value_function(&mut self) {
        let mut params = Vec::new();
        for (at, view) in self.program.views.iter().enumerate() {
            params.push(format!("const {} x{at}", view.data.dtype().c_name()));
        }
        for (at, node) in self.program.leaves.iter().enumerate() {
            params.push(format!("const {} y{at}", node.leaf.dtype().c_name()));
        }
        for (at, (dtype, _)) in self.program.scalars.iter().enumerate() {
            params.push(format!("const {} s{at}", dtype.c_name()));
        }
        line!(
            self,
            "static __device__ __forceinline__ {} value({}) {{",
            self.program.dtype().c_name(),
            params.join(", ")
        );
        let steps = &self.program.steps;
        // An input is used by its own name; every operation becomes one temporary.
        let names: Vec<String> = steps
            .iter()
            .enumerate()
            .map(|(at, step)| match step.value {
                Value::View(view) => format!("x{view}"),
                Value::Leaf(leaf) => format!("y{leaf}"),
                Value::Scalar(scalar) => format!("s{scalar}"),
                Value::Op { .. } => format!("t{at}"),
            })
            .collect();
        for (step, name) in steps.iter().zip(&names) {
            if let Value::Op { op, param, args } = step.value {
                let arity = op.arity();
                let operands: Vec<&str> = args[..arity]
                    .iter()
                    .map(|&arg| names[usize::from(arg)].as_str())
                    .collect();
                let from = steps[usize::from(args[usize::from(op == Op::Select)])].dtype;
                let source = op.source(from, step.dtype, param, &operands);
                line!(self, "    const {} {name} = {source};", step.dtype.c_name());
            }
        }
        line!(
            self,
            "    return {};\n}}",
            names.last().expect("a program has steps")
        );
    }

    fn kernel(&mut self) {
        let mut params = vec![
            format!("{}* __restrict__ out", self.out_type().c_name()),
            "const unsigned long long count".to_owned(),
        ];
        for (at, view) in self.program.views.iter().enumerate() {
            if self.view_access(at) != Access::Output {
                params.push(format!(
                    "const {}* __restrict__ v{at}",
                    view.data.dtype().c_name()
                ));
            }
        }
        if self.walk.rank > 0 {
            params.push("const cuprum_dims dims".to_owned());
        }
        for leaf in &self.leaves {
            params.extend(
                leaf.params()
                    .map(|(c_type, name)| format!("{c_type} {name}")),
            );
        }
        for (at, (dtype, _)) in self.program.scalars.iter().enumerate() {
            params.push(format!("const {} s{at}", dtype.c_name()));
        }
        if matches!(self.kind, Kind::Axes { .. }) {
            params.push("const unsigned long long inner".to_owned());
        }
        let bounds = if self.kind == Kind::Map {
            String::new()
        } else {
            format!("__launch_bounds__({REDUCE_THREADS}) ")
        };
        line!(
            self,
            "extern \"C\" __global__ void {bounds}{KERNEL_NAME}(\n    {}) {{",
            params.join(",\n    ")
        );
        for at in 0..self.program.views.len() {
            if self.view_access(at) == Access::Uniform {
                line!(
                    self,
                    "    const {} u{at} = v{at}[0];",
                    self.program.views[at].data.dtype().c_name()
                );
            }
        }
        let vector = self.walk.vector;
        line!(
            self,
            "    const unsigned long long thread = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;"
        );
        match self.kind {
            Kind::Map if vector > 1 => {
                // The grid covers every position, so no thread loops. What is left over after the
                // vectors is done by the first threads beside theirs.
                line!(
                    self,
                    "    const unsigned long long first = thread * {vector};"
                );
                line!(self, "    if (first + {vector} <= count) {{");
                self.vector_body("        ");
                line!(self, "    }}");
                line!(
                    self,
                    "    const unsigned long long i = count / {vector} * {vector} + thread;"
                );
                line!(self, "    if (i < count) {{");
                self.scalar_body("        ", "");
                line!(self, "    }}");
            }
            Kind::Map => {
                line!(self, "    const unsigned long long i = thread;");
                line!(self, "    if (i < count) {{");
                self.scalar_body("        ", "");
                line!(self, "    }}");
            }
            Kind::Reduce {
                op, accumulator, ..
            } => {
                let t = accumulator.c_name();
                line!(self, "    {t} r[{vector}];");
                line!(
                    self,
                    "    #pragma unroll\n    for (int k = 0; k < {vector}; ++k) r[k] = {};",
                    identity(op, accumulator)
                );
                line!(
                    self,
                    "    const unsigned long long step = gridDim.x * (unsigned long long)blockDim.x * {vector};"
                );
                if vector > 1 {
                    line!(
                        self,
                        "    for (unsigned long long first = thread * {vector}; first + {vector} <= count; first += step) {{"
                    );
                    self.vector_body("        ");
                    line!(self, "    }}");
                    line!(
                        self,
                        "    const unsigned long long i = count / {vector} * {vector} + thread;"
                    );
                    line!(self, "    if (i < count) {{");
                    self.scalar_body("        ", "0");
                    line!(self, "    }}");
                } else {
                    line!(
                        self,
                        "    for (unsigned long long i = thread; i < count; i += step) {{"
                    );
                    self.scalar_body("        ", "0");
                    line!(self, "    }}");
                }
                self.block_reduction(op, accumulator);
            }
            Kind::Axes {
                op,
                accumulator,
                team,
                ..
            } => self.axes_body(op, accumulator, team),
        }
        line!(self, "}}");
    }

    /// A team's run of positions, combined into one result.
    fn axes_body(&mut self, op: Reduction, accumulator: DType, team: Team) {
        let (t, threads) = (accumulator.c_name(), team.threads());
        line!(
            self,
            "    const unsigned long long result = thread / {threads}u;\n    const unsigned int lane = threadIdx.x % {threads}u;"
        );
        // The threads of a warp or of a block leave together.
        line!(self, "    if (result >= count) return;");
        line!(self, "    {t} r[1] = {{ {} }};", identity(op, accumulator));
        line!(
            self,
            "    for (unsigned long long k = lane; k < inner; k += {threads}u) {{\n        const unsigned long long i = result * inner + k;"
        );
        self.scalar_body("        ", "0");
        line!(self, "    }}");
        let to = self.out_type().c_name();
        match team {
            Team::Thread => line!(self, "    out[result] = ({to})r[0];"),
            Team::Warp => {
                line!(self, "    {t} a = r[0];");
                line!(self, "{}", shuffles(op, accumulator, 16, "    "));
                line!(self, "    if (lane == 0) out[result] = ({to})a;");
            }
            Team::Block => self.block_reduction(op, accumulator),
        }
    }

    fn out_type(&self) -> DType {
        match self.kind {
            Kind::Map => self.program.dtype(),
            Kind::Reduce { result, .. } | Kind::Axes { result, .. } => result,
        }
    }

    /// One thread's whole vector at `first`.
    fn vector_body(&mut self, indent: &str) {
        let vector = self.walk.vector;
        for (at, view) in self.program.views.iter().enumerate() {
            let t = view.data.dtype().c_name();
            let pointer = match self.view_access(at) {
                Access::Vector => format!("v{at}"),
                Access::Output if self.walk.access[0] == Access::Vector => "out".to_owned(),
                _ => continue,
            };
            line!(
                self,
                "{indent}const cuprum_pack<{t}, {vector}> w{at} = *reinterpret_cast<const cuprum_pack<{t}, {vector}>*>({pointer} + first);"
            );
        }
        let store = self.kind == Kind::Map;
        let t = self.out_type().c_name();
        if store {
            line!(self, "{indent}cuprum_pack<{t}, {vector}> result;");
        }
        line!(
            self,
            "{indent}#pragma unroll\n{indent}for (int k = 0; k < {vector}; ++k) {{"
        );
        let mut arguments = Vec::new();
        for at in 0..self.program.views.len() {
            arguments.push(match self.view_access(at) {
                Access::Vector | Access::Output => format!("w{at}.v[k]"),
                Access::Uniform => format!("u{at}"),
                _ => format!("v{at}[first + k]"),
            });
        }
        self.leaf_and_scalar_arguments(&mut arguments, "first + k", &|_| {
            unreachable!("the linear walk has no coordinates")
        });
        let value = format!("value({})", arguments.join(", "));
        if store {
            line!(self, "{indent}    result.v[k] = {value};");
        } else {
            self.combine(&format!("{indent}    "), "r[k]", &value);
        }
        line!(self, "{indent}}}");
        if store {
            line!(
                self,
                "{indent}*reinterpret_cast<cuprum_pack<{t}, {vector}>*>(out + first) = result;"
            );
        }
    }

    /// One position, `i`; a reduction combines into `r[slot]`.
    fn scalar_body(&mut self, indent: &str, slot: &str) {
        let rank = usize::from(self.walk.rank);
        if rank > 0 {
            let index = if self.walk.wide {
                "unsigned long long"
            } else {
                "unsigned int"
            };
            line!(self, "{indent}{index} rest = ({index})i;");
            for axis in (1..rank).rev() {
                line!(
                    self,
                    "{indent}const {index} c{axis} = rest % dims.size[{axis}];"
                );
                line!(self, "{indent}rest /= dims.size[{axis}];");
            }
            line!(self, "{indent}const {index} c0 = rest;");
        }
        // The number of an operand among the strided ones is its row in `dims.stride`.
        let signed = if self.walk.wide { "long long" } else { "int" };
        let rows: Vec<usize> = self
            .walk
            .access
            .iter()
            .scan(0, |next, &access| {
                let row = *next;
                *next += usize::from(access == Access::Strided);
                Some(row)
            })
            .collect();
        let strided = |operand: usize| {
            let row = rows[operand];
            let terms: Vec<String> = (0..rank)
                .map(|axis| format!("({signed})c{axis} * dims.stride[{row}][{axis}]"))
                .collect();
            format!("dims.base[{row}] + {}", terms.join(" + "))
        };
        let outputs = self.outputs();
        let out_index = if outputs == 1 && self.walk.access[0] == Access::Strided {
            line!(self, "{indent}const {signed} o = {};", strided(0));
            "o"
        } else {
            "i"
        };
        let mut arguments = Vec::new();
        for at in 0..self.program.views.len() {
            arguments.push(match self.view_access(at) {
                Access::Vector | Access::Linear => format!("v{at}[i]"),
                Access::Uniform => format!("u{at}"),
                Access::Strided => format!("v{at}[{}]", strided(outputs + at)),
                Access::Output => format!("out[{out_index}]"),
            });
        }
        self.leaf_and_scalar_arguments(&mut arguments, "i", &strided);
        let value = format!("value({})", arguments.join(", "));
        if self.kind == Kind::Map {
            line!(self, "{indent}out[{out_index}] = {value};");
        } else {
            self.combine(indent, &format!("r[{slot}]"), &value);
        }
    }

    fn leaf_and_scalar_arguments(
        &self,
        arguments: &mut Vec<String>,
        index: &str,
        strided: &dyn Fn(usize) -> String,
    ) {
        for (at, leaf) in self.leaves.iter().enumerate() {
            let index = match self.leaf_access(at) {
                Access::Uniform => "0ull".to_owned(),
                Access::Strided => format!(
                    "(unsigned long long)({})",
                    strided(self.outputs() + self.program.views.len() + at)
                ),
                _ => index.to_owned(),
            };
            let params: String = leaf.params().map(|(_, name)| format!(", {name}")).collect();
            arguments.push(format!("leaf{at}({index}{params})"));
        }
        arguments.extend((0..self.program.scalars.len()).map(|at| format!("s{at}")));
    }

    /// `into = into (op) value`, in the accumulator's type.
    fn combine(&mut self, indent: &str, into: &str, value: &str) {
        let (Kind::Reduce {
            op, accumulator, ..
        }
        | Kind::Axes {
            op, accumulator, ..
        }) = self.kind
        else {
            unreachable!("only reductions combine")
        };
        let t = accumulator.c_name();
        line!(
            self,
            "{indent}{{ const {t} x = ({t}){value}; {into} = {}; }}",
            combination(op, accumulator, into, "x")
        );
    }

    /// Combines `r[..]` of all threads of the block; thread 0 stores the result.
    fn block_reduction(&mut self, op: Reduction, accumulator: DType) {
        let t = accumulator.c_name();
        let warps = REDUCE_THREADS / 32;
        line!(self, "    {t} a = r[0];");
        for k in 1..self.walk.vector {
            line!(
                self,
                "    {{ const {t} x = r[{k}]; a = {}; }}",
                combination(op, accumulator, "a", "x")
            );
        }
        line!(self, "{}", shuffles(op, accumulator, 16, "    "));
        line!(self, "    __shared__ {t} partial[{warps}];");
        line!(
            self,
            "    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = a;"
        );
        line!(self, "    __syncthreads();");
        line!(self, "    if (threadIdx.x < 32) {{");
        line!(
            self,
            "        a = threadIdx.x < {warps} ? partial[threadIdx.x] : {};",
            identity(op, accumulator)
        );
        line!(self, "{}", shuffles(op, accumulator, warps / 2, "        "));
        line!(
            self,
            "        if (threadIdx.x == 0) out[blockIdx.x] = ({})a;",
            self.out_type().c_name()
        );
        line!(self, "    }}");
    }
}

/// Combines `a` of neighbouring lanes, `from` apart at first, into that of the first.
fn shuffles(op: Reduction, accumulator: DType, from: u32, indent: &str) -> String {
    let (t, body) = (accumulator.c_name(), combination(op, accumulator, "a", "x"));
    format!(
        "{indent}#pragma unroll\n{indent}for (int d = {from}; d > 0; d >>= 1) {{ const {t} x = __shfl_down_sync(0xffffffffu, a, d); a = {body}; }}"
    )
}

/// The value that changes nothing when combined.
fn identity(op: Reduction, dtype: DType) -> &'static str {
    match (op, dtype) {
        (Reduction::Sum, _) => "0",
        (Reduction::Prod, _) => "1",
        (Reduction::Min, DType::F32) => "__int_as_float(0x7f800000)",
        (Reduction::Min, DType::F64) => "__longlong_as_double(0x7ff0000000000000ll)",
        (Reduction::Min, DType::I32) => "0x7fffffff",
        (Reduction::Min, DType::U32) => "0xffffffffu",
        (Reduction::Min, DType::I64) => "0x7fffffffffffffffll",
        (Reduction::Min, DType::U64) => "0xffffffffffffffffull",
        (Reduction::Max, DType::F32) => "__int_as_float(0xff800000)",
        (Reduction::Max, DType::F64) => "__longlong_as_double(0xfff0000000000000ll)",
        (Reduction::Max, DType::I32) => "(-0x7fffffff - 1)",
        (Reduction::Max, DType::I64) => "(-0x7fffffffffffffffll - 1)",
        (Reduction::Max, DType::U32 | DType::U64) => "0",
        (Reduction::Min | Reduction::Max, DType::Bool) => {
            unreachable!("masks are cast before they are reduced")
        }
    }
}

/// `a (op) b`. Minimum and maximum let a NaN through, from either side.
fn combination(op: Reduction, dtype: DType, a: &str, b: &str) -> String {
    match op {
        Reduction::Sum => Op::Add.source(dtype, dtype, 0, &[a, b]),
        Reduction::Prod => Op::Mul.source(dtype, dtype, 0, &[a, b]),
        Reduction::Min => Op::Minimum.source(dtype, dtype, 0, &[a, b]),
        Reduction::Max => Op::Maximum.source(dtype, dtype, 0, &[a, b]),
    }
}
