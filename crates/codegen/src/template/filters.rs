//! The filters of templates: literals, types and names of CUDA C++.

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, Value};

use super::lines::unmark;
use crate::literal::{self, CLiteral as _};
use crate::repr::Scalar;

pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_filter("c", c);
    environment.add_filter("ctype", ctype);
    environment.add_filter("size_of", size_of);
    environment.add_filter("ident", ident);
}

fn refuse(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// A scalar type by its name in C++ or in Rust.
fn scalar(name: &str) -> Result<Scalar, Error> {
    let name = unmark(name);
    let name = name.trim();
    Scalar::from_c_name(name)
        .or_else(|| Scalar::from_rust_name(name))
        .ok_or_else(|| {
            let known: Vec<&str> = Scalar::all().map(Scalar::rust_name).collect();
            refuse(format!(
                "`{name}` is no scalar type; known are the C++ names and {}",
                known.join(", ")
            ))
        })
}

/// `{{ x | c }}`: the value as a literal; `{{ x | c("float") }}`: as one of that type.
fn c(value: Value, ty: Option<String>) -> Result<String, Error> {
    let scalar = ty.as_deref().map(scalar).transpose()?;
    literal(&value, scalar)
}

fn literal(value: &Value, scalar: Option<Scalar>) -> Result<String, Error> {
    if value.is_undefined() {
        return Err(refuse("this variable has no value".to_owned()));
    }
    let misfit = || {
        refuse(match scalar {
            Some(scalar) => format!("{value} has no exact value of type {scalar}"),
            None => format!("{value} is no value of C++"),
        })
    };
    match value.kind() {
        ValueKind::Bool => match scalar {
            None | Some(Scalar::Bool) => Ok(value.is_true().c_literal()),
            Some(scalar) => {
                literal::integer_as(i128::from(value.is_true()), scalar).ok_or_else(misfit)
            }
        },
        ValueKind::Number if value.is_integer() => {
            let number = i128::try_from(value.clone()).map_err(|_| misfit())?;
            match scalar {
                Some(scalar) => literal::integer_as(number, scalar),
                // The first of these that holds it, as in C++.
                None => [Scalar::I32, Scalar::I64, Scalar::U64]
                    .into_iter()
                    .find_map(|scalar| literal::integer_as(number, scalar)),
            }
            .ok_or_else(misfit)
        }
        ValueKind::Number => {
            let number = f64::try_from(value.clone()).map_err(|_| misfit())?;
            literal::float_as(number, scalar.unwrap_or(Scalar::F64)).ok_or_else(misfit)
        }
        ValueKind::String if scalar.is_none() => {
            Ok(unmark(value.as_str().unwrap_or_default()).c_literal())
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let list: Vec<String> = value
                .try_iter()?
                .map(|one| literal(&one, scalar))
                .collect::<Result<_, _>>()?;
            Ok(format!("{{{}}}", list.join(", ")))
        }
        _ => Err(misfit()),
    }
}

/// `{{ "f32" | ctype }}`: the C++ name of a scalar type.
fn ctype(name: &str) -> Result<String, Error> {
    scalar(name).map(|scalar| scalar.c_name().to_owned())
}

/// `{{ "f32" | size_of }}`: the size of a scalar type in bytes.
fn size_of(name: &str) -> Result<usize, Error> {
    scalar(name).map(Scalar::size)
}

/// `{{ name | ident }}`: the text, if it is an identifier.
fn ident(name: &str) -> Result<String, Error> {
    let name = unmark(name);
    if crate::code::is_identifier(&name) {
        Ok(name)
    } else {
        Err(refuse(format!("`{name}` is no identifier of C++")))
    }
}
