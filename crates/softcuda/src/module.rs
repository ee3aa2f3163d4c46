//! Modules: loaded code, its variables and its kernels.

use std::sync::Arc;

use crate::context::Context;

/// One loaded image.
#[derive(Debug)]
pub(crate) struct Module {
    /// The context it was loaded into.
    pub(crate) context: Arc<Context>,
}

/// One kernel of a module.
#[derive(Debug)]
pub(crate) struct Function {
    /// The module.
    pub(crate) module: Arc<Module>,
}

impl Function {
    /// The context of the module.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.module.context
    }
}
