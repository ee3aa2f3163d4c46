//! Loads and stores in the thread's own places of each space, and reads of constants and parameters.
//!
//! A thread's place is an area of bytes for integers, then areas for floats of each format; see [`super::super::render::AREA`].

use super::super::form::Form;

/// Spaces and the register with the address of the thread's place.
pub(super) const PLACES: [(&str, &str); 6] = [
    (".global", "%gs"),
    ("", "%gs"),
    (".shared", "%ss"),
    ("", "%sg"),
    (".local", "%ls"),
    ("", "%lg"),
];

/// Float classes with their area: first byte, bytes.
const FLOATS: [(&str, &str, u64, u64, u64); 4] = [
    ("f32", "f32", 64, 16, 4),
    ("f64", "f64", 80, 16, 8),
    ("f16", "b16", 96, 8, 2),
    ("bf16", "b16", 104, 8, 2),
];

pub(super) fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add = |template: String, slots: &str| forms.push(Form::new(template, slots));
    for (i, (space, base)) in PLACES.into_iter().enumerate() {
        for (bits, classes) in [
            (8, &["b16", "b32", "b64"][..]),
            (16, &["b16", "b32", "b64"][..]),
            (32, &["b32", "b64"][..]),
            (64, &["b64"][..]),
        ] {
            let size = bits / 8;
            let at = format!("imm:0:{}:{size}", 64 - size);
            for c in classes {
                for kind in ["u", "s", "b"] {
                    add(
                        format!("ld{space}.{kind}{bits} #0, [{base}+#1]"),
                        &format!("={c} {at}"),
                    );
                    add(
                        format!("st{space}.{kind}{bits} [{base}+#1], #0"),
                        &format!("!{c} {at}"),
                    );
                }
                let address = if base == "%ss" {
                    format!("and.b32 %t0, #1, {}; add.u32 %t0, %t0, {base}", 64 - size)
                } else {
                    format!(
                        "and.b32 %t1, #1, {}; cvt.u64.u32 %u0, %t1; add.s64 %u0, %u0, {base}",
                        64 - size
                    )
                };
                let register = if base == "%ss" { "%t0" } else { "%u0" };
                let order = ["", ".volatile", ".relaxed.gpu", ".acquire.cta", ""][(i + bits) % 5];
                add(
                    format!("{address}; ld{order}{space}.u{bits} #0, [{register}]"),
                    &format!("={c} b32"),
                );
                let order = ["", ".volatile", ".relaxed.cta", ".release.gpu", ""][(i + bits) % 5];
                add(
                    format!("{address}; st{order}{space}.u{bits} [{register}], #0"),
                    &format!("!{c} b32"),
                );
            }
            let c = classes[i % classes.len()];
            for count in [2, 4] {
                let bytes = size * count;
                if bytes > 16 {
                    continue;
                }
                let at = format!("imm:0:{}:{bytes}", 64 - bytes);
                let list = |first: usize| {
                    (first..first + count)
                        .map(|i| format!("#{i}"))
                        .collect::<Vec<_>>()
                        .join(", ")
                };
                let kind = ["u", "s", "b"][(i + count) % 3];
                add(
                    format!(
                        "ld{space}.v{count}.{kind}{bits} {{{}}}, [{base}+#0]",
                        list(1)
                    ),
                    &format!("{at} {}", format!("={c} ").repeat(count)),
                );
                add(
                    format!(
                        "st{space}.v{count}.{kind}{bits} [{base}+#0], {{{}}}",
                        list(1)
                    ),
                    &format!("{at} {}", format!("!{c} ").repeat(count)),
                );
            }
        }
        for (c, ty, first, bytes, size) in FLOATS {
            let at = format!("imm:{first}:{}:{size}", first + bytes - size);
            add(
                format!("ld{space}.{ty} #0, [{base}+#1]"),
                &format!("={c} {at}"),
            );
            add(
                format!("st{space}.{ty} [{base}+#1], #0"),
                &format!("!{c} {at}"),
            );
            let pair = format!("imm:{first}:{}:{}", first + bytes - 2 * size, 2 * size);
            add(
                format!("ld{space}.v2.{ty} {{#1, #2}}, [{base}+#0]"),
                &format!("{pair} ={c} ={c}"),
            );
            add(
                format!("st{space}.v2.{ty} [{base}+#0], {{#1, #2}}"),
                &format!("{pair} !{c} !{c}"),
            );
        }
    }
    add(
        "ld.shared.v4.f32 {#0, #1, #2, #3}, [%ss+64]".to_owned(),
        "=f32 =f32 =f32 =f32",
    );
    add(
        "st.global.v4.f32 [%gs+64], {#0, #1, #2, #3}".to_owned(),
        "!f32 !f32 !f32 !f32",
    );
    // What all threads read.
    add(
        "mov.u64 %u0, constants; and.b32 %t0, #1, 60; cvt.u64.u32 %u1, %t0; add.s64 %u0, %u0, %u1; ld.const.b32 #0, [%u0]".to_owned(),
        "=b32 b32",
    );
    add(
        "ld.const.b64 #0, [constants+#1]".to_owned(),
        "=b64 imm:0:56:8",
    );
    add(
        "ld.global.v2.b32 {#0, #1}, [variables+#2]".to_owned(),
        "=b32 =b32 imm:0:56:8",
    );
    forms
}
