//! Arithmetic of `f16` and `bf16`, alone and in pairs.

use super::super::form::Form;
use super::each;

pub(super) fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add = |template: String, slots: &str| forms.push(Form::new(template, slots));
    for c in ["f16", "f16x2"] {
        let two = format!("={c} !{c} !{c}");
        for suffix in each(&[
            &["add", "sub", "mul"],
            &["", ".rn"],
            &["", ".ftz"],
            &["", ".sat"],
        ]) {
            add(format!("{suffix}.{c} #0, #1, #2"), &two);
        }
        for suffix in each(&[&["fma.rn"], &["", ".ftz"], &["", ".sat", ".relu"]]) {
            add(
                format!("{suffix}.{c} #0, #1, #2, #3"),
                &format!("={c} !{c} !{c} !{c}"),
            );
        }
        for suffix in each(&[&["neg", "abs"], &["", ".ftz"]]) {
            add(format!("{suffix}.{c} #0, #1"), &format!("={c} !{c}"));
        }
        for suffix in each(&[&["min", "max"], &["", ".ftz"], &["", ".NaN"]]) {
            add(format!("{suffix}.{c} #0, #1, #2"), &two);
        }
    }
    for c in ["bf16", "bf16x2"] {
        for suffix in ["fma.rn", "fma.rn.relu"] {
            add(
                format!("{suffix}.{c} #0, #1, #2, #3"),
                &format!("={c} !{c} !{c} !{c}"),
            );
        }
        for op in ["neg", "abs"] {
            add(format!("{op}.{c} #0, #1"), &format!("={c} !{c}"));
        }
        for suffix in each(&[&["min", "max"], &["", ".NaN"]]) {
            add(
                format!("{suffix}.{c} #0, #1, #2"),
                &format!("={c} !{c} !{c}"),
            );
        }
    }
    // Signs of operands count, so they come from bits.
    for suffix in each(&[&["min", "max"], &["", ".NaN"]]) {
        for (c, bits, scratch) in [
            ("f16", "b16", "%s"),
            ("bf16", "b16", "%s"),
            ("f16x2", "b32", "%t"),
            ("bf16x2", "b32", "%t"),
        ] {
            add(
                format!(
                    "mov.{bits} {scratch}0, #1; mov.{bits} {scratch}1, #2; {suffix}.xorsign.abs.{c} #0, {scratch}0, {scratch}1"
                ),
                &format!("={c} !{bits} !{bits}"),
            );
        }
    }
    forms
}
