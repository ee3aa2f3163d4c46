//! Operands.

use super::{MAX_LIST_DEPTH, Parsed, Parser, TokenKind};
use crate::ast::{Address, Operand, TextureAddress};

impl<'a> Parser<'a> {
    /// All operands of an instruction, up to its semicolon.
    pub(super) fn operands(&mut self) -> Parsed<Vec<Operand<'a>>> {
        if self.is(b';') {
            return Ok(Vec::new());
        }
        // Four hold nearly every instruction without growing.
        let mut operands = Vec::with_capacity(4);
        loop {
            operands.push(self.operand(0)?);
            if !self.eat(b',')? {
                return Ok(operands);
            }
        }
    }

    fn operand(&mut self, depth: u32) -> Parsed<Operand<'a>> {
        let first = self.single(depth)?;
        if !self.is(b'|') {
            return Ok(first);
        }
        match first {
            Operand::Name(_) | Operand::Sink | Operand::Vector(_) => {}
            _ => return self.expected("`,` or `;`"),
        }
        self.advance()?;
        match self.single(MAX_LIST_DEPTH)? {
            second @ (Operand::Name(_) | Operand::Sink) => {
                Ok(Operand::Pair(Box::new((first, second))))
            }
            _ => self.error_at(
                self.span_from(self.token.span),
                "a predicate register must stand after `|`",
            ),
        }
    }

    /// An operand that is no pair.
    fn single(&mut self, depth: u32) -> Parsed<Operand<'a>> {
        match self.token.kind {
            TokenKind::Word => match self.token.text {
                "_" => {
                    self.advance()?;
                    Ok(Operand::Sink)
                }
                "WARP_SZ" => Ok(Operand::Immediate(self.signed()?)),
                _ => {
                    let name = self.ident("an operand")?;
                    Ok(match self.optional_offset()? {
                        Some(offset) => Operand::Offset(name, offset),
                        None => Operand::Name(name),
                    })
                }
            },
            TokenKind::Number(_) | TokenKind::Punct(b'+') => Ok(Operand::Immediate(self.signed()?)),
            TokenKind::Punct(b'-') => {
                let start = self.advance()?.span;
                if self.token.kind == TokenKind::Word && self.token.text != "WARP_SZ" {
                    return Ok(Operand::Neg(self.ident("an operand")?));
                }
                Ok(Operand::Immediate(self.signed_after(true, start)?))
            }
            TokenKind::Punct(b'!') => {
                self.advance()?;
                Ok(Operand::Not(self.ident("a predicate register")?))
            }
            TokenKind::Punct(b'[') => self.address(depth),
            TokenKind::Punct(b'{') => {
                let elements = self.list(b'}', depth)?;
                if elements.is_empty() {
                    self.error_at(self.token.span, "a vector cannot be empty")
                } else {
                    Ok(Operand::Vector(elements))
                }
            }
            TokenKind::Punct(b'(') => Ok(Operand::List(self.list(b')', depth)?)),
            _ => self.expected("an operand"),
        }
    }

    /// Operands between the bracket that is next and `close`.
    fn list(&mut self, close: u8, depth: u32) -> Parsed<Vec<Operand<'a>>> {
        if depth >= MAX_LIST_DEPTH {
            return self.error_at(self.token.span, "operands nest too deep here");
        }
        self.advance()?;
        let mut elements = Vec::new();
        if self.eat(close)? {
            return Ok(elements);
        }
        loop {
            elements.push(self.operand(depth + 1)?);
            if !self.eat(b',')? {
                self.expect(close)?;
                return Ok(elements);
            }
        }
    }

    /// `[base+offset]`, `[offset]`, `[object, {x, y}]`, `[texture, sampler, {x, y}]`, `[object, x]`.
    fn address(&mut self, depth: u32) -> Parsed<Operand<'a>> {
        if depth >= MAX_LIST_DEPTH {
            return self.error_at(self.token.span, "operands nest too deep here");
        }
        self.advance()?;
        if self.token.kind != TokenKind::Word || self.token.text == "WARP_SZ" {
            let offset = self.offset()?;
            self.expect(b']')?;
            return Ok(Operand::Address(Address { base: None, offset }));
        }
        let base = self.ident("an address")?;
        if !self.eat(b',')? {
            let offset = self.optional_offset()?.unwrap_or(0);
            self.expect(b']')?;
            return Ok(Operand::Address(Address {
                base: Some(base),
                offset,
            }));
        }
        let mut sampler = None;
        let mut coordinates = self.coordinates(depth + 1)?;
        if self.eat(b',')? {
            match coordinates.as_slice() {
                [Operand::Name(name)] => sampler = Some(*name),
                _ => return self.expected("`]`"),
            }
            coordinates = self.coordinates(depth + 1)?;
        }
        self.expect(b']')?;
        Ok(Operand::Texture(Box::new(TextureAddress {
            object: base,
            sampler,
            coordinates,
        })))
    }

    fn coordinates(&mut self, depth: u32) -> Parsed<Vec<Operand<'a>>> {
        if !self.is(b'{') {
            return Ok(vec![self.single(depth)?]);
        }
        let list = self.list(b'}', depth)?;
        if list.is_empty() {
            self.error_at(self.token.span, "coordinates cannot be empty")
        } else {
            Ok(list)
        }
    }
}
