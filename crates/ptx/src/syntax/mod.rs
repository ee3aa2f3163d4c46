//! From text to tree: a lexer and a recursive-descent parser, one file for each part of the grammar.

mod function;
mod lexer;
mod module;
mod operand;
mod statement;
mod variable;

use crate::ast::{Ident, Immediate, Module};
use crate::error::ParseError;
use crate::span::Span;
use crate::{ScalarType, Space};

use lexer::{Lexer, Token, TokenKind};

/// Parses a PTX text. Trailing NUL bytes are ignored.
///
/// Takes time linear in the length of the text, and bounded stack: what nests (blocks, initializers) may do so only to a fixed depth.
///
/// # Errors
/// The first place that is not PTX. Opcodes are not looked into: see [`crate::decode()`].
pub fn parse(source: &str) -> Result<Module<'_>, ParseError> {
    if u32::try_from(source.len()).is_err() {
        return Err(ParseError::new(
            "",
            Span::default(),
            "the text is longer than 4 GiB".to_owned(),
        ));
    }
    let mut lexer = Lexer::new(source);
    let token = lexer.next()?;
    Parser {
        lexer,
        token,
        last_end: 0,
    }
    .module()
}

/// How deep blocks may nest.
const MAX_BLOCK_DEPTH: u32 = 128;

/// How deep vectors, lists and initializers may nest.
const MAX_LIST_DEPTH: u32 = 16;

type Parsed<T> = Result<T, ParseError>;

/// The parser: the lexer and the one token that is next.
struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token<'a>,
    /// End of the token before `token`.
    last_end: u32,
}

impl<'a> Parser<'a> {
    /// Takes the next token.
    fn advance(&mut self) -> Parsed<Token<'a>> {
        let next = self.lexer.next()?;
        let taken = std::mem::replace(&mut self.token, next);
        self.last_end = taken.span.end;
        Ok(taken)
    }

    /// From `start` to the end of the last token taken.
    fn span_from(&self, start: Span) -> Span {
        Span::new(start.start, self.last_end.max(start.start))
    }

    fn error_at<T>(&self, span: Span, message: impl Into<String>) -> Parsed<T> {
        Err(ParseError::new(self.lexer.source(), span, message.into()))
    }

    /// An error at the next token: this was expected instead.
    fn expected<T>(&self, what: &str) -> Parsed<T> {
        const SHOWN: usize = 40;
        let found = match self.token.kind {
            TokenKind::End => "the end of the text".to_owned(),
            _ if self.token.text.len() > SHOWN => {
                format!(
                    "`{}…`",
                    &self.token.text[..crate::span::floor_boundary(self.token.text, SHOWN)]
                )
            }
            _ => format!("`{}`", self.token.text),
        };
        self.error_at(self.token.span, format!("expected {what}, found {found}"))
    }

    fn is(&self, punct: u8) -> bool {
        self.token.kind == TokenKind::Punct(punct)
    }

    /// Takes the punctuation if it is next.
    fn eat(&mut self, punct: u8) -> Parsed<bool> {
        let found = self.is(punct);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, punct: u8) -> Parsed<()> {
        if self.eat(punct)? {
            Ok(())
        } else {
            self.expected(&format!("`{}`", punct as char))
        }
    }

    /// The next token if it is a directive, without its dot.
    fn directive(&self) -> Option<&'a str> {
        (self.token.kind == TokenKind::Directive).then(|| &self.token.text[1..])
    }

    /// Takes the directive if it is next.
    fn eat_directive(&mut self, name: &str) -> Parsed<bool> {
        let found = self.directive() == Some(name);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn ident(&mut self, what: &str) -> Parsed<Ident<'a>> {
        if self.token.kind != TokenKind::Word {
            return self.expected(what);
        }
        let token = self.advance()?;
        Ok(Ident {
            text: token.text,
            span: token.span,
        })
    }

    /// `a, b, c`
    fn idents(&mut self, what: &str) -> Parsed<Vec<Ident<'a>>> {
        let mut names = vec![self.ident(what)?];
        while self.eat(b',')? {
            names.push(self.ident(what)?);
        }
        Ok(names)
    }

    fn string(&mut self) -> Parsed<&'a str> {
        if self.token.kind != TokenKind::String {
            return self.expected("a string");
        }
        Ok(self.advance()?.text)
    }

    /// `"a", "b";`
    fn strings(&mut self) -> Parsed<Vec<&'a str>> {
        let mut texts = vec![self.string()?];
        while self.eat(b',')? {
            texts.push(self.string()?);
        }
        self.expect(b';')?;
        Ok(texts)
    }

    /// A number without sign that fits 64 bits.
    fn unsigned(&mut self, what: &str) -> Parsed<u64> {
        match self.token.kind {
            TokenKind::Number(Immediate::Int(value)) => match u64::try_from(value) {
                Ok(value) => {
                    self.advance()?;
                    Ok(value)
                }
                Err(_) => self.expected(what),
            },
            _ => self.expected(what),
        }
    }

    /// A number without sign that fits 32 bits.
    fn unsigned32(&mut self, what: &str) -> Parsed<u32> {
        let span = self.token.span;
        match u32::try_from(self.unsigned(what)?) {
            Ok(value) => Ok(value),
            Err(_) => self.error_at(span, format!("{what} must fit 32 bits")),
        }
    }

    /// A constant with any number of signs before it.
    fn signed(&mut self) -> Parsed<Immediate> {
        self.signed_after(false, self.token.span)
    }

    /// As [`Parser::signed`], after a sign that was already taken at `start`.
    fn signed_after(&mut self, mut negative: bool, start: Span) -> Parsed<Immediate> {
        loop {
            if self.eat(b'-')? {
                negative = !negative;
            } else if !self.eat(b'+')? {
                break;
            }
        }
        let immediate = match self.token.kind {
            TokenKind::Number(immediate) => immediate,
            TokenKind::Word if self.token.text == "WARP_SZ" => Immediate::Int(32),
            _ => return self.expected("a number"),
        };
        self.advance()?;
        match immediate {
            value if !negative => Ok(value),
            Immediate::Int(value) if value <= 1 << 63 => Ok(Immediate::Int(-value)),
            Immediate::Int(_) => {
                self.error_at(self.span_from(start), "this number does not fit 64 bits")
            }
            Immediate::F32(bits) => Ok(Immediate::F32(bits ^ 1 << 31)),
            Immediate::F64(bits) => Ok(Immediate::F64(bits ^ 1 << 63)),
        }
    }

    /// An integer with signs, as a byte offset; values above the signed range wrap.
    fn offset(&mut self) -> Parsed<i64> {
        let start = self.token.span;
        match self.signed()? {
            Immediate::Int(value) => Ok(value as i64),
            Immediate::F32(_) | Immediate::F64(_) => {
                self.error_at(self.span_from(start), "an offset must be an integer")
            }
        }
    }

    /// The next token as a type, if it is a directive that names one.
    fn peek_type(&self) -> Option<ScalarType> {
        ScalarType::from_spelling(self.directive()?)
    }

    /// The next token as a state space, if it is a directive that names one.
    fn peek_space(&self) -> Option<Space> {
        Space::from_qualified(self.directive()?)
    }

    /// The next token as the length of a vector type, if it is one.
    fn peek_vector(&self) -> Option<u8> {
        match self.directive()? {
            "v2" => Some(2),
            "v4" => Some(4),
            "v8" => Some(8),
            _ => None,
        }
    }
}
