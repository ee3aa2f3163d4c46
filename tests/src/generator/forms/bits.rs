//! Logic, shifts, bit fields, permutations, dot products.

use super::super::form::Form;

pub(super) fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add = |template: String, slots: &str| forms.push(Form::new(template, slots));
    for c in ["b16", "b32", "b64"] {
        for op in ["and", "or", "xor"] {
            add(format!("{op}.{c} #0, #1, #2"), &format!("={c} {c} {c}"));
        }
        add(format!("not.{c} #0, #1"), &format!("={c} {c}"));
        add(format!("shl.{c} #0, #1, #2"), &format!("={c} {c} b32"));
        let width = &c[1..];
        for kind in ["b", "u", "s"] {
            add(
                format!("shr.{kind}{width} #0, #1, #2"),
                &format!("={c} {c} b32"),
            );
        }
    }
    for op in ["and", "or", "xor"] {
        add(format!("{op}.pred #0, #1, #2"), "=pred !pred !pred");
    }
    add("not.pred #0, #1".to_owned(), "=pred !pred");
    for direction in ["l", "r"] {
        for mode in ["wrap", "clamp"] {
            add(
                format!("shf.{direction}.{mode}.b32 #0, #1, #2, #3"),
                "=b32 b32 b32 b32",
            );
        }
    }
    for (ty, c) in [
        ("u32", "b32"),
        ("s32", "b32"),
        ("u64", "b64"),
        ("s64", "b64"),
    ] {
        // Only the low byte of position and length is used; what hardware does with more is not specified.
        add(
            format!("and.b32 %t0, #2, 255; and.b32 %t1, #3, 255; bfe.{ty} #0, #1, %t0, %t1"),
            &format!("={c} {c} b32 b32"),
        );
        add(
            format!("bfe.{ty} #0, #1, #2, #3"),
            &format!("={c} {c} imm:0:70:1 imm:0:70:1"),
        );
        add(format!("bfind.{ty} #0, #1"), &format!("=b32 {c}"));
        add(format!("bfind.shiftamt.{ty} #0, #1"), &format!("=b32 {c}"));
    }
    for c in ["b32", "b64"] {
        add(
            format!("and.b32 %t0, #3, 255; and.b32 %t1, #4, 255; bfi.{c} #0, #1, #2, %t0, %t1"),
            &format!("={c} {c} {c} b32 b32"),
        );
        add(
            format!("bfi.{c} #0, #1, #2, #3, #4"),
            &format!("={c} {c} {c} imm:0:70:1 imm:0:70:1"),
        );
        add(format!("brev.{c} #0, #1"), &format!("={c} {c}"));
        add(format!("popc.{c} #0, #1"), &format!("=b32 {c}"));
        add(format!("clz.{c} #0, #1"), &format!("=b32 {c}"));
    }
    add(
        "and.b32 %t0, #2, 31; fns.b32 #0, #1, %t0, #3".to_owned(),
        "=b32 b32 b32 b32",
    );
    add(
        "fns.b32 #0, #1, #2, #3".to_owned(),
        "=b32 b32 imm:0:31:1 imm:0:33:1",
    );
    add(
        "lop3.b32 #0, #1, #2, #3, #4".to_owned(),
        "=b32 b32 b32 b32 imm:0:255:1",
    );
    for mode in ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"] {
        add(format!("prmt.b32{mode} #0, #1, #2, #3"), "=b32 b32 b32 b32");
    }
    for a in ["u32", "s32"] {
        for b in ["u32", "s32"] {
            add(format!("dp4a.{a}.{b} #0, #1, #2, #3"), "=b32 b32 b32 b32");
            for part in ["lo", "hi"] {
                add(
                    format!("dp2a.{part}.{a}.{b} #0, #1, #2, #3"),
                    "=b32 b32 b32 b32",
                );
            }
        }
    }
    for mode in ["clamp", "wrap"] {
        add(format!("bmsk.{mode}.b32 #0, #1, #2"), "=b32 b32 b32");
        for ty in ["u32", "s32"] {
            add(format!("szext.{mode}.{ty} #0, #1, #2"), "=b32 b32 b32");
        }
    }
    forms
}
