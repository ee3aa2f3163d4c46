//! The path of `cuprum-codegen` in the crate that uses a macro.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Ident;

/// `::cuprum_codegen` for who depends on it, under whatever name; `::cuprum::codegen` for who depends on the facade.
pub(crate) fn codegen() -> TokenStream {
    let named = |name: &str| {
        let name = Ident::new(name, Span::call_site());
        quote!(::#name)
    };
    match (crate_name("cuprum-codegen"), crate_name("cuprum")) {
        (Ok(FoundCrate::Name(name)), _) => named(&name),
        // The crate itself is known to its doctests, tests and examples by its own name.
        (Ok(FoundCrate::Itself), _) => named("cuprum_codegen"),
        (Err(_), Ok(FoundCrate::Name(name))) => {
            let facade = named(&name);
            quote!(#facade::codegen)
        }
        (Err(_), Ok(FoundCrate::Itself)) => quote!(::cuprum::codegen),
        (Err(_), Err(_)) => named("cuprum_codegen"),
    }
}
