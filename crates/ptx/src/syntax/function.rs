//! Kernels and functions.

use super::variable::AttributeList;
use super::{Parsed, Parser};
use crate::ast::{Attributes, Function, FunctionKind, Linkage, Param, Pointer, Span};

impl<'a> Parser<'a> {
    /// From `.entry` or `.func` on.
    pub(super) fn function(&mut self, start: Span, linkage: Linkage) -> Parsed<Function<'a>> {
        let kind = if self.eat_directive("entry")? {
            FunctionKind::Entry
        } else {
            self.advance()?;
            FunctionKind::Func
        };
        let mut attributes = Attributes::default();
        self.function_attribute(&mut attributes)?;
        let returns = if kind == FunctionKind::Func && self.is(b'(') {
            self.params()?
        } else {
            Vec::new()
        };
        let name = self.ident("the name of a function")?;
        let params = if self.is(b'(') {
            self.params()?
        } else {
            Vec::new()
        };
        self.attributes(&mut attributes)?;
        let span = self.span_from(start);
        let body = if self.eat(b';')? {
            None
        } else if self.is(b'{') {
            Some(self.block(0)?)
        } else {
            return self.expected("`{` or `;`");
        };
        Ok(Function {
            linkage,
            kind,
            name,
            returns,
            params,
            attributes,
            body,
            span,
        })
    }

    fn function_attribute(&mut self, attributes: &mut Attributes<'a>) -> Parsed<()> {
        while self.eat_directive("attribute")? {
            let mut list = AttributeList::default();
            let span = self.token.span;
            self.attribute_list(&mut list)?;
            if list.managed {
                return self.error_at(self.span_from(span), "a function cannot be managed");
            }
            attributes.unified = list.unified;
        }
        Ok(())
    }

    /// `(.param .b32 a, .param .align 8 .b8 b[16])`
    pub(super) fn params(&mut self) -> Parsed<Vec<Param<'a>>> {
        self.expect(b'(')?;
        let mut params = Vec::new();
        if self.eat(b')')? {
            return Ok(params);
        }
        loop {
            params.push(self.param()?);
            if !self.eat(b',')? {
                self.expect(b')')?;
                return Ok(params);
            }
        }
    }

    fn param(&mut self) -> Parsed<Param<'a>> {
        let register = match self.directive() {
            Some("reg") => true,
            Some("param") => false,
            _ => return self.expected("`.param` or `.reg`"),
        };
        self.advance()?;
        let (mut align, mut ty, mut pointer) = (None, None, None::<Pointer>);
        loop {
            match (&mut pointer, self.directive()) {
                (Some(pointer), Some("align")) if pointer.align.is_none() => {
                    self.advance()?;
                    pointer.align = Some(self.alignment()?);
                }
                (None, Some("align")) if align.is_none() => {
                    self.advance()?;
                    align = Some(self.alignment()?);
                }
                (None, Some("ptr")) => {
                    self.advance()?;
                    let space = self.peek_space();
                    if space.is_some() {
                        self.advance()?;
                    }
                    pointer = Some(Pointer { space, align: None });
                }
                (None, Some(_)) if ty.is_none() && self.peek_type().is_some() => {
                    ty = self.peek_type();
                    self.advance()?;
                }
                _ => break,
            }
        }
        let Some(ty) = ty else {
            return self.expected("a type");
        };
        let name = self.ident("the name of a parameter")?;
        Ok(Param {
            register,
            align,
            ty,
            pointer,
            name,
            dimensions: self.dimensions()?,
        })
    }

    fn attributes(&mut self, attributes: &mut Attributes<'a>) -> Parsed<()> {
        while let Some(directive) = self.directive() {
            self.advance()?;
            match directive {
                "maxntid" => attributes.max_threads = Some(self.triple()?),
                "reqntid" => attributes.required_threads = Some(self.triple()?),
                "minnctapersm" => {
                    attributes.min_blocks_per_sm = Some(self.unsigned32("a number of blocks")?);
                }
                "maxnctapersm" => {
                    attributes.max_blocks_per_sm = Some(self.unsigned32("a number of blocks")?);
                }
                "maxnreg" => {
                    attributes.max_registers = Some(self.unsigned32("a number of registers")?);
                }
                "noreturn" => attributes.noreturn = true,
                "explicitcluster" => attributes.explicit_cluster = true,
                "reqnctapercluster" => {
                    let written = matches!(self.token.kind, super::TokenKind::Number(_));
                    attributes.required_cluster =
                        Some(if written { self.triple()? } else { [0; 3] });
                }
                "maxclusterrank" => {
                    attributes.max_cluster_rank = Some(self.unsigned32("a number of blocks")?);
                }
                "blocksareclusters" => attributes.blocks_are_clusters = true,
                "abi_preserve" => {
                    attributes.abi_preserve = Some(self.unsigned32("a number of registers")?);
                }
                "abi_preserve_control" => {
                    attributes.abi_preserve_control =
                        Some(self.unsigned32("a number of registers")?);
                }
                "attribute" => {
                    let mut list = AttributeList::default();
                    self.attribute_list(&mut list)?;
                    attributes.unified = list.unified.or(attributes.unified);
                }
                "pragma" => attributes.pragmas.extend(self.strings()?),
                _ => {
                    let at = Span::new(self.last_end - directive.len() as u32 - 1, self.last_end);
                    return self.error_at(
                        at,
                        format!("unknown directive `.{directive}` of a function"),
                    );
                }
            }
        }
        Ok(())
    }

    /// `128, 1, 1`, of which the last ones may be left out.
    fn triple(&mut self) -> Parsed<[u32; 3]> {
        let mut triple = [1; 3];
        for (i, place) in triple.iter_mut().enumerate() {
            if i > 0 && !self.eat(b',')? {
                break;
            }
            *place = self.unsigned32("a number of threads or blocks")?;
        }
        Ok(triple)
    }
}
