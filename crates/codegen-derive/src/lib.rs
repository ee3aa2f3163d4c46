//! The macros of `cuprum-codegen`, which re-exports and documents them.

mod device_repr;
mod kernel;
mod names;
mod path;

use proc_macro::TokenStream;

/// Gives a `#[repr(C)]` structure its CUDA C++ declaration.
///
/// Implements `DeviceRepr`, and `DeviceCopy` with it, for a structure with named fields whose types all have a
/// `DeviceRepr`. The C++ structure has the same name and the same fields in the same order; its size, alignment and
/// offsets are asserted by the CUDA compiler against those of the Rust type.
///
/// `#[device(name = "...")]` on the structure or on a field gives it another name in C++.
///
/// # Errors
/// A compile error for what has no C++ counterpart of the same layout: enumerations, unions, tuple structures, generic
/// ones, those without `#[repr(C)]` or with `#[repr(packed)]`, and names that C++ reserves.
#[proc_macro_derive(DeviceRepr, attributes(device))]
pub fn derive_device_repr(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    device_repr::expand(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Declares a typed kernel: see `cuprum_codegen::kernel`.
#[proc_macro]
pub fn kernel(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as kernel::Kernel);
    kernel::expand(&input).into()
}
