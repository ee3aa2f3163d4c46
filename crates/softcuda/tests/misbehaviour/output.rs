//! Traps, assertions, output, and calls through addresses of no function.

use std::sync::{Arc, Mutex};

use crate::common::*;
use crate::kind::{Kernel, Kind};
use crate::ok;

use CUresult as C;

const RUNTIME: &str = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
    .extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);\n\
    .global .align 1 .b8 text[8] = {120, 32, 62, 32, 48, 0, 0, 0};\n\
    .func callee(.param .b32 n) { ret; }\n.global .align 8 .u64 table[2] = {callee, 0};\n";

fn print(format: &str, arguments: &str) -> String {
    format!(
        "{{ .param .b64 p0; .param .b64 p1; .param .b32 r0; st.param.b64 [p0], {format}; st.param.b64 [p1], {arguments};\n\
         call (r0), vprintf, (p0, p1); ld.param.b32 %r7, [r0]; }}\n"
    )
}

/// Calls the function at the address in `%d1`.
const CALL: &str = "{ .param .b32 p0; st.param.b32 [p0], 1;\nshape: .callprototype _ (.param .b32 _);\ncall %d1, (p0), shape; }";

pub(crate) fn kinds() -> Vec<Kind> {
    let kernel =
        |name: &str, body: String| Kernel::new(format!("output::{name}"), body).module(RUNTIME);
    let mut kinds: Vec<Kind> = vec![
        kernel("trap", "trap;".into())
            .fails(C::LAUNCH_FAILED, &["trap instruction executed"])
            .into(),
        kernel("breakpoint", "brkpt;".into()).fails(C::LAUNCH_FAILED, &["brkpt"]).into(),
        kernel(
            "assertion",
            "{ .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4; mov.u64 %d1, text;\n\
             st.param.b64 [p0], %d1; st.param.b64 [p1], %d1; st.param.b32 [p2], 12; st.param.b64 [p3], %d1; st.param.b64 [p4], 1;\n\
             call __assertfail, (p0, p1, p2, p3, p4); }"
                .into(),
        )
        .fails(C::ASSERT, &["device-side assertion failed"])
        .into(),
        kernel(
            "an_assertion_without_texts",
            "{ .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;\n\
             st.param.b64 [p0], 0; st.param.b64 [p1], -1; st.param.b32 [p2], 12; st.param.b64 [p3], 77; st.param.b64 [p4], 1;\n\
             call __assertfail, (p0, p1, p2, p3, p4); }"
                .into(),
        )
        .fails(C::ASSERT, &["device-side assertion failed"])
        .into(),
        kernel("printf_of_a_format_that_is_nowhere", format!("mov.u64 %d1, 0x123456;\n{}", print("%d1", "0")))
            .fails(C::ILLEGAL_ADDRESS, &["0x123456"])
            .into(),
        kernel(
            "printf_of_arguments_that_are_nowhere",
            format!("mov.u64 %d1, form; mov.u64 %d2, 0x123458;\n{}", print("%d1", "%d2")),
        )
        .module(format!("{RUNTIME}.global .align 1 .b8 form[4] = {{37, 100, 0, 0}};"))
        .fails(C::ILLEGAL_ADDRESS, &["a built-in function was given 0x123458"])
        .into(),
        kernel(
            "printf_of_arguments_at_the_end_of_the_address_space",
            format!("mov.u64 %d1, form; mov.u64 %d2, -3;\n{}", print("%d1", "%d2")),
        )
        .module(format!("{RUNTIME}.global .align 1 .b8 form[8] = {{37, 108, 108, 117, 0, 0, 0, 0}};"))
        .fails(C::ILLEGAL_ADDRESS, &["a built-in function was given"])
        .into(),
        kernel("printf_of_no_format", print("0", "0") + "st.global.u32 [%q], %r7;")
            .ends_well(&[u32::MAX])
            .into(),
        kernel("a_null_function", format!("mov.u64 %d1, 0;\n{CALL}"))
            .fails(C::INVALID_PC, &["call through 0x0"])
            .into(),
        kernel("data_as_a_function", format!("mov.u64 %d1, text;\n{CALL}"))
            .fails(C::INVALID_PC, &["call through 0x"])
            .into(),
        kernel("a_function_beyond_the_last", format!("mov.u64 %d1, callee; add.u64 %d1, %d1, 1000;\n{CALL}"))
            .fails(C::INVALID_PC, &["call through 0x"])
            .into(),
        kernel("an_empty_place_of_a_table", format!("ld.global.u64 %d1, [table+8];\n{CALL}"))
            .fails(C::INVALID_PC, &["call through 0x0"])
            .into(),
        kernel("the_full_place_of_a_table", format!("ld.global.u64 %d1, [table];\n{CALL} mov.u32 %r5, 5; st.global.u32 [%q], %r5;"))
            .ends_well(&[5])
            .into(),
        // The only call through an address is in a function that is called itself.
        kernel(
            "a_table_used_in_a_function_only",
            "call through, ();\nmov.u32 %r5, 6; st.global.u32 [%q], %r5;".into(),
        )
        .module(format!(
            "{RUNTIME}.func through() {{ .reg .b64 %d1; ld.global.u64 %d1, [table];\n{CALL} ret; }}"
        ))
        .ends_well(&[6])
        .into(),
        // What this device lacks is told by name.
        kernel("a_function_that_synchronises_by_its_address", format!("mov.u64 %d1, meet;\n{CALL}"))
            .module(format!("{RUNTIME}.func meet(.param .b32 n) {{ bar.sync 0; ret; }}"))
            .fails(C::LAUNCH_FAILED, &["call of `meet` through its address", "not supported"])
            .into(),
        kernel("a_kernel_as_a_function", format!("mov.u64 %d1, guilty;\n{CALL}"))
            .fails(C::INVALID_PC, &["call through 0x"])
            .into(),
    ];
    kinds.push(Kind::calls("output::printf_overflow_is_told_and_no_fault", || {
        // The handler is the process's, so lines of other kernels may come between; none of them begins like these.
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink = Arc::clone(&lines);
        cuprum_softcuda::set_printf_handler(Some(Box::new(move |text| {
            let text = String::from_utf8_lossy(text).into_owned();
            sink.lock().expect("not poisoned").push(text);
        })));
        ok!(cuCtxSetLimit(CUlimit::PRINTF_FIFO_SIZE, 64));
        let (code, module) = crate::kind::load(&format!(
            ".version 7.8\n.target sm_80\n.address_size 64\n{RUNTIME}.visible .entry k() {{ .reg .b32 %r7; .reg .b64 %d1; \
             mov.u64 %d1, text;\n{} ret; }}\n",
            print("%d1", "0")
        ));
        assert!(code.is_success(), "{:?}", last_error());
        let function = crate::kind::look_up(module, "k").1;
        let (none, p) = (std::ptr::null_mut(), std::ptr::null_mut());
        ok!(cuLaunchKernel(function, 10, 1, 1, 100, 1, 1, 0, CUstream::NULL, p, none));
        ok!(cuCtxSynchronize());
        cuprum_softcuda::set_printf_handler(None);
        let lines = lines.lock().expect("not poisoned");
        // 64 bytes hold twelve records of five.
        assert_eq!(lines.iter().filter(|line| *line == "x > 0").count(), 12);
        let told = "[988 records of device printf are lost: the buffer has 64 bytes";
        assert!(lines.iter().any(|line| line.starts_with(told)), "{lines:?}");
    }));
    kinds
}
