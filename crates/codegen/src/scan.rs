//! Reading CUDA C++ without a compiler, as far as caching and messages need it: which headers a text includes, and where its code begins.
//!
//! NVRTC reports neither the files it read nor the includes that led to a message. This scanner skips comments, strings and character
//! constants and takes every `#include` for a real one, also those in branches that the preprocessor would leave out. So it finds too
//! many rather than too few, which costs a cache nothing but a look at a file. Only a name built by macros (`#include NAME`) escapes it;
//! it tells that there is one.

/// One `#include`, or a question for one by `__has_include`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Include {
    pub(crate) name: String,
    /// With quotes, so that the directory of the including file comes first.
    pub(crate) quoted: bool,
    /// Line, from 1.
    pub(crate) line: u32,
}

/// What a text includes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Includes {
    pub(crate) found: Vec<Include>,
    /// Whether an include's name is built by macros.
    pub(crate) computed: bool,
}

/// A piece of text outside comments, with its place.
enum Piece<'a> {
    /// A line that begins with `#`, its continuation lines joined, without the `#`.
    Directive {
        text: String,
        line: u32,
        start: usize,
    },
    /// Anything else that is not white, up to a string or character constant, which is skipped.
    Code { text: &'a str, start: usize },
}

/// Takes a text apart into directives and code.
struct Pieces<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    /// Nothing but white and comments since the line began.
    fresh: bool,
}

impl<'a> Pieces<'a> {
    fn new(text: &'a str) -> Self {
        // A byte-order mark is white too.
        let at = if text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        };
        Self {
            text,
            at,
            line: 1,
            fresh: true,
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn advance(&mut self, bytes: usize) {
        let skipped = &self.text[self.at..self.at + bytes];
        self.line += u32::try_from(skipped.matches('\n').count()).unwrap_or(u32::MAX);
        self.at += bytes;
    }

    /// Bytes up to and including `end`, or all.
    fn through(text: &str, from: usize, end: &str) -> usize {
        text.get(from..)
            .and_then(|rest| rest.find(end))
            .map_or(text.len(), |at| from + at + end.len())
    }

    /// Length of the comment at the start of `text`, or 0.
    fn comment(text: &str) -> usize {
        if text.starts_with("/*") {
            Self::through(text, 2, "*/")
        } else if text.starts_with("//") {
            // A backslash at its end continues it.
            let mut end = 2;
            loop {
                match text[end..].find('\n') {
                    None => return text.len(),
                    Some(at) if text[..end + at].trim_end_matches('\r').ends_with('\\') => {
                        end += at + 1;
                    }
                    Some(at) => return end + at,
                }
            }
        } else {
            0
        }
    }

    /// The directive after the `#`, up to the end of its last line: continuation lines joined, comments blanked.
    fn directive(&mut self) -> String {
        let mut joined = String::new();
        loop {
            let rest = self.rest();
            let Some(c) = rest.chars().next() else { break };
            if c == '\n' {
                break;
            }
            let comment = Self::comment(rest);
            if comment > 0 {
                joined.push(' ');
                self.advance(comment);
            } else if let Some(after) = rest.strip_prefix('\\')
                && let Some(length) = ["\r\n", "\n"]
                    .into_iter()
                    .find(|end| after.starts_with(end))
                    .map(str::len)
            {
                self.advance(1 + length);
            } else if c == '"' {
                let length = Self::literal(rest, '"');
                joined.push_str(&rest[..length]);
                self.advance(length);
            } else {
                joined.push(c);
                self.advance(c.len_utf8());
            }
        }
        joined
    }

    /// Length of the string or character constant at the start of `text`, which ends at the latest with the line.
    fn literal(text: &str, quote: char) -> usize {
        let mut escaped = false;
        for (at, c) in text.char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '\n' => return at,
                c if c == quote => return at + 1,
                _ => {}
            }
        }
        text.len()
    }

    /// Length of the raw string whose quote is at the start of `text`.
    fn raw_literal(text: &str) -> usize {
        match text.find('(') {
            Some(open) if open <= 17 => {
                Self::through(text, open, &format!("){}\"", &text[1..open]))
            }
            _ => 1,
        }
    }

    /// Lengths of the code at the start of `text`, up to the end of the line, a comment or a literal, and of that literal.
    fn code(text: &str) -> (usize, usize) {
        let mut previous = '\0';
        for (at, c) in text.char_indices() {
            match c {
                '\n' => return (at, 0),
                '/' if Self::comment(&text[at..]) > 0 => return (at, 0),
                '"' if previous == 'R' => return (at, Self::raw_literal(&text[at..])),
                '"' => return (at, Self::literal(&text[at..], '"')),
                // 1'000 is a number.
                '\'' if !previous.is_ascii_hexdigit() => {
                    return (at, Self::literal(&text[at..], '\''));
                }
                _ => previous = c,
            }
        }
        (text.len(), 0)
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            let rest = self.rest();
            let c = rest.chars().next()?;
            let comment = Self::comment(rest);
            if comment > 0 {
                self.advance(comment);
            } else if c == '\n' {
                self.fresh = true;
                self.advance(1);
            } else if c.is_whitespace() {
                self.advance(c.len_utf8());
            } else if c == '#' && self.fresh {
                let (line, start) = (self.line, self.at);
                self.advance(1);
                return Some(Piece::Directive {
                    text: self.directive(),
                    line,
                    start,
                });
            } else {
                self.fresh = false;
                let (code, literal) = Self::code(rest);
                let start = self.at;
                self.advance(code + literal);
                return Some(Piece::Code {
                    text: &rest[..code],
                    start,
                });
            }
        }
    }
}

/// The headers that a text includes.
pub(crate) fn includes(text: &str) -> Includes {
    let mut includes = Includes::default();
    if !text.contains("include") {
        return includes;
    }
    for piece in Pieces::new(text) {
        let Piece::Directive { text, line, .. } = piece else {
            continue;
        };
        let directive = text.trim_start();
        let word = directive
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(directive.len());
        match &directive[..word] {
            "include" | "include_next" | "import" => {
                match header_name(directive[word..].trim_start()) {
                    Some((name, quoted)) => includes.found.push(Include { name, quoted, line }),
                    None => includes.computed = true,
                }
            }
            "if" | "elif" => {
                for (at, word) in directive.match_indices("__has_include") {
                    let argument = directive[at + word.len()..].trim_start().strip_prefix('(');
                    if let Some((name, quoted)) =
                        argument.and_then(|argument| header_name(argument.trim_start()))
                    {
                        includes.found.push(Include { name, quoted, line });
                    }
                }
            }
            _ => {}
        }
    }
    includes
}

/// `<name>` or `"name"` at the start of a text.
fn header_name(text: &str) -> Option<(String, bool)> {
    let (end, quoted) = match text.as_bytes().first()? {
        b'<' => ('>', false),
        b'"' => ('"', true),
        _ => return None,
    };
    let name = text[1..].split_once(end)?.0.trim();
    (!name.is_empty()).then(|| (name.to_owned(), quoted))
}

/// The offset at which `extern "C" {` may be put: before the first code, after the comments, blank lines and directives at the top, but
/// outside every conditional, because one bracket inside of it and one outside would not match.
pub(crate) fn start_of_code(text: &str) -> usize {
    let mut depth = 0_u32;
    let mut conditional = 0;
    for piece in Pieces::new(text) {
        match piece {
            Piece::Directive {
                text: directive,
                start,
                ..
            } => {
                let word = directive.trim_start();
                if word.starts_with("if") {
                    if depth == 0 {
                        conditional = line_start(text, start);
                    }
                    depth += 1;
                } else if word.starts_with("endif") {
                    depth = depth.saturating_sub(1);
                }
            }
            Piece::Code { start, .. } => {
                return if depth == 0 {
                    line_start(text, start)
                } else {
                    conditional
                };
            }
        }
    }
    text.len()
}

/// The start of the line of an offset, or the offset itself if a comment that began on an earlier line ends on this one.
fn line_start(text: &str, at: usize) -> usize {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    if text[start..at].trim().is_empty() {
        start
    } else {
        at
    }
}

/// The text with comments, literals and directives blanked, byte for byte as long as before, so that offsets stay.
pub(crate) fn code_only(text: &str) -> String {
    let mut blank = vec![b' '; text.len()];
    for (at, byte) in text.bytes().enumerate() {
        if byte == b'\n' {
            blank[at] = b'\n';
        }
    }
    for piece in Pieces::new(text) {
        if let Piece::Code { text, start } = piece {
            for (offset, byte) in text.bytes().enumerate() {
                blank[start + offset] = if byte.is_ascii() { byte } else { b'_' };
            }
        }
    }
    String::from_utf8(blank).expect("only ASCII was written")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(String, bool, u32)> {
        includes(text)
            .found
            .into_iter()
            .map(|one| (one.name, one.quoted, one.line))
            .collect()
    }

    #[test]
    fn includes_in_all_spellings() {
        let text = "#include <a.h>\n  #  include \"b c.h\" // x\n/* # */ #include/**/<d>\n#\\\ninclude <e>\n#if __has_include(<f>) && __has_include(\"g\")\n#endif\r\n#include <h>\r\n";
        let expected = [
            ("a.h", false, 1),
            ("b c.h", true, 2),
            ("d", false, 3),
            ("e", false, 4),
            ("f", false, 6),
            ("g", true, 6),
            ("h", false, 8),
        ];
        assert_eq!(
            names(text),
            expected.map(|(name, quoted, line)| (name.to_owned(), quoted, line))
        );
    }

    #[test]
    fn comments_and_literals_hide_nothing_and_show_nothing() {
        assert_eq!(
            names("// #include <a>\n/* \n#include <b>\n*/\n\"\\\"/*\"\n#include <c>\n"),
            [("c".into(), false, 6)]
        );
        assert_eq!(
            names("int x = 1'000'000; // '\n#include <a>\n char q = '\"';\n#include <b>\n"),
            [("a".into(), false, 2), ("b".into(), false, 4)]
        );
        assert_eq!(
            names("auto s = R\"x(\n#include <no>\n)\" )x\";\n#include <yes>\n"),
            [("yes".into(), false, 4)]
        );
        assert_eq!(
            names("// continued \\\n#include <no>\n#include <yes>"),
            [("yes".into(), false, 3)]
        );
    }

    #[test]
    fn computed_names_are_noticed() {
        assert!(includes("#define H <a>\n#include H\n").computed);
        assert!(!includes("#include <a>\n#pragma include X\n").computed);
    }

    #[test]
    fn code_begins_after_the_top() {
        let at = |text: &str| {
            let at = start_of_code(text);
            (text[..at].to_owned(), text[at..].to_owned())
        };
        assert_eq!(at("__global__"), ("".into(), "__global__".into()));
        assert_eq!(
            at("#include <a>\n\n  int x;"),
            ("#include <a>\n\n".into(), "  int x;".into())
        );
        assert_eq!(
            at("#ifdef A\n#include <a>\n#endif\nint x;"),
            ("#ifdef A\n#include <a>\n#endif\n".into(), "int x;".into())
        );
        assert_eq!(
            at("#include <a>\n#ifndef G\n#define G\nint x;\n#endif"),
            (
                "#include <a>\n".into(),
                "#ifndef G\n#define G\nint x;\n#endif".into()
            )
        );
        assert_eq!(
            at("/* a\n b */ int x;"),
            ("/* a\n b */ ".into(), "int x;".into())
        );
    }

    #[test]
    fn blanked_code_keeps_offsets() {
        let text = "/* é */ int x; // y\n#define A\nf(\"a(\", 'b'); g();\n";
        let code = code_only(text);
        assert_eq!(code.len(), text.len());
        assert_eq!(code.find("int x"), text.find("int x"));
        assert!(!code.contains("define") && !code.contains("a("));
        assert_eq!(code.find("g()"), text.find("g()"));
    }

    #[test]
    fn any_text_is_survived() {
        for text in [
            "",
            "#",
            "#include",
            "#include <",
            "\"",
            "'",
            "R\"",
            "R\"(",
            "/*",
            "//\\",
            "\\",
            "é#include <a>",
            "\u{feff}#include <a>",
            "#if __has_include",
            "#if __has_include(",
            "\"\\",
        ] {
            let _ = (includes(text), start_of_code(text), code_only(text));
        }
    }

    /// Texts put together at random from what the scanners look for: none may make them panic or lose the place.
    #[test]
    fn random_texts_are_survived() {
        const FRAGMENTS: [&str; 36] = [
            "\n",
            "\r\n",
            "\\",
            "\\\n",
            "\"",
            "'",
            "/*",
            "*/",
            "//",
            "/",
            "#",
            "# ",
            "include",
            "#include <a>",
            "#if ",
            "#endif",
            "__has_include(",
            "R\"",
            "R\"x(",
            ")x\"",
            "(",
            ")",
            "<",
            ">",
            "[",
            "]",
            "{",
            "}",
            ",",
            "=",
            "__global__ ",
            "__launch_bounds__(3) ",
            "void k(int x",
            "é日",
            "1'0",
            "k.cu(1): error: x\n  y\n  ^\n",
        ];
        let mut state = 1_u64;
        for _ in 0..30_000 {
            let mut text = String::new();
            for _ in 0..state % 23 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                text.push_str(FRAGMENTS[(state >> 33) as usize % FRAGMENTS.len()]);
            }
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            assert!(text.is_char_boundary(start_of_code(&text)), "{text:?}");
            assert_eq!(code_only(&text).len(), text.len());
            let _ = includes(&text);
            let _ = crate::declarations::kernels(&text);
            for one in crate::diagnostics::parse(&text) {
                let _ = one.to_string();
            }
        }
    }
}
