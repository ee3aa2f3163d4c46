//! Textures and surfaces that are none.

use crate::common::*;
use crate::kind::{Kernel, Kind};

use CUresult as C;

pub(crate) fn kinds() -> Vec<Kind> {
    let kernel = |name: &str, body: &str| Kernel::new(format!("textures::{name}"), body.to_owned());
    let texture = "tex.2d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%d1, {0f00000000, 0f00000000}];";
    let surface = "suld.b.2d.b32.zero {%r1}, [%d1, {%r2, %r3}];";
    vec![
        kernel("a_null_texture", &format!("mov.u64 %d1, 0;\n{texture}"))
            .fails(C::ILLEGAL_ADDRESS, &["0x0 is no texture object"])
            .into(),
        kernel(
            "a_number_as_a_texture",
            &format!("mov.u64 %d1, 4503599628419072;\n{texture}"),
        )
        .fails(C::ILLEGAL_ADDRESS, &["is no texture object"])
        .into(),
        kernel(
            "an_address_as_a_texture",
            &format!("mov.u64 %d1, %q;\n{texture}"),
        )
        .fails(C::ILLEGAL_ADDRESS, &["is no texture object"])
        .into(),
        kernel(
            "a_null_surface",
            &format!("mov.u64 %d1, 0; mov.u32 %r2, 0; mov.u32 %r3, 0;\n{surface}"),
        )
        .fails(C::ILLEGAL_ADDRESS, &["0x0 is no surface object"])
        .into(),
        kernel(
            "a_store_to_no_surface",
            "mov.u64 %d1, -1; mov.u32 %r2, 0; sust.b.1d.b32.trap [%d1, {%r2}], {%r2};",
        )
        .fails(C::ILLEGAL_ADDRESS, &["is no surface object"])
        .into(),
        kernel(
            "the_width_of_no_texture",
            "mov.u64 %d1, 12; txq.width.b32 %r1, [%d1];",
        )
        .fails(C::ILLEGAL_ADDRESS, &["0xc is no texture object"])
        .into(),
        kernel(
            "the_height_of_no_surface",
            "mov.u64 %d1, 12; suq.height.b32 %r1, [%d1];",
        )
        .fails(C::ILLEGAL_ADDRESS, &["0xc is no surface object"])
        .into(),
        kernel(
            "a_texture_reference_that_is_not_bound",
            "tex.1d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [unbound, {0f00000000}];",
        )
        .module(".global .texref unbound;\n")
        .fails(C::ILLEGAL_ADDRESS, &["is no texture object"])
        .into(),
    ]
}
