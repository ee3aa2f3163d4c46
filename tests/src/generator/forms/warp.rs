//! What threads of a warp or a block do together. The threads do not diverge here.

use super::super::form::Form;

/// A mark of forms that read the lanes of a whole warp: blocks with partial warps leave them out.
pub(in super::super) const WHOLE_WARPS: &str = "shfl";

pub(super) fn forms() -> Vec<Form> {
    let mut forms = vec![Form::new("bar.sync 0", "")];
    let mut add = |template: String, slots: &str| forms.push(Form::new(template, slots));
    add("barrier.sync 3".to_owned(), "");
    add("bar.warp.sync -1".to_owned(), "");
    // The value of another thread, through shared memory.
    for barrier in ["bar.sync 0", "barrier.sync.aligned 1"] {
        add(
            format!(
                "st.shared.b32 [%sx], #1; {barrier}; add.u32 %t0, %tid, #2; rem.u32 %t0, %t0, %ntid; shl.b32 %t0, %t0, 2; \
                 add.u32 %t0, %t0, %sb; ld.shared.b32 #0, [%t0]; {barrier}"
            ),
            "=b32 !b32 imm:1:40:1",
        );
    }
    add("bar.red.popc.u32 #0, 0, #1".to_owned(), "=b32 ?pred");
    add("bar.red.and.pred #0, 1, #1".to_owned(), "=pred ?pred");
    add("barrier.red.or.pred #0, 2, #1".to_owned(), "=pred ?pred");
    for (mode, c) in [
        ("up", "0"),
        ("up", "0x1800"),
        ("up", "0x1c00"),
        ("down", "31"),
        ("down", "0x181f"),
        ("bfly", "31"),
        ("bfly", "0x1c1f"),
        ("idx", "31"),
        ("idx", "0x101f"),
        ("idx", "0x1807"),
    ] {
        add(
            format!("shfl.sync.{mode}.b32 #0, #1, #2, {c}, -1"),
            "=b32 !b32 b32",
        );
        add(
            format!("shfl.sync.{mode}.b32 #0|#1, #2, #3, {c}, -1"),
            "=b32 =pred !b32 imm:0:33:1",
        );
    }
    add(
        "shfl.sync.idx.b32 #0|#1, #2, #3, #4, -1".to_owned(),
        "=b32 =pred !b32 b32 b32",
    );
    add(
        "shfl.sync.bfly.b32 #0, #1, #2, 31, -1".to_owned(),
        "=f32 !f32 imm:0:31:1",
    );
    for mode in ["all", "any", "uni"] {
        add(format!("vote.sync.{mode}.pred #0, #1, -1"), "=pred ?pred");
    }
    add("vote.sync.ballot.b32 #0, #1, -1".to_owned(), "=b32 ?pred");
    for c in ["b32", "b64"] {
        add(
            format!("match.any.sync.{c} #0, #1, -1"),
            &format!("=b32 !{c}"),
        );
        add(
            format!("match.all.sync.{c} #0|#1, #2, -1"),
            &format!("=b32 =pred !{c}"),
        );
    }
    for operation in [
        "add.u32", "min.u32", "max.u32", "add.s32", "min.s32", "max.s32", "and.b32", "or.b32",
        "xor.b32",
    ] {
        add(format!("redux.sync.{operation} #0, #1, -1"), "=b32 !b32");
        // By the threads of which a predicate holds.
        add(
            format!("vote.sync.ballot.b32 %t0, #2, -1; @#2 redux.sync.{operation} #0, #1, %t0"),
            "=b32 !b32 !pred",
        );
    }
    add(
        "vote.sync.ballot.b32 %t0, #2, -1; @#2 match.any.sync.b32 #0, #1, %t0; bar.warp.sync -1"
            .to_owned(),
        "=b32 !b32 !pred",
    );
    forms
}
