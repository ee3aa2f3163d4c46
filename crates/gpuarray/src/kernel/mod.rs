//! From an expression to a running kernel: flatten, plan, find or build, launch.

pub(crate) mod cache;
pub(crate) mod key;
pub(crate) mod launch;
pub(crate) mod plan;
pub(crate) mod program;
pub(crate) mod source;
