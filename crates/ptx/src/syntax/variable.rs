//! Variables and initializers.

use super::{MAX_LIST_DEPTH, Parsed, Parser, TokenKind};
use crate::Space;
use crate::ast::{
    Ident, Immediate, InitialValue, Initializer, Linkage, Span, Symbol, Unified, Variable,
};

/// What `.attribute(...)` can say.
#[derive(Clone, Copy, Default)]
pub(super) struct AttributeList {
    pub(super) managed: bool,
    pub(super) unified: Option<Unified>,
}

impl<'a> Parser<'a> {
    /// What follows the state space, up to and with the semicolon; hands over one variable for each declared name.
    pub(super) fn variables(
        &mut self,
        start: Span,
        linkage: Linkage,
        space: Space,
        put: &mut impl FnMut(Variable<'a>),
    ) -> Parsed<()> {
        let mut attributes = AttributeList::default();
        let (mut align, mut vector, mut ty) = (None, None, None);
        loop {
            if let (None, Some(found)) = (ty, self.peek_type()) {
                self.advance()?;
                ty = Some(found);
            } else if let (None, Some(found)) = (vector, self.peek_vector()) {
                self.advance()?;
                vector = Some(found);
            } else if align.is_none() && self.eat_directive("align")? {
                align = Some(self.alignment()?);
            } else if self.eat_directive("attribute")? {
                self.attribute_list(&mut attributes)?;
            } else {
                break;
            }
        }
        let Some(ty) = ty else {
            return self.expected("a type");
        };
        loop {
            let name = self.ident("the name of a variable")?;
            let dimensions = self.dimensions()?;
            let initializer = if self.eat(b'=')? {
                Some(self.initializer(0)?)
            } else {
                None
            };
            put(Variable {
                linkage,
                space,
                managed: attributes.managed,
                unified: attributes.unified,
                align,
                vector: vector.unwrap_or(1),
                ty,
                name,
                dimensions,
                initializer,
                span: self.span_from(start),
            });
            if !self.eat(b',')? {
                return self.expect(b';');
            }
        }
    }

    /// The number after `.align`.
    pub(super) fn alignment(&mut self) -> Parsed<u32> {
        let span = self.token.span;
        let align = self.unsigned32("an alignment")?;
        if align.is_power_of_two() {
            Ok(align)
        } else {
            self.error_at(span, "an alignment must be a power of two")
        }
    }

    /// `(.managed)`, `(.unified(1, 2))`.
    pub(super) fn attribute_list(&mut self, attributes: &mut AttributeList) -> Parsed<()> {
        self.expect(b'(')?;
        loop {
            if self.eat_directive("managed")? {
                attributes.managed = true;
            } else if self.eat_directive("unified")? {
                self.expect(b'(')?;
                let first = self.unsigned("a number")?;
                self.expect(b',')?;
                attributes.unified = Some(Unified(first, self.unsigned("a number")?));
                self.expect(b')')?;
            } else {
                return self.expected("`.managed` or `.unified`");
            }
            if !self.eat(b',')? {
                return self.expect(b')');
            }
        }
    }

    /// `[4][5]`, `[]`, or nothing.
    pub(super) fn dimensions(&mut self) -> Parsed<Vec<Option<u64>>> {
        let mut dimensions = Vec::new();
        while self.is(b'[') {
            let span = self.token.span;
            self.advance()?;
            let dimension = if self.is(b']') {
                None
            } else {
                Some(self.unsigned("a length")?)
            };
            self.expect(b']')?;
            if dimension.is_none() && !dimensions.is_empty() {
                return self.error_at(self.span_from(span), "only the first dimension may be open");
            }
            dimensions.push(dimension);
        }
        Ok(dimensions)
    }

    fn initializer(&mut self, depth: u32) -> Parsed<Initializer<'a>> {
        if !self.is(b'{') {
            return Ok(Initializer::Value(self.initial_value()?));
        }
        if depth >= MAX_LIST_DEPTH {
            return self.error_at(self.token.span, "initializers nest too deep here");
        }
        self.advance()?;
        let mut list = Vec::new();
        while !self.is(b'}') {
            list.push(self.initializer(depth + 1)?);
            if !self.eat(b',')? {
                break;
            }
        }
        self.expect(b'}')?;
        Ok(Initializer::List(list))
    }

    /// A number, `name`, `generic(name)`, either with `+8`, or one in a mask: `0xFF00(generic(name))`.
    fn initial_value(&mut self) -> Parsed<InitialValue<'a>> {
        if self.token.kind == TokenKind::Word && self.token.text != "WARP_SZ" {
            return Ok(InitialValue::Symbol(self.symbol_address()?));
        }
        let start = self.token.span;
        let number = self.signed()?;
        if !self.is(b'(') {
            return Ok(InitialValue::Immediate(number));
        }
        let mask = match number {
            Immediate::Int(value) if is_byte_run(value as u64) => value as u64,
            _ => {
                return self.error_at(
                    self.span_from(start),
                    "a mask must be a run of ones in whole bytes",
                );
            }
        };
        self.advance()?;
        let mut symbol = self.symbol_address()?;
        self.expect(b')')?;
        symbol.mask = Some(mask);
        Ok(InitialValue::Symbol(symbol))
    }

    fn symbol_address(&mut self) -> Parsed<Symbol<'a>> {
        let mut name: Ident<'a> = self.ident("a symbol")?;
        let generic = name.text == "generic" && self.eat(b'(')?;
        if generic {
            name = self.ident("a symbol")?;
        }
        let mut offset = 0i64;
        if generic && !self.is(b')') {
            offset = self.optional_offset()?.unwrap_or(0);
        }
        if generic {
            self.expect(b')')?;
        }
        offset = offset.wrapping_add(self.optional_offset()?.unwrap_or(0));
        Ok(Symbol {
            name,
            generic,
            offset,
            mask: None,
        })
    }

    /// `+8`, `-8`, `+-8`, or nothing.
    pub(super) fn optional_offset(&mut self) -> Parsed<Option<i64>> {
        if self.is(b'+') || self.is(b'-') {
            Ok(Some(self.offset()?))
        } else {
            Ok(None)
        }
    }
}

/// Whether the ones of a mask are whole neighbouring bytes.
fn is_byte_run(mask: u64) -> bool {
    let bytes = mask.to_le_bytes();
    let first = bytes.iter().position(|&b| b != 0);
    let last = bytes.iter().rposition(|&b| b != 0);
    match (first, last) {
        (Some(first), Some(last)) => bytes[first..=last].iter().all(|&b| b == 0xff),
        _ => false,
    }
}
