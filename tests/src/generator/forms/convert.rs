//! `cvt` between all pairs of types.

use super::super::form::Form;
use super::each;

/// Integer types with the classes that may hold them.
const INTEGERS: [(&str, &[&str]); 8] = [
    ("u8", &["b16", "b32", "b64"]),
    ("s8", &["b16", "b32", "b64"]),
    ("u16", &["b16", "b32", "b64"]),
    ("s16", &["b16", "b32", "b64"]),
    ("u32", &["b32", "b64"]),
    ("s32", &["b32", "b64"]),
    ("u64", &["b64"]),
    ("s64", &["b64"]),
];

const FLOATS: [&str; 3] = ["f16", "f32", "f64"];

pub(super) fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add = |template: String, slots: &str| forms.push(Form::new(template, slots));
    for (to, to_classes) in INTEGERS {
        for (from, from_classes) in INTEGERS {
            for sat in ["", ".sat"] {
                for d in to_classes {
                    for a in from_classes {
                        add(
                            format!("cvt{sat}.{to}.{from} #0, #1"),
                            &format!("={d} !{a}"),
                        );
                    }
                }
            }
        }
        for from in FLOATS {
            let flush: &[&str] = if from == "f32" { &["", ".ftz"] } else { &[""] };
            for suffix in each(&[&[".rni", ".rzi", ".rmi", ".rpi"], flush, &["", ".sat"]]) {
                for d in to_classes {
                    add(
                        format!("cvt{suffix}.{to}.{from} #0, #1"),
                        &format!("={d} !{from}"),
                    );
                }
            }
        }
    }
    for (from, classes) in INTEGERS {
        for to in FLOATS {
            for suffix in each(&[&[".rn", ".rz", ".rm", ".rp"], &["", ".sat"]]) {
                for a in classes {
                    add(
                        format!("cvt{suffix}.{to}.{from} #0, #1"),
                        &format!("={to} !{a}"),
                    );
                }
            }
        }
    }
    let modes: &[&str] = &[".rn", ".rz", ".rm", ".rp"];
    let integral: &[&str] = &[".rni", ".rzi", ".rmi", ".rpi"];
    for (to, from, modes, flush) in [
        ("f16", "f16", integral, &[""][..]),
        ("f32", "f32", integral, &["", ".ftz"][..]),
        ("f64", "f64", integral, &[""][..]),
        ("f32", "f16", &[""][..], &["", ".ftz"][..]),
        ("f64", "f16", &[""][..], &[""][..]),
        ("f64", "f32", &[""][..], &["", ".ftz"][..]),
        ("f16", "f32", modes, &["", ".ftz"][..]),
        ("f16", "f64", modes, &[""][..]),
        ("f32", "f64", modes, &["", ".ftz"][..]),
        ("f16", "f16", &[""][..], &[""][..]),
        ("f32", "f32", &[""][..], &["", ".ftz"][..]),
        ("f64", "f64", &[""][..], &[""][..]),
    ] {
        for suffix in each(&[modes, flush, &["", ".sat"]]) {
            add(
                format!("cvt{suffix}.{to}.{from} #0, #1"),
                &format!("={to} !{from}"),
            );
        }
    }
    for suffix in each(&[&[".rn", ".rz"], &["", ".relu"]]) {
        add(format!("cvt{suffix}.bf16.f32 #0, #1"), "=bf16 !f32");
        add(
            format!("cvt{suffix}.f16x2.f32 #0, #1, #2"),
            "=f16x2 !f32 !f32",
        );
        add(
            format!("cvt{suffix}.bf16x2.f32 #0, #1, #2"),
            "=bf16x2 !f32 !f32",
        );
        add(format!("cvt{suffix}.f16.f32 #0, #1"), "=f16 !f32");
    }
    for ty in ["u16", "s16", "u8", "s8"] {
        if ty.ends_with('6') {
            add(format!("cvt.pack.sat.{ty}.s32 #0, #1, #2"), "=b32 b32 b32");
        } else {
            add(
                format!("cvt.pack.sat.{ty}.s32.b32 #0, #1, #2, #3"),
                "=b32 b32 b32 b32",
            );
        }
    }
    forms
}
