//! A whole PTX text.

use super::{Function, FunctionKind, Ident, Variable};

/// One PTX module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module<'a> {
    /// `.version`: major and minor version of the PTX language.
    pub version: (u8, u8),
    /// `.target`: the architecture (`sm_90`) and options (`debug`).
    pub targets: Vec<Ident<'a>>,
    /// `.address_size` in bits; 32 if the text does not say.
    pub address_size: u8,
    /// Variables, functions and the rest, in order.
    pub items: Vec<Item<'a>>,
    /// `.file` directives, which may stand anywhere.
    pub files: Vec<File<'a>>,
}

/// Something at module scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A variable.
    Variable(Box<Variable<'a>>),
    /// A kernel or function.
    Function(Box<Function<'a>>),
    /// `.alias new, old;`.
    Alias(Alias<'a>),
    /// `.section`, kept as text.
    Section(Section<'a>),
    /// `.pragma` at module scope.
    Pragma(Vec<&'a str>),
}

/// `.alias name, target;`: another name of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias<'a> {
    /// The new name.
    pub name: Ident<'a>,
    /// The function it stands for.
    pub target: Ident<'a>,
}

/// A debug section. Its content is not parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section<'a> {
    /// The name with its dot, such as `.debug_str`.
    pub name: Ident<'a>,
    /// What stands between the braces, trimmed.
    pub text: &'a str,
}

/// `.file index "name"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File<'a> {
    /// The number that `.loc` uses.
    pub index: u32,
    /// The text between the quotes, escapes left as they are.
    pub name: &'a str,
    /// Time stamp and size, if given.
    pub stamp: Option<(u64, u64)>,
}

/// Visibility of a symbol to other modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// None said: internal to the module.
    #[default]
    Internal,
    /// `.extern`: defined elsewhere.
    Extern,
    /// `.visible`.
    Visible,
    /// `.weak`.
    Weak,
    /// `.common`.
    Common,
}

impl<'a> Module<'a> {
    /// All functions and kernels, declarations included, in order.
    pub fn functions(&self) -> impl Iterator<Item = &Function<'a>> {
        self.items.iter().filter_map(|item| match item {
            Item::Function(function) => Some(&**function),
            _ => None,
        })
    }

    /// All kernels that have a body, in order.
    pub fn entries(&self) -> impl Iterator<Item = &Function<'a>> {
        self.functions()
            .filter(|f| f.kind == FunctionKind::Entry && f.body.is_some())
    }

    /// All variables at module scope, in order.
    pub fn variables(&self) -> impl Iterator<Item = &Variable<'a>> {
        self.items.iter().filter_map(|item| match item {
            Item::Variable(variable) => Some(&**variable),
            _ => None,
        })
    }

    /// The name of a source file by the number that `.loc` uses.
    #[must_use]
    pub fn file(&self, index: u32) -> Option<&'a str> {
        self.files.iter().find(|f| f.index == index).map(|f| f.name)
    }

    /// The architecture number and its suffix: `(90, "a")` of `.target sm_90a`.
    #[must_use]
    pub fn architecture(&self) -> Option<(u32, &'a str)> {
        self.targets.iter().find_map(|target| {
            let digits = target.text.strip_prefix("sm_")?;
            let end = digits
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(digits.len());
            Some((digits[..end].parse().ok()?, &digits[end..]))
        })
    }
}
