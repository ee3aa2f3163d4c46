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
#[expect(unsafe_code, reason = "layouts are promised by unsafe traits")]
pub mod repr;
mod scan;
mod source;
#[expect(
    unsafe_code,
    reason = "a typed kernel launches what its author vouched for"
)]
pub mod typed;

pub use compile::{Image, Provenance, Target, compile};
pub use declarations::Parameter;
pub use diagnostics::{Diagnostic, Location, Severity};
pub use error::{CompileFailure, Error, ErrorKind, Result};
pub use module::SourceModule;
pub use nvrtc::Nvrtc;
pub use repr::DeviceRepr;
pub use source::Source;

pub use cuprum_codegen_derive::{DeviceRepr, kernel};

// What the macros write names this crate as its users do.
extern crate self as cuprum_codegen;
