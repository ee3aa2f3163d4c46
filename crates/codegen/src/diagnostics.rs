//! NVRTC's log as data.
//!
//! NVRTC writes one text for a whole compilation: the front end's messages (`k.cu(3): error: ...`, then the source line and a caret),
//! those of the assembler (`ptxas error   : ...`), and those about options (`nvrtc: error: ...`). This module takes the text apart
//! without ever failing: what it does not recognise stays in the raw log, which errors keep.

use std::fmt;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

/// How bad a [`Diagnostic`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// Belongs to the message before it.
    Note,
    /// Advice of the compiler.
    Remark,
    /// The program compiles all the same.
    Warning,
    /// The program does not compile.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Remark => "remark",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// A place in a source or header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file, spelled as the compiler spells it: the source's file name, the path of a header, or the name of a header in memory.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, in characters. `None` where the compiler gave no caret.
    pub column: Option<u32>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        match self.column {
            Some(column) => write!(f, ":{column}"),
            None => Ok(()),
        }
    }
}

/// One message of the compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The compiler's number of a message that can be suppressed: 177 for `#177-D`.
    pub number: Option<u32>,
    /// The text; several lines where the compiler wrote several.
    pub message: String,
    /// Where, if the message is about a place.
    pub location: Option<Location>,
    /// The text of that line, if the compiler printed it.
    pub source_line: Option<String>,
    /// The lines under "detected during": the template instantiations that led here, innermost first.
    pub instantiations: Vec<String>,
    /// For a message inside a header, the includes that led to it, innermost first. NVRTC does not say; Cuprum finds it from the
    /// `#include` lines.
    pub included_from: Vec<Location>,
    /// Notes that belong to this message.
    pub notes: Vec<Diagnostic>,
}

impl Diagnostic {
    pub(crate) fn new(
        severity: Severity,
        number: Option<u32>,
        message: &str,
        location: Option<Location>,
    ) -> Self {
        Self {
            severity,
            number,
            message: message.to_owned(),
            location,
            source_line: None,
            instantiations: Vec::new(),
            included_from: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// Shows the message as rustc does: title, place, source line, caret, then the chain that led here.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut groups = Vec::new();
        self.push_groups(&mut groups);
        f.write_str(&Renderer::plain().render(&groups))
    }
}

impl Diagnostic {
    fn push_groups<'a>(&'a self, groups: &mut Vec<Group<'a>>) {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Remark => Level::INFO,
            Severity::Note => Level::NOTE,
        };
        let title = match self.number {
            Some(number) => format!("{} [#{number}]", self.message),
            None => self.message.clone(),
        };
        let mut group = if groups.is_empty() {
            Group::with_title(level.primary_title(title))
        } else {
            Group::with_title(level.secondary_title(title))
        };
        match (&self.location, &self.source_line) {
            (Some(place), Some(line)) => {
                let mut snippet = Snippet::source(line.as_str())
                    .line_start(place.line as usize)
                    .path(place.file.as_str());
                if let Some(column) = place.column {
                    snippet =
                        snippet.annotation(AnnotationKind::Primary.span(token_at(line, column)));
                } else {
                    let start = line.len() - line.trim_start().len();
                    snippet = snippet.annotation(
                        AnnotationKind::Primary.span(start..line.trim_end().len().max(start)),
                    );
                }
                group = group.element(snippet);
            }
            (Some(place), None) => {
                group = group.element(Origin::path(place.file.as_str()).line(place.line as usize));
            }
            (None, _) => {}
        }
        for included in &self.included_from {
            group = group.element(Level::NOTE.message(format!("in file included from {included}")));
        }
        for line in &self.instantiations {
            group = group.element(Level::NOTE.message(format!("during {line}")));
        }
        groups.push(group);
        for note in &self.notes {
            note.push_groups(groups);
        }
    }
}

/// Bytes of the token that starts at `column` (characters, from 1), so that the caret underlines a name and not one letter of it.
fn token_at(line: &str, column: u32) -> std::ops::Range<usize> {
    let start = line
        .char_indices()
        .nth(column as usize - 1)
        .map_or(line.len(), |(at, _)| at);
    let rest = &line[start..];
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let length = match rest.chars().next() {
        Some(c) if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
        Some(c) => c.len_utf8(),
        None => 0,
    };
    start..start + length
}

/// Takes NVRTC's log apart. Unknown lines are skipped.
pub(crate) fn parse(log: &str) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(mut diagnostic) = head(line) else {
            continue;
        };
        if diagnostic.location.is_some() {
            body(&mut diagnostic, &mut lines);
        }
        if diagnostic.severity == Severity::Note
            && let Some(owner) = found.last_mut()
        {
            owner.notes.push(diagnostic);
        } else {
            found.push(diagnostic);
        }
    }
    found
}

/// The first line of a message.
fn head(line: &str) -> Option<Diagnostic> {
    if line.starts_with(char::is_whitespace) {
        return None;
    }
    if let Some(rest) = line.strip_prefix("ptxas") {
        // "ptxas error   : text", "ptxas application ptx input, line 24; error   : text", "ptxas fatal   : text"
        let (before, message) = rest.split_once(" : ")?;
        let severity = match before.trim_end().rsplit([' ', ';']).next()? {
            "error" | "fatal" => Severity::Error,
            "warning" => Severity::Warning,
            "info" => Severity::Remark,
            _ => return None,
        };
        let place = before
            .split(';')
            .next()
            .filter(|place| place.contains("line "));
        let message = match place.and_then(|place| place.rsplit(' ').next()) {
            Some(number) => format!(
                "ptxas: {} (line {number} of the generated PTX)",
                message.trim()
            ),
            None => format!("ptxas: {}", message.trim()),
        };
        return Some(Diagnostic::new(severity, None, &message, None));
    }
    if let Some(rest) = line.strip_prefix("nvrtc: ") {
        let (severity, _, message) = severity(rest)?;
        return Some(Diagnostic::new(severity, None, message, None));
    }
    // "file(line): severity: text": the file name may hold parentheses and colons, so the first "(digits): severity" counts.
    for (at, _) in line.match_indices("): ") {
        let Some(open) = line[..at].rfind('(') else {
            continue;
        };
        let Ok(number) = line[open + 1..at].parse::<u32>() else {
            continue;
        };
        if let Some((severity, code, message)) = severity(&line[at + 3..]) {
            let location = Location {
                file: line[..open].to_owned(),
                line: number,
                column: None,
            };
            return Some(Diagnostic::new(severity, code, message, Some(location)));
        }
    }
    None
}

/// "error: text", "warning #177-D: text", "catastrophic error: text".
fn severity(text: &str) -> Option<(Severity, Option<u32>, &str)> {
    let (word, message) = text.split_once(": ")?;
    let (word, number) = match word.split_once(" #") {
        Some((word, number)) => (word, number.trim_end_matches("-D").parse().ok()),
        None => (word, None),
    };
    let severity = match word.trim() {
        "error" | "catastrophic error" | "internal error" | "fatal error" => Severity::Error,
        "warning" => Severity::Warning,
        "remark" => Severity::Remark,
        "note" => Severity::Note,
        _ => return None,
    };
    Some((severity, number, message))
}

/// What follows the first line: more of the message, the source line with its caret, the instantiations.
fn body<'a>(
    diagnostic: &mut Diagnostic,
    lines: &mut std::iter::Peekable<impl Iterator<Item = &'a str> + Clone>,
) {
    while let Some(&line) = lines.peek() {
        if line.is_empty() {
            break;
        }
        if let Some(text) = line
            .strip_prefix("          ")
            .filter(|text| text.trim_start() == "detected during:")
        {
            let _ = text;
            lines.next();
            while let Some(&line) = lines.peek().filter(|line| line.starts_with("            ")) {
                diagnostic.instantiations.push(line.trim().to_owned());
                lines.next();
            }
            continue;
        }
        if let Some(text) = line
            .trim_start()
            .strip_prefix("detected during ")
            .filter(|_| line.starts_with("  "))
        {
            diagnostic.instantiations.push(text.trim().to_owned());
            lines.next();
            continue;
        }
        let Some(text) = line.strip_prefix("  ") else {
            break;
        };
        let mut ahead = lines.clone();
        ahead.next();
        let caret = ahead.next().and_then(|next| {
            let rest = next.strip_prefix("  ")?;
            let at = rest.find('^')?;
            (rest.trim() == "^").then_some(at)
        });
        match caret {
            Some(offset) if diagnostic.source_line.is_none() => {
                // The caret stands under a byte, not a character.
                let mut offset = offset.min(text.len());
                while !text.is_char_boundary(offset) {
                    offset -= 1;
                }
                if let Some(place) = &mut diagnostic.location {
                    place.column =
                        Some(u32::try_from(text[..offset].chars().count() + 1).unwrap_or(u32::MAX));
                }
                diagnostic.source_line = Some(text.trim_end_matches('\r').to_owned());
                lines.next();
                lines.next();
            }
            _ => {
                // "            argument types are: (int)": more of the message.
                diagnostic.message.push('\n');
                diagnostic.message.push_str(text.trim());
                lines.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_end_messages_have_place_and_caret() {
        let log = "k.cu(2): error: identifier \"z\" is undefined\n  \tint y = z;\n  \t        ^\n\n1 error detected in the compilation of \"k.cu\".\n";
        let found = parse(log);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].location,
            Some(Location {
                file: "k.cu".into(),
                line: 2,
                column: Some(10)
            })
        );
        insta::assert_snapshot!(found[0], @r#"
        error: identifier "z" is undefined
         --> k.cu:2:10
          |
        2 |     int y = z;
          |             ^
        "#);
    }

    #[test]
    fn caret_counts_bytes_and_column_characters() {
        let log = "é(1)/k.cu(1): error: identifier \"y\" is undefined\n  /* é日本 */ y;\n                 ^\n";
        let found = parse(log);
        let place = found[0].location.as_ref().expect("a place");
        assert_eq!(
            (place.file.as_str(), place.line, place.column),
            ("é(1)/k.cu", 1, Some(11))
        );
    }

    #[test]
    fn templates_notes_and_longer_messages() {
        let log = concat!(
            "k.cu(1): error: expression must have class type but it has type \"float\"\n",
            "  template<class T> __device__ T g(T x){ return x.foo; }\n",
            "                                                ^\n",
            "          detected during:\n",
            "            instantiation of \"T g(T) [with T=float]\" at line 2\n",
            "            instantiation of \"void k(T *) [with T=float]\" \n",
            "\n",
            "k.cu(2): error: no instance of overloaded function \"f\" matches the argument list\n",
            "            argument types are: (const char [2], int, int)\n",
            "  __global__ void k(float*x){ f(\"a\",1,2); }\n",
            "                              ^\n",
            "k.cu(1): note #3322-D: number of parameters of function \"f(float)\" does not match the call\n",
            "  __device__ void f(float);\n",
            "                  ^\n",
            "\n",
            "2 errors detected in the compilation of \"k.cu\".\n",
        );
        let found = parse(log);
        assert_eq!(found.len(), 2);
        insta::assert_snapshot!(found[0], @r#"
        error: expression must have class type but it has type "float"
         --> k.cu:1:47
          |
        1 | template<class T> __device__ T g(T x){ return x.foo; }
          |                                               ^
          |
          = note: during instantiation of "T g(T) [with T=float]" at line 2
          = note: during instantiation of "void k(T *) [with T=float]"
        "#);
        insta::assert_snapshot!(found[1], @r#"
        error: no instance of overloaded function "f" matches the argument list
               argument types are: (const char [2], int, int)
         --> k.cu:2:29
          |
        2 | __global__ void k(float*x){ f("a",1,2); }
          |                             ^
          |
        note: number of parameters of function "f(float)" does not match the call [#3322]
         --> k.cu:1:17
          |
        1 | __device__ void f(float);
          |                 ^
        "#);
    }

    #[test]
    fn assembler_and_option_messages() {
        let log = concat!(
            "ptxas error   : Entry function '_Z1kPf' uses too much shared data (0x13880 bytes, 0xc000 max)\n",
            "ptxas application ptx input, line 24; error   : Unknown modifier '.bar'\n",
            "ptxas fatal   : Ptx assembly aborted due to errors\n",
            "nvrtc: error: unrecognized option -O3 found\n",
        );
        let found = parse(log);
        let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(texts.join("\n"), @r"
        error: ptxas: Entry function '_Z1kPf' uses too much shared data (0x13880 bytes, 0xc000 max)
        error: ptxas: Unknown modifier '.bar' (line 24 of the generated PTX)
        error: ptxas: Ptx assembly aborted due to errors
        error: unrecognized option -O3 found
        ");
    }

    #[test]
    fn warnings_keep_their_number_and_remarks_without_a_place_are_skipped() {
        let log = "k.cu(1): warning #177-D: variable \"unused\" was declared but never referenced\n  int unused;\n      ^\n\nRemark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n";
        let found = parse(log);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].severity, found[0].number),
            (Severity::Warning, Some(177))
        );
    }

    #[test]
    fn any_text_is_survived() {
        for log in [
            "",
            "\n\n",
            "(1): error: x",
            "a(99999999999999999999): error: x\n",
            "ptxas",
            "ptxas :",
            "nvrtc: ",
            "x(1): error: y\n  \n  ^\n",
            "x(1): error: y\n  é\n   ^",
        ] {
            let found = parse(log);
            for one in &found {
                assert!(!one.to_string().is_empty());
            }
        }
    }
}
