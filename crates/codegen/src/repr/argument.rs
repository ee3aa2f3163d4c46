//! Arguments declared as C text: `const float *x, int n`.

use super::Scalar;
use crate::declarations;
use crate::error::{Error, ErrorKind, Result};

/// An argument of a kernel that is made from C text, as PyCUDA's `VectorArg` and `ScalarArg`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CArgument {
    /// Its name.
    pub name: String,
    /// The C++ type of the value, or of the elements if it is a vector, without qualifiers.
    pub c_type: String,
    /// Whether it is memory: declared with `*` or `[]`.
    pub vector: bool,
    /// Whether the value, or the elements, are `const`.
    pub constant: bool,
}

impl CArgument {
    /// The scalar type, if it is one that is known by this name.
    #[must_use]
    pub fn scalar(&self) -> Option<Scalar> {
        Scalar::from_c_name(&self.c_type)
    }

    /// The declaration: `const float *x`.
    #[must_use]
    pub fn declarator(&self) -> String {
        let constant = if self.constant { "const " } else { "" };
        let star = if self.vector { "*" } else { "" };
        format!("{constant}{} {star}{}", self.c_type, self.name)
    }
}

/// Reads one argument.
///
/// ```
/// use cuprum_codegen::repr::{Scalar, parse_c_arg};
///
/// let x = parse_c_arg("const unsigned int *__restrict__ const_values")?;
/// assert_eq!((x.name.as_str(), x.vector, x.constant), ("const_values", true, true));
/// assert_eq!(x.scalar(), Some(Scalar::U32));
/// # Ok::<(), cuprum_codegen::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Source`] if it is no declaration of one argument with a name, or one of a pointer to a pointer.
pub fn parse_c_arg(text: &str) -> Result<CArgument> {
    let mut list = parse_c_args(text)?;
    match list.len() {
        1 => Ok(list.remove(0)),
        count => Err(Error::new(
            ErrorKind::Source,
            format!("`{text}` declares {count} arguments, not one"),
        )),
    }
}

/// Reads a list of arguments, with commas between them. Commas inside the brackets of a type part nothing.
///
/// # Errors
/// As for [`parse_c_arg`], for the first argument that is wrong.
pub fn parse_c_args(text: &str) -> Result<Vec<CArgument>> {
    let refuse = |what: &str| {
        Err(Error::new(
            ErrorKind::Source,
            format!("the arguments `{text}` cannot be read: {what}"),
        ))
    };
    let Some(parameters) = declarations::list(text) else {
        return refuse("they are no list of declarations such as `const float *x, int n`");
    };
    let mut arguments = Vec::with_capacity(parameters.len());
    for parameter in parameters {
        if parameter.name.is_empty() {
            return refuse(&format!("`{}` has no name", parameter.ty));
        }
        let (element, vector) = match parameter.ty.strip_suffix('*') {
            Some(element) => (element, true),
            None => (parameter.ty.as_str(), false),
        };
        if element.contains(['*', '&']) {
            return refuse(&format!(
                "`{}` is `{}`, and an argument is a value or a pointer to values",
                parameter.name, parameter.ty
            ));
        }
        let (words, qualifiers): (Vec<&str>, Vec<&str>) = element
            .split_whitespace()
            .partition(|word| !matches!(*word, "const" | "volatile"));
        if words.is_empty() {
            return refuse(&format!("`{}` has no type", parameter.name));
        }
        if arguments
            .iter()
            .any(|other: &CArgument| other.name == parameter.name)
        {
            return refuse(&format!("`{}` is declared twice", parameter.name));
        }
        arguments.push(CArgument {
            name: parameter.name,
            c_type: words.join(" "),
            vector,
            constant: qualifiers.contains(&"const"),
        });
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, String, bool, bool) {
        let argument = parse_c_arg(text).expect("it can be read");
        (
            argument.name,
            argument.c_type,
            argument.vector,
            argument.constant,
        )
    }

    #[test]
    fn declarations_in_all_spellings() {
        let of = |name: &str, ty: &str, vector, constant| {
            (name.to_owned(), ty.to_owned(), vector, constant)
        };
        assert_eq!(read("float *x"), of("x", "float", true, false));
        assert_eq!(read("float x[]"), of("x", "float", true, false));
        assert_eq!(
            read("const volatile float* __restrict__ x"),
            of("x", "float", true, true)
        );
        assert_eq!(read("float const *x"), of("x", "float", true, true));
        assert_eq!(
            read("unsigned long long n"),
            of("n", "unsigned long long", false, false)
        );
        // Names that hold the words of qualifiers.
        assert_eq!(
            read("int *const_vals"),
            of("const_vals", "int", true, false)
        );
        assert_eq!(
            read("restrict_t volatile_x"),
            of("volatile_x", "restrict_t", false, false)
        );
        assert_eq!(
            read("pycuda::complex<float> *z"),
            of("z", "pycuda::complex<float>", true, false)
        );
    }

    #[test]
    fn lists_keep_commas_of_types() {
        let list = parse_c_args("pair<int, float> *p, const double2 v, size_t n").expect("read");
        let texts: Vec<String> = list.iter().map(CArgument::declarator).collect();
        assert_eq!(
            texts,
            ["pair<int, float> *p", "const double2 v", "size_t n"]
        );
        assert_eq!(list[2].scalar(), Some(Scalar::U64));
        assert_eq!(parse_c_args("").expect("an empty list"), []);
    }

    #[test]
    fn what_is_no_argument_is_refused() {
        for text in [
            "float",
            "float **x",
            "float &x",
            "void (*f)(int)",
            "float x, float x",
            "float x,",
        ] {
            let error = parse_c_args(text).expect_err(text);
            assert_eq!(error.kind(), ErrorKind::Source, "{text}");
        }
        assert!(parse_c_arg("int a, int b").is_err());
    }
}
