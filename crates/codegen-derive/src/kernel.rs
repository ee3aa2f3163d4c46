//! The typed-kernel macro.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Error, Expr, FnArg, GenericArgument, Ident, LitStr, Pat, PathArguments, Result,
    Token, Type, Visibility,
};

use crate::path::codegen;

syn::custom_keyword!(requires);

/// `pub struct Axpy; fn axpy(a: f32, x: &[f32], y: &mut [f32], n: i32) requires n >= 0, n as usize <= x.len();`
pub(crate) struct Kernel {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    structure: Ident,
    /// The kernel's name in the module.
    name: String,
    parameters: Vec<Parameter>,
    requirements: Vec<Expr>,
}

struct Parameter {
    name: Ident,
    kind: Kind,
}

/// What is passed for a parameter.
enum Kind {
    /// A value.
    Value(Type),
    /// The address of memory that the kernel reads.
    Read(Type),
    /// The address of memory that the kernel writes, and may read.
    Write(Type),
    /// Address and length of memory that the kernel reads.
    ReadSpan(Type),
    /// Address and length of memory that the kernel writes, and may read.
    WriteSpan(Type),
}

impl Parse for Kernel {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        input.parse::<Token![struct]>()?;
        let structure = input.parse()?;
        input.parse::<Token![;]>()?;
        input.parse::<Token![fn]>()?;
        let ident: Ident = input.parse()?;
        let name = if input.parse::<Option<Token![=]>>()?.is_some() {
            input.parse::<LitStr>()?.value()
        } else {
            ident.to_string()
        };
        let content;
        syn::parenthesized!(content in input);
        let parameters = Punctuated::<FnArg, Token![,]>::parse_terminated(&content)?
            .into_iter()
            .map(parameter)
            .collect::<Result<Vec<_>>>()?;
        if parameters.len() > 16 {
            return Err(Error::new(
                ident.span(),
                "a typed kernel has at most 16 parameters: pass a structure for more",
            ));
        }
        let requirements = if input.parse::<Option<requires>>()?.is_some() {
            let mut list = Vec::new();
            while !input.peek(Token![;]) {
                list.push(input.parse()?);
                if input.parse::<Option<Token![,]>>()?.is_none() {
                    break;
                }
            }
            list
        } else {
            Vec::new()
        };
        input.parse::<Token![;]>()?;
        Ok(Self {
            attributes,
            visibility,
            structure,
            name,
            parameters,
            requirements,
        })
    }
}

fn parameter(argument: FnArg) -> Result<Parameter> {
    let FnArg::Typed(argument) = argument else {
        return Err(Error::new_spanned(argument, "a kernel has no `self`"));
    };
    let Pat::Ident(pattern) = &*argument.pat else {
        return Err(Error::new_spanned(
            &argument.pat,
            "a parameter of a kernel has a plain name",
        ));
    };
    let kind = match span_argument(&argument.ty) {
        Some(inner) => match memory(inner)? {
            Some((element, false)) => Kind::ReadSpan(element),
            Some((element, true)) => Kind::WriteSpan(element),
            None => {
                return Err(Error::new_spanned(
                    inner,
                    "a span is of memory: `Span<&[f32]>` or `Span<&mut [f32]>`",
                ));
            }
        },
        None => match memory(&argument.ty)? {
            Some((element, false)) => Kind::Read(element),
            Some((element, true)) => Kind::Write(element),
            None => Kind::Value((*argument.ty).clone()),
        },
    };
    Ok(Parameter {
        name: pattern.ident.clone(),
        kind,
    })
}

/// The element type of `&[T]` and `&mut [T]`, and whether it is the latter; `None` for a value.
fn memory(ty: &Type) -> Result<Option<(Type, bool)>> {
    let Type::Reference(reference) = ty else {
        return Ok(None);
    };
    let Type::Slice(slice) = &*reference.elem else {
        return Err(Error::new_spanned(
            &reference.elem,
            "memory is declared as a slice, `&[f32]` or `&mut [f32]`; a value is passed without `&`",
        ));
    };
    Ok(Some((
        (*slice.elem).clone(),
        reference.mutability.is_some(),
    )))
}

/// What stands between the brackets of `Span<...>`.
fn span_argument(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    match arguments.args.first() {
        Some(GenericArgument::Type(inner)) if segment.ident == "Span" => Some(inner),
        _ => None,
    }
}

pub(crate) fn expand(kernel: &Kernel) -> TokenStream {
    let Kernel {
        attributes,
        visibility,
        structure,
        name,
        parameters,
        requirements,
    } = kernel;
    let codegen = codegen();
    let driver = quote!(#codegen::typed);

    let declared = parameters.iter().map(|parameter| {
        let name = parameter.name.to_string();
        match &parameter.kind {
            Kind::Value(ty) => quote_spanned! {ty.span()=> #driver::Declared::value::<#ty>(#name) },
            Kind::Read(ty) => quote_spanned! {ty.span()=> #driver::Declared::read::<#ty>(#name) },
            Kind::Write(ty) => quote_spanned! {ty.span()=> #driver::Declared::write::<#ty>(#name) },
            Kind::ReadSpan(ty) => {
                quote_spanned! {ty.span()=> #driver::Declared::read_span::<#ty>(#name) }
            }
            Kind::WriteSpan(ty) => {
                quote_spanned! {ty.span()=> #driver::Declared::write_span::<#ty>(#name) }
            }
        }
    });
    let generics: Vec<Ident> = (0..parameters.len())
        .map(|index| format_ident!("Argument{index}", span = Span::mixed_site()))
        .collect();
    let arguments = parameters
        .iter()
        .zip(&generics)
        .map(|(parameter, generic)| {
            let name = &parameter.name;
            match &parameter.kind {
                Kind::Value(ty) => quote!(#name: #ty),
                _ => quote!(#name: #generic),
            }
        });
    let bounds: Vec<TokenStream> = parameters
        .iter()
        .zip(&generics)
        .filter_map(|(parameter, generic)| match &parameter.kind {
            Kind::Value(_) => None,
            Kind::Read(ty) | Kind::ReadSpan(ty) => {
                Some(quote_spanned!(ty.span()=> #generic: #driver::ReadArgument<'memory, #ty>))
            }
            Kind::Write(ty) | Kind::WriteSpan(ty) => {
                Some(quote_spanned!(ty.span()=> #generic: #driver::WriteArgument<'memory, #ty>))
            }
        })
        .collect();
    let names: Vec<&Ident> = parameters.iter().map(|parameter| &parameter.name).collect();
    let views = parameters.iter().map(|parameter| {
        let name = &parameter.name;
        match &parameter.kind {
            Kind::Value(_) => None,
            Kind::Read(ty) => {
                Some(quote!(let #name = #driver::ReadArgument::<'_, #ty>::into_view(#name);))
            }
            Kind::Write(ty) => {
                Some(quote!(let #name = #driver::WriteArgument::<'_, #ty>::into_view(#name);))
            }
            Kind::ReadSpan(ty) => Some(quote! {
                let #name = #driver::ReadSpan::new(#driver::ReadArgument::<'_, #ty>::into_view(#name));
            }),
            Kind::WriteSpan(ty) => Some(quote! {
                let #name = #driver::WriteSpan::new(#driver::WriteArgument::<'_, #ty>::into_view(#name));
            }),
        }
    });
    let facts: Vec<TokenStream> = parameters
        .iter()
        .map(|parameter| {
            let name = &parameter.name;
            let text = name.to_string();
            match parameter.kind {
                Kind::Value(_) => quote!((#text, #driver::Fact::value(&#name))),
                _ => quote!((#text, #driver::Fact::len(#name.len()))),
            }
        })
        .collect();
    let checks = requirements.iter().map(|requirement| {
        let text = quote!(#requirement).to_string();
        quote_spanned! {requirement.span()=>
            let holds: bool = #requirement;
            if !holds {
                return ::core::result::Result::Err(#driver::broken(#name, #text, &[#(#facts),*]));
            }
        }
    });
    let lifetime = (!bounds.is_empty()).then(|| quote!('memory,));
    let used: Vec<&Ident> = parameters
        .iter()
        .zip(&generics)
        .filter(|(parameter, _)| !matches!(parameter.kind, Kind::Value(_)))
        .map(|(_, generic)| generic)
        .collect();
    let safety = format!(
        "Takes the kernel `{name}` from a loaded module, and compares its parameters with the declaration."
    );
    quote! {
        #(#attributes)*
        #[derive(Clone, Debug)]
        #visibility struct #structure(#driver::Function);

        impl #structure {
            #[doc = #safety]
            ///
            /// # Errors
            /// If the module has no such kernel, or one with other parameters.
            ///
            /// # Safety
            /// Whoever loads the kernel vouches for its code: given arguments that meet the requirements of the
            /// declaration, it accesses memory only inside what it is passed, writes only what is declared mutable, writes
            /// valid values, and does not race with itself.
            #visibility unsafe fn load(module: &impl #driver::HasFunctions) -> #driver::Result<Self> {
                #driver::load(module, #name, &[#(#declared),*]).map(Self)
            }

            /// Queues the kernel.
            ///
            /// # Errors
            /// If a requirement of the declaration is not met, and as for `Function::launch`.
            #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
            #visibility fn launch<#lifetime #(#used),*>(
                &self,
                stream: &#driver::Stream,
                config: #driver::LaunchConfig,
                #(#arguments),*
            ) -> #driver::Result<()>
            where
                #(#bounds),*
            {
                #(#views)*
                #(#checks)*
                // SAFETY: the types are those that `load` compared with the image and whose requirements hold; the rest
                // was promised to `load`.
                unsafe { #driver::launch(&self.0, stream, config, (#(#names,)*)) }
            }

            /// The kernel, for its attributes.
            #visibility fn function(&self) -> &#driver::Function {
                &self.0
            }
        }
    }
}
