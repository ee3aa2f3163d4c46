//! The parameters of kernels, read from their declarations, so that a wrong argument can be named: `parameter 2, n (int)`.
//!
//! This reads C++ without understanding it: it finds `__global__`, steps over attributes, and splits the text between the brackets. What
//! is too clever for that (a declaration made by a macro, a function type as a parameter) is left out, and the arguments of that kernel
//! have numbers only.

use serde::{Deserialize, Serialize};

use crate::scan;

/// A parameter as declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name; empty if the declaration gives none.
    pub name: String,
    /// Its C++ type as written, white space made single.
    pub ty: String,
}

/// A kernel as declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Declaration {
    /// Its plain name, without namespaces.
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
}

/// The parameters of a list such as stands between the brackets of a declaration.
pub(crate) fn list(text: &str) -> Option<Vec<Parameter>> {
    parameters(&scan::code_only(text), text)
}

/// All kernels declared in a text.
pub(crate) fn kernels(text: &str) -> Vec<Declaration> {
    if !text.contains("__global__") {
        return Vec::new();
    }
    let code = scan::code_only(text);
    code.match_indices("__global__")
        .filter_map(|(at, word)| {
            declaration(&code[at + word.len()..], text.get(at + word.len()..)?)
        })
        .collect()
}

/// The declaration after `__global__`. `code` has comments and literals blanked; `text`, of the same length, does not.
fn declaration(code: &str, text: &str) -> Option<Declaration> {
    let mut from = 0;
    loop {
        let open = from + code[from..].find(['(', ';', '{', '}'])?;
        if code.as_bytes()[open] != b'(' {
            return None;
        }
        let close = open + closing(&code[open..])?;
        let name = code[..open].trim_end();
        let start = name
            .rfind(|c: char| !c.is_alphanumeric() && c != '_')
            .map_or(0, |at| at + 1);
        let name = &name[start..];
        if matches!(
            name,
            "__launch_bounds__"
                | "__attribute__"
                | "__cluster_dims__"
                | "__maxnreg__"
                | "__block_size__"
                | "__declspec"
                | "alignas"
        ) {
            from = close + 1;
            continue;
        }
        if name.is_empty() || name.starts_with(|c: char| c.is_numeric()) {
            return None;
        }
        let parameters = parameters(&code[open + 1..close], text.get(open + 1..close)?)?;
        return Some(Declaration {
            name: name.to_owned(),
            parameters,
        });
    }
}

/// The offset of the bracket that closes the one at the start.
fn closing(code: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn parameters(code: &str, text: &str) -> Option<Vec<Parameter>> {
    if matches!(code.trim(), "" | "void") {
        return Some(Vec::new());
    }
    let mut depth = 0_i32;
    let mut start = 0;
    let mut found = Vec::new();
    for (at, byte) in code.bytes().chain(std::iter::once(b',')).enumerate() {
        match byte {
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' | b']' | b'}' | b'>' => depth -= 1,
            b',' if depth == 0 => {
                found.push(parameter(&code[start..at], text.get(start..at)?)?);
                start = at + 1;
            }
            _ => {}
        }
    }
    // A default value such as `1 < 2` leaves the brackets unmatched.
    (depth == 0).then_some(found)
}

/// One parameter: `const float *__restrict__ x = nullptr`, `int (&a)[4]` is too clever.
fn parameter(code: &str, text: &str) -> Option<Parameter> {
    let end = code.find('=').unwrap_or(code.len());
    let code = &code[..end];
    if code.contains('(') || text.contains("...") {
        return None;
    }
    // An array parameter is a pointer: `float x[]`.
    let (code, array) = match code.find('[') {
        Some(at) => (&code[..at], true),
        None => (code, false),
    };
    let words: Vec<&str> = code
        .split_whitespace()
        .filter(|word| !matches!(*word, "__restrict__" | "__restrict" | "__grid_constant__"))
        .collect();
    let joined = words
        .join(" ")
        .replace("__restrict__", "")
        .replace("* ", "*")
        .replace(" *", "*")
        .replace(" &", "&");
    let start = joined
        .rfind(|c: char| !c.is_alphanumeric() && c != '_')
        .map_or(0, |at| at + 1);
    let (before, name) = joined.split_at(start);
    let before = before.trim();
    // `int` alone, `unsigned int` and `const T` are types without a name.
    let unnamed = before.is_empty()
        || matches!(
            name,
            "" | "int"
                | "char"
                | "short"
                | "long"
                | "float"
                | "double"
                | "bool"
                | "unsigned"
                | "signed"
                | "const"
                | "volatile"
        )
        || before.ends_with("::")
        || matches!(
            before,
            "const" | "struct" | "volatile" | "typename" | "enum"
        );
    let (mut ty, name) = if unnamed {
        (joined.trim().to_owned(), String::new())
    } else {
        (before.to_owned(), name.to_owned())
    };
    if array {
        ty.push('*');
    }
    (!ty.is_empty()).then_some(Parameter { name, ty })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, Vec<(String, String)>)> {
        kernels(text)
            .into_iter()
            .map(|one| {
                (
                    one.name,
                    one.parameters
                        .into_iter()
                        .map(|parameter| (parameter.ty, parameter.name))
                        .collect(),
                )
            })
            .collect()
    }

    fn one(text: &str) -> (String, Vec<(String, String)>) {
        let mut all = read(text);
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter()
            .map(|(ty, name)| ((*ty).to_owned(), (*name).to_owned()))
            .collect()
    }

    #[test]
    fn ordinary_declarations() {
        let (name, parameters) = one(
            "extern \"C\" __global__ void saxpy(float a, const float *__restrict__ x, float* __restrict__ y, unsigned int n)\n{ }",
        );
        assert_eq!(name, "saxpy");
        assert_eq!(
            parameters,
            pairs(&[
                ("float", "a"),
                ("const float*", "x"),
                ("float*", "y"),
                ("unsigned int", "n")
            ])
        );
    }

    #[test]
    fn attributes_templates_and_defaults() {
        let (name, parameters) = one(
            "template <typename T, int N = 3> __global__ void __launch_bounds__(256, (1 + 1)) k(thrust::pair<T, int> p, T const &r, float4 v = make_float4(1, 2), int m[], bool /* on */ b)",
        );
        assert_eq!(name, "k");
        assert_eq!(
            parameters,
            pairs(&[
                ("thrust::pair<T, int>", "p"),
                ("T const&", "r"),
                ("float4", "v"),
                ("int*", "m"),
                ("bool", "b")
            ])
        );
        assert_eq!(one("__global__ __launch_bounds__(32) void q(void);").1, []);
    }

    #[test]
    fn parameters_without_names() {
        let (_, parameters) = one("__global__ void k(int, unsigned int, const float *, my::type);");
        assert_eq!(
            parameters,
            pairs(&[
                ("int", ""),
                ("unsigned int", ""),
                ("const float*", ""),
                ("my::type", "")
            ])
        );
    }

    #[test]
    fn what_is_too_clever_is_left_out() {
        assert_eq!(read("#define K __global__ void\nK f(int a) {}"), []);
        assert_eq!(read("__global__ void k(void (*f)(int));"), []);
        assert_eq!(
            read("// __global__ void k(int a);\nconst char *s = \"__global__ void k(int a)\";"),
            []
        );
        assert_eq!(read("__global__"), []);
        assert_eq!(read("__global__ void k(int a"), []);
    }
}
