//! Module variables and their initial values.

use std::collections::HashMap;

use cuprum_ptx::{Immediate, InitialValue, Initializer, Linkage, ScalarType, Space};

use super::ir::Symbol;
use crate::exec::context::FUNCTION_WINDOW;

/// A `.global` or `.const` variable of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    /// [`Space::Global`] or [`Space::Const`].
    pub(crate) space: Space,
    /// The type of its elements; `.texref` and `.surfref` name objects, see [`texture`](crate::texture).
    pub(crate) ty: ScalarType,
    /// Bytes; 0 for a declaration of open length (`.extern`).
    pub(crate) size: u64,
    /// Bytes, at least 1.
    pub(crate) align: u32,
    /// Initial contents; shorter than `size` where the rest is zero.
    pub(crate) initial: Vec<u8>,
    /// Addresses to be put into the contents.
    pub(crate) relocations: Vec<Relocation>,
    pub(crate) managed: bool,
    pub(crate) linkage: Linkage,
    /// An initial value that is not understood, in words.
    pub(crate) problem: Option<String>,
}

/// An address inside the initial value of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Relocation {
    /// Where, in bytes from the start of the variable.
    pub(crate) offset: u64,
    /// How many bytes of it are stored.
    pub(crate) bytes: u32,
    /// How far the address is shifted right before that.
    pub(crate) shift: u32,
    pub(crate) target: Target,
    pub(crate) addend: i64,
}

/// What a [`Relocation`] refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// A variable, by index.
    Variable(usize),
    /// A function, by index: its address is a tagged number, see [`FUNCTION_WINDOW`].
    Function(usize),
}

impl Relocation {
    /// Puts the address into `contents`, the bytes of the variable that holds it; `addresses` are those of all variables.
    pub(crate) fn apply(&self, contents: &mut [u8], addresses: &[u64]) {
        let base = match self.target {
            Target::Variable(index) => addresses[index],
            Target::Function(index) => FUNCTION_WINDOW | index as u64,
        };
        let value = base.wrapping_add_signed(self.addend) >> self.shift;
        let start = self.offset as usize;
        let count = self.bytes as usize;
        if let Some(place) = contents.get_mut(start..start + count) {
            place.copy_from_slice(&value.to_le_bytes()[..count]);
        }
    }
}

/// A variable in static shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SharedVariable {
    pub(crate) size: u32,
    pub(crate) align: u32,
}

impl Variable {
    /// Reads a variable of global or constant memory.
    pub(super) fn new<'a>(
        tree: &cuprum_ptx::Variable<'a>,
        functions: &HashMap<&'a str, u32>,
        symbols: &HashMap<&'a str, (Symbol, Space)>,
    ) -> Self {
        let mut variable = Self {
            name: tree.name.text.to_owned(),
            space: tree.space,
            ty: tree.ty,
            size: tree.size(),
            align: tree.alignment().max(1),
            initial: Vec::new(),
            relocations: Vec::new(),
            managed: tree.managed,
            linkage: tree.linkage,
            problem: None,
        };
        if let Some(initializer) = &tree.initializer {
            let row = |dimensions: &[Option<u64>]| {
                let length = |n: &Option<u64>| n.unwrap_or(1);
                dimensions.iter().map(length).fold(1, u64::saturating_mul)
            };
            variable.put(
                initializer,
                0,
                tree.ty,
                &tree.dimensions,
                &row,
                functions,
                symbols,
            );
            // An array of open length has the length of its initial value.
            variable.size = variable.size.max(variable.initial.len() as u64);
            let size = usize::try_from(variable.size).unwrap_or(usize::MAX);
            variable.initial.truncate(size);
        }
        variable
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "a recursive walk over one initializer"
    )]
    fn put<'a>(
        &mut self,
        initializer: &Initializer<'a>,
        offset: u64,
        ty: ScalarType,
        dimensions: &[Option<u64>],
        row: &impl Fn(&[Option<u64>]) -> u64,
        functions: &HashMap<&'a str, u32>,
        symbols: &HashMap<&'a str, (Symbol, Space)>,
    ) {
        match initializer {
            Initializer::Value(value) => self.put_value(value, offset, ty, functions, symbols),
            Initializer::List(list) => {
                let inner = dimensions.get(1..).unwrap_or(&[]);
                let nested = list.iter().any(|item| matches!(item, Initializer::List(_)));
                // A flat list fills the whole array, whatever its dimensions.
                let step = u64::from(ty.size()).saturating_mul(if nested { row(inner) } else { 1 });
                for (index, item) in list.iter().enumerate() {
                    let at = offset.saturating_add(step.saturating_mul(index as u64));
                    self.put(item, at, ty, inner, row, functions, symbols);
                }
            }
        }
    }

    fn put_value<'a>(
        &mut self,
        value: &InitialValue<'a>,
        offset: u64,
        ty: ScalarType,
        functions: &HashMap<&'a str, u32>,
        symbols: &HashMap<&'a str, (Symbol, Space)>,
    ) {
        let width = ty.size() as usize;
        let bits = match value {
            InitialValue::Immediate(Immediate::Int(value)) => match ty {
                ScalarType::F32 => u64::from((*value as f32).to_bits()),
                ScalarType::F64 => (*value as f64).to_bits(),
                _ => *value as u64,
            },
            InitialValue::Immediate(Immediate::F32(bits)) => match ty {
                ScalarType::F64 => f64::from(f32::from_bits(*bits)).to_bits(),
                _ => u64::from(*bits),
            },
            InitialValue::Immediate(Immediate::F64(bits)) => match ty {
                ScalarType::F32 => u64::from((f64::from_bits(*bits) as f32).to_bits()),
                _ => *bits,
            },
            InitialValue::Symbol(symbol) => {
                let target = match symbols.get(symbol.name.text) {
                    Some((Symbol::Variable(index), _)) => Some(Target::Variable(*index as usize)),
                    Some(_) => None,
                    None => functions
                        .get(symbol.name.text)
                        .map(|&index| Target::Function(index as usize)),
                };
                let Some(target) = target else {
                    self.problem = Some(format!(
                        "the initial value of `{}` refers to `{}`, whose address is not known before a launch",
                        self.name, symbol.name.text
                    ));
                    return;
                };
                let (shift, bytes) = match symbol.mask {
                    Some(mask) if mask != 0 => {
                        (mask.trailing_zeros(), mask.count_ones().div_ceil(8))
                    }
                    _ => (0, ty.size()),
                };
                self.relocations.push(Relocation {
                    offset,
                    bytes: bytes.min(ty.size()).min(8),
                    shift,
                    target,
                    addend: symbol.offset,
                });
                0
            }
        };
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        // Initial values are as long as their text; a corrupt length cannot ask for more than that times a row.
        if start.saturating_add(width) > (1 << 30) {
            self.problem = Some(format!("the initial value of `{}` is too long", self.name));
            return;
        }
        if self.initial.len() < start + width {
            self.initial.resize(start + width, 0);
        }
        let mut wide = [0; 16];
        wide[..8].copy_from_slice(&bits.to_le_bytes());
        self.initial[start..start + width.min(16)].copy_from_slice(&wide[..width.min(16)]);
    }
}
