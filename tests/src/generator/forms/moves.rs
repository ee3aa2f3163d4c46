//! Moves between registers of different classes, packing and unpacking, special registers.

use super::super::form::Form;

/// Names of registers that are the same on all devices.
const SPECIAL: [&str; 14] = [
    "%tid.x",
    "%tid.y",
    "%ntid.x",
    "%ntid.z",
    "%ctaid.x",
    "%ctaid.y",
    "%nctaid.x",
    "%nctaid.z",
    "%laneid",
    "%lanemask_eq",
    "%lanemask_lt",
    "%lanemask_le",
    "%lanemask_gt",
    "%lanemask_ge",
];

pub(super) fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add = |template: &str, slots: &str| forms.push(Form::new(template, slots));
    for name in SPECIAL {
        add(&format!("mov.u32 #0, {name}"), "=b32");
    }
    // Within a class.
    for (ty, c) in [
        ("u16", "b16"),
        ("s32", "b32"),
        ("b64", "b64"),
        ("f32", "f32"),
        ("f64", "f64"),
        ("b16", "f16"),
        ("b16", "bf16"),
        ("b32", "f16x2"),
        ("b32", "bf16x2"),
    ] {
        add(&format!("mov.{ty} #0, #1"), &format!("={c} {c}"));
    }
    add("mov.pred #0, #1", "=pred !pred");
    // Any bits may become a float.
    for (ty, from, to) in [
        ("b16", "b16", "f16"),
        ("b16", "b16", "bf16"),
        ("b32", "b32", "f16x2"),
        ("b32", "b32", "bf16x2"),
        ("b32", "b32", "f32"),
        ("b64", "b64", "f64"),
    ] {
        add(&format!("mov.{ty} #0, #1"), &format!("={to} !{from}"));
    }
    // Registers have widths, not types: constants and instructions of one kind on registers of the other.
    for (ty, from, to) in [("b32", "b32", "f32"), ("b64", "b64", "f64")] {
        add(&format!("mov.{ty} #0, #1"), &format!("={to} {from}"));
        add(
            &format!("selp.{ty} #0, #1, #2, #3"),
            &format!("={to} {from} {from} !pred"),
        );
        let sign = if ty == "b32" {
            "0x80000000"
        } else {
            "0x8000000000000000"
        };
        for op in ["xor", "or"] {
            add(
                &format!("{op}.{ty} #0, #1, {sign}"),
                &format!("={to} !{to}"),
            );
        }
        for instruction in [
            "add.#t #f, #0, #1",
            "mul.rz.#t #f, #0, #1",
            "fma.rn.#t #f, #0, #1, #0",
            "div.rp.#t #f, #1, #0",
            "max.#t #f, #0, #1",
        ] {
            let (temporary, scratch, infinity, nan) = if ty == "b32" {
                ("%t0", "%t1", "0x7f800000", "0x7fc00000")
            } else {
                ("%u0", "%u1", "0x7ff0000000000000", "0x7ff8000000000000")
            };
            let width = &ty[1..];
            let instruction = instruction.replace("#t", to).replace("#f", temporary);
            add(
                &format!(
                    "{instruction}; add.u{width} {scratch}, {temporary}, {temporary}; shr.u{width} {scratch}, {scratch}, 1; \
                     setp.gt.u{width} %q0, {scratch}, {infinity}; selp.{ty} #2, {nan}, {temporary}, %q0"
                ),
                &format!("!{from} !{from} ={from}"),
            );
        }
        let size = if ty == "b32" { 4 } else { 8 };
        add(
            &format!("ld.global.{to} #0, [%gs+#1]"),
            &format!("={from} imm:0:{}:{size}", 64 - size),
        );
        add(
            &format!("st.global.{to} [%gs+#1], #0"),
            &format!("!{from} imm:0:{}:{size}", 64 - size),
        );
    }
    // A float becomes bits with one NaN for all.
    add(
        "mov.b32 %t0, #1; and.b32 %t1, %t0, 0x7fffffff; setp.gt.u32 %q0, %t1, 0x7f800000; selp.b32 #0, 0x7fc00000, %t0, %q0",
        "=b32 !f32",
    );
    add(
        "setp.nan.f32 %q0, #1, #1; selp.f32 %t0, 0f7FC00000, #1, %q0; mov.b32 #0, %t0",
        "=b32 !f32",
    );
    add(
        "mov.b64 %u0, #1; setp.nan.f64 %q0, #1, #1; selp.b64 #0, 0x7ff8000000000000, %u0, %q0",
        "=b64 !f64",
    );
    for (class, infinity, nan) in [("f16", "0x7c00", "0x7e00"), ("bf16", "0x7f80", "0x7fc0")] {
        add(
            &format!(
                "mov.b16 %s0, #1; and.b16 %s1, %s0, 0x7fff; setp.gt.u16 %q0, %s1, {infinity}; selp.b16 #0, {nan}, %s0, %q0"
            ),
            &format!("=b16 !{class}"),
        );
        add(
            &format!(
                "mov.b32 {{%s0, %s1}}, #1; and.b16 %s2, %s0, 0x7fff; setp.gt.u16 %q0, %s2, {infinity}; selp.b16 %s0, {nan}, %s0, %q0; \
                 and.b16 %s2, %s1, 0x7fff; setp.gt.u16 %q0, %s2, {infinity}; selp.b16 %s1, {nan}, %s1, %q0; mov.b32 #0, {{%s0, %s1}}"
            ),
            &format!("=b32 !{class}x2"),
        );
        add(
            "mov.b32 #0, {#1, #2}",
            &format!("={class}x2 !{class} !{class}"),
        );
        add(
            "mov.b32 {#0, #1}, #2",
            &format!("={class} ={class} !{class}x2"),
        );
    }
    // Packing and unpacking.
    add("mov.b32 #0, {#1, #2}", "=b32 !b16 !b16");
    add("mov.b32 {#0, #1}, #2", "=b16 =b16 !b32");
    add("mov.b64 #0, {#1, #2}", "=b64 !b32 !b32");
    add("mov.b64 {#0, #1}, #2", "=b32 =b32 !b64");
    add("mov.b64 {_, #0}, #1", "=b32 !b64");
    add("mov.b64 {#0, _}, #1", "=b32 !b64");
    add("mov.b64 #0, {#1, #2, #3, #4}", "=b64 !b16 !b16 !b16 !b16");
    add("mov.b64 {#0, #1, #2, #3}, #4", "=b16 =b16 =b16 =b16 !b64");
    add("mov.b64 #0, {#1, #2}", "=f64 !b32 !b32");
    forms
}
