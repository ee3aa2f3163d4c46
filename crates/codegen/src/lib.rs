#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod cache;
mod code;
mod compile;
mod declarations;
mod diagnostics;
mod error;
mod files;
mod headers;
mod includes;
mod keep;
mod linked;
mod literal;
#[expect(
    unsafe_code,
    reason = "made kernels launch what their author vouched for"
)]
pub mod makers;
mod module;
mod names;
pub mod nvrtc;
mod precompiled;
#[expect(unsafe_code, reason = "layouts are promised by unsafe traits")]
pub mod repr;
mod resources;
mod scan;
mod source;
mod template;
pub mod tuner;
#[expect(
    unsafe_code,
    reason = "a typed kernel launches what its author vouched for"
)]
pub mod typed;

pub use cache::{Cache, CacheEntry};
pub use code::Code;
pub use compile::{Image, Provenance, Target, compile};
pub use declarations::Parameter;
pub use diagnostics::{Diagnostic, Location, Severity};
pub use error::{CompileFailure, Error, ErrorKind, Result};
pub use linked::{LinkBuilder, LinkedModule};
pub use literal::CLiteral;
pub use module::SourceModule;
pub use nvrtc::Nvrtc;
pub use repr::DeviceRepr;
pub use resources::ResourceUse;
pub use source::Source;
pub use template::{Template, TemplateValue, Values};

pub use cuprum_codegen_derive::{DeviceRepr, kernel};

// What the macros write names this crate as its users do.
extern crate self as cuprum_codegen;
