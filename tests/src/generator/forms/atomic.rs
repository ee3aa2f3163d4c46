//! Atomic operations: on the thread's own places, where results are certain, and on places of all threads with operations whose order does not matter.

use super::super::form::Form;
use super::memory::PLACES;

pub(super) fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add = |template: String, slots: &str| forms.push(Form::new(template, slots));
    let orders = [
        "",
        ".relaxed.cta",
        ".acq_rel.gpu",
        ".acquire.gpu",
        ".release.cta",
    ];
    let mut turn = 0;
    for (space, base) in PLACES.into_iter().take(4) {
        for (op, types) in [
            ("add", &["u32", "s32", "u64"][..]),
            ("min", &["u32", "s32", "u64", "s64"]),
            ("max", &["u32", "s32", "u64", "s64"]),
            ("inc", &["u32"]),
            ("dec", &["u32"]),
            ("and", &["b32", "b64"]),
            ("or", &["b32", "b64"]),
            ("xor", &["b32", "b64"]),
            ("exch", &["b32", "b64"]),
        ] {
            for ty in types {
                turn += 1;
                let order = orders[turn % orders.len()];
                let (c, size) = if ty.ends_with("64") {
                    ("b64", 8)
                } else {
                    ("b32", 4)
                };
                let at = format!("imm:0:{}:{size}", 64 - size);
                add(
                    format!("atom{order}{space}.{op}.{ty} #0, [{base}+#1], #2"),
                    &format!("={c} {at} {c}"),
                );
                if op != "exch" {
                    let order = if order.contains("acq") { "" } else { order };
                    add(
                        format!("red{order}{space}.{op}.{ty} [{base}+#0], #1"),
                        &format!("{at} {c}"),
                    );
                }
            }
        }
        for (c, size) in [("b32", 4), ("b64", 8)] {
            let at = format!("imm:0:{}:{size}", 64 - size);
            add(
                format!("atom{space}.cas.{c} #0, [{base}+#1], #2, #3"),
                &format!("={c} {at} {c} {c}"),
            );
            // One that succeeds.
            add(
                format!(
                    "ld{space}.{c} #0, [{base}+#1]; atom{space}.cas.{c} #0, [{base}+#1], #0, #2"
                ),
                &format!("={c} {at} {c}"),
            );
        }
        add(
            format!("atom{space}.add.f32 #0, [{base}+#1], #2"),
            "=f32 imm:64:76:4 f32",
        );
        add(
            format!("atom{space}.add.f64 #0, [{base}+#1], #2"),
            "=f64 imm:80:88:8 f64",
        );
        add(
            format!("red{space}.add.f32 [{base}+#0], #1"),
            "imm:64:76:4 f32",
        );
    }
    for (i, (op, ty)) in TOTALS.iter().enumerate() {
        let c = if ty.ends_with("64") { "b64" } else { "b32" };
        add(format!("red.global.{op}.{ty} [%tot+{}], #0", 8 * i), c);
        add(
            format!(
                "atom.global.{op}.{ty} %{}0, [%tot+{}], #0",
                if c == "b64" { "u" } else { "t" },
                8 * i
            ),
            c,
        );
    }
    forms
}

/// The operation of each place that all threads change.
const TOTALS: [(&str, &str); 12] = [
    ("add", "u32"),
    ("add", "u64"),
    ("min", "s32"),
    ("min", "u32"),
    ("min", "s64"),
    ("max", "u32"),
    ("max", "s32"),
    ("max", "u64"),
    ("and", "b32"),
    ("or", "b64"),
    ("xor", "b32"),
    ("xor", "b64"),
];
