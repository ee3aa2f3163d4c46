//! `#[derive(DeviceRepr)]`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Error, Fields, Result, meta::ParseNestedMeta};

use crate::names::device_name;
use crate::path::codegen;

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let fields = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => &fields.named,
            Fields::Unnamed(_) | Fields::Unit => {
                return Err(Error::new_spanned(
                    &input.ident,
                    "DeviceRepr needs a structure with named fields: C++ has no others",
                ));
            }
        },
        Data::Enum(_) => {
            return Err(Error::new_spanned(
                &input.ident,
                "DeviceRepr cannot be derived for an enumeration: a device may write any number. Use the integer type",
            ));
        }
        Data::Union(_) => {
            return Err(Error::new_spanned(
                &input.ident,
                "DeviceRepr cannot be derived for a union",
            ));
        }
    };
    if fields.is_empty() {
        return Err(Error::new_spanned(
            &input.ident,
            "a structure without fields has no size in Rust and one byte in C++",
        ));
    }
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &input.generics,
            "DeviceRepr cannot be derived for a generic structure: one C++ name stands for one layout",
        ));
    }
    check_repr(input)?;

    let codegen = codegen();
    let name = &input.ident;
    let c_name = device_name(name, &input.attrs)?;
    let mut members = Vec::new();
    let mut bounds = Vec::new();
    for field in fields {
        let ident = field.ident.as_ref().expect("the fields are named");
        let c_field = device_name(ident, &field.attrs)?;
        let ty = &field.ty;
        members.push(quote_spanned! {ty.span()=>
            #codegen::repr::Member::of::<#ty>(#c_field, ::core::mem::offset_of!(#name, #ident))
        });
        bounds.push(quote_spanned! {ty.span()=>
            const _: fn() = || {
                fn has_device_repr<T: #codegen::DeviceRepr>() {}
                has_device_repr::<#ty>();
            };
        });
    }
    Ok(quote! {
        #(#bounds)*

        // SAFETY: the structure is `repr(C)`, and every field is plain data, as its `DeviceRepr` says.
        unsafe impl #codegen::repr::DeviceCopy for #name {}

        // SAFETY: the declaration has the fields of the `repr(C)` structure in order, and asserts size, alignment and offsets.
        unsafe impl #codegen::DeviceRepr for #name {
            fn c_type() -> #codegen::repr::CType {
                #codegen::repr::CType::named(#c_name)
            }

            fn declare(declarations: &mut #codegen::repr::Declarations) {
                declarations.structure::<Self>(#c_name, |members| {
                    members.extend([#(#members),*]);
                });
            }
        }
    })
}

/// The structure is laid out as C does it.
fn check_repr(input: &DeriveInput) -> Result<()> {
    let mut is_c = false;
    for attribute in input
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("repr"))
    {
        attribute.parse_nested_meta(|meta: ParseNestedMeta<'_>| {
            if meta.path.is_ident("C") {
                is_c = true;
            } else if meta.path.is_ident("packed") {
                return Err(meta.error(
                    "a packed structure has unaligned fields, which devices cannot access",
                ));
            }
            // `align(16)` has a number, `packed(2)` was refused.
            if meta.input.peek(syn::token::Paren) {
                let content;
                syn::parenthesized!(content in meta.input);
                content.parse::<TokenStream>()?;
            }
            Ok(())
        })?;
    }
    if is_c {
        Ok(())
    } else {
        Err(Error::new_spanned(
            &input.ident,
            "DeviceRepr needs #[repr(C)]: Rust is free to reorder the fields otherwise",
        ))
    }
}
