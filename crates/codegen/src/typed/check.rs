//! The declaration of a typed kernel against the kernel of a module.

use cuprum_driver_core::{Function, Module, ParamName};

use crate::error::{Error, ErrorKind, Result};
use crate::repr::{DeviceRepr, Scalar};
use crate::{LinkedModule, SourceModule};

/// Where kernels come from.
pub trait HasFunctions {
    /// The kernel of this name.
    ///
    /// # Errors
    /// If there is none.
    fn find(&self, name: &str) -> Result<Function>;
}

impl HasFunctions for SourceModule {
    fn find(&self, name: &str) -> Result<Function> {
        self.function(name)
    }
}

impl HasFunctions for LinkedModule {
    fn find(&self, name: &str) -> Result<Function> {
        self.function(name)
    }
}

impl HasFunctions for Module {
    fn find(&self, name: &str) -> Result<Function> {
        self.function(name).map_err(Into::into)
    }
}

/// How a parameter is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Passing {
    Value,
    Read,
    Write,
    ReadSpan,
    WriteSpan,
}

/// A parameter as declared in Rust.
#[derive(Debug, Clone)]
pub struct Declared {
    name: &'static str,
    passing: Passing,
    /// The C++ type of the value, or of the elements.
    element: String,
    /// Bytes of the argument.
    size: usize,
}

impl Declared {
    fn new<T: DeviceRepr>(name: &'static str, passing: Passing, size: usize) -> Self {
        Self {
            name,
            passing,
            element: T::c_type().to_string(),
            size,
        }
    }

    /// A value.
    #[must_use]
    pub fn value<T: DeviceRepr>(name: &'static str) -> Self {
        Self::new::<T>(name, Passing::Value, size_of::<T>())
    }

    /// The address of memory that is read.
    #[must_use]
    pub fn read<T: DeviceRepr>(name: &'static str) -> Self {
        Self::new::<T>(name, Passing::Read, size_of::<u64>())
    }

    /// The address of memory that is written.
    #[must_use]
    pub fn write<T: DeviceRepr>(name: &'static str) -> Self {
        Self::new::<T>(name, Passing::Write, size_of::<u64>())
    }

    /// Address and length of memory that is read.
    #[must_use]
    pub fn read_span<T: DeviceRepr>(name: &'static str) -> Self {
        Self::new::<T>(name, Passing::ReadSpan, 2 * size_of::<u64>())
    }

    /// Address and length of memory that is written.
    #[must_use]
    pub fn write_span<T: DeviceRepr>(name: &'static str) -> Self {
        Self::new::<T>(name, Passing::WriteSpan, 2 * size_of::<u64>())
    }

    /// The parameter as it should stand in the source.
    fn c_type(&self) -> String {
        let element = &self.element;
        match self.passing {
            Passing::Value => element.clone(),
            Passing::Read => format!("const {element} *"),
            Passing::Write => format!("{element} *"),
            Passing::ReadSpan => format!("cuprum::span<const {element}>"),
            Passing::WriteSpan => format!("cuprum::span<{element}>"),
        }
    }

    /// What is wrong with a parameter of this C++ type, as far as its text tells.
    fn contradicts(&self, c_type: &str) -> Option<&'static str> {
        let c_type = c_type.trim();
        match (self.passing, c_type.strip_suffix('*')) {
            (Passing::Value, Some(_)) => {
                // A raw address may be passed for any pointer.
                (self.element != "void *")
                    .then_some("the kernel takes an address there, not a value")
            }
            (Passing::Value, None) => other_type(&self.element, c_type),
            (Passing::Read | Passing::Write, None) => {
                // A name may stand for a pointer type; a scalar's does not.
                Scalar::from_c_name(unqualified(c_type))
                    .map(|_| "the kernel takes a value there, not an address")
            }
            (passing, Some(pointee)) if matches!(passing, Passing::Read | Passing::Write) => {
                let pointee = pointee.trim();
                let constant = pointee.starts_with("const ") || pointee.ends_with(" const");
                if passing == Passing::Read && !constant && !pointee.ends_with('*') {
                    return Some(
                        "the kernel may write there: declare it `&mut`, or make the kernel's parameter a pointer to const",
                    );
                }
                other_type(&self.element, unqualified(pointee))
            }
            (_, Some(_)) => Some("the kernel takes a plain address there, without a length"),
            (_, None) => Scalar::from_c_name(unqualified(c_type))
                .map(|_| "the kernel takes a number there, not memory and its length"),
        }
    }
}

/// Whether two names of types are known to mean different ones.
fn other_type(declared: &str, found: &str) -> Option<&'static str> {
    match (
        Scalar::from_c_name(declared),
        Scalar::from_c_name(unqualified(found)),
    ) {
        (Some(a), Some(b)) if a != b => Some("the types differ"),
        // The other name may be a typedef or a template's parameter, whose size was compared.
        _ => None,
    }
}

/// A type without `const` and `volatile`.
fn unqualified(c_type: &str) -> &str {
    let mut c_type = c_type.trim();
    loop {
        let shorter = ["const", "volatile"].iter().fold(c_type, |text, word| {
            let text = text
                .strip_prefix(word)
                .filter(|rest| rest.starts_with(' '))
                .unwrap_or(text);
            text.strip_suffix(word)
                .filter(|rest| rest.ends_with(' '))
                .unwrap_or(text)
                .trim()
        });
        if shorter == c_type {
            return c_type;
        }
        c_type = shorter;
    }
}

/// Takes a kernel from a module and compares it with its declaration: the number and sizes of parameters as the image
/// has them, and their types as far as the source is known.
///
/// # Errors
/// [`ErrorKind::NotFound`] or the driver's error if there is no such kernel, [`ErrorKind::Mismatch`] if it has other
/// parameters.
pub fn load(module: &impl HasFunctions, kernel: &str, declared: &[Declared]) -> Result<Function> {
    let function = module.find(kernel)?;
    let names = function.param_names();
    if function.params_known() && function.params().len() != declared.len() {
        return Err(Error::new(
            ErrorKind::Mismatch,
            format!(
                "the kernel `{kernel}` takes {}, and is declared with {}: {}",
                count(function.params().len()),
                declared.len(),
                list(declared)
            ),
        ));
    }
    for (index, one) in declared.iter().enumerate() {
        let found = names.get(index);
        let wrong_size = function
            .params()
            .get(index)
            .filter(|param| param.size as usize != one.size)
            .map(|param| param.size);
        let contradiction = found.and_then(|found| one.contradicts(&found.c_type));
        if wrong_size.is_none() && contradiction.is_none() {
            continue;
        }
        let reason = match (wrong_size, contradiction) {
            (_, Some(reason)) => reason.to_owned(),
            (Some(bytes), None) => {
                format!("it has {bytes} bytes in the image and {} here", one.size)
            }
            (None, None) => continue,
        };
        return Err(Error::new(
            ErrorKind::Mismatch,
            format!(
                "parameter {index} of the kernel `{kernel}` is {}, and is declared as `{}` ({}): {reason}",
                describe(found),
                one.name,
                one.c_type(),
            ),
        ));
    }
    Ok(function)
}

fn count(parameters: usize) -> String {
    match parameters {
        1 => "1 parameter".to_owned(),
        _ => format!("{parameters} parameters"),
    }
}

fn list(declared: &[Declared]) -> String {
    let texts: Vec<String> = declared
        .iter()
        .map(|one| format!("{}: {}", one.name, one.c_type()))
        .collect();
    format!("({})", texts.join(", "))
}

fn describe(found: Option<&ParamName>) -> String {
    match found {
        Some(ParamName { name, c_type }) if !name.is_empty() => format!("`{c_type} {name}`"),
        Some(ParamName { c_type, .. }) => format!("`{c_type}`"),
        None => "of an unknown type".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contradicts(declared: &Declared, c_type: &str) -> bool {
        declared.contradicts(c_type).is_some()
    }

    #[test]
    fn types_are_compared_as_far_as_they_are_known() {
        let value = Declared::value::<f32>("a");
        assert!(!contradicts(&value, "float"));
        assert!(!contradicts(&value, "const float"));
        assert!(!contradicts(&value, "real"), "a typedef may be anything");
        assert!(contradicts(&value, "int"));
        assert!(contradicts(&value, "float *"));

        let read = Declared::read::<u32>("x");
        assert!(!contradicts(&read, "const unsigned *"));
        assert!(!contradicts(&read, "unsigned int const *"));
        assert!(!contradicts(&read, "const volatile uint32_t*"));
        assert!(contradicts(&read, "unsigned *"), "it may be written");
        assert!(contradicts(&read, "const int *"));
        assert!(contradicts(&read, "unsigned"));

        let write = Declared::write::<i64>("y");
        assert!(!contradicts(&write, "long long *"));
        assert!(!contradicts(&write, "T*"));
        assert!(contradicts(&write, "int*"));

        let span = Declared::read_span::<f32>("s");
        assert!(!contradicts(&span, "cuprum::span<const float>"));
        assert!(contradicts(&span, "const float *"));
        assert!(contradicts(&span, "int"));
    }
}
