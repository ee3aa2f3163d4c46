#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod cache;
mod compile;
mod declarations;
mod diagnostics;
mod error;
mod files;
mod headers;
mod includes;
mod module;
mod names;
pub mod nvrtc;
mod scan;
mod source;

pub use compile::{Image, Provenance, Target, compile};
pub use declarations::Parameter;
pub use diagnostics::{Diagnostic, Location, Severity};
pub use error::{CompileFailure, Error, ErrorKind, Result};
pub use module::SourceModule;
pub use nvrtc::Nvrtc;
pub use source::Source;
