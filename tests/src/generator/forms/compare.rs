//! Comparisons and selections.

use super::super::form::Form;
use super::{INTEGERS, each};

const ORDERED: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const FLOAT: [&str; 14] = [
    "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
];

/// Types that can be compared, the class of their registers and their comparisons.
fn compared() -> Vec<(String, &'static str, Vec<&'static str>)> {
    let mut all = Vec::new();
    for (ty, c) in INTEGERS {
        let mut comparisons = ORDERED.to_vec();
        if ty.starts_with('u') {
            comparisons.extend(["lo", "ls", "hi", "hs"]);
        }
        all.push((ty.to_owned(), c, comparisons));
    }
    for c in ["b16", "b32", "b64"] {
        all.push((c.to_owned(), c, vec!["eq", "ne"]));
    }
    for c in ["f32", "f64", "f16"] {
        all.push((c.to_owned(), c, FLOAT.to_vec()));
    }
    all
}

pub(super) fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add = |template: String, slots: &str| forms.push(Form::new(template, slots));
    for (ty, c, comparisons) in compared() {
        let flush: &[&str] = if matches!(c, "f32" | "f16") {
            &["", ".ftz"]
        } else {
            &[""]
        };
        for (i, comparison) in comparisons.iter().enumerate() {
            for ftz in flush {
                let head = format!("setp.{comparison}");
                add(
                    format!("{head}{ftz}.{ty} #0, #1, #2"),
                    &format!("=pred {c} {c}"),
                );
                add(
                    format!("{head}{ftz}.{ty} #0|#1, #2, #3"),
                    &format!("=pred =pred {c} {c}"),
                );
                let logic = ["and", "or", "xor"][i % 3];
                add(
                    format!("{head}.{logic}{ftz}.{ty} #0|#1, #2, #3, #4"),
                    &format!("=pred =pred {c} {c} ?pred"),
                );
                for (result, class) in [("u32", "b32"), ("s32", "b32"), ("f32", "f32")] {
                    add(
                        format!("set.{comparison}{ftz}.{result}.{ty} #0, #1, #2"),
                        &format!("={class} {c} {c}"),
                    );
                }
                add(
                    format!("set.{comparison}.{logic}{ftz}.u32.{ty} #0, #1, #2, #3"),
                    &format!("=b32 {c} {c} ?pred"),
                );
            }
        }
    }
    for comparison in FLOAT {
        for ftz in each(&[&["", ".ftz"]]) {
            add(
                format!("setp.{comparison}{ftz}.f16x2 #0|#1, #2, #3"),
                "=pred =pred f16x2 f16x2",
            );
            add(
                format!("set.{comparison}{ftz}.f16x2.f16x2 #0, #1, #2"),
                "=f16x2 f16x2 f16x2",
            );
            add(
                format!("set.{comparison}{ftz}.f16.f16 #0, #1, #2"),
                "=f16 f16 f16",
            );
        }
    }
    for (ty, c) in [
        ("b16", "b16"),
        ("b32", "b32"),
        ("b64", "b64"),
        ("u16", "b16"),
        ("s16", "b16"),
        ("u32", "b32"),
        ("s32", "b32"),
        ("u64", "b64"),
        ("s64", "b64"),
        ("f32", "f32"),
        ("f64", "f64"),
        ("b16", "f16"),
        ("b32", "f16x2"),
        ("b16", "bf16"),
    ] {
        add(
            format!("selp.{ty} #0, #1, #2, #3"),
            &format!("={c} {c} {c} !pred"),
        );
        add(
            format!("slct.{ty}.s32 #0, #1, #2, #3"),
            &format!("={c} {c} {c} b32"),
        );
        for ftz in ["", ".ftz"] {
            add(
                format!("slct{ftz}.{ty}.f32 #0, #1, #2, #3"),
                &format!("={c} {c} {c} f32"),
            );
        }
    }
    forms
}
