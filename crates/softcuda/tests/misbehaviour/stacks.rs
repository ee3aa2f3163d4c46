//! Recursion without end, and stacks too small for what is called.

use crate::common::*;
use crate::kind::{Kernel, Kind, load};
use crate::{no, ok};

use CUresult as C;

const OVERFLOW: &[&str] = &["stack overflow: a chain of calls needs more than the"];

/// `name(n)` is 0 for n = 0, else 1 + `next(n - 1)`, with `bytes` bytes of local memory, and calls `call`.
fn counting(name: &str, call: &str, bytes: u32) -> String {
    format!(
        ".visible .func (.param .b32 r) {name}(.param .b32 n)\n{{\n.reg .pred %p; .reg .b32 %x<6>; .reg .b64 %y<4>;\n\
         .local .align 8 .b8 frame[{bytes}];\n\
         ld.param.b32 %x1, [n]; st.local.u32 [frame], %x1; setp.eq.u32 %p, %x1, 0; @%p bra ZERO; sub.u32 %x2, %x1, 1;\n\
         {call}\n\
         ld.local.u32 %x4, [frame]; sub.u32 %x5, %x1, %x4; add.u32 %x3, %x3, %x5; add.u32 %x3, %x3, 1;\n\
         st.param.b32 [r], %x3; ret;\nZERO: st.param.b32 [r], 0; ret;\n}}\n"
    )
}

fn direct_call(of: &str) -> String {
    format!(
        "{{ .param .b32 p0; .param .b32 r0; st.param.b32 [p0], %x2; call (r0), {of}, (p0); ld.param.b32 %x3, [r0]; }}"
    )
}

fn declared(name: &str) -> String {
    format!(".visible .func (.param .b32 r) {name}(.param .b32 n);\n")
}

/// Calls `f` with `n` and leaves the result in `%r7`.
fn start(n: u32) -> String {
    format!(
        "{{ .param .b32 p0; .param .b32 r0; st.param.b32 [p0], {n}; call (r0), f, (p0); ld.param.b32 %r7, [r0]; }}"
    )
}

const FOR_EVER: u32 = u32::MAX;

pub(crate) fn kinds() -> Vec<Kind> {
    let own = declared("f") + &counting("f", &direct_call("f"), 16);
    let mutual = declared("f")
        + &declared("g")
        + &counting("f", &direct_call("g"), 16)
        + &counting("g", &direct_call("f"), 32);
    let pointer = declared("f")
        + &counting(
            "f",
            "{ .param .b32 p0; .param .b32 r0; mov.u64 %y1, f; st.param.b32 [p0], %x2;\n\
             shape: .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (r0), %y1, (p0), shape; ld.param.b32 %x3, [r0]; }",
            16,
        );
    let big = declared("f") + &counting("f", &direct_call("f"), 40_000);
    let store = "st.global.u32 [%q], %r7;";
    vec![
        Kernel::new("stacks::a_function_that_calls_itself", start(FOR_EVER))
            .module(&*own)
            .somewhere()
            .fails(C::HARDWARE_STACK_ERROR, OVERFLOW)
            .into(),
        Kernel::new(
            "stacks::two_functions_that_call_each_other",
            start(FOR_EVER),
        )
        .module(mutual)
        .somewhere()
        .fails(C::HARDWARE_STACK_ERROR, OVERFLOW)
        .into(),
        Kernel::new(
            "stacks::a_function_that_calls_itself_by_its_address",
            start(FOR_EVER),
        )
        .module(pointer)
        .somewhere()
        .fails(C::HARDWARE_STACK_ERROR, OVERFLOW)
        .into(),
        Kernel::new("stacks::every_thread_at_once", start(FOR_EVER))
            .module(&*own)
            .everybody(64, 256)
            .fails(C::HARDWARE_STACK_ERROR, OVERFLOW)
            .into(),
        Kernel::new("stacks::large_local_arrays", start(30))
            .module(&*big)
            .somewhere()
            .limit(CUlimit::STACK_SIZE, 256 << 10)
            .fails(C::HARDWARE_STACK_ERROR, OVERFLOW)
            .into(),
        Kernel::new(
            "stacks::large_local_arrays_with_a_stack_that_holds_them",
            start(11) + store,
        )
        .module(&*big)
        .limit(CUlimit::STACK_SIZE, 500 << 10)
        .ends_well(&[11])
        .into(),
        Kernel::new("stacks::deep_recursion_on_the_default_stack", start(1000))
            .module(&*own)
            .somewhere()
            .fails(C::HARDWARE_STACK_ERROR, OVERFLOW)
            .into(),
        Kernel::new(
            "stacks::deep_recursion_with_a_stack_that_holds_it",
            start(1000) + store,
        )
        .module(&*own)
        .limit(CUlimit::STACK_SIZE, 128 << 10)
        .ends_well(&[1000])
        .into(),
        // The host's stack is the limit here: each call of a device function costs some of that too.
        Kernel::new("stacks::the_largest_stack_there_is", start(FOR_EVER))
            .module(&*own)
            .somewhere()
            .limit(CUlimit::STACK_SIZE, 512 << 10)
            .fails(C::HARDWARE_STACK_ERROR, OVERFLOW)
            .into(),
        Kind::calls("stacks::a_larger_stack_than_hardware_gives", || {
            no!(
                INVALID_VALUE,
                cuCtxSetLimit(CUlimit::STACK_SIZE, (512 << 10) + 1)
            );
            let mut stack = 0;
            ok!(cuCtxGetLimit(&mut stack, CUlimit::STACK_SIZE));
            assert_eq!(stack, 1024, "unchanged");
        }),
        Kind::calls("stacks::more_local_memory_than_hardware_gives", || {
            for bytes in [
                (512u64 << 10) + 16,
                1 << 31,
                u64::from(u32::MAX) - 3,
                1 << 40,
                u64::MAX,
            ] {
                let (code, _) = load(&format!(
                    ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k() {{ .local .align 8 .b8 a[{bytes}]; \
                     .reg .u64 %d; mov.u64 %d, a; st.local.u32 [%d], 1; ret; }}\n"
                ));
                assert_eq!(code, C::INVALID_PTX, "{bytes}");
                let text = last_error().expect("failed");
                assert!(
                    text.contains("local memory") || text.contains("number"),
                    "{text}"
                );
            }
        }),
    ]
}
