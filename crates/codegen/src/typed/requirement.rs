//! Requirements that a launch breaks.

use crate::error::{Error, ErrorKind};
use crate::repr::{DeviceRepr, Scalar};

/// What an argument is, for the message.
#[derive(Debug, Clone)]
pub struct Fact(String);

impl Fact {
    /// The value of a scalar; the type of anything else.
    #[must_use]
    pub fn value<T: DeviceRepr>(value: &T) -> Self {
        let name = T::c_type().to_string();
        let bytes = || {
            // SAFETY: a scalar has no padding, so all of its bytes are initialised; the slice lives as long as `value`.
            unsafe {
                std::slice::from_raw_parts(std::ptr::from_ref(value).cast::<u8>(), size_of::<T>())
            }
        };
        Self(match Scalar::from_c_name(&name) {
            Some(scalar) if scalar.size() == size_of::<T>() => {
                format!("= {}", number(scalar, bytes()))
            }
            _ => format!(": {name}"),
        })
    }

    /// The length of memory.
    #[must_use]
    pub fn len(elements: usize) -> Self {
        Self(format!(".len() = {elements}"))
    }
}

/// A scalar's value as text.
fn number(scalar: Scalar, bytes: &[u8]) -> String {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(wide);
    match scalar {
        Scalar::Bool => (bits != 0).to_string(),
        Scalar::I8 => (bits as i8).to_string(),
        Scalar::I16 => (bits as i16).to_string(),
        Scalar::I32 => (bits as i32).to_string(),
        Scalar::I64 => (bits as i64).to_string(),
        Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => bits.to_string(),
        Scalar::F16 => half::f16::from_bits(bits as u16).to_string(),
        Scalar::Bf16 => half::bf16::from_bits(bits as u16).to_string(),
        Scalar::F32 => f32::from_bits(bits as u32).to_string(),
        Scalar::F64 => f64::from_bits(bits).to_string(),
    }
}

/// The error of a requirement that is not met.
#[cold]
#[must_use]
pub fn broken(kernel: &str, requirement: &str, facts: &[(&str, Fact)]) -> Error {
    // Only what the requirement speaks of.
    let words: Vec<&str> = requirement
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    let facts: Vec<String> = facts
        .iter()
        .filter(|(name, _)| words.contains(name))
        .map(|(name, fact)| {
            let space = if fact.0.starts_with('=') { " " } else { "" };
            format!("{name}{space}{}", fact.0)
        })
        .collect();
    let requirement = requirement
        .replace(" . ", ".")
        .replace(" ()", "()")
        .replace("( ", "(")
        .replace(" )", ")");
    Error::new(
        ErrorKind::Requirement,
        format!(
            "the kernel `{kernel}` requires {requirement}, and {}",
            facts.join(", ")
        ),
    )
}
