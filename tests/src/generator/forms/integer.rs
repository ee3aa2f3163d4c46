//! Integer arithmetic.

use super::super::form::Form;
use super::INTEGERS;

pub(super) fn forms() -> Vec<Form> {
    let mut forms = vec![Form::new("mov.b32 #0, #1", "=b32 b32")];
    let mut add = |template: String, slots: &str| forms.push(Form::new(template, slots));
    for (ty, c) in INTEGERS {
        let two = format!("={c} {c} {c}");
        for op in ["add", "sub", "mul.lo", "mul.hi", "min", "max"] {
            add(format!("{op}.{ty} #0, #1, #2"), &two);
        }
        let three = format!("={c} {c} {c} {c}");
        for op in ["mad.lo", "mad.hi", "sad"] {
            add(format!("{op}.{ty} #0, #1, #2, #3"), &three);
        }
        for op in ["div", "rem"] {
            if c == "b64" {
                // What 64-bit division by zero gives is not specified.
                add(
                    format!(
                        "setp.eq.u64 %q0, #2, 0; selp.b64 %u0, 3, #2, %q0; {op}.{ty} #0, #1, %u0"
                    ),
                    &two,
                );
            } else {
                add(format!("{op}.{ty} #0, #1, #2"), &two);
            }
        }
        if ty.starts_with('s') {
            add(format!("neg.{ty} #0, #1"), &format!("={c} {c}"));
            add(format!("abs.{ty} #0, #1"), &format!("={c} {c}"));
        }
    }
    for (ty, c, wide) in [
        ("u16", "b16", "b32"),
        ("s16", "b16", "b32"),
        ("u32", "b32", "b64"),
        ("s32", "b32", "b64"),
    ] {
        add(
            format!("mul.wide.{ty} #0, #1, #2"),
            &format!("={wide} {c} {c}"),
        );
        add(
            format!("mad.wide.{ty} #0, #1, #2, #3"),
            &format!("={wide} {c} {c} {wide}"),
        );
    }
    for ty in ["u32", "s32"] {
        for part in ["lo", "hi"] {
            add(format!("mul24.{part}.{ty} #0, #1, #2"), "=b32 b32 b32");
            add(
                format!("mad24.{part}.{ty} #0, #1, #2, #3"),
                "=b32 b32 b32 b32",
            );
        }
    }
    for op in ["add.sat.s32", "sub.sat.s32"] {
        add(format!("{op} #0, #1, #2"), "=b32 b32 b32");
    }
    for op in ["mad.hi.sat.s32", "mad24.hi.sat.s32"] {
        add(format!("{op} #0, #1, #2, #3"), "=b32 b32 b32 b32");
    }
    // Chains: the carry runs through all instructions of a form.
    for (ty, c) in [
        ("u32", "b32"),
        ("s32", "b32"),
        ("u64", "b64"),
        ("s64", "b64"),
    ] {
        let six = format!("={c} ={c} {c} {c} {c} {c}");
        for op in ["add", "sub"] {
            add(
                format!("{op}.cc.{ty} #0, #2, #3; {op}c.{ty} #1, #4, #5"),
                &six,
            );
            add(
                format!("{op}.cc.{ty} #0, #2, #3; {op}c.cc.{ty} #0, #0, #4; {op}c.{ty} #1, #5, 0"),
                &six,
            );
        }
        add(
            format!("mad.lo.cc.{ty} #0, #2, #3, #4; madc.hi.{ty} #1, #2, #3, #5"),
            &six,
        );
        add(
            format!(
                "mad.hi.cc.{ty} #0, #2, #3, #4; madc.lo.cc.{ty} #1, #4, #3, #5; addc.{ty} #0, #0, 0"
            ),
            &six,
        );
        add(
            format!(
                "add.cc.{ty} #0, #2, #3; madc.lo.cc.{ty} #1, #4, #5, #0; madc.hi.cc.{ty} #0, #4, #5, #3; subc.{ty} #1, #1, #0"
            ),
            &six,
        );
    }
    forms
}
