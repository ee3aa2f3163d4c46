//! Owned machine code.

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::{Arc, OnceLock};

use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable as _};
use cranelift_jit::JITModule;

use crate::config::CodeQuality;

/// The machine code of one kernel, freed when dropped.
pub(crate) struct Code {
    module: ManuallyDrop<JITModule>,
    /// Entry points by function number, for indirect calls; compiled code has its address.
    #[expect(dead_code, reason = "kept alive for compiled code")]
    table: Box<[usize]>,
}

// SAFETY: after compilation the module is only kept and freed; its code is immutable and may run on any thread.
unsafe impl Send for Code {}
// SAFETY: as for `Send`; no method takes `&self` of the module.
unsafe impl Sync for Code {}

impl Code {
    /// Takes ownership of finished code and of the table it refers to.
    pub(super) fn new(module: JITModule, table: Box<[usize]>) -> Self {
        Self {
            module: ManuallyDrop::new(module),
            table,
        }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the module is taken once, here.
        let module = unsafe { ManuallyDrop::take(&mut self.module) };
        // SAFETY: pointers into the code live in the kernel that owns this value, which is not running when it is dropped.
        unsafe { module.free_memory() };
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code")
    }
}

/// The host as a compilation target, or why it cannot be one.
pub(super) fn host(quality: CodeQuality) -> Result<Arc<dyn TargetIsa>, String> {
    static OPTIMISED: OnceLock<Result<OwnedTargetIsa, String>> = OnceLock::new();
    static QUICK: OnceLock<Result<OwnedTargetIsa, String>> = OnceLock::new();
    let host = match quality {
        CodeQuality::Optimised => &OPTIMISED,
        CodeQuality::Quick => &QUICK,
    };
    host.get_or_init(|| {
        let mut flags = settings::builder();
        let mut set = |name: &str, value: &str| flags.set(name, value).map_err(|e| e.to_string());
        match quality {
            CodeQuality::Optimised => set("opt_level", "speed")?,
            // Most of the time goes into the search for registers; the simple allocator keeps values on the stack.
            CodeQuality::Quick => {
                set("opt_level", "none")?;
                set("regalloc_algorithm", "single_pass")?;
            }
        }
        set("is_pic", "false")?;
        set("use_colocated_libcalls", "false")?;
        set("unwind_info", "false")?;
        set("enable_probestack", "false")?;
        set(
            "enable_verifier",
            if cfg!(debug_assertions) {
                "true"
            } else {
                "false"
            },
        )?;
        let builder = cranelift_native::builder().map_err(str::to_owned)?;
        builder
            .finish(settings::Flags::new(flags))
            .map_err(|error| error.to_string())
    })
    .clone()
}

/// Whether the host multiplies and adds in one instruction; else a helper does it.
pub(super) fn has_fma(isa: &dyn TargetIsa) -> bool {
    if cfg!(target_arch = "x86_64") {
        isa.isa_flags()
            .iter()
            .any(|flag| flag.name == "has_fma" && flag.as_bool() == Some(true))
    } else {
        true
    }
}
