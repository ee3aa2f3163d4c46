//! One kernel being compiled: its machine functions, sites and tables.

use std::cell::Cell;
use std::collections::HashMap;

use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{AbiParam, Signature, Type, UserFuncName};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_codegen::{CodegenError, Context};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{ArenaMemoryProvider, JITBuilder, JITModule};
use cranelift_module::{FuncId, Module as _, ModuleError};
use cuprum_driver_sys::CUresult;

use super::code::{Code, has_fma, host};
use super::limits::{check_regions, check_size};
use super::lower::Unsupported;
use super::plan::Plan;
use super::{region, registers, sync};
use crate::config::CodeQuality;
use crate::exec::CompiledKernel;
use crate::exec::context::RegionFn;
use crate::exec::fault::{Access, Site};
use crate::exec::helpers;
use crate::exec::image;
use crate::exec::kernel::{Group, ResumePoint};
use crate::program::ir::{Callee, Function, Kind, Line};
use crate::program::{KernelInfo, LoadError, MAX_LOCAL, Program};

/// Functions of the host that compiled code calls, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Helper {
    Raise,
    Resolve,
    Vprintf,
    AssertFail,
    Malloc,
    Free,
    Clock,
    Pause,
    AddF32,
    AddF64,
    Inc,
    Dec,
    AddF16,
    AddF16x2,
    AddBf16,
    AddBf16x2,
    Texture,
    Surface,
    ImageQuery,
}

impl Helper {
    /// Address, parameters and result.
    fn signature(self) -> (usize, &'static [Type], &'static [Type]) {
        match self {
            Self::Raise => (
                helpers::raise as *const () as usize,
                &[I64, I32, I32, I32, I64],
                &[],
            ),
            Self::Resolve => (
                helpers::resolve as *const () as usize,
                &[I64, I32, I64, I32],
                &[I64],
            ),
            Self::Vprintf => (
                helpers::vprintf as *const () as usize,
                &[I64, I32, I32, I64, I64],
                &[I64],
            ),
            Self::AssertFail => (
                helpers::assert_fail as *const () as usize,
                &[I64, I32, I32, I64, I64, I32, I64],
                &[],
            ),
            Self::Malloc => (helpers::malloc as *const () as usize, &[I64, I64], &[I64]),
            Self::Free => (
                helpers::free as *const () as usize,
                &[I64, I32, I32, I64],
                &[I32],
            ),
            Self::Clock => (helpers::clock as *const () as usize, &[I64], &[I64]),
            Self::Pause => (helpers::pause as *const () as usize, &[], &[]),
            Self::AddF32 => (
                helpers::atomic_add_f32 as *const () as usize,
                &[I64, I32, I32],
                &[I32],
            ),
            Self::AddF64 => (
                helpers::atomic_add_f64 as *const () as usize,
                &[I64, I64],
                &[I64],
            ),
            Self::Inc => (
                helpers::atomic_inc_u32 as *const () as usize,
                &[I64, I32],
                &[I32],
            ),
            Self::Dec => (
                helpers::atomic_dec_u32 as *const () as usize,
                &[I64, I32],
                &[I32],
            ),
            Self::AddF16 => (
                helpers::atomic_add_f16 as *const () as usize,
                &[I64, I32],
                &[I32],
            ),
            Self::AddF16x2 => (
                helpers::atomic_add_f16x2 as *const () as usize,
                &[I64, I32],
                &[I32],
            ),
            Self::AddBf16 => (
                helpers::atomic_add_bf16 as *const () as usize,
                &[I64, I32],
                &[I32],
            ),
            Self::AddBf16x2 => (
                helpers::atomic_add_bf16x2 as *const () as usize,
                &[I64, I32],
                &[I32],
            ),
            Self::Texture => (image::texture as *const () as usize, IMAGE, &[I32]),
            Self::Surface => (image::surface as *const () as usize, IMAGE, &[I32]),
            Self::ImageQuery => (image::query as *const () as usize, IMAGE, &[I32]),
        }
    }
}

/// The parameters of the functions for textures and surfaces.
const IMAGE: &[Type] = &[I64, I32, I32, I32, I64, I64];

/// State shared by the machine functions of a kernel.
pub(super) struct Unit<'a> {
    pub(super) program: &'a Program,
    pub(super) addresses: &'a [u64],
    pub(super) shared_offsets: Vec<u32>,
    pub(super) static_shared: u32,
    pub(super) module: JITModule,
    pub(super) has_fma: bool,
    pub(super) call_conv: CallConv,
    pub(super) param_bytes: u32,
    /// Native functions by function number.
    natives: HashMap<u32, FuncId>,
    /// Native functions still to be compiled.
    pending: Vec<u32>,
    sites: Vec<Site>,
    site_numbers: HashMap<(Line, Option<AccessKey>), u32>,
    groups: Vec<Group>,
    /// Entry points for indirect calls, by function number.
    pub(super) table: Box<[usize]>,
    pub(super) uses_table: bool,
    scratch: Option<Box<Scratch>>,
    /// Number and name of each addressed function that cannot be in the table.
    uncallable: Vec<(u32, String)>,
}

/// Working memory of the code generator. Its tables are large, so each thread keeps its own from one kernel to the next.
struct Scratch {
    context: Context,
    builder: FunctionBuilderContext,
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            context: Context::new(),
            builder: FunctionBuilderContext::new(),
        }
    }
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Instructions of a function above which working memory is given back: a kernel of this size is rare.
const LARGE: usize = 50_000;

/// Address space reserved for a kernel's code; pages are taken as they are filled. The functions of a kernel call each
/// other by distance, which reaches 2 GiB on x86-64 and 128 MiB on 64-bit Arm, so they must not lie where an allocator
/// happens to have room.
const CODE_BYTES: usize = 64 << 20;

/// Bytes of the host's stack that one function may have: stacks are checked when a function has its frame already, and
/// that must have fitted the reserve.
const MAX_HOST_FRAME: u32 = 64 << 10;

type AccessKey = (u8, u32, bool, bool);

impl<'a> Unit<'a> {
    fn new(
        program: &'a Program,
        addresses: &'a [u64],
        shared: (Vec<u32>, u32),
        param_bytes: u32,
        quality: CodeQuality,
    ) -> Result<Self, String> {
        let isa = host(quality)?;
        let has_fma = has_fma(&*isa);
        let call_conv = isa.default_call_conv();
        let mut builder = JITBuilder::with_isa(isa, cranelift_module::default_libcall_names());
        builder.symbol_lookup_fn(Box::new(|name| {
            let found = libcalls().into_iter().find(|&(known, _)| known == name);
            found.map(|(_, address)| address)
        }));
        let memory = ArenaMemoryProvider::new_with_size(CODE_BYTES)
            .map_err(|error| format!("no address space for its code: {error}"))?;
        builder.memory_provider(Box::new(memory));
        let module = JITModule::new(builder);
        super::trampoline::prepare()?;
        Ok(Self {
            program,
            addresses,
            shared_offsets: shared.0,
            static_shared: shared.1,
            module,
            has_fma,
            call_conv,
            param_bytes,
            natives: HashMap::new(),
            pending: Vec::new(),
            sites: Vec::new(),
            site_numbers: HashMap::new(),
            table: vec![0; program.function_count()].into(),
            uses_table: false,
            groups: Vec::new(),
            scratch: SCRATCH.take(),
            uncallable: Vec::new(),
        })
    }

    /// The number of a site.
    pub(super) fn site(&mut self, line: Line, access: Option<Access>) -> u32 {
        let key = access.map(|a| (a.space as u8, a.size, a.write, a.atomic));
        if let Some(&number) = self.site_numbers.get(&(line, key)) {
            return number;
        }
        let number = self.sites.len() as u32;
        self.sites.push(Site {
            place: self.program.place(line),
            access,
        });
        self.site_numbers.insert((line, key), number);
        number
    }

    /// The number of a new group.
    pub(super) fn group(&mut self, group: Group) -> u32 {
        self.groups.push(group);
        self.groups.len() as u32 - 1
    }

    /// The native function of that number, compiled sooner or later.
    pub(super) fn native(&mut self, function: u32) -> Result<FuncId, String> {
        if let Some(&id) = self.natives.get(&function) {
            return Ok(id);
        }
        let signature = self.native_signature();
        let id = self
            .module
            .declare_anonymous_function(&signature)
            .map_err(|error| error.to_string())?;
        self.natives.insert(function, id);
        self.pending.push(function);
        Ok(id)
    }

    /// Compiles, sooner or later, every function that a call through an address may go to.
    fn compile_addressed(&mut self) -> Result<(), String> {
        let program = self.program;
        let mut targets: Vec<u32> = program.addressed().iter().copied().collect();
        targets.sort_unstable();
        for target in targets {
            // A kernel's address can be taken, but not called.
            let Some(body) = program.body(target).filter(|body| !body.is_entry) else {
                continue;
            };
            if program.summary(target).stops {
                self.uncallable.push((target, body.name.clone()));
            } else {
                self.native(target)?;
            }
        }
        Ok(())
    }

    /// Context, thread, frame: status.
    pub(super) fn native_signature(&self) -> Signature {
        let mut signature = Signature::new(self.call_conv);
        for ty in [I64, I32, I32] {
            signature.params.push(AbiParam::new(ty));
        }
        signature.returns.push(AbiParam::new(I32));
        signature
    }

    pub(super) fn target_config(&self) -> TargetFrontendConfig {
        self.module.target_config()
    }

    /// The signature of a helper, and its address.
    pub(super) fn helper(&self, helper: Helper) -> (usize, Signature) {
        let (address, params, results) = helper.signature();
        (address, self.signature(params, results))
    }

    /// A signature of the C convention.
    pub(super) fn signature(&self, params: &[Type], results: &[Type]) -> Signature {
        let mut signature = Signature::new(self.call_conv);
        signature
            .params
            .extend(params.iter().map(|&ty| AbiParam::new(ty)));
        signature
            .returns
            .extend(results.iter().map(|&ty| AbiParam::new(ty)));
        signature
    }

    /// Defines a function whose body `build` makes.
    fn define<T>(
        &mut self,
        id: FuncId,
        build: impl FnOnce(&mut Self, FunctionBuilder<'_>) -> Result<T, Unsupported>,
    ) -> Result<T, Unsupported> {
        let mut scratch = self.scratch.take().unwrap_or_default();
        let Scratch { context, builder } = &mut *scratch;
        self.module.clear_context(context);
        context.func.signature = self.native_signature();
        context.func.name = UserFuncName::user(0, id.as_u32());
        let built = build(self, FunctionBuilder::new(&mut context.func, builder))?;
        let large = context.func.dfg.num_insts() > LARGE;
        self.module
            .define_function(id, context)
            .map_err(|error| match error {
                ModuleError::Compilation(CodegenError::CodeTooLarge) => {
                    Unsupported::anywhere("too much code".to_owned())
                }
                error => Unsupported::anywhere(format!("the code generator failed: {error:?}")),
            })?;
        let frame = context
            .compiled_code()
            .and_then(|code| code.buffer.frame_layout())
            .map_or(0, |layout| layout.frame_to_fp_offset);
        // What a failure leaves behind cannot be used again; what it has built is complete here.
        self.scratch = (!large).then_some(scratch);
        if frame > MAX_HOST_FRAME {
            return Err(Unsupported::anywhere(format!(
                "too many values are alive at once: they need {frame} bytes of the host's stack, of {MAX_HOST_FRAME}"
            )));
        }
        Ok(built)
    }

    /// Bytes of local memory for the deepest chain of calls from `function`, and whether chains are unbounded.
    fn local_need(&self, function: &Function) -> (u32, bool) {
        /// A function on the path, with those it calls still to be visited.
        struct Visit {
            function: Option<u32>,
            frame: u32,
            callees: Vec<u32>,
            deepest: u32,
        }
        let mut unbounded = false;
        let mut visit = |number: Option<u32>, function: &Function| {
            let (mut callees, indirect) = self.callees(function);
            callees.sort_unstable();
            callees.dedup();
            unbounded |= indirect;
            Visit {
                function: number,
                frame: function.frame_bytes,
                callees,
                deepest: super::calls::outgoing_bytes(self.program, function),
            }
        };
        // Each function is visited once, however many chains lead to it, and without recursion here: the call graph is
        // as deep and as wide as the author of the text pleased. `None` while it is on the path.
        let mut known: HashMap<u32, Option<u32>> = HashMap::new();
        let mut path = vec![visit(None, function)];
        let mut cycle = false;
        loop {
            let top = path.last_mut().expect("the root is popped last");
            let Some(callee) = top.callees.pop() else {
                let need = top.frame.saturating_add(top.deepest);
                if let Some(number) = top.function {
                    known.insert(number, Some(need));
                }
                path.pop();
                match path.last_mut() {
                    Some(caller) => caller.deepest = caller.deepest.max(need),
                    None => return (need, unbounded || cycle),
                }
                continue;
            };
            match known.get(&callee) {
                Some(Some(need)) => top.deepest = top.deepest.max(*need),
                Some(None) => cycle = true,
                None => {
                    if let Some(body) = self.program.body(callee) {
                        known.insert(callee, None);
                        path.push(visit(Some(callee), body));
                    }
                }
            }
        }
    }

    /// The functions that a function may call, and whether it calls through addresses.
    fn callees(&self, function: &Function) -> (Vec<u32>, bool) {
        let mut callees = Vec::new();
        let mut indirect = false;
        for inst in function.insts() {
            let Kind::Call(call) = &inst.kind else {
                continue;
            };
            match call.callee {
                Callee::Function(callee) => callees.push(callee),
                Callee::Indirect(..) => indirect = true,
                Callee::Builtin(_) => {}
            }
        }
        if indirect {
            callees.extend(self.program.addressed());
        }
        (callees, indirect)
    }
}

/// Library functions that Cranelift calls where the host lacks an instruction.
fn libcalls() -> [(&'static str, *const u8); 10] {
    extern "C" fn fma(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
    extern "C" fn fmaf(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    macro_rules! unary {
        ($ty:ident, $method:ident) => {{
            extern "C" fn call(x: $ty) -> $ty {
                x.$method()
            }
            (call as *const ()).cast::<u8>()
        }};
    }
    [
        ("fma", (fma as *const ()).cast::<u8>()),
        ("fmaf", (fmaf as *const ()).cast::<u8>()),
        ("ceil", unary!(f64, ceil)),
        ("ceilf", unary!(f32, ceil)),
        ("floor", unary!(f64, floor)),
        ("floorf", unary!(f32, floor)),
        ("trunc", unary!(f64, trunc)),
        ("truncf", unary!(f32, trunc)),
        ("nearbyint", unary!(f64, round_ties_even)),
        ("nearbyintf", unary!(f32, round_ties_even)),
    ]
}

/// Compiles the kernel and all that it calls.
pub(super) fn compile(
    program: &Program,
    kernel: u32,
    info: KernelInfo,
    flat: &Function,
    addresses: &[u64],
    quality: CodeQuality,
) -> Result<CompiledKernel, LoadError> {
    let internal = |message: String| LoadError {
        code: CUresult::NOT_SUPPORTED,
        message: format!("kernel `{}`: {message}", info.name),
    };
    let name = flat.name.clone();
    let refuse =
        |function: &str, what: Unsupported| program.unsupported(function, what.line, &what.message);
    let reach = program.reachable(kernel);
    let param_bytes = info
        .params
        .last()
        .map_or(0, |param| param.offset + param.size);
    let shared = program.shared_layout(&reach);
    let mut unit = Unit::new(program, addresses, shared, param_bytes, quality).map_err(internal)?;
    let (local_bytes, recursive) = unit.local_need(flat);
    if local_bytes > MAX_LOCAL {
        return Err(LoadError {
            code: CUresult::INVALID_PTX,
            message: format!(
                "kernel `{name}` needs {local_bytes} bytes of local memory for each thread: at most {MAX_LOCAL}"
            ),
        });
    }

    check_size(flat).map_err(|what| refuse(&name, what))?;
    let classes = registers::classes(flat);
    let plan = Plan::new(flat, &classes, sync::stop).map_err(|what| refuse(&name, what))?;
    check_regions(flat, &plan).map_err(|what| refuse(&name, what))?;
    let mut regions = Vec::new();
    for index in 0..plan.resume.len() {
        let signature = unit.native_signature();
        let id = unit
            .module
            .declare_anonymous_function(&signature)
            .map_err(|error| internal(error.to_string()))?;
        let next = unit
            .define(id, |unit, builder| {
                region::region(unit, builder, flat, &classes, &plan, index)
            })
            .map_err(|what| refuse(&name, what))?;
        regions.push((id, next));
    }
    let mut table_filled = false;
    loop {
        // Functions that are called by their addresses, as soon as anything that was compiled does that.
        if unit.uses_table && !table_filled {
            table_filled = true;
            unit.compile_addressed().map_err(internal)?;
        }
        let Some(function) = unit.pending.pop() else {
            break;
        };
        let Some(body) = program.body(function) else {
            continue;
        };
        let id = unit.native(function).map_err(internal)?;
        let mut body = body.clone();
        program.mark_loops(&mut body);
        check_size(&body).map_err(|what| refuse(&body.name, what))?;
        let classes = registers::classes(&body);
        unit.define(id, |unit, builder| {
            region::native(unit, builder, &body, &classes)
        })
        .map_err(|what| refuse(&body.name, what))?;
    }
    unit.module
        .finalize_definitions()
        .map_err(|error| internal(error.to_string()))?;
    let resume = plan
        .resume
        .into_iter()
        .zip(&regions)
        .map(|(resume, &(id, next))| ResumePoint {
            stop: resume.stop,
            next,
            // SAFETY: the function was compiled with the signature of `RegionFn` in the host's C convention.
            region: unsafe {
                core::mem::transmute::<*const u8, RegionFn>(unit.module.get_finalized_function(id))
            },
            place: resume.inst.map(|inst| program.place(inst.line)),
        })
        .collect();
    #[expect(clippy::iter_over_hash_type, reason = "each entry has its own place")]
    for (&function, &id) in &unit.natives {
        unit.table[function as usize] = unit.module.get_finalized_function(id).addr();
    }
    SCRATCH.set(unit.scratch);
    Ok(CompiledKernel {
        resume,
        frame_bytes: plan.frame_bytes,
        local_bytes,
        recursive,
        warp_ops: plan.warp_ops,
        static_shared: unit.static_shared,
        uncallable: unit.uncallable,
        sites: unit.sites,
        check: super::trampoline::address(),
        groups: unit.groups,
        _code: Code::new(unit.module, unit.table),
        info,
    })
}
