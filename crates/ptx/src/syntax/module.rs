//! Module scope.

use super::{Parsed, Parser, TokenKind};
use crate::ast::{Alias, File, Item, Linkage, Module, Section};

impl<'a> Parser<'a> {
    pub(super) fn module(mut self) -> Parsed<Module<'a>> {
        if !self.eat_directive("version")? {
            return self.expected("`.version`, with which every module begins");
        }
        let version = self.version()?;
        let mut module = Module {
            version,
            targets: Vec::new(),
            address_size: 32,
            items: Vec::new(),
            files: Vec::new(),
        };
        while self.token.kind != TokenKind::End {
            self.item(&mut module)?;
        }
        Ok(module)
    }

    /// `8.8`, which the lexer takes for a float.
    fn version(&mut self) -> Parsed<(u8, u8)> {
        let parts = match self.token.kind {
            TokenKind::Number(_) => self.token.text.split_once('.'),
            _ => None,
        };
        match parts.map(|(major, minor)| (major.parse(), minor.parse())) {
            Some((Ok(major), Ok(minor))) => {
                self.advance()?;
                Ok((major, minor))
            }
            _ => self.expected("a version such as `8.8`"),
        }
    }

    fn item(&mut self, module: &mut Module<'a>) -> Parsed<()> {
        if self.eat(b';')? {
            return Ok(());
        }
        let Some(directive) = self.directive() else {
            return self.expected("a directive");
        };
        match directive {
            "target" => {
                self.advance()?;
                module.targets.extend(self.idents("a target")?);
            }
            "address_size" => {
                self.advance()?;
                let span = self.token.span;
                module.address_size = match self.unsigned("an address size")? {
                    32 => 32,
                    64 => 64,
                    _ => return self.error_at(span, "the address size must be 32 or 64"),
                };
            }
            "file" => {
                let file = self.file()?;
                module.files.push(file);
            }
            "section" => {
                let section = self.section()?;
                module.items.push(Item::Section(section));
            }
            "pragma" => {
                self.advance()?;
                module.items.push(Item::Pragma(self.strings()?));
            }
            "alias" => {
                self.advance()?;
                let name = self.ident("a name")?;
                self.expect(b',')?;
                let target = self.ident("a function")?;
                self.expect(b';')?;
                module.items.push(Item::Alias(Alias { name, target }));
            }
            _ => self.symbol(module)?,
        }
        Ok(())
    }

    /// A variable or function with its linkage.
    fn symbol(&mut self, module: &mut Module<'a>) -> Parsed<()> {
        let start = self.token.span;
        let linkage = self.linkage()?;
        if matches!(self.directive(), Some("entry" | "func")) {
            let function = self.function(start, linkage)?;
            module.items.push(Item::Function(Box::new(function)));
            return Ok(());
        }
        let Some(space) = self.peek_space() else {
            return self.expected(if linkage == Linkage::Internal {
                "a directive of module scope"
            } else {
                "a function or variable"
            });
        };
        self.advance()?;
        self.variables(start, linkage, space, &mut |variable| {
            module.items.push(Item::Variable(Box::new(variable)));
        })
    }

    fn linkage(&mut self) -> Parsed<Linkage> {
        let linkage = match self.directive() {
            Some("extern") => Linkage::Extern,
            Some("visible") => Linkage::Visible,
            Some("weak") => Linkage::Weak,
            Some("common") => Linkage::Common,
            _ => return Ok(Linkage::Internal),
        };
        self.advance()?;
        Ok(linkage)
    }

    /// `.file 1 "name"` or `.file 1 "name", time, size`. Also occurs among statements.
    pub(super) fn file(&mut self) -> Parsed<File<'a>> {
        self.advance()?;
        let index = self.unsigned32("a file number")?;
        let name = self.string()?;
        let stamp = if self.eat(b',')? {
            let time = self.unsigned("a time stamp")?;
            self.expect(b',')?;
            Some((time, self.unsigned("a size")?))
        } else {
            None
        };
        Ok(File { index, name, stamp })
    }

    /// `.section .name { ... }`: kept as text, found by matching braces.
    fn section(&mut self) -> Parsed<Section<'a>> {
        self.advance()?;
        if !matches!(self.token.kind, TokenKind::Directive | TokenKind::Word) {
            return self.expected("the name of a section");
        }
        let name = self.advance()?;
        let open = self.token.span;
        self.expect(b'{')?;
        let start = open.end as usize;
        let mut depth = 1u32;
        while depth > 0 {
            match self.token.kind {
                TokenKind::End => return self.error_at(open, "this section does not end"),
                TokenKind::Punct(b'{') => depth += 1,
                TokenKind::Punct(b'}') => depth -= 1,
                _ => {}
            }
            if depth > 0 {
                self.advance()?;
            }
        }
        let text = self
            .lexer
            .text(start, self.token.span.start as usize)
            .trim();
        self.expect(b'}')?;
        Ok(Section {
            name: crate::ast::Ident {
                text: name.text,
                span: name.span,
            },
            text,
        })
    }
}
