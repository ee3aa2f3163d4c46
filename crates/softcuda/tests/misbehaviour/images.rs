//! Images that are no modules, and modules that no assembler would accept.

use crate::common::*;
use crate::kind::{Kind, computes, load, look_up};
use crate::{no, ok};

use CUresult as C;

const HEADER: &str = ".version 7.8\n.target sm_80\n.address_size 64\n";

/// A text whose load ends with this code and words; the context computes afterwards.
fn refused(
    name: &str,
    text: impl Fn() -> String + Send + 'static,
    code: CUresult,
    words: &'static str,
) -> Kind {
    Kind::calls(format!("images::{name}"), move || {
        let text = text();
        let (found, module) = load(&text);
        let error = last_error().unwrap_or_default();
        let start: String = text.chars().take(300).collect();
        assert_eq!(found, code, "{error}\n{start}");
        assert!(error.contains(words), "{words:?} is not in {error}");
        assert!(module.is_null());
        computes().expect("the context is sound");
    })
}

/// As [`refused`] with `INVALID_PTX`, for a kernel with this body.
fn bad_body(name: &str, body: &'static str, words: &'static str) -> Kind {
    refused(
        name,
        move || format!("{HEADER}.visible .entry k() {{\n.reg .b32 %r<8>;\n{body}\nret;\n}}\n"),
        C::INVALID_PTX,
        words,
    )
}

/// A text that loads, whose kernel `k` cannot be looked up, but whose kernel `good` can.
fn bad_kernel(name: &str, text: &'static str, words: &'static str) -> Kind {
    Kind::calls(format!("images::{name}"), move || {
        let (code, module) = load(&format!(
            "{HEADER}{text}\n.visible .entry good() {{ ret; }}\n"
        ));
        assert!(code.is_success(), "{:?}", last_error());
        assert_eq!(look_up(module, "k").0, C::NOT_SUPPORTED);
        let error = last_error().expect("failed");
        assert!(error.contains(words), "{words:?} is not in {error}");
        assert_eq!(look_up(module, "good").0, C::SUCCESS, "{:?}", last_error());
        computes().expect("the context is sound");
    })
}

/// A text that is odd, but loads, and whose kernel `k` can be looked up and runs.
fn odd(name: &str, text: impl Fn() -> String + Send + 'static) -> Kind {
    Kind::calls(format!("images::{name}"), move || {
        let (code, module) = load(&text());
        assert!(code.is_success(), "{:?}", last_error());
        let (code, function) = look_up(module, "k");
        assert!(code.is_success(), "{:?}", last_error());
        let none = std::ptr::null_mut();
        ok!(cuLaunchKernel(
            function,
            2,
            1,
            1,
            33,
            1,
            1,
            0,
            CUstream::NULL,
            none,
            none
        ));
        ok!(cuCtxSynchronize());
        computes().expect("the context is sound");
    })
}

/// A whole text of a kernel, for cutting.
const WHOLE: &str = ".version 7.8\n.target sm_80\n.address_size 64\n.global .align 4 .u32 g[2] = {1, 2};\n\
    .visible .entry k(.param .u64 a)\n{\n.reg .pred %p;\n.reg .b32 %r<3>;\n.reg .b64 %d;\nld.param.u64 %d, [a];\n\
    LOOP: ld.global.u32 %r1, [%d+4];\nsetp.eq.u32 %p, %r1, 0;\n@%p bra LOOP;\nret;\n}\n";

pub(crate) fn kinds() -> Vec<Kind> {
    let mut kinds = vec![
        refused("nothing", String::new, C::INVALID_IMAGE, "no .version"),
        refused(
            "no_ptx",
            || "#include <stdio.h>\nint main() {}".into(),
            C::INVALID_IMAGE,
            "neither PTX",
        ),
        refused(
            "machine_code",
            || "\x7fELF\x02\x01\x01".into(),
            C::NO_BINARY_FOR_GPU,
            "cubin",
        ),
        refused(
            "a_version_of_the_future",
            || ".version 99.0\n.target sm_80\n.address_size 64\n".into(),
            C::UNSUPPORTED_PTX_VERSION,
            "newer",
        ),
        refused(
            "a_target_beyond_the_device",
            || ".version 8.0\n.target sm_90\n.address_size 64\n".into(),
            C::INVALID_PTX,
            "sm_90",
        ),
        refused(
            "an_open_comment",
            || format!("{HEADER}/* for ever"),
            C::INVALID_PTX,
            "comment",
        ),
        refused(
            "an_open_string",
            || format!("{HEADER}.file 1 \"name"),
            C::INVALID_PTX,
            "4 |",
        ),
        refused(
            "a_number_too_large",
            || format!("{HEADER}.global .u32 g = 99999999999999999999999;"),
            C::INVALID_PTX,
            "4 |",
        ),
        refused(
            "a_negative_length",
            || format!("{HEADER}.global .u32 g[-1];"),
            C::INVALID_PTX,
            "4 |",
        ),
        refused(
            "an_alignment_of_three",
            || format!("{HEADER}.global .align 3 .u32 g;"),
            C::INVALID_PTX,
            "4 |",
        ),
        refused(
            "an_alignment_of_a_gibibyte",
            || format!("{HEADER}.global .align 1073741824 .u32 g;"),
            C::NOT_SUPPORTED,
            "aligned to",
        ),
        refused(
            "binary_noise",
            || {
                let noise: String = (0..20_000u32)
                    .map(|i| char::from((i.wrapping_mul(2_654_435_761) >> 24) as u8 | 1))
                    .collect();
                format!("{HEADER}{noise}")
            },
            C::INVALID_PTX,
            "4 |",
        ),
        bad_body(
            "a_label_twice",
            "A: mov.u32 %r1, 1;\nA: mov.u32 %r2, 2;",
            "the label `A` is defined twice",
        ),
        bad_body(
            "a_branch_to_nowhere",
            "bra NOWHERE;",
            "PTX line 6: a branch to `NOWHERE`, which is no label here",
        ),
        bad_body(
            "a_guarded_branch_to_nowhere",
            ".reg .pred %p; @%p bra NOWHERE;",
            "a branch to `NOWHERE`",
        ),
        bad_body(
            "a_branch_into_an_inner_scope",
            "bra INSIDE; { INSIDE: mov.u32 %r1, 1; }",
            "a branch to `INSIDE`",
        ),
        bad_body("a_branch_to_a_register", "bra %r1;", "a branch to `%r1`"),
        refused(
            "a_function_that_is_defined_nowhere",
            || {
                format!(
                    "{HEADER}.extern .func nobody();\n.visible .entry k() {{ call nobody, (); ret; }}\n"
                )
            },
            C::INVALID_PTX,
            "a call of `nobody`, which is declared, but not defined anywhere",
        ),
        refused(
            "a_variable_that_is_defined_nowhere",
            || {
                format!(
                    "{HEADER}.extern .global .u32 elsewhere;\n.visible .entry k() {{ .reg .b32 %r; ld.global.u32 %r, [elsewhere]; ret; }}\n"
                )
            },
            C::INVALID_PTX,
            "the variable `elsewhere` is declared, but not defined anywhere",
        ),
        refused(
            "more_constants_than_there_is_room",
            || format!("{HEADER}.const .align 4 .b8 c[65537];"),
            C::INVALID_PTX,
            "65537 bytes of constant memory",
        ),
        refused(
            "a_variable_larger_than_the_device",
            || format!("{HEADER}.global .align 4 .b8 g[1099511627776];"),
            C::OUT_OF_MEMORY,
            "",
        ),
        refused(
            "a_variable_larger_than_numbers",
            || format!("{HEADER}.global .align 8 .b64 g[4611686018427387904][4294967296];"),
            C::OUT_OF_MEMORY,
            "",
        ),
        refused(
            "parameters_that_no_launch_can_carry",
            || format!("{HEADER}.visible .entry k(.param .align 8 .b8 a[4294967295]) {{ ret; }}\n"),
            C::INVALID_PTX,
            "bytes of parameters",
        ),
        refused(
            "one_parameter_too_many",
            || {
                format!(
                    "{HEADER}.visible .entry k(.param .align 4 .b8 a[32760], .param .u64 b) {{ ret; }}\n"
                )
            },
            C::INVALID_PTX,
            "32768 bytes of parameters",
        ),
        refused(
            "a_function_with_huge_parameters",
            || {
                format!(
                    "{HEADER}.func f(.param .align 8 .b8 a[4294967280], .param .align 8 .b8 b[4294967280]) {{ ret; }}\n"
                )
            },
            C::INVALID_PTX,
            "local memory",
        ),
        bad_kernel(
            "an_unknown_instruction_in_the_kernel",
            ".visible .entry k() { .reg .b32 %r<3>; frobnicate.u32 %r1, %r2; ret; }",
            "frobnicate",
        ),
        bad_kernel(
            "an_unknown_instruction_in_a_function",
            ".func f() { .reg .b32 %r<3>; frobnicate.u32 %r1, %r2; ret; }\n.visible .entry k() { call f, (); ret; }",
            "frobnicate",
        ),
        bad_kernel(
            "an_unknown_register",
            ".visible .entry k() { .reg .b32 %r<3>; mov.u32 %r1, %r3; ret; }",
            "%r3",
        ),
        bad_kernel(
            "a_call_with_too_few_arguments",
            ".func f(.param .b32 n) { ret; }\n.visible .entry k() { call f, (); ret; }",
            "number of arguments",
        ),
        bad_kernel(
            "a_store_to_a_parameter",
            ".visible .entry k(.param .u32 n) { st.param.u32 [n], 1; ret; }",
            "store to the parameters",
        ),
        bad_kernel(
            "recursion_that_synchronises",
            ".func f();\n.func f() { bar.sync 0; call f, (); ret; }\n.visible .entry k() { call f, (); ret; }",
            "recursive call of `f`",
        ),
        odd("an_unknown_instruction_that_nobody_reaches", || {
            format!(
                "{HEADER}.func f() {{ .reg .b32 %r<3>; frobnicate.u32 %r1, %r2; ret; }}\n.visible .entry other() {{ call f, (); ret; }}\n.visible .entry k() {{ ret; }}\n"
            )
        }),
        odd("more_registers_than_any_machine_has", || {
            format!(
                "{HEADER}.visible .entry k() {{ .reg .b64 %d<4000000000>; mov.u64 %d3999999999, 1; ret; }}\n"
            )
        }),
        odd("variables_that_point_at_each_other", || {
            format!(
                "{HEADER}.global .u64 a = generic(b);\n.global .u64 b = generic(a);\n.visible .entry k() {{ .reg .b64 %d<3>; ld.global.u64 %d1, [a]; ld.u64 %d2, [%d1]; ld.u64 %d1, [%d2]; ret; }}\n"
            )
        }),
        odd("no_end_of_line_at_all", || {
            format!("{HEADER}.visible .entry k() {{ ret; }}").replace('\n', " ")
        }),
        odd("a_name_of_a_megabyte", || {
            format!(
                "{HEADER}.global .u32 {};\n.visible .entry k() {{ ret; }}\n",
                "n".repeat(1 << 20)
            )
        }),
        odd("a_body_without_anything", || {
            format!("{HEADER}.visible .entry k() {{ }}\n")
        }),
        odd("code_that_nobody_reaches", || {
            format!("{HEADER}.visible .entry k() {{ ret; A: bra B; B: bra A; trap; }}\n")
        }),
    ];
    kinds.push(Kind::calls("images::every_truncation", || {
        let body = WHOLE.find(".visible").expect("it has a kernel");
        for end in 0..WHOLE.trim_end().len() {
            let (code, module) = load(&WHOLE[..end]);
            if code.is_success() {
                // In the header, or between two items, a text may be whole.
                assert!(end <= body, "{}", &WHOLE[..end]);
                ok!(cuModuleUnload(module));
            } else {
                let known = [C::INVALID_PTX, C::INVALID_IMAGE, C::UNSUPPORTED_PTX_VERSION];
                assert!(known.contains(&code), "{code:?}");
                assert!(end <= body || code == C::INVALID_PTX, "{code:?}");
            }
        }
        assert_eq!(load(WHOLE).0, C::SUCCESS);
        computes().expect("the context is sound");
    }));
    kinds.push(Kind::calls("images::a_file_that_is_not_there", || {
        no!(
            FILE_NOT_FOUND,
            cuModuleLoad(&mut CUmodule(NULL), c"/nowhere/at/all.ptx".as_ptr())
        );
        no!(
            INVALID_VALUE,
            cuModuleLoadData(&mut CUmodule(NULL), std::ptr::null())
        );
        no!(
            INVALID_VALUE,
            cuModuleLoadData(std::ptr::null_mut(), HEADER.as_ptr().cast())
        );
    }));
    kinds
}
