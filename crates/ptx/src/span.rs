//! Places in the source text.

/// A range of bytes of the source text.
///
/// Two spans always compare equal (and hash alike), so that two syntax trees compare by what they say and not by where it stood in the text.
#[derive(Clone, Copy, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset just past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` up to, not including, `end`.
    #[must_use]
    pub const fn new(start: u32, end: u32) -> Self {
        Span { start, end }
    }

    /// The smallest span that covers `self` and `other`.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// The text of this span in `source`, or an empty string if `source` is not the text it was made from.
    #[must_use]
    pub fn text(self, source: &str) -> &str {
        source
            .get(self.start as usize..self.end as usize)
            .unwrap_or("")
    }

    /// The span as a range for indexing.
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Eq for Span {}

impl std::hash::Hash for Span {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

/// Line and column, both counted from 1, of the start of `span`; the column counts characters.
///
/// Walks the text from its beginning: to place many spans make one [`LineIndex`].
#[must_use]
pub fn line_column(source: &str, span: Span) -> (u32, u32) {
    let at = floor_boundary(source, span.start as usize);
    let before = &source[..at];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    let line = before.bytes().filter(|&b| b == b'\n').count() as u32 + 1;
    (line, before[line_start..].chars().count() as u32 + 1)
}

/// The largest character boundary of `source` that is not above `at`.
pub(crate) fn floor_boundary(source: &str, at: usize) -> usize {
    let mut at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The starts of all lines of a text, to turn offsets into line numbers quickly.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// Indexes `source`, in time linear in its length.
    #[must_use]
    pub fn new(source: &str) -> Self {
        let mut starts = vec![0];
        starts.extend(
            source
                .bytes()
                .enumerate()
                .filter(|&(_, b)| b == b'\n')
                .map(|(i, _)| i as u32 + 1),
        );
        LineIndex { starts }
    }

    /// The line, counted from 1, in which `span` starts.
    #[must_use]
    pub fn line(&self, span: Span) -> u32 {
        self.starts.partition_point(|&s| s <= span.start) as u32
    }
}
