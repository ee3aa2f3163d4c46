//! The check of addresses as compiled code calls it, made once for the process.
//!
//! A function of the host may overwrite most registers, and its callers must save them. Checks are on cold paths, so here the callee saves
//! whatever it uses, and the hot paths keep their values in registers.

use std::sync::OnceLock;

use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{AbiParam, InstBuilder as _, Signature};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module as _};

use super::code::{Code, host};
use crate::config::CodeQuality;
use crate::exec::helpers;

struct Trampoline {
    address: usize,
    #[expect(dead_code, reason = "kept alive for compiled code")]
    code: Code,
}

static CHECK: OnceLock<Result<Trampoline, String>> = OnceLock::new();

/// Makes the trampoline if it is not there yet.
///
/// # Errors
/// Why the host cannot run compiled code.
pub(super) fn prepare() -> Result<(), String> {
    CHECK
        .get_or_init(make)
        .as_ref()
        .map(|_| ())
        .map_err(Clone::clone)
}

/// Where it is.
pub(super) fn address() -> usize {
    match CHECK.get() {
        Some(Ok(trampoline)) => trampoline.address,
        _ => unreachable!("a unit prepares the trampoline before it compiles"),
    }
}

/// Its parameters: context, thread, address, group. The answer is in the context's fault record.
pub(super) fn signature() -> Signature {
    let mut signature = Signature::new(CallConv::PreserveAll);
    signature
        .params
        .extend([I64, I32, I64, I32].map(AbiParam::new));
    signature
}

fn make() -> Result<Trampoline, String> {
    let isa = host(CodeQuality::Optimised)?;
    let call_conv = isa.default_call_conv();
    let mut module = JITModule::new(JITBuilder::with_isa(
        isa,
        cranelift_module::default_libcall_names(),
    ));
    let signature = signature();
    let id = module
        .declare_function("check", Linkage::Local, &signature)
        .map_err(|error| error.to_string())?;
    let mut context = module.make_context();
    context.func.signature = signature.clone();
    let mut builder_context = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut builder_context);
    let block = builder.create_block();
    builder.append_block_params_for_function_params(block);
    builder.switch_to_block(block);
    let arguments = builder.block_params(block).to_vec();
    let mut inner = signature;
    inner.call_conv = call_conv;
    let inner = builder.import_signature(inner);
    let target = builder
        .ins()
        .iconst(I64, helpers::check as *const () as usize as i64);
    builder.ins().call_indirect(inner, target, &arguments);
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
    module
        .define_function(id, &mut context)
        .map_err(|error| format!("{error:?}"))?;
    module
        .finalize_definitions()
        .map_err(|error| error.to_string())?;
    let address = module.get_finalized_function(id).addr();
    Ok(Trampoline {
        address,
        code: Code::new(module, Box::default()),
    })
}
