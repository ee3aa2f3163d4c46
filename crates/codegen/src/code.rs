//! Code that is assembled in Rust.

use std::fmt;

/// CUDA C++ put together line by line, indented, with loops unrolled by Rust's own.
///
/// ```
/// use cuprum_codegen::{CLiteral as _, Code};
///
/// let coefficients = [0.5_f32, -1.0, 2.0];
/// let mut code = Code::new();
/// code.block("extern \"C\" __global__ void polynomial(const float *x, float *y, int n)", |code| {
///     code.line("int i = blockIdx.x * blockDim.x + threadIdx.x;");
///     code.block("if (i < n)", |code| {
///         let sum = code.fresh("sum");
///         code.line(format!("float {sum} = 0;"));
///         for c in coefficients.iter().rev() {
///             code.line(format!("{sum} = {sum} * x[i] + {};", c.c_literal()));
///         }
///         code.line(format!("y[i] = {sum};"));
///     });
/// });
/// assert_eq!(
///     code.to_string(),
///     r#"extern "C" __global__ void polynomial(const float *x, float *y, int n)
/// {
///     int i = blockIdx.x * blockDim.x + threadIdx.x;
///     if (i < n)
///     {
///         float sum_0 = 0;
///         sum_0 = sum_0 * x[i] + 2.0f;
///         sum_0 = sum_0 * x[i] + (-1.0f);
///         sum_0 = sum_0 * x[i] + 0.5f;
///         y[i] = sum_0;
///     }
/// }
/// "#
/// );
/// ```
#[derive(Debug, Clone, Default)]
pub struct Code {
    text: String,
    depth: usize,
    names: usize,
}

impl Code {
    /// No code.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a line at the current depth; a text of several lines has each of them indented. Preprocessor lines stay at the margin.
    pub fn line(&mut self, text: impl AsRef<str>) -> &mut Self {
        for line in text.as_ref().lines() {
            if !line.is_empty() && !line.starts_with('#') {
                self.text.extend(std::iter::repeat_n("    ", self.depth));
            }
            self.text.push_str(line);
            self.text.push('\n');
        }
        self
    }

    /// Appends a text as it is: code of someone else, whose columns messages are to tell.
    pub fn verbatim(&mut self, text: impl AsRef<str>) -> &mut Self {
        let text = text.as_ref();
        self.text.push_str(text);
        if !text.is_empty() && !text.ends_with('\n') {
            self.text.push('\n');
        }
        self
    }

    /// Appends several lines.
    pub fn lines<S: AsRef<str>>(&mut self, lines: impl IntoIterator<Item = S>) -> &mut Self {
        for line in lines {
            self.line(line);
        }
        self
    }

    /// Appends an empty line.
    pub fn blank(&mut self) -> &mut Self {
        self.text.push('\n');
        self
    }

    /// Appends a head, and what `body` appends in braces. An empty head gives a block of its own.
    pub fn block(&mut self, head: impl AsRef<str>, body: impl FnOnce(&mut Self)) -> &mut Self {
        self.line(head).enclosed("}", body)
    }

    /// As [`Code::block`], ended by `};`: for structures.
    pub fn structure(&mut self, head: impl AsRef<str>, body: impl FnOnce(&mut Self)) -> &mut Self {
        self.line(head).enclosed("};", body)
    }

    fn enclosed(&mut self, end: &str, body: impl FnOnce(&mut Self)) -> &mut Self {
        self.line("{");
        self.depth += 1;
        body(self);
        self.depth -= 1;
        self.line(end)
    }

    /// Calls `body` for each value: a loop that is unrolled here. The same as Rust's `for`, in a chain.
    pub fn unroll<T>(
        &mut self,
        values: impl IntoIterator<Item = T>,
        mut body: impl FnMut(&mut Self, T),
    ) -> &mut Self {
        for value in values {
            body(self, value);
        }
        self
    }

    /// A name that this call alone gives: `stem_0`, `stem_1`, ... Names of your own of that form may clash with it.
    pub fn fresh(&mut self, stem: &str) -> String {
        let name = format!("{stem}_{}", self.names);
        self.names += 1;
        name
    }
}

/// The text.
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Code> for String {
    fn from(code: Code) -> Self {
        code.text
    }
}

/// Whether a text is an identifier of C++: letters, digits and `_`, no keyword, and no name that is reserved for the compiler.
pub(crate) fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.contains("__")
        && !KEYWORDS.contains(&name)
}

const KEYWORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "constexpr",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "nullptr",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "register",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typedef",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "xor",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_fresh_and_preprocessor_lines_stay_at_the_margin() {
        let mut code = Code::new();
        let (a, b) = (code.fresh("x"), code.fresh("x"));
        assert_ne!(a, b);
        code.structure("struct S", |code| {
            code.verbatim("")
                .verbatim("  // as it is")
                .line("#pragma unroll")
                .line("int a;\nint b;")
                .blank()
                .lines(["int c;", "int d;"]);
        });
        assert_eq!(
            String::from(code),
            "struct S\n{\n  // as it is\n#pragma unroll\n    int a;\n    int b;\n\n    int c;\n    int d;\n};\n"
        );
    }

    #[test]
    fn identifiers() {
        for name in ["x", "_y1", "Float4"] {
            assert!(is_identifier(name), "{name}");
        }
        for name in ["", "1x", "a b", "a-b", "int", "a__b", "é", "x;"] {
            assert!(!is_identifier(name), "{name}");
        }
    }
}
