//! Sources made from templates.

mod filters;
mod lines;
mod value;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior};

pub use value::TemplateValue;

use crate::diagnostics::{Diagnostic, Location, Severity};
use crate::error::{Error, ErrorKind, Result};
use crate::source::Source;

/// A source with places for values, in the language of Jinja: `{{ expressions }}`, `{% for i in range(4) %}`, `{% if %}`, macros,
/// includes.
///
/// ```
/// use cuprum_codegen::{Template, repr::Scalar};
///
/// let template = Template::new(
///     "axpy.cu",
///     r#"
/// extern "C" __global__ void axpy(const {{ type }} *x, {{ type }} *y)
/// {
///     int i = threadIdx.x;
/// {% for k in range(unroll) %}
///     y[i + {{ k }} * blockDim.x] += {{ a | c(type) }} * x[i + {{ k }} * blockDim.x];
/// {% endfor %}
/// }
/// "#,
/// )?;
/// let source = template.with("type", Scalar::F32).with("unroll", 2).with("a", 0.1).render()?;
/// assert!(source.text().contains("y[i + 1 * blockDim.x] += 0.1f * x[i + 1 * blockDim.x];"));
/// # Ok::<(), cuprum_codegen::Error>(())
/// ```
///
/// # Filters for C++
///
/// | filter | gives |
/// |---|---|
/// | `x \| c` | a literal of exactly the value: a number (the first of `int`, `long long`, `unsigned long long` and `double` that it is), infinities and NaN too, `true`, a string in quotes with escapes, a list in braces |
/// | `x \| c("float")` | the literal of that type: `0.1f`, `3u`; an error if the value does not fit an integer type |
/// | `t \| ctype` | the C++ name of a scalar type: `u32` is `unsigned int` |
/// | `t \| size_of` | its size in bytes |
/// | `name \| ident` | the text, if it is an identifier |
///
/// Types are named as in Rust or in C++. A variable that was not given is an error. A tag alone on its line leaves no line behind.
///
/// # Errors are in your file
///
/// Errors of the template show its line with a caret, as compile errors do. The rendered source has `#line` directives, so that messages
/// of the compiler, line tables and faults on the software device name the template's file and lines too; compile errors show the
/// rendered line and the line of the template that it comes from.
#[derive(Debug, Clone)]
pub struct Template {
    inner: Arc<Files>,
}

/// The templates by name; the first is the main one.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    list: Vec<(String, String)>,
}

impl Files {
    /// A line of a template.
    pub(crate) fn line(&self, file: &str, number: u32) -> Option<&str> {
        let (_, text) = self.list.iter().find(|(name, _)| name == file)?;
        text.lines().nth((number as usize).checked_sub(1)?)
    }
}

impl Template {
    /// A template. `name` is the file name that messages show, and that relative includes of the source start from.
    ///
    /// # Errors
    /// [`ErrorKind::Template`] if the text is no template.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Result<Self> {
        let template = Self {
            inner: Arc::new(Files { list: Vec::new() }),
        };
        template.part(name, text)
    }

    /// The file at `path`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if it cannot be read, [`ErrorKind::Source`] if it or its path is no UTF-8, [`ErrorKind::Template`] if it is no
    /// template.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let source = Source::from_file(path)?;
        Self::new(source.name(), source.text())
    }

    /// Adds a template that this one can `{% include "name" %}` or `{% import "name" as m %}`.
    ///
    /// # Errors
    /// [`ErrorKind::Template`] if the text is no template.
    pub fn part(mut self, name: impl Into<String>, text: impl Into<String>) -> Result<Self> {
        let (name, text) = (name.into(), text.into());
        let files = Arc::make_mut(&mut self.inner);
        // As written, not marked: the places in messages are right as they are.
        let mut environment = environment();
        environment
            .add_template(&name, &text)
            .map_err(|error| failure(&error, &name, &text, usize::clone))?;
        match files.list.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = text,
            None => files.list.push((name, text)),
        }
        Ok(self)
    }

    /// The template with no values yet.
    pub fn values(&self) -> Values<'_> {
        Values {
            template: self,
            values: BTreeMap::new(),
        }
    }

    /// Gives a variable its value; more follow, then [`Values::render`].
    pub fn with(&self, name: impl Into<String>, value: impl Into<TemplateValue>) -> Values<'_> {
        self.values().with(name, value)
    }

    /// Renders a template without variables.
    ///
    /// # Errors
    /// As for [`Values::render`].
    pub fn render(&self) -> Result<Source> {
        self.values().render()
    }
}

/// A [`Template`] with values for its variables.
#[derive(Debug, Clone)]
#[must_use]
pub struct Values<'a> {
    template: &'a Template,
    values: BTreeMap<String, TemplateValue>,
}

impl Values<'_> {
    /// Gives a variable its value.
    pub fn with(mut self, name: impl Into<String>, value: impl Into<TemplateValue>) -> Self {
        self.values.insert(name.into(), value.into());
        self
    }

    /// Renders the template: a source to be given options and built.
    ///
    /// # Errors
    /// [`ErrorKind::Template`], with the line of the template and a caret, for a variable without a value, a value that a filter
    /// refuses, and what else can go wrong in a template.
    pub fn render(&self) -> Result<Source> {
        let files = &self.template.inner;
        let marked: Vec<(&str, String)> = files
            .list
            .iter()
            .enumerate()
            .map(|(index, (name, text))| (name.as_str(), lines::mark(text, index)))
            .collect();
        let mut environment = environment();
        let refuse = |error: &minijinja::Error| {
            // The error is in the part that it names; without a name it is the main template's.
            let (name, text) = marked
                .iter()
                .find(|(name, _)| Some(*name) == error.name())
                .unwrap_or(&marked[0]);
            failure(error, name, &lines::unmark(text), |&offset| {
                lines::unmarked_offset(text, offset)
            })
        };
        for (name, text) in &marked {
            environment
                .add_template(name, text)
                .map_err(|error| refuse(&error))?;
        }
        let (main, _) = marked[0];
        let values = minijinja::Value::from_pairs(
            self.values
                .iter()
                .map(|(name, value)| (name.clone(), value.0.clone())),
        );
        let output = environment
            .get_template(main)
            .and_then(|template| template.render(values))
            .map_err(|error| refuse(&error))?;
        let names: Vec<&str> = marked.iter().map(|(name, _)| *name).collect();
        let mut source = Source::new(lines::directives(&output, &names)).file_name(main);
        source.template = Some(Arc::clone(files));
        Ok(source)
    }
}

fn environment<'a>() -> Environment<'a> {
    let mut environment = Environment::new();
    environment.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .keep_trailing_newline(true)
            .build()
            .expect("the delimiters are Jinja's own"),
    );
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_debug(true);
    filters::add(&mut environment);
    environment
}

/// The engine's error as one of ours. `offset` turns an offset of the text that the engine had into one of `text`.
fn failure(
    error: &minijinja::Error,
    name: &str,
    text: &str,
    offset: impl Fn(&usize) -> usize,
) -> Error {
    let mut message = match error.detail() {
        Some(detail) => lines::unmark(detail),
        None => error.kind().to_string(),
    };
    if error.kind() == minijinja::ErrorKind::UndefinedError && error.detail().is_none() {
        message = "a variable has no value".to_owned();
    }
    let number = error.line().unwrap_or(1);
    let line = text.lines().nth(number - 1).unwrap_or_default();
    let start: usize = text
        .split_inclusive('\n')
        .take(number - 1)
        .map(str::len)
        .sum();
    let column = error.range().and_then(|range| {
        let at = offset(&range.start).checked_sub(start)?;
        Some(u32::try_from(line.get(..at)?.chars().count()).ok()? + 1)
    });
    let mut diagnostic = Diagnostic::new(
        Severity::Error,
        None,
        &message,
        Some(Location {
            file: name.to_owned(),
            line: u32::try_from(number).unwrap_or(u32::MAX),
            column,
        }),
    );
    diagnostic.source_line = Some(line.to_owned());
    // What a macro or a part called, and where.
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        diagnostic.notes.push(Diagnostic::new(
            Severity::Note,
            None,
            &lines::unmark(&inner.to_string()),
            None,
        ));
        cause = inner.source();
    }
    Error::new(
        ErrorKind::Template,
        format!("the template {name} cannot be rendered\n{diagnostic}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXPY: &str = "// axpy\n__global__ void axpy(const {{ type }} *x, {{ type }} *y)\n{\n{% for k in range(unroll) %}\n    y[{{ k }}] += {{ a | c(type) }} * x[{{ k }}];\n{% endfor %}\n}\n";

    #[test]
    fn loops_literals_and_types() {
        let template = Template::new("axpy.cu", AXPY).expect("a template");
        let source = template
            .with("type", "float")
            .with("unroll", 2)
            .with("a", f32::NEG_INFINITY)
            .render()
            .expect("renders");
        assert_eq!(
            source.text(),
            "// axpy\n__global__ void axpy(const float *x, float *y)\n{\n#line 5\n    y[0] += __builtin_bit_cast(float, 0xff800000u) * x[0];\n#line 5\n    y[1] += __builtin_bit_cast(float, 0xff800000u) * x[1];\n#line 7\n}\n"
        );
        assert_eq!(source.name(), "axpy.cu");
    }

    #[test]
    fn filters() {
        let render = |text: &str| {
            Template::new("t", text)
                .and_then(|template| {
                    template
                        .with("list", [1.5, -2.0])
                        .with("big", 1_u64 << 40)
                        .with("yes", true)
                        .with("text", "a\"b")
                        .render()
                })
                .map(|source| source.text().to_owned())
        };
        for (text, want) in [
            ("{{ list | c }}", "{1.5, (-2.0)}"),
            ("{{ list | c('f32') }}", "{1.5f, (-2.0f)}"),
            (
                "{{ 3 | c }} {{ -3 | c }} {{ big | c }}",
                "3 (-3) 1099511627776ll",
            ),
            ("{{ 3 | c('unsigned') }} {{ 3 | c('double') }}", "3u 3.0"),
            ("{{ yes | c }} {{ yes | c('int') }}", "true 1"),
            ("{{ text | c }}", "\"a\\\"b\""),
            (
                "{{ 'u64' | ctype }} {{ 'half' | ctype }}",
                "unsigned long long __half",
            ),
            ("{{ 'f64' | size_of }} {{ 'x1' | ident }}", "8 x1"),
        ] {
            assert_eq!(render(text).expect(text), want, "{text}");
        }
        for text in [
            "{{ 300 | c('u8') }}",
            "{{ 1.5 | c('int') }}",
            "{{ 'int4' | ctype }}",
            "{{ 'a b' | ident }}",
            "{{ none | c }}",
            "{{ missing }}",
            "{% if missing %}{% endif %}",
            "{{ 1 | c('quad') }}",
        ] {
            let error = render(text).expect_err(text);
            assert_eq!(error.kind(), ErrorKind::Template, "{text}");
        }
    }

    #[test]
    fn errors_show_the_templates_line() {
        let error = Template::new("bad.cu", "int a;\n{% for i in x %}\nint b;\n")
            .expect_err("an open loop");
        insta::assert_snapshot!(error, @"
        the template bad.cu cannot be rendered
        error: unexpected end of input, expected end of block
         --> bad.cu:3:1
          |
        3 | int b;
          | ^^^
        ");
        let template = Template::new("axpy.cu", AXPY).expect("a template");
        let error = template
            .with("type", "float")
            .with("unroll", 2)
            .render()
            .expect_err("a has no value");
        insta::assert_snapshot!(error, @"
        the template axpy.cu cannot be rendered
        error: this variable has no value
         --> axpy.cu:5:26
          |
        5 |     y[{{ k }}] += {{ a | c(type) }} * x[{{ k }}];
          |                          ^
        ");
        let error = template
            .with("type", "i8")
            .with("unroll", 2)
            .with("a", 200)
            .render()
            .expect_err("a does not fit");
        insta::assert_snapshot!(error, @"
        the template axpy.cu cannot be rendered
        error: 200 has no exact value of type signed char
         --> axpy.cu:5:26
          |
        5 |     y[{{ k }}] += {{ a | c(type) }} * x[{{ k }}];
          |                          ^
        ");
        let template = Template::new("main.cu", "{% import 'part.cu' as p %}\n{{ p.f(1) }}\n")
            .and_then(|template| {
                template.part(
                    "part.cu",
                    "{% macro f(x) %}\n{{ x | c('none') }}\n{% endmacro %}\n",
                )
            })
            .expect("templates");
        insta::assert_snapshot!(template.render().expect_err("no such type"), @"
        the template part.cu cannot be rendered
        error: `none` is no scalar type; known are the C++ names and bool, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64
         --> part.cu:2:8
          |
        2 | {{ x | c('none') }}
          |        ^
        ");
    }

    #[test]
    fn parts_say_where_their_lines_come_from() {
        let template = Template::new("main.cu", "a\n{% include 'part.cu' %}\nb\n")
            .and_then(|template| template.part("part.cu", "c\nd {{ x }}\n"))
            .expect("templates");
        assert_eq!(
            template.with("x", 1).render().expect("renders").text(),
            "a\n#line 1 \"part.cu\"\nc\nd 1\n#line 3 \"main.cu\"\nb\n"
        );
    }
}
