//! The device-side heap: exhaustion, which is no fault, and pointers that `malloc` did not give.

use crate::common::*;
use crate::kind::{Kernel, Kind};

use CUresult as C;

const RUNTIME: &str =
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n";

fn allocate(bytes: &str, to: &str) -> String {
    format!(
        "{{ .param .b64 p0; .param .b64 r0; st.param.b64 [p0], {bytes}; call (r0), malloc, (p0); ld.param.b64 {to}, [r0]; }}\n"
    )
}

fn release(pointer: &str) -> String {
    format!("{{ .param .b64 p0; st.param.b64 [p0], {pointer}; call free, (p0); }}\n")
}

fn kernel(name: &str, body: String) -> Kernel {
    Kernel::new(format!("heap::{name}"), body).module(RUNTIME)
}

fn somewhere() -> u64 {
    alloc(256)
}

pub(crate) fn kinds() -> Vec<Kind> {
    let not_given = &["which device-side malloc did not give, or which is free already"];
    vec![
        // Blocks of 1 MiB out of 4 MiB until there is none: four, and null for ever after.
        kernel(
            "exhaustion",
            format!(
                "mov.u32 %r5, 0; mov.u32 %r6, 0;\nMORE: {}\
                 setp.ne.u64 %p2, %d1, 0; @%p2 add.u32 %r5, %r5, 1; @%p2 st.u32 [%d1+1048572], %r5;\n\
                 add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 20; @%p2 bra MORE; st.global.u32 [%q], %r5;",
                allocate("1048576", "%d1")
            ),
        )
        .limit(CUlimit::MALLOC_HEAP_SIZE, 4 << 20)
        .ends_well(&[4])
        .into(),
        kernel(
            "more_than_there_is_memory",
            format!(
                "mov.u64 %d3, -1;\n{}{}or.b64 %d1, %d1, %d2; st.global.u64 [%q], %d1; mov.u32 %r5, 1; st.global.u32 [%q+8], %r5;",
                allocate("%d3", "%d1"),
                allocate("0", "%d2")
            ),
        )
        .ends_well(&[0, 0, 1])
        .into(),
        kernel("free_of_null", format!("mov.u64 %d1, 0;\n{}", release("%d1"))).ends_well(&[]).into(),
        kernel("a_double_free", allocate("64", "%d1") + &release("%d1") + &release("%d1"))
            .fails(C::ILLEGAL_ADDRESS, not_given)
            .into(),
        kernel(
            "free_of_the_middle",
            allocate("64", "%d1") + "add.u64 %d1, %d1, 16;\n" + &release("%d1"),
        )
        .fails(C::ILLEGAL_ADDRESS, not_given)
        .into(),
        kernel("free_of_what_the_host_allocated", release("%a"))
            .at(somewhere)
            .fails(C::ILLEGAL_ADDRESS, not_given)
            .into(),
        kernel("free_of_garbage", format!("mov.u64 %d1, 0x1234567890;\n{}", release("%d1")))
            .fails(C::ILLEGAL_ADDRESS, not_given)
            .into(),
        kernel(
            "use_after_free",
            allocate("4096", "%d1") + &release("%d1") + "st.u32 [%d1], 1;",
        )
        .fails(C::ILLEGAL_ADDRESS, &["illegal write of 4 bytes"])
        .into(),
        kernel("past_the_end_of_a_block", allocate("100", "%d1") + "st.u32 [%d1+100], 1;")
            .fails(C::ILLEGAL_ADDRESS, &["0 bytes past the end of the device-side malloc of 100 bytes"])
            .into(),
        kernel(
            "every_thread_takes_and_gives_back",
            allocate("256", "%d1")
                + "setp.eq.u64 %p2, %d1, 0; @%p2 trap; mov.u32 %r4, %tid.x; st.u32 [%d1], %r4; ld.u32 %r5, [%d1];\n\
                   setp.ne.u32 %p2, %r4, %r5; @%p2 trap;\n"
                + &release("%d1")
                + "atom.global.add.u32 %r5, [%q], 1;",
        )
        .everybody(50, 64)
        .limit(CUlimit::MALLOC_HEAP_SIZE, 1 << 20)
        .ends_well(&[3200])
        .into(),
    ]
}
