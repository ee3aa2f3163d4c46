//! Bodies.

use std::fmt::{self, Display, Formatter};

use super::{Pragma, Separated};
use crate::ast::{Instruction, Loc, RegisterDecl, RegisterName, Statement};

/// Statements of a body, each on a line of its own, indented.
pub(super) struct Body<'t, 'a> {
    pub(super) statements: &'t [Statement<'a>],
    pub(super) depth: usize,
}

impl Display for Body<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{{")?;
        for statement in self.statements {
            match statement {
                Statement::Label(name) => writeln!(f, "{name}:")?,
                Statement::Block(statements) => {
                    indent(f, self.depth)?;
                    writeln!(
                        f,
                        "{}",
                        Body {
                            statements,
                            depth: self.depth + 1
                        }
                    )?;
                }
                other => {
                    indent(f, self.depth)?;
                    writeln!(f, "{other}")?;
                }
            }
        }
        indent(f, self.depth - 1)?;
        f.write_str("}")
    }
}

fn indent(f: &mut Formatter<'_>, depth: usize) -> fmt::Result {
    (0..depth).try_for_each(|_| f.write_str("\t"))
}

impl Display for Statement<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Statement::Label(name) => write!(f, "{name}:"),
            Statement::Register(registers) => write!(f, "{registers};"),
            Statement::Variable(variable) => write!(f, "{variable};"),
            Statement::Instruction(instruction) => write!(f, "{instruction};"),
            Statement::Loc(loc) => write!(f, "{loc}"),
            Statement::Pragma(texts) => write!(f, "{};", Pragma(texts)),
            Statement::Block(statements) => write!(
                f,
                "{}",
                Body {
                    statements,
                    depth: 1
                }
            ),
            Statement::BranchTargets(table) => write!(
                f,
                "{}: .branchtargets {};",
                table.label,
                Separated(&table.targets)
            ),
            Statement::CallTargets(table) => write!(
                f,
                "{}: .calltargets {};",
                table.label,
                Separated(&table.targets)
            ),
            Statement::CallPrototype(prototype) => {
                let noreturn = if prototype.noreturn { " .noreturn" } else { "" };
                write!(
                    f,
                    "{}: .callprototype ({})",
                    prototype.label,
                    Separated(&prototype.returns)
                )?;
                write!(f, " _ ({}){noreturn};", Separated(&prototype.params))
            }
        }
    }
}

impl Display for Instruction<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(guard) = self.guard {
            write!(
                f,
                "@{}{} ",
                if guard.negated { "!" } else { "" },
                guard.register
            )?;
        }
        write!(f, "{}", self.opcode)?;
        if self.operands.is_empty() {
            Ok(())
        } else {
            write!(f, " {}", Separated(&self.operands))
        }
    }
}

impl Display for RegisterDecl<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(".reg ")?;
        if self.vector != 1 {
            write!(f, ".v{} ", self.vector)?;
        }
        write!(f, ".{} {}", self.ty, Separated(&self.names))
    }
}

impl Display for RegisterName<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.count {
            Some(count) => write!(f, "{}<{count}>", self.name),
            None => write!(f, "{}", self.name),
        }
    }
}

impl Display for Loc<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ".loc {} {} {}", self.file, self.line, self.column)?;
        let Some(inlined) = self.inlined else {
            return Ok(());
        };
        write!(f, ", function_name {}", inlined.function)?;
        if inlined.offset != 0 {
            write!(f, "+{}", inlined.offset)?;
        }
        write!(
            f,
            ", inlined_at {} {} {}",
            inlined.file, inlined.line, inlined.column
        )
    }
}
