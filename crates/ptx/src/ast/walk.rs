//! Visits to all parts of a tree.

use super::{Function, Ident, Initializer, Instruction, Module, Operand, Statement};

/// Calls `f` with each statement of `body`, and with those of nested blocks after the block itself, in order.
pub fn walk<'t, 'a>(body: &'t [Statement<'a>], f: &mut impl FnMut(&'t Statement<'a>)) {
    // A stack of what is left of the blocks around, so that depth costs no stack frames.
    let mut rest = vec![body.iter()];
    while let Some(statements) = rest.last_mut() {
        match statements.next() {
            Some(statement) => {
                f(statement);
                if let Statement::Block(inner) = statement {
                    rest.push(inner.iter());
                }
            }
            None => {
                rest.pop();
            }
        }
    }
}

impl<'a> Function<'a> {
    /// All instructions of the body, nested blocks included, in order.
    #[must_use]
    pub fn instructions(&self) -> Vec<&Instruction<'a>> {
        let mut instructions = Vec::new();
        walk(self.body.as_deref().unwrap_or_default(), &mut |statement| {
            if let Statement::Instruction(instruction) = statement {
                instructions.push(instruction);
            }
        });
        instructions
    }
}

impl<'a> Operand<'a> {
    /// Calls `f` with each name in the operand, those inside of addresses and vectors included.
    pub fn for_each_name(&self, f: &mut impl FnMut(Ident<'a>)) {
        match self {
            Operand::Name(name)
            | Operand::Offset(name, _)
            | Operand::Not(name)
            | Operand::Neg(name) => f(*name),
            Operand::Address(address) => address.base.into_iter().for_each(f),
            Operand::Texture(address) => {
                f(address.object);
                address.sampler.into_iter().for_each(&mut *f);
                address.coordinates.iter().for_each(|c| c.for_each_name(f));
            }
            Operand::Vector(elements) | Operand::List(elements) => {
                elements.iter().for_each(|e| e.for_each_name(f));
            }
            Operand::Pair(pair) => {
                pair.0.for_each_name(f);
                pair.1.for_each_name(f);
            }
            Operand::Immediate(_) | Operand::Sink => {}
        }
    }
}

impl<'a> Initializer<'a> {
    /// Calls `f` with each variable or function whose address is in the initializer.
    pub fn for_each_name(&self, f: &mut impl FnMut(Ident<'a>)) {
        self.for_each(&mut |value| {
            if let super::InitialValue::Symbol(symbol) = value {
                f(symbol.name);
            }
        });
    }
}

impl<'a> Module<'a> {
    /// The function or kernel of this name, its definition rather than a declaration. Looks through all items: for many names use
    /// [`super::Symbols`].
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&Function<'a>> {
        let mut named = self.functions().filter(|f| f.name.text == name);
        let first = named.next()?;
        Some(
            std::iter::once(first)
                .chain(named)
                .find(|f| f.body.is_some())
                .unwrap_or(first),
        )
    }
}
