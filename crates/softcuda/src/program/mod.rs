//! A loaded module: the owned image of a PTX text.
//!
//! [`Program::parse`] reads the text, decodes every instruction and builds the [functions](ir); [`Program::compile`] makes one kernel ready to
//! run. What cannot be compiled is an error of the kernels that reach it, not of the module.

mod build;
pub(crate) mod flow;
mod inline;
pub(crate) mod ir;
mod lockstep;
mod scope;
mod variables;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cuprum_driver_sys::CUresult;
use cuprum_ptx::{FunctionKind, Item, LineIndex, Linkage, Space};

use crate::config::CodeQuality;
use crate::exec::CompiledKernel;
use crate::exec::fault::Place;
use ir::{Callee, Function, Kind, Line, Operand, Symbol, Term};

pub(crate) use inline::transfers;
pub(crate) use variables::{SharedVariable, Variable};

/// Bytes of local memory that a thread may have, as on hardware; its stack comes on top.
pub(crate) const MAX_LOCAL: u32 = 512 << 10;

/// Newest PTX version that is understood.
const NEWEST_PTX: (u8, u8) = (9, 9);

/// Why a module or a kernel cannot be loaded.
#[derive(Debug, Clone)]
pub(crate) struct LoadError {
    pub(crate) code: CUresult,
    /// What is wrong and where.
    pub(crate) message: String,
}

/// A parameter of a kernel: its place in parameter memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParamInfo {
    pub(crate) offset: u32,
    pub(crate) size: u32,
    pub(crate) align: u32,
}

/// What is known of a kernel without compiling it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KernelInfo {
    pub(crate) name: String,
    pub(crate) params: Vec<ParamInfo>,
    /// Bytes of static shared memory, of the kernel and what it calls.
    pub(crate) static_shared: u32,
    /// Bytes of local memory of a thread.
    pub(crate) local_bytes: u32,
    /// An estimate of the registers that a thread would need on hardware.
    pub(crate) registers: u32,
    /// Most threads of a block.
    pub(crate) max_threads: u32,
    /// The only block shape allowed, if the kernel requires one.
    pub(crate) req_threads: Option<[u32; 3]>,
    /// Blocks of a cluster, if the kernel asks for clusters of more than one.
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) ptx_version: (u8, u8),
}

/// A loaded module.
#[derive(Debug)]
pub(crate) struct Program {
    /// Bodies by function number; none for functions that are only declared.
    functions: Vec<Option<Function>>,
    kernels: Vec<KernelInfo>,
    /// Index into `functions` of each kernel.
    kernel_functions: Vec<u32>,
    variables: Vec<Variable>,
    shared: Vec<SharedVariable>,
    /// Alignment of dynamic shared memory.
    dynamic_align: u32,
    files: HashMap<u32, Arc<str>>,
    /// Functions whose address is taken somewhere.
    addressed: HashSet<u32>,
    summaries: Vec<inline::Summary>,
}

impl Program {
    /// Loads a PTX text.
    ///
    /// # Errors
    /// `INVALID_PTX` with the place if the text is not PTX, `UNSUPPORTED_PTX_VERSION` if it is newer than what is known.
    pub(crate) fn parse(ptx: &str) -> Result<Self, LoadError> {
        let module = cuprum_ptx::parse(ptx).map_err(|error| LoadError {
            code: CUresult::INVALID_PTX,
            message: error.to_string(),
        })?;
        if module.version > NEWEST_PTX {
            return Err(LoadError {
                code: CUresult::UNSUPPORTED_PTX_VERSION,
                message: format!(
                    "PTX version {}.{} is newer than the newest supported, {}.{}",
                    module.version.0, module.version.1, NEWEST_PTX.0, NEWEST_PTX.1
                ),
            });
        }
        let mut program = Self {
            functions: Vec::new(),
            kernels: Vec::new(),
            kernel_functions: Vec::new(),
            variables: Vec::new(),
            shared: Vec::new(),
            dynamic_align: 16,
            files: module
                .files
                .iter()
                .map(|file| (file.index, Arc::from(file.name)))
                .collect(),
            addressed: HashSet::new(),
            summaries: Vec::new(),
        };
        let problems = program.load(ptx, &module);
        match problems.into_iter().next() {
            None => Ok(program),
            Some((line, text)) => Err(LoadError {
                code: CUresult::INVALID_PTX,
                message: format!("PTX line {}: {text}", line.ptx),
            }),
        }
    }

    /// Builds the functions and variables. Answers what no assembler would accept.
    fn load(&mut self, ptx: &str, module: &cuprum_ptx::Module<'_>) -> Vec<(Line, String)> {
        let mut problems = Vec::new();
        let lines = LineIndex::new(ptx);
        // Names first: everything may refer to what stands further down.
        let mut functions: HashMap<&str, u32> = HashMap::new();
        let mut has_body = Vec::new();
        for function in module.functions() {
            let index = *functions.entry(function.name.text).or_insert_with(|| {
                self.functions.push(None);
                has_body.push(false);
                has_body.len() as u32 - 1
            });
            has_body[index as usize] |= function.body.is_some();
        }
        for item in &module.items {
            if let Item::Alias(alias) = item
                && let Some(&target) = functions.get(alias.target.text)
            {
                functions.insert(alias.name.text, target);
            }
        }
        let mut symbols: HashMap<&str, (Symbol, Space)> = HashMap::new();
        let mut count = 0;
        for variable in module.variables() {
            let symbol = match variable.space {
                Space::Shared
                    if variable.linkage == Linkage::Extern || variable.is_open_array() =>
                {
                    self.dynamic_align = self.dynamic_align.max(variable.alignment());
                    Symbol::DynamicShared
                }
                Space::Shared => {
                    self.shared.push(SharedVariable {
                        size: u32::try_from(variable.size()).unwrap_or(u32::MAX / 4),
                        align: variable.alignment(),
                    });
                    Symbol::Shared(self.shared.len() as u32 - 1)
                }
                Space::Global | Space::Const => {
                    count += 1;
                    Symbol::Variable(count - 1)
                }
                _ => continue,
            };
            symbols.insert(variable.name.text, (symbol, variable.space));
        }
        for variable in module.variables() {
            if matches!(variable.space, Space::Global | Space::Const) {
                let built = Variable::new(variable, &functions, &symbols);
                self.variables.push(built);
            }
        }
        for function in module.functions() {
            let Some(body) = &function.body else { continue };
            let mut environment = build::Environment {
                lines: &lines,
                functions: &functions,
                has_body: &has_body,
                symbols: &symbols,
                variables: &mut self.variables,
                shared: &mut self.shared,
                problems: &mut problems,
            };
            let mut built = build::build(function, body, &mut environment);
            flow::prune(&mut built);
            let index = functions[function.name.text];
            self.functions[index as usize] = Some(built);
        }
        self.find_addressed();
        self.summaries = inline::summarise(self);
        for function in module.functions() {
            if function.kind == FunctionKind::Entry && function.body.is_some() {
                let index = functions[function.name.text];
                let info = self.describe(function, index, module.version);
                self.kernels.push(info);
                self.kernel_functions.push(index);
            }
        }
        problems
    }

    /// Finds the functions whose address is taken, in code or in initial values.
    fn find_addressed(&mut self) {
        let mut addressed = HashSet::new();
        for variable in &self.variables {
            for relocation in &variable.relocations {
                if let variables::Target::Function(index) = relocation.target {
                    addressed.insert(index as u32);
                }
            }
        }
        fn scan(operand: &Operand, addressed: &mut HashSet<u32>) {
            match operand {
                Operand::Symbol(Symbol::Function(index), _) => {
                    addressed.insert(*index);
                }
                Operand::Vector(elements) => {
                    elements.iter().for_each(|element| scan(element, addressed));
                }
                _ => {}
            }
        }
        for function in self.functions.iter().flatten() {
            for inst in function.insts() {
                if let Kind::Op(_, operands) = &inst.kind {
                    operands
                        .iter()
                        .for_each(|operand| scan(operand, &mut addressed));
                }
            }
        }
        self.addressed = addressed;
    }

    fn describe(
        &self,
        function: &cuprum_ptx::Function<'_>,
        index: u32,
        ptx_version: (u8, u8),
    ) -> KernelInfo {
        let attributes = &function.attributes;
        let product = |shape: [u32; 3]| {
            shape
                .iter()
                .fold(1u32, |n, &extent| n.saturating_mul(extent.max(1)))
        };
        let reach = self.reachable(index);
        let registers = self.body(index).map_or(0, |body| {
            body.regs
                .iter()
                .map(|ty| ty.size().div_ceil(4))
                .sum::<u32>()
        });
        KernelInfo {
            name: function.name.text.to_owned(),
            params: build::kernel_params(&function.params)
                .into_iter()
                .zip(&function.params)
                .map(|(slot, param)| ParamInfo {
                    offset: slot.offset,
                    size: slot.size,
                    align: param.alignment(),
                })
                .collect(),
            static_shared: self.shared_layout(&reach).1,
            local_bytes: self.body(index).map_or(0, |body| body.frame_bytes),
            // Virtual registers outnumber the physical ones that an allocator would need.
            registers: (registers / 4 + 8).next_multiple_of(8).clamp(16, 255),
            max_threads: attributes
                .max_threads
                .or(attributes.required_threads)
                .map_or(1024, product)
                .min(1024),
            req_threads: attributes.required_threads,
            cluster: attributes
                .required_cluster
                .filter(|shape| shape.iter().any(|&extent| extent > 1)),
            ptx_version,
        }
    }

    /// Module variables in global and constant memory.
    pub(crate) fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The kernels, in the order of the text.
    pub(crate) fn kernels(&self) -> &[KernelInfo] {
        &self.kernels
    }

    /// Compiles a kernel. `addresses` are those of the variables, in order.
    ///
    /// # Errors
    /// `NOT_SUPPORTED` naming the instruction and its line, if the kernel or what it calls needs something that is not supported,
    /// or naming the directive by which it asks for clusters.
    pub(crate) fn compile(
        &self,
        kernel: usize,
        addresses: &[u64],
        quality: CodeQuality,
    ) -> Result<Arc<CompiledKernel>, LoadError> {
        let function = self.kernel_functions[kernel];
        let info = self.kernels[kernel].clone();
        if let Some([x, y, z]) = info.cluster {
            return Err(LoadError {
                code: CUresult::NOT_SUPPORTED,
                message: format!(
                    "kernel `{}` asks for clusters of {x}x{y}x{z} blocks by `.reqnctapercluster`, which is not supported",
                    info.name
                ),
            });
        }
        let mut flat = inline::flatten(self, function)?;
        lockstep::keep(&mut flat);
        crate::jit::compile(self, function, info, &flat, addresses, quality).map(Arc::new)
    }

    /// The functions with a body.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().flatten()
    }

    pub(crate) fn body(&self, function: u32) -> Option<&Function> {
        self.functions[function as usize].as_ref()
    }

    pub(crate) fn function_count(&self) -> usize {
        self.functions.len()
    }

    pub(crate) fn summary(&self, function: u32) -> inline::Summary {
        self.summaries[function as usize]
    }

    /// Marks the loops of a function that is compiled by itself.
    pub(crate) fn mark_loops(&self, function: &mut Function) {
        inline::mark(self, function);
    }

    pub(crate) fn addressed(&self) -> &HashSet<u32> {
        &self.addressed
    }

    /// The functions that `root` can reach by calls, itself included. An indirect call reaches every function whose address is taken.
    pub(crate) fn reachable(&self, root: u32) -> Vec<u32> {
        let mut seen = HashSet::from([root]);
        let mut list = vec![root];
        let mut next = 0;
        while next < list.len() {
            let function = list[next];
            next += 1;
            let Some(body) = self.body(function) else {
                continue;
            };
            for inst in body.insts() {
                let Kind::Call(call) = &inst.kind else {
                    continue;
                };
                match call.callee {
                    Callee::Function(index) => {
                        if seen.insert(index) {
                            list.push(index);
                        }
                    }
                    Callee::Indirect(..) => {
                        let mut targets: Vec<u32> = self.addressed.iter().copied().collect();
                        targets.sort_unstable();
                        list.extend(targets.into_iter().filter(|index| seen.insert(*index)));
                    }
                    Callee::Builtin(_) => {}
                }
            }
        }
        list
    }

    /// Places the static shared variables that `functions` use: the offset of each variable (0 for those not used), and the bytes of all.
    pub(crate) fn shared_layout(&self, functions: &[u32]) -> (Vec<u32>, u32) {
        let mut used = vec![false; self.shared.len()];
        let mut dynamic = false;
        let mut mark = |operand: &Operand| {
            fn walk(operand: &Operand, f: &mut impl FnMut(Symbol)) {
                match operand {
                    Operand::Symbol(symbol, _) | Operand::Address(ir::Base::Symbol(symbol), _) => {
                        f(*symbol);
                    }
                    Operand::Vector(elements) => {
                        elements.iter().for_each(|element| walk(element, f));
                    }
                    _ => {}
                }
            }
            walk(operand, &mut |symbol| match symbol {
                Symbol::Shared(index) => used[index as usize] = true,
                Symbol::DynamicShared => dynamic = true,
                _ => {}
            });
        };
        for &function in functions {
            let Some(body) = self.body(function) else {
                continue;
            };
            for inst in body.insts() {
                match &inst.kind {
                    Kind::Op(_, operands) => operands.iter().for_each(&mut mark),
                    Kind::Call(call) => {
                        for argument in &call.args {
                            if let ir::Argument::Value(operand) = argument {
                                mark(operand);
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        let mut offset = 0;
        let offsets = self
            .shared
            .iter()
            .zip(&used)
            .map(|(variable, &used)| {
                if !used {
                    return 0;
                }
                let start = build::align_up(offset, variable.align);
                offset = start.saturating_add(variable.size);
                start
            })
            .collect();
        let align = if dynamic { self.dynamic_align } else { 1 };
        (offsets, build::align_up(offset, align))
    }

    /// Where an instruction stands, for messages.
    pub(crate) fn place(&self, line: Line) -> Place {
        Place {
            ptx_line: line.ptx,
            source: (line.source != 0)
                .then(|| self.files.get(&line.file))
                .flatten()
                .map(|file| (Arc::clone(file), line.source)),
        }
    }

    /// The error for something that is not supported in `function` at `line`.
    pub(crate) fn unsupported(&self, function: &str, line: Line, what: &str) -> LoadError {
        let place = self.place(line);
        let source = place
            .source
            .map(|(file, line)| format!(", {file}:{line}"))
            .unwrap_or_default();
        LoadError {
            code: CUresult::NOT_SUPPORTED,
            message: format!(
                "function `{function}`, PTX line {}{source}: {what}",
                place.ptx_line
            ),
        }
    }
}

/// Whether a function has a terminator that suspends.
fn suspends(function: &Function) -> bool {
    function
        .blocks
        .iter()
        .any(|block| matches!(block.term, Term::Suspend { .. }))
}
