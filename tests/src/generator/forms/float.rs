//! Arithmetic of `f32` and `f64`; approximate instructions are not here, because their results may differ.

use super::super::form::Form;
use super::each;

pub(super) fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add = |template: String, slots: &str| forms.push(Form::new(template, slots));
    let modes: &[&str] = &[".rn", ".rz", ".rm", ".rp"];
    let any_mode: &[&str] = &["", ".rn", ".rz", ".rm", ".rp"];
    for (c, flush, saturate) in [
        ("f32", &["", ".ftz"][..], &["", ".sat"][..]),
        ("f64", &[""][..], &[""][..]),
    ] {
        for op in ["add", "sub", "mul"] {
            for suffix in each(&[any_mode, flush, saturate]) {
                add(
                    format!("{op}{suffix}.{c} #0, #1, #2"),
                    &format!("={c} {c} {c}"),
                );
            }
        }
        for suffix in each(&[modes, flush, saturate]) {
            for op in ["fma", "mad"] {
                add(
                    format!("{op}{suffix}.{c} #0, #1, #2, #3"),
                    &format!("={c} {c} {c} {c}"),
                );
            }
        }
        for suffix in each(&[modes, flush]) {
            add(
                format!("div{suffix}.{c} #0, #1, #2"),
                &format!("={c} {c} {c}"),
            );
            add(format!("rcp{suffix}.{c} #0, #1"), &format!("={c} {c}"));
            add(format!("sqrt{suffix}.{c} #0, #1"), &format!("={c} {c}"));
        }
        for suffix in each(&[&["neg", "abs"], flush]) {
            add(format!("{suffix}.{c} #0, #1"), &format!("={c} {c}"));
        }
        let nan: &[&str] = if c == "f32" { &["", ".NaN"] } else { &[""] };
        for suffix in each(&[&["min", "max"], flush, nan]) {
            add(format!("{suffix}.{c} #0, #1, #2"), &format!("={c} {c} {c}"));
        }
        for mode in [
            "finite",
            "infinite",
            "number",
            "notanumber",
            "normal",
            "subnormal",
        ] {
            add(format!("testp.{mode}.{c} #0, #1"), &format!("=pred {c}"));
        }
    }
    // The sign comes from bits: that of a computed NaN is not defined.
    add(
        "mov.b32 %g0, #1; copysign.f32 #0, %g0, #2".to_owned(),
        "=f32 !b32 f32",
    );
    add(
        "mov.b64 %gd0, #1; copysign.f64 #0, %gd0, #2".to_owned(),
        "=f64 !b64 f64",
    );
    for suffix in each(&[&["min", "max"], &["", ".ftz"], &["", ".NaN"]]) {
        add(
            format!("mov.b32 %g0, #1; mov.b32 %g1, #2; {suffix}.xorsign.abs.f32 #0, %g0, %g1"),
            "=f32 !b32 !b32",
        );
    }
    forms
}
