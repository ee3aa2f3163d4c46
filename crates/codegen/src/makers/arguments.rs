//! The arguments of made kernels: declared as C text, passed as Rust values, checked against each other at each call.

use cuprum_driver_core::{Args, Context, DeviceBuffer, DeviceView, DeviceViewMut, Stream};

use crate::code::is_identifier;
use crate::error::{Error, ErrorKind, Result};
use crate::repr::{CArgument, DeviceRepr, Scalar, parse_c_args};

/// What is passed for one argument of a made kernel: a value of a [`DeviceRepr`] type where the declaration has a value; a buffer or a view where it
/// has a pointer, shared if the pointer is to `const`, exclusive if it is not.
pub trait MakerArg<'a> {
    /// Appends the argument to a list.
    fn push(self, list: &mut ArgumentList<'a>);
}

/// What one argument is.
#[derive(Debug)]
struct Passed {
    /// The C++ type of the value or the elements.
    c_type: String,
    /// The elements, if it is memory.
    len: Option<usize>,
    /// Whether the kernel may write it.
    writable: bool,
}

/// The arguments of one call. Filled by [`MakerArg::push`].
#[derive(Debug, Default)]
pub struct ArgumentList<'a> {
    args: Args<'a>,
    passed: Vec<Passed>,
    /// The context of the memory that was passed first.
    context: Option<Context>,
}

impl<'a> ArgumentList<'a> {
    /// Appends a value.
    pub fn value<T: DeviceRepr>(&mut self, value: T) {
        self.args.scalar(value);
        self.passed.push(Passed {
            c_type: T::c_type().to_string(),
            len: None,
            writable: false,
        });
    }

    /// Appends memory that the kernel reads.
    pub fn read<T: DeviceRepr>(&mut self, view: DeviceView<'a, T>) {
        self.context.get_or_insert_with(|| view.context().clone());
        self.passed.push(Passed {
            c_type: T::c_type().to_string(),
            len: Some(view.len()),
            writable: false,
        });
        self.args.read(view);
    }

    /// Appends memory that the kernel writes, and may read.
    pub fn write<T: DeviceRepr>(&mut self, view: DeviceViewMut<'a, T>) {
        self.context.get_or_insert_with(|| view.context().clone());
        self.passed.push(Passed {
            c_type: T::c_type().to_string(),
            len: Some(view.len()),
            writable: true,
        });
        self.args.write(view);
    }

    /// The arguments, to which a kernel adds its own.
    pub(super) fn into_args(self) -> Args<'a> {
        self.args
    }
}

impl<'a, T: DeviceRepr> MakerArg<'a> for T {
    fn push(self, list: &mut ArgumentList<'a>) {
        list.value(self);
    }
}

impl<'a, T: DeviceRepr> MakerArg<'a> for &'a DeviceBuffer<T> {
    fn push(self, list: &mut ArgumentList<'a>) {
        list.read(self.view());
    }
}

impl<'a, T: DeviceRepr> MakerArg<'a> for &'a mut DeviceBuffer<T> {
    fn push(self, list: &mut ArgumentList<'a>) {
        list.write(self.view_mut());
    }
}

impl<'a, T: DeviceRepr> MakerArg<'a> for DeviceView<'a, T> {
    fn push(self, list: &mut ArgumentList<'a>) {
        list.read(self);
    }
}

impl<'a, T: DeviceRepr> MakerArg<'a> for DeviceViewMut<'a, T> {
    fn push(self, list: &mut ArgumentList<'a>) {
        list.write(self);
    }
}

/// The arguments of a made kernel: a tuple of up to 12 [`MakerArg`]s.
pub trait MakerArgs<'a> {
    /// Appends the arguments in order.
    fn push_all(self, list: &mut ArgumentList<'a>);
}

impl<'a> MakerArgs<'a> for () {
    fn push_all(self, _list: &mut ArgumentList<'a>) {}
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<'a, $($name: MakerArg<'a>),+> MakerArgs<'a> for ($($name,)+) {
            fn push_all(self, list: &mut ArgumentList<'a>) {
                #[allow(non_snake_case, reason = "the type's letter names the value too")]
                let ($($name,)+) = self;
                $($name.push(list);)+
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
tuples!(A B C D E F G H I);
tuples!(A B C D E F G H I J);
tuples!(A B C D E F G H I J K);
tuples!(A B C D E F G H I J K L);

/// The declared arguments of a made kernel.
#[derive(Debug, Clone)]
pub(super) struct Declared {
    kernel: String,
    list: Vec<CArgument>,
    /// Vectors that may have any length.
    any_length: Vec<String>,
}

impl Declared {
    /// Reads the declarations. `reserved` are the names that the kernel's own code gives to the expressions.
    pub(super) fn parse(
        kernel: &str,
        text: &str,
        any_length: &[String],
        reserved: &[&str],
    ) -> Result<Self> {
        let refuse = |what: String| {
            Err(Error::new(
                ErrorKind::Source,
                format!("kernel `{kernel}`: {what}"),
            ))
        };
        if !is_identifier(kernel) {
            return refuse("its name is no identifier of C++".to_owned());
        }
        let list = parse_c_args(text)?;
        for argument in &list {
            let name = &argument.name;
            if reserved.contains(&name.as_str()) {
                return refuse(format!(
                    "the name of argument `{name}` is taken: the expressions have {}",
                    reserved.join(", ")
                ));
            }
            if name.starts_with(PREFIX) {
                return refuse(format!(
                    "the name of argument `{name}` begins with `{PREFIX}`, as those of the kernel's own variables do"
                ));
            }
        }
        for name in any_length {
            if !list
                .iter()
                .any(|argument| argument.vector && argument.name == *name)
            {
                return refuse(format!("there is no vector argument `{name}`"));
            }
        }
        let this = Self {
            kernel: kernel.to_owned(),
            list,
            any_length: any_length.to_vec(),
        };
        if this.sized().next().is_none() {
            return refuse(
                "no argument is a vector that gives the number of elements, such as `const float *x`"
                    .to_owned(),
            );
        }
        Ok(this)
    }

    /// The name of the first vector of the length of the call.
    pub(super) fn first_vector(&self) -> &str {
        self.sized()
            .next()
            .map(|(_, argument)| argument.name.as_str())
            .expect("one was declared, as was checked")
    }

    /// The name of the last vector of the length of the call.
    pub(super) fn last_vector(&self) -> &str {
        self.sized()
            .last()
            .map(|(_, argument)| argument.name.as_str())
            .expect("one was declared, as was checked")
    }

    /// The vectors that all have the length of the call.
    fn sized(&self) -> impl Iterator<Item = (usize, &CArgument)> {
        self.list
            .iter()
            .enumerate()
            .filter(|(_, argument)| argument.vector && !self.any_length.contains(&argument.name))
    }

    /// The headers that declare the arguments' types, as lines that include them.
    pub(super) fn headers(&self) -> String {
        let mut lines: Vec<String> = self
            .list
            .iter()
            .filter_map(|argument| header_of(&argument.c_type))
            .map(|header| format!("#include <{header}>\n"))
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines.concat()
    }

    /// The declarations of the kernel's parameters, each followed by a comma.
    pub(super) fn parameters(&self) -> String {
        self.list
            .iter()
            .map(|argument| {
                if argument.vector {
                    // Memory that is written is passed exclusively, so no other argument can overlap it.
                    let constant = if argument.constant { "const " } else { "" };
                    format!(
                        "{constant}{} *__restrict__ {}, ",
                        argument.c_type, argument.name
                    )
                } else {
                    format!("{}, ", argument.declarator())
                }
            })
            .collect()
    }

    /// Checks what is passed and answers with the number of elements.
    pub(super) fn check(&self, stream: &Stream, list: &ArgumentList<'_>) -> Result<usize> {
        let refuse = |what: String| {
            Err(Error::new(
                ErrorKind::Requirement,
                format!("kernel `{}`: {what}", self.kernel),
            ))
        };
        if list.passed.len() != self.list.len() {
            let declared: Vec<String> = self.list.iter().map(CArgument::declarator).collect();
            return refuse(format!(
                "it takes {} argument{} ({}), and {} {} passed",
                self.list.len(),
                if self.list.len() == 1 { "" } else { "s" },
                declared.join(", "),
                list.passed.len(),
                if list.passed.len() == 1 {
                    "was"
                } else {
                    "were"
                }
            ));
        }
        for (index, (argument, passed)) in self.list.iter().zip(&list.passed).enumerate() {
            let place = format!("argument {index} `{}`", argument.declarator());
            if !same_type(&argument.c_type, &passed.c_type) {
                let kind = if passed.len.is_some() {
                    "elements"
                } else {
                    "a value"
                };
                return refuse(format!("{place} was passed {kind} of `{}`", passed.c_type));
            }
            match (argument.vector, passed.len.is_some()) {
                (true, false) => {
                    return refuse(format!("{place} is a vector, and a value was passed"));
                }
                (false, true) => {
                    return refuse(format!("{place} is a value, and a vector was passed"));
                }
                _ => {}
            }
            if argument.vector && argument.constant == passed.writable {
                return refuse(if argument.constant {
                    format!(
                        "{place} is read, so it is passed by a shared view, not by a mutable one"
                    )
                } else {
                    format!(
                        "{place} is written, so it is passed by a mutable view (or declared `const`)"
                    )
                });
            }
        }
        if let Some(context) = &list.context
            && context != stream.context()
        {
            return refuse("the arguments and the stream are of different contexts".to_owned());
        }
        let lengths: Vec<(&CArgument, usize)> = self
            .sized()
            .filter_map(|(index, argument)| Some((argument, list.passed[index].len?)))
            .collect();
        let (first, n) = lengths[0];
        if let Some((other, len)) = lengths.iter().find(|(_, len)| *len != n) {
            return refuse(format!(
                "`{}` has {n} elements and `{}` has {len}",
                first.name, other.name
            ));
        }
        Ok(n)
    }
}

/// What names of the kernels' own variables begin with.
pub(super) const PREFIX: &str = "cuprum_";

/// The header that declares a type, if it is one that CUDA or Cuprum has a header for.
fn header_of(c_type: &str) -> Option<&'static str> {
    match Scalar::from_c_name(c_type) {
        Some(Scalar::F16) => Some("cuda_fp16.h"),
        Some(Scalar::Bf16) => Some("cuda_bf16.h"),
        Some(_) => None,
        None if c_type.starts_with("cuprum::complex<") => Some("cuprum/complex.h"),
        None if c_type.starts_with("pycuda::complex<") => Some("pycuda-complex.hpp"),
        None => None,
    }
}

/// Whether two names mean one type.
fn same_type(a: &str, b: &str) -> bool {
    match (Scalar::from_c_name(a), Scalar::from_c_name(b)) {
        (Some(a), Some(b)) => a == b,
        _ => canonical(a) == canonical(b),
    }
}

/// A type's name without spaces that mean nothing, PyCUDA's complex numbers under their name here.
fn canonical(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    let mut name = words.join(" ");
    for bracket in ["<", ">", "::", ","] {
        name = name
            .replace(&format!(" {bracket}"), bracket)
            .replace(&format!("{bracket} "), bracket);
    }
    match name.strip_prefix("pycuda::complex<") {
        Some(rest) => format!("cuprum::complex<{rest}"),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_type_has_many_names() {
        for (a, b) in [
            ("unsigned", "unsigned int"),
            ("pycuda::complex<float>", "cuprum::complex<float>"),
            ("cuprum::complex < double >", "cuprum::complex<double>"),
            ("pair<int, float>", "pair<int,float>"),
        ] {
            assert!(same_type(a, b), "{a} and {b}");
        }
        for (a, b) in [
            ("unsigned", "int"),
            ("pycuda::complex<float>", "cuprum::complex<double>"),
            ("A B", "AB"),
        ] {
            assert!(!same_type(a, b), "{a} and {b}");
        }
    }

    #[test]
    fn arguments_bring_their_headers() {
        let of = |text: &str| {
            Declared::parse("k", text, &[], &[])
                .expect("arguments")
                .headers()
        };
        assert_eq!(of("const float *x, int n"), "");
        assert_eq!(
            of("half *x, __half y, cuprum::complex<float> *z, pycuda::complex<double> w"),
            "#include <cuda_fp16.h>\n#include <cuprum/complex.h>\n#include <pycuda-complex.hpp>\n"
        );
    }
}
