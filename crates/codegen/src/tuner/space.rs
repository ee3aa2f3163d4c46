//! What a tuner chooses from.

use std::fmt;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::source::Source;
use crate::template::{Template, TemplateValue};

/// One value of an axis of a [`Space`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Choice {
    /// A whole number.
    Number(i64),
    /// A text: the name of a type, a fragment of code.
    Text(String),
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

macro_rules! numbers {
    ($($ty:ty)+) => {
        $(
            impl From<$ty> for Choice {
                fn from(number: $ty) -> Self {
                    Self::Number(i64::from(number))
                }
            }
        )+
    };
}

numbers!(bool i8 u8 i16 u16 i32 u32 i64);

impl From<&str> for Choice {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Choice {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Choice> for TemplateValue {
    fn from(choice: Choice) -> Self {
        match choice {
            Choice::Number(number) => Self::from(number),
            Choice::Text(text) => Self::from(text),
        }
    }
}

/// One point of a [`Space`]: a value for each axis.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Candidate {
    values: Vec<(Arc<str>, Choice)>,
}

impl Candidate {
    /// The value of an axis.
    #[must_use]
    pub fn get(&self, axis: &str) -> Option<&Choice> {
        self.values
            .iter()
            .find(|(name, _)| &**name == axis)
            .map(|(_, value)| value)
    }

    /// The value of an axis of numbers.
    ///
    /// # Panics
    /// If there is no such axis, or its value is a text.
    #[must_use]
    #[track_caller]
    pub fn number(&self, axis: &str) -> i64 {
        match self.get(axis) {
            Some(Choice::Number(number)) => *number,
            Some(Choice::Text(text)) => panic!("axis `{axis}` is the text {text:?}, not a number"),
            None => panic!("there is no axis `{axis}` in {self}"),
        }
    }

    /// The value of an axis of numbers, as extents of blocks and grids are.
    ///
    /// # Panics
    /// As [`Candidate::number`], and if it does not fit.
    #[must_use]
    #[track_caller]
    pub fn extent(&self, axis: &str) -> u32 {
        let number = self.number(axis);
        u32::try_from(number)
            .unwrap_or_else(|_| panic!("axis `{axis}` is {number}, which is no extent"))
    }

    /// The value of an axis of texts.
    ///
    /// # Panics
    /// If there is no such axis, or its value is a number.
    #[must_use]
    #[track_caller]
    pub fn text(&self, axis: &str) -> &str {
        match self.get(axis) {
            Some(Choice::Text(text)) => text,
            Some(Choice::Number(number)) => {
                panic!("axis `{axis}` is the number {number}, not a text")
            }
            None => panic!("there is no axis `{axis}` in {self}"),
        }
    }

    /// The source with each axis defined as a macro of its name.
    pub fn define(&self, source: Source) -> Source {
        self.values.iter().fold(source, |source, (name, value)| {
            source.define(name, value.to_string())
        })
    }

    /// The template rendered with each axis as a variable of its name.
    ///
    /// # Errors
    /// [`ErrorKind::Template`].
    pub fn render(&self, template: &Template) -> Result<Source> {
        let mut values = template.values();
        for (name, value) in &self.values {
            values = values.with(&**name, value.clone());
        }
        values.render()
    }
}

/// `TILE=16 UNROLL=2`.
impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.values.iter().enumerate() {
            let space = if index > 0 { " " } else { "" };
            write!(f, "{space}{name}={value}")?;
        }
        Ok(())
    }
}

/// A condition on candidates.
type Constraint = Arc<dyn Fn(&Candidate) -> bool + Send + Sync>;

/// The candidates of a tuner: every combination of the values of some axes that meets the constraints.
///
/// ```
/// use cuprum_codegen::tuner::Space;
///
/// let space = Space::new()
///     .axis("TILE", [8, 16, 32])
///     .axis("ROWS", [1, 2, 4])
///     .constraint(|one| one.number("TILE") * one.number("TILE") / one.number("ROWS") <= 512);
/// let candidates = space.candidates()?;
/// assert_eq!(candidates.len(), 8);
/// assert_eq!(candidates[0].to_string(), "TILE=8 ROWS=1");
/// # Ok::<(), cuprum_codegen::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Space {
    axes: Vec<(Arc<str>, Vec<Choice>)>,
    constraints: Vec<Constraint>,
}

impl Space {
    /// A space without axes: of one candidate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an axis. The last axis varies fastest.
    #[must_use]
    pub fn axis<C: Into<Choice>>(
        mut self,
        name: impl Into<Arc<str>>,
        values: impl IntoIterator<Item = C>,
    ) -> Self {
        self.axes
            .push((name.into(), values.into_iter().map(Into::into).collect()));
        self
    }

    /// Leaves out the candidates for which `holds` is false.
    #[must_use]
    pub fn constraint(
        mut self,
        holds: impl Fn(&Candidate) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.constraints.push(Arc::new(holds));
        self
    }

    /// Every candidate, in order.
    ///
    /// # Errors
    /// [`ErrorKind::Tuning`] if there is none, or if two axes have one name.
    pub fn candidates(&self) -> Result<Vec<Candidate>> {
        for (index, (name, values)) in self.axes.iter().enumerate() {
            if self.axes[..index].iter().any(|(other, _)| other == name) {
                return Err(Error::new(
                    ErrorKind::Tuning,
                    format!("two axes are named `{name}`"),
                ));
            }
            if values.is_empty() {
                return Err(Error::new(
                    ErrorKind::Tuning,
                    format!("the axis `{name}` has no values"),
                ));
            }
        }
        let mut all = vec![Candidate { values: Vec::new() }];
        for (name, values) in &self.axes {
            all = all
                .iter()
                .flat_map(|before| {
                    values.iter().map(|value| {
                        let mut one = before.clone();
                        one.values.push((Arc::clone(name), value.clone()));
                        one
                    })
                })
                .collect();
        }
        let combinations = all.len();
        all.retain(|one| self.constraints.iter().all(|holds| holds(one)));
        if all.is_empty() {
            return Err(Error::new(
                ErrorKind::Tuning,
                format!("none of the {combinations} combinations meets the constraints"),
            ));
        }
        Ok(all)
    }
}

impl fmt::Debug for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Space")
            .field("axes", &self.axes)
            .field("constraints", &self.constraints.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_in_order() {
        let space = Space::new()
            .axis("A", [1, 2])
            .axis("T", ["float", "double"]);
        let texts: Vec<String> = space
            .candidates()
            .expect("a space")
            .iter()
            .map(Candidate::to_string)
            .collect();
        assert_eq!(
            texts,
            ["A=1 T=float", "A=1 T=double", "A=2 T=float", "A=2 T=double"]
        );
        assert_eq!(Space::new().candidates().expect("one").len(), 1);
    }

    #[test]
    fn spaces_without_candidates_are_told() {
        for (space, text) in [
            (
                Space::new().axis("A", [1]).axis("A", [2]),
                "two axes are named `A`",
            ),
            (
                Space::new().axis("A", [0_i32; 0]),
                "the axis `A` has no values",
            ),
            (
                Space::new()
                    .axis("A", [1, 2])
                    .constraint(|one| one.number("A") > 2),
                "none of the 2 combinations meets the constraints",
            ),
        ] {
            let error = space.candidates().expect_err("refused");
            assert_eq!(error.kind(), ErrorKind::Tuning);
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn a_candidate_becomes_macros_or_variables() {
        let space = Space::new().axis("N", [4]).axis("T", ["float"]);
        let candidate = &space.candidates().expect("a space")[0];
        let source = candidate.define(Source::new(""));
        assert_eq!(
            source.options,
            ["--define-macro=N=4", "--define-macro=T=float"]
        );
        let template = Template::new("t.cu", "{{ T }} x[{{ N * 2 }}];").expect("a template");
        assert_eq!(
            candidate.render(&template).expect("renders").text(),
            "float x[8];"
        );
        assert_eq!((candidate.extent("N"), candidate.text("T")), (4, "float"));
    }

    #[test]
    #[should_panic(expected = "there is no axis `X` in N=4")]
    fn an_axis_that_is_not_there_panics() {
        let space = Space::new().axis("N", [4]);
        let _ = space.candidates().expect("a space")[0].number("X");
    }
}
