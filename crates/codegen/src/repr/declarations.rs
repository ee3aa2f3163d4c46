//! Declarations of structures in CUDA C++.

use std::collections::BTreeMap;
use std::fmt;

use super::DeviceRepr;

/// A C++ type: a name, and the extents of an array of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CType {
    base: String,
    extents: Vec<usize>,
}

impl CType {
    /// A type with a name of its own.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            base: name.into(),
            extents: Vec::new(),
        }
    }

    /// An array of `len` elements of this type.
    #[must_use]
    pub fn array(mut self, len: usize) -> Self {
        self.extents.insert(0, len);
        self
    }

    /// The declaration of a variable of this type: `float x[4]`.
    #[must_use]
    pub fn declare(&self, variable: &str) -> String {
        let space = if self.base.ends_with('*') { "" } else { " " };
        let mut text = format!("{}{space}{variable}", self.base);
        for extent in &self.extents {
            text.push_str(&format!("[{extent}]"));
        }
        text
    }
}

/// As in a cast: `float[4]`.
impl fmt::Display for CType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)?;
        self.extents
            .iter()
            .try_for_each(|extent| write!(f, "[{extent}]"))
    }
}

/// A field of a structure.
#[derive(Debug, Clone)]
pub struct Member {
    name: &'static str,
    c_type: CType,
    offset: usize,
    declare: fn(&mut Declarations),
}

impl Member {
    /// A field of type `T` at `offset` bytes.
    #[must_use]
    pub fn of<T: DeviceRepr>(name: &'static str, offset: usize) -> Self {
        Self {
            name,
            c_type: T::c_type(),
            offset,
            declare: T::declare,
        }
    }
}

/// Declarations of types, each once, what is used before what uses it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declarations {
    headers: Vec<&'static str>,
    /// The text of a structure, by its name.
    structures: BTreeMap<&'static str, String>,
    order: Vec<&'static str>,
}

impl Declarations {
    /// No declarations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares `T` and what it is made of.
    pub fn add<T: DeviceRepr>(&mut self) {
        T::declare(self);
    }

    /// Asks for a header of CUDA: `cuda_fp16.h`.
    pub fn header(&mut self, name: &'static str) {
        if !self.headers.contains(&name) {
            self.headers.push(name);
        }
    }

    /// Declares the structure `name` with the layout of `T`, whose fields `list` gives.
    ///
    /// # Panics
    /// If another type was declared by this name.
    pub fn structure<T: DeviceRepr>(
        &mut self,
        name: &'static str,
        list: impl FnOnce(&mut Vec<Member>),
    ) {
        let mut members = Vec::new();
        list(&mut members);
        for member in &members {
            (member.declare)(self);
        }
        let (size, align) = (size_of::<T>(), align_of::<T>());
        let mut text = format!("struct alignas({align}) {name} {{\n");
        for member in &members {
            text.push_str(&format!("    {};\n", member.c_type.declare(member.name)));
        }
        text.push_str(&format!(
            "}};\nstatic_assert(sizeof({name}) == {size}, \"{name} has {size} bytes in Rust\");\n\
             static_assert(alignof({name}) == {align}, \"{name} is aligned to {align} bytes in Rust\");\n"
        ));
        for Member {
            name: field,
            offset,
            ..
        } in &members
        {
            text.push_str(&format!(
                "static_assert(__builtin_offsetof({name}, {field}) == {offset}, \"{name}::{field} is at byte {offset} in Rust\");\n"
            ));
        }
        match self.structures.get(name) {
            Some(known) => assert!(
                *known == text,
                "two types are declared as `{name}` in CUDA C++: give one another name with #[device(name = \"...\")]"
            ),
            None => {
                self.structures.insert(name, text);
                self.order.push(name);
            }
        }
    }

    /// Whether there is nothing to declare.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty() && self.order.is_empty()
    }
}

/// The declarations as C++.
impl fmt::Display for Declarations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for header in &self.headers {
            writeln!(f, "#include <{header}>")?;
        }
        for name in &self.order {
            f.write_str(&self.structures[name])?;
        }
        Ok(())
    }
}
