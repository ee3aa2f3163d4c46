//! Names of Rust items in CUDA C++.

use syn::{Attribute, Error, Ident, LitStr, Result};

/// What cannot name a structure or a field in CUDA C++.
const RESERVED: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "compl",
    "concept",
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
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "requires",
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
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
];

/// The C++ name of an item: that of its attribute `#[device(name = "...")]`, or its own.
pub(crate) fn device_name(ident: &Ident, attributes: &[Attribute]) -> Result<String> {
    let mut given: Option<LitStr> = None;
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("device"))
    {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("name") {
                return Err(meta.error("the only key is `name`: #[device(name = \"...\")]"));
            }
            if given.replace(meta.value()?.parse()?).is_some() {
                return Err(meta.error("the name is given twice"));
            }
            Ok(())
        })?;
    }
    let (name, span) = match &given {
        Some(literal) => (literal.value(), literal.span()),
        None => {
            let name = ident.to_string();
            let name = name.strip_prefix("r#").unwrap_or(&name).to_owned();
            (name, ident.span())
        }
    };
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !plain {
        return Err(Error::new(
            span,
            format!("`{name}` is no name in CUDA C++: letters, digits and underscores of ASCII"),
        ));
    }
    if RESERVED.contains(&name.as_str()) {
        return Err(Error::new(
            span,
            format!(
                "`{name}` is a reserved word of C++: give another name with #[device(name = \"...\")]"
            ),
        ));
    }
    Ok(name)
}
