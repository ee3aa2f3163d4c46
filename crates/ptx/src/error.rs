//! Errors and how they show the text they are about.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::span::{Span, floor_boundary, line_column};

/// Why a text is not PTX. `Display` shows the message, the place and the line with a caret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    inner: Box<ParseErrorInner>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ParseErrorInner {
    message: String,
    span: Span,
    line: u32,
    column: u32,
    rendered: String,
}

impl ParseError {
    pub(crate) fn new(source: &str, span: Span, message: String) -> Self {
        let (line, column) = line_column(source, span);
        let rendered = render(source, span, &message, "here");
        ParseError {
            inner: Box::new(ParseErrorInner {
                message,
                span,
                line,
                column,
                rendered,
            }),
        }
    }

    /// What is wrong, in one line without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// Where it is wrong.
    #[must_use]
    pub fn span(&self) -> Span {
        self.inner.span
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.inner.line
    }

    /// The column in characters, from 1.
    #[must_use]
    pub fn column(&self) -> u32 {
        self.inner.column
    }
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.inner.rendered)
    }
}

impl std::error::Error for ParseError {}

/// Why an instruction cannot be decoded.
///
/// `Display` is one line that names the spelling; [`DecodeError::render`] also shows the source line with a caret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    inner: Box<DecodeErrorInner>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct DecodeErrorInner {
    spelling: String,
    span: Span,
    kind: DecodeErrorKind,
}

/// What is wrong with an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The base opcode is not known.
    UnknownOpcode,
    /// The opcode has no such modifier or type.
    UnknownModifier(String),
    /// A modifier contradicts or repeats one before it.
    ConflictingModifier(String),
    /// A modifier that the opcode needs is missing; says which.
    MissingModifier(&'static str),
    /// The types, or their number, are not those of the opcode.
    Types,
    /// The opcode does not take this many operands.
    OperandCount {
        /// How many are there.
        found: usize,
        /// The least it takes.
        min: usize,
        /// The most it takes.
        max: usize,
    },
}

impl DecodeError {
    pub(crate) fn new(spelling: &str, span: Span, kind: DecodeErrorKind) -> Self {
        DecodeError {
            inner: Box::new(DecodeErrorInner {
                spelling: spelling.to_owned(),
                span,
                kind,
            }),
        }
    }

    /// The full opcode as written.
    #[must_use]
    pub fn spelling(&self) -> &str {
        &self.inner.spelling
    }

    /// What is wrong.
    #[must_use]
    pub fn kind(&self) -> &DecodeErrorKind {
        &self.inner.kind
    }

    /// Where: the opcode, the modifier, or the whole instruction.
    #[must_use]
    pub fn span(&self) -> Span {
        self.inner.span
    }

    /// The line of `source`, the text that was parsed, from 1.
    #[must_use]
    pub fn line(&self, source: &str) -> u32 {
        line_column(source, self.inner.span).0
    }

    /// The message with the line of `source`, the text that was parsed, and a caret.
    #[must_use]
    pub fn render(&self, source: &str) -> String {
        render(source, self.inner.span, &self.to_string(), "here")
    }
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let spelling = &self.inner.spelling;
        match &self.inner.kind {
            DecodeErrorKind::UnknownOpcode => write!(f, "unknown instruction `{spelling}`"),
            DecodeErrorKind::UnknownModifier(word) => {
                write!(f, "unknown modifier `.{word}` in `{spelling}`")
            }
            DecodeErrorKind::ConflictingModifier(word) => write!(
                f,
                "modifier `.{word}` contradicts an earlier one in `{spelling}`"
            ),
            DecodeErrorKind::MissingModifier(what) => write!(f, "`{spelling}` lacks {what}"),
            DecodeErrorKind::Types => write!(
                f,
                "`{spelling}` has types that this instruction does not take"
            ),
            DecodeErrorKind::OperandCount { found, min, max } if min == max => {
                write!(f, "`{spelling}` takes {min} operands, not {found}")
            }
            DecodeErrorKind::OperandCount { found, min, max } => {
                write!(f, "`{spelling}` takes {min} to {max} operands, not {found}")
            }
        }
    }
}

impl std::error::Error for DecodeError {}

/// Characters kept on each side of a place when a line is too long to be shown whole.
const CONTEXT: usize = 90;

/// `message` and the line of `span` with a caret below. Lines of machine-made text can be megabytes long, so only a window of the line is shown.
fn render(source: &str, span: Span, message: &str, label: &str) -> String {
    let start = floor_boundary(source, span.start as usize);
    let (line, _) = line_column(source, span);
    let line_start = source[..start].rfind('\n').map_or(0, |i| i + 1);
    let line_end = source[start..]
        .find('\n')
        .map_or(source.len(), |i| start + i);
    let end = floor_boundary(source, span.end as usize).clamp(start, line_end);
    let from = floor_boundary(source, line_start.max(start.saturating_sub(CONTEXT)));
    let to = floor_boundary(source, line_end.min(end.min(start + CONTEXT) + CONTEXT)).max(start);
    let window = &source[from..to];
    let snippet = Snippet::source(window)
        .line_start(line as usize)
        .annotation(
            AnnotationKind::Primary
                .span(start - from..end.min(to) - from)
                .label(label),
        );
    let report = [Level::ERROR.primary_title(message).element(snippet)];
    Renderer::plain().render(&report)
}
