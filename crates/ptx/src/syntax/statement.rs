//! Bodies.

use super::{MAX_BLOCK_DEPTH, Parsed, Parser, TokenKind};
use crate::ast::{
    BranchTargets, CallPrototype, CallTargets, Guard, Ident, Inlined, Instruction, Linkage, Loc,
    RegisterDecl, RegisterName, Span, Statement,
};

impl<'a> Parser<'a> {
    /// `{ ... }`
    pub(super) fn block(&mut self, depth: u32) -> Parsed<Vec<Statement<'a>>> {
        let open = self.token.span;
        if depth >= MAX_BLOCK_DEPTH {
            return self.error_at(open, "blocks nest too deep here");
        }
        self.expect(b'{')?;
        let mut body = Vec::new();
        loop {
            match self.token.kind {
                TokenKind::Punct(b'}') => {
                    self.advance()?;
                    return Ok(body);
                }
                TokenKind::Punct(b';') => {
                    self.advance()?;
                }
                TokenKind::Punct(b'{') => {
                    let block = self.block(depth + 1)?;
                    body.push(Statement::Block(block));
                }
                TokenKind::Punct(b'@') => {
                    let start = self.token.span;
                    self.advance()?;
                    let negated = self.eat(b'!')?;
                    let register = self.ident("a predicate register")?;
                    let opcode = self.ident("an instruction")?;
                    let guard = Some(Guard { negated, register });
                    body.push(Statement::Instruction(
                        self.instruction(start, guard, opcode)?,
                    ));
                }
                TokenKind::Word => {
                    let word = self.ident("a statement")?;
                    if self.eat(b':')? {
                        self.labelled(word, &mut body)?;
                    } else {
                        body.push(Statement::Instruction(
                            self.instruction(word.span, None, word)?,
                        ));
                    }
                }
                TokenKind::Directive => self.body_directive(&mut body)?,
                TokenKind::End => return self.error_at(open, "this block does not end"),
                _ => return self.expected("a statement"),
            }
        }
    }

    fn instruction(
        &mut self,
        start: Span,
        guard: Option<Guard<'a>>,
        opcode: Ident<'a>,
    ) -> Parsed<Instruction<'a>> {
        let operands = self.operands()?;
        self.expect(b';')?;
        Ok(Instruction {
            guard,
            opcode,
            operands,
            span: self.span_from(start),
        })
    }

    /// What follows `name:`.
    fn labelled(&mut self, label: Ident<'a>, body: &mut Vec<Statement<'a>>) -> Parsed<()> {
        let statement = match self.directive() {
            Some("branchtargets") => {
                self.advance()?;
                Statement::BranchTargets(BranchTargets {
                    label,
                    targets: self.idents("a label")?,
                })
            }
            Some("calltargets") => {
                self.advance()?;
                Statement::CallTargets(CallTargets {
                    label,
                    targets: self.idents("a function")?,
                })
            }
            Some("callprototype") => {
                self.advance()?;
                Statement::CallPrototype(Box::new(self.prototype(label)?))
            }
            _ => {
                body.push(Statement::Label(label));
                return Ok(());
            }
        };
        self.expect(b';')?;
        body.push(statement);
        Ok(())
    }

    /// `(.param .b32 _) _ (.param .b64 _) .noreturn`
    fn prototype(&mut self, label: Ident<'a>) -> Parsed<CallPrototype<'a>> {
        let returns = if self.is(b'(') {
            self.params()?
        } else {
            Vec::new()
        };
        self.ident("`_`")?;
        let params = if self.is(b'(') {
            self.params()?
        } else {
            Vec::new()
        };
        let mut noreturn = false;
        loop {
            if self.eat_directive("noreturn")? {
                noreturn = true;
            } else if self.eat_directive("abi_preserve")?
                || self.eat_directive("abi_preserve_control")?
            {
                // Register allocation only: means nothing to a call's semantics.
                self.unsigned32("a number of registers")?;
            } else {
                return Ok(CallPrototype {
                    label,
                    returns,
                    params,
                    noreturn,
                });
            }
        }
    }

    fn body_directive(&mut self, body: &mut Vec<Statement<'a>>) -> Parsed<()> {
        let start = self.token.span;
        if let Some(space) = self.peek_space() {
            self.advance()?;
            return self.variables(start, Linkage::Internal, space, &mut |variable| {
                body.push(Statement::Variable(Box::new(variable)));
            });
        }
        match self.directive() {
            Some("reg") => {
                let registers = self.registers()?;
                body.push(Statement::Register(registers));
            }
            Some("loc") => {
                let loc = self.loc()?;
                body.push(Statement::Loc(loc));
            }
            Some("pragma") => {
                self.advance()?;
                body.push(Statement::Pragma(self.strings()?));
            }
            _ => return self.expected("a statement"),
        }
        Ok(())
    }

    /// `.reg .v2 .b32 %r<4>, x;`
    fn registers(&mut self) -> Parsed<RegisterDecl<'a>> {
        let start = self.token.span;
        self.advance()?;
        let (mut vector, mut ty) = (None, None);
        loop {
            if let (None, Some(found)) = (vector, self.peek_vector()) {
                vector = Some(found);
            } else if let (None, Some(found)) = (ty, self.peek_type()) {
                ty = Some(found);
            } else {
                break;
            }
            self.advance()?;
        }
        let Some(ty) = ty else {
            return self.expected("a type");
        };
        let mut names = Vec::new();
        loop {
            let name = self.ident("the name of a register")?;
            let count = if self.eat(b'<')? {
                let count = self.unsigned32("a number of registers")?;
                self.expect(b'>')?;
                Some(count)
            } else {
                None
            };
            names.push(RegisterName { name, count });
            if !self.eat(b',')? {
                self.expect(b';')?;
                return Ok(RegisterDecl {
                    ty,
                    vector: vector.unwrap_or(1),
                    names,
                    span: self.span_from(start),
                });
            }
        }
    }

    /// `.loc 1 3 37, function_name $L__info_string0, inlined_at 1 4 28`, which no semicolon ends.
    fn loc(&mut self) -> Parsed<Loc<'a>> {
        self.advance()?;
        let [file, line, column] = self.position()?;
        let mut inlined = None;
        if self.eat(b',')? {
            self.keyword("function_name")?;
            let function = self.ident("a label")?;
            let offset = self.optional_offset()?.unwrap_or(0);
            self.expect(b',')?;
            self.keyword("inlined_at")?;
            let [file, line, column] = self.position()?;
            inlined = Some(Inlined {
                function,
                offset,
                file,
                line,
                column,
            });
        }
        Ok(Loc {
            file,
            line,
            column,
            inlined,
        })
    }

    fn position(&mut self) -> Parsed<[u32; 3]> {
        Ok([
            self.unsigned32("a file number")?,
            self.unsigned32("a line")?,
            self.unsigned32("a column")?,
        ])
    }

    fn keyword(&mut self, word: &str) -> Parsed<()> {
        if self.token.kind == TokenKind::Word && self.token.text == word {
            self.advance()?;
            Ok(())
        } else {
            self.expected(&format!("`{word}`"))
        }
    }
}
