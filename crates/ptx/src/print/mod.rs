//! From tree to text: `Display` for the nodes of the tree.
//!
//! The text is canonical: it depends on the tree only, and parsing it gives the same tree.

mod operand;
mod statement;
mod symbol;

use std::fmt::{self, Display, Formatter};

use crate::ast::{File, Item, Linkage, Module};

impl Display for Module<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, ".version {}.{}", self.version.0, self.version.1)?;
        if !self.targets.is_empty() {
            writeln!(f, ".target {}", Separated(&self.targets))?;
        }
        writeln!(f, ".address_size {}", self.address_size)?;
        for item in &self.items {
            writeln!(f, "\n{item}")?;
        }
        if !self.files.is_empty() {
            writeln!(f)?;
        }
        self.files.iter().try_for_each(|file| writeln!(f, "{file}"))
    }
}

impl Display for Item<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Item::Variable(variable) => write!(f, "{variable};"),
            Item::Function(function) => write!(f, "{function}"),
            Item::Alias(alias) => write!(f, ".alias {}, {};", alias.name, alias.target),
            Item::Section(section) if section.text.is_empty() => {
                write!(f, ".section {} {{\n}}", section.name)
            }
            Item::Section(section) => {
                write!(f, ".section {} {{\n{}\n}}", section.name, section.text)
            }
            Item::Pragma(texts) => write!(f, "{};", Pragma(texts)),
        }
    }
}

impl Display for File<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ".file {} \"{}\"", self.index, self.name)?;
        match self.stamp {
            Some((time, size)) => write!(f, ", {time}, {size}"),
            None => Ok(()),
        }
    }
}

impl Linkage {
    /// The directive and a blank, or nothing.
    fn prefix(self) -> &'static str {
        match self {
            Linkage::Internal => "",
            Linkage::Extern => ".extern ",
            Linkage::Visible => ".visible ",
            Linkage::Weak => ".weak ",
            Linkage::Common => ".common ",
        }
    }
}

/// `a, b, c`
struct Separated<'t, T>(&'t [T]);

impl<T: Display> Display for Separated<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, element) in self.0.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            element.fmt(f)?;
        }
        Ok(())
    }
}

/// `.pragma "a", "b"`
struct Pragma<'t, 'a>(&'t [&'a str]);

impl Display for Pragma<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, text) in self.0.iter().enumerate() {
            write!(f, "{}\"{text}\"", if i == 0 { ".pragma " } else { ", " })?;
        }
        Ok(())
    }
}
