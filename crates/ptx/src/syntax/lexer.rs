//! From bytes to tokens. Nothing is copied and every byte is looked at a bounded number of times.

use crate::ast::Immediate;
use crate::error::ParseError;
use crate::span::Span;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TokenKind {
    /// A name with all its dotted parts: `%tid.x`, `ld.global.f32`, `$L__BB0_1`, `_`.
    Word,
    /// One dotted word: `.reg`. In `.reg.b32` there are two of them.
    Directive,
    /// A number without sign.
    Number(Immediate),
    /// A string; the token's text is without the quotes.
    String,
    /// One character of punctuation.
    Punct(u8),
    /// The end of the text.
    End,
}

/// A token with its text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
    pub(super) span: Span,
}

/// Makes tokens one at a time.
pub(super) struct Lexer<'a> {
    source: &'a str,
    at: usize,
    /// End of the part that is read: trailing NUL bytes, as C strings have, are left out.
    end: usize,
}

fn is_word_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || matches!(b, b'_' | b'$' | b'%')
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$')
}

impl<'a> Lexer<'a> {
    /// `source` must be shorter than 4 GiB, so that spans can hold its offsets.
    pub(super) fn new(source: &'a str) -> Self {
        Lexer {
            source,
            at: 0,
            end: source.trim_end_matches('\0').len(),
        }
    }

    /// The next token.
    pub(super) fn next(&mut self) -> Result<Token<'a>, ParseError> {
        self.skip_blanks()?;
        let start = self.at;
        let Some(b) = self.peek(0) else {
            return Ok(self.token(TokenKind::End, start));
        };
        let kind = match b {
            b'%' if !self.peek(1).is_some_and(is_word) => self.punct(b),
            _ if is_word_start(b) => {
                self.at += 1;
                self.word_rest();
                while self.peek(0) == Some(b'.') && self.peek(1).is_some_and(is_word) {
                    self.at += 1;
                    self.word_rest();
                }
                TokenKind::Word
            }
            b'.' if self.peek(1).is_some_and(|b| b.is_ascii_digit()) => self.number()?,
            b'.' if self.peek(1).is_some_and(is_word_start) => {
                self.at += 2;
                self.word_rest();
                TokenKind::Directive
            }
            b'0'..=b'9' => self.number()?,
            b'"' => return self.string(),
            _ if b.is_ascii_punctuation() => self.punct(b),
            _ => {
                let width = self.source[start..]
                    .chars()
                    .next()
                    .map_or(1, char::len_utf8);
                return Err(self.error(start, start + width, "unexpected character"));
            }
        };
        Ok(self.token(kind, start))
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        let at = self.at + ahead;
        if at < self.end {
            Some(self.source.as_bytes()[at])
        } else {
            None
        }
    }

    fn punct(&mut self, b: u8) -> TokenKind {
        self.at += 1;
        TokenKind::Punct(b)
    }

    fn token(&self, kind: TokenKind, start: usize) -> Token<'a> {
        Token {
            kind,
            text: &self.source[start..self.at],
            span: Span::new(start as u32, self.at as u32),
        }
    }

    fn error(&self, start: usize, end: usize, message: &str) -> ParseError {
        ParseError::new(
            self.source,
            Span::new(start as u32, end as u32),
            message.to_owned(),
        )
    }

    /// The rest of a name and of `::` qualifiers in it; a single colon ends a label and is not part of it.
    fn word_rest(&mut self) {
        loop {
            match self.peek(0) {
                Some(b) if is_word(b) => self.at += 1,
                Some(b':') if self.peek(1) == Some(b':') && self.peek(2).is_some_and(is_word) => {
                    self.at += 2;
                }
                _ => return,
            }
        }
    }

    fn skip_blanks(&mut self) -> Result<(), ParseError> {
        while let Some(b) = self.peek(0) {
            match (b, self.peek(1)) {
                (b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c, _) => self.at += 1,
                (b'/', Some(b'/')) => {
                    let rest = &self.source.as_bytes()[self.at..self.end];
                    self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                }
                (b'/', Some(b'*')) => {
                    let start = self.at;
                    match self.source[start + 2..self.end].find("*/") {
                        Some(length) => self.at = start + 2 + length + 2,
                        None => {
                            return Err(self.error(start, start + 2, "this comment does not end"));
                        }
                    }
                }
                _ => break,
            }
        }
        Ok(())
    }

    fn string(&mut self) -> Result<Token<'a>, ParseError> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek(0) {
                Some(b'"') => break,
                Some(b'\\') if self.peek(1).is_some_and(|b| b != b'\n') => self.at += 2,
                None | Some(b'\n') => {
                    return Err(self.error(start, start + 1, "this string does not end"));
                }
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        let mut token = self.token(TokenKind::String, start);
        token.text = &token.text[1..token.text.len() - 1];
        Ok(token)
    }

    /// A number (PTX ISA, section 4.5): `0f`, `0d`, `0x`, `0b`, octal, decimal with an optional `U`, and decimal floats.
    fn number(&mut self) -> Result<TokenKind, ParseError> {
        let start = self.at;
        self.alphanumeric();
        let integer = &self.source[start..self.at];
        let decimal = integer.bytes().all(|b| b.is_ascii_digit());
        let prefixed = integer.len() > 1
            && integer.starts_with('0')
            && !integer.as_bytes()[1].is_ascii_digit();
        if decimal && self.peek(0) == Some(b'.') && !self.peek(1).is_some_and(is_word_start) {
            self.at += 1;
            self.alphanumeric();
        }
        let exponent = self.source[start..self.at].ends_with(['e', 'E']);
        if exponent
            && !prefixed
            && matches!(self.peek(0), Some(b'+' | b'-'))
            && self.peek(1).is_some_and(|b| b.is_ascii_digit())
        {
            self.at += 1;
            self.alphanumeric();
        }
        let text = &self.source[start..self.at];
        match value(text) {
            Some(immediate) => Ok(TokenKind::Number(immediate)),
            None => Err(self.error(start, self.at, "this is not a number, or too large a one")),
        }
    }

    fn alphanumeric(&mut self) {
        while self.peek(0).is_some_and(is_word) {
            self.at += 1;
        }
    }

    /// The text from `start` up to the last token's end, for what is kept unparsed.
    pub(super) fn text(&self, start: usize, end: usize) -> &'a str {
        &self.source[start..end]
    }

    /// The whole text.
    pub(super) fn source(&self) -> &'a str {
        self.source
    }
}

/// The value of an unsigned number.
fn value(text: &str) -> Option<Immediate> {
    let integer = |digits: &str, radix| {
        let digits = digits.strip_suffix('U').unwrap_or(digits);
        u64::from_str_radix(digits, radix)
            .ok()
            .map(|v| Immediate::Int(i128::from(v)))
    };
    // `from_str_radix` takes a leading sign, which cannot stand here: a sign is never part of the token.
    match text.as_bytes() {
        [b'0', b'f' | b'F', ..] if text.len() == 10 => {
            u32::from_str_radix(&text[2..], 16).ok().map(Immediate::F32)
        }
        [b'0', b'd' | b'D', ..] if text.len() == 18 => {
            u64::from_str_radix(&text[2..], 16).ok().map(Immediate::F64)
        }
        [b'0', b'x' | b'X', ..] => integer(&text[2..], 16),
        [b'0', b'b' | b'B', ..] => integer(&text[2..], 2),
        [b'0', b'0'..=b'9', ..] if !text.contains(['.', 'e', 'E']) => integer(&text[1..], 8),
        _ if text.contains(['.', 'e', 'E']) => {
            let plain = text
                .bytes()
                .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
            // Rust takes all of PTX's forms, `1.`, `.5` and `1e5` too; a value too large becomes infinite.
            plain
                .then(|| text.parse::<f64>().ok())
                .flatten()
                .map(|v| Immediate::F64(v.to_bits()))
        }
        _ => integer(text, 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(source: &str) -> Vec<(TokenKind, &str)> {
        let mut lexer = Lexer::new(source);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next().expect("the text has only good tokens");
            if token.kind == TokenKind::End {
                return tokens;
            }
            tokens.push((token.kind, token.text));
        }
    }

    fn number(source: &str) -> Immediate {
        match all(source).as_slice() {
            [(TokenKind::Number(immediate), _)] => *immediate,
            other => panic!("{source}: {other:?}"),
        }
    }

    #[test]
    fn words_keep_their_dots_and_directives_split() {
        use TokenKind::{Directive, Punct, Word};
        assert_eq!(
            all("mov.u32 %r1,%tid.x;"),
            [
                (Word, "mov.u32"),
                (Word, "%r1"),
                (Punct(b','), ","),
                (Word, "%tid.x"),
                (Punct(b';'), ";")
            ]
        );
        assert_eq!(
            all(".reg.b32 fl"),
            [(Directive, ".reg"), (Directive, ".b32"), (Word, "fl")]
        );
        assert_eq!(all("$L__BB0_2:"), [(Word, "$L__BB0_2"), (Punct(b':'), ":")]);
        assert_eq!(
            all("ld.global.L1::evict_last.L2::128B.f32"),
            [(Word, "ld.global.L1::evict_last.L2::128B.f32")]
        );
        assert_eq!(all("% r"), [(Punct(b'%'), "%"), (Word, "r")]);
        assert_eq!(all("%r<4>")[0], (Word, "%r"));
    }

    #[test]
    fn numbers_in_all_notations() {
        assert_eq!(number("0x3f803f80U"), Immediate::Int(0x3f80_3f80));
        assert_eq!(number("0XFF"), Immediate::Int(255));
        assert_eq!(
            number("18446744073709551615"),
            Immediate::Int(i128::from(u64::MAX))
        );
        assert_eq!(number("0b1010"), Immediate::Int(10));
        assert_eq!(number("017"), Immediate::Int(15));
        assert_eq!(number("0"), Immediate::Int(0));
        assert_eq!(number("0f3F800000"), Immediate::F32(0x3f80_0000));
        assert_eq!(
            number("0dBFF0000000000000"),
            Immediate::F64(0xbff0_0000_0000_0000)
        );
        assert_eq!(number("1.0"), Immediate::F64(1f64.to_bits()));
        assert_eq!(number("1."), Immediate::F64(1f64.to_bits()));
        assert_eq!(number(".5"), Immediate::F64(0.5f64.to_bits()));
        assert_eq!(number("1e-3"), Immediate::F64(1e-3f64.to_bits()));
        assert_eq!(number("2.5E+10"), Immediate::F64(2.5e10f64.to_bits()));
        assert_eq!(number("0e1"), Immediate::F64(0f64.to_bits()));
    }

    #[test]
    fn bad_tokens_are_errors_with_their_place() {
        for (source, column) in [
            ("  0f3F80000", 3),
            ("18446744073709551616", 1),
            ("089", 1),
            ("0xU", 1),
            ("12ab", 1),
            ("/* never", 1),
            ("\"never", 1),
            ("\"a\\", 1),
            (" é", 2),
        ] {
            let error = Lexer::new(source).next().expect_err(source);
            assert_eq!((error.line(), error.column()), (1, column), "{source}");
        }
    }

    #[test]
    fn comments_blanks_and_trailing_nuls_are_nothing() {
        assert!(all("// x\r\n/* y */ \t\0\0").is_empty());
        assert_eq!(all("a/*é*/b").len(), 2);
        assert_eq!(all("\"a \\\" é\""), [(TokenKind::String, "a \\\" é")]);
    }
}
