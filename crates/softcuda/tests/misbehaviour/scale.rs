//! Texts that are legal, but larger, deeper or wider than anybody means: they are loaded or refused, in bounded time and
//! without taking the host's stack.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::common::*;
use crate::kind::{Kind, computes, load, look_up};
use crate::ok;

use CUresult as C;

const HEADER: &str = ".version 7.8\n.target sm_80\n.address_size 64\n";

/// What may become of a text.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// Its load fails with `INVALID_PTX`.
    Refused,
    /// Its kernel `k` runs.
    Runs,
    /// Looking up its kernel `k` fails with `NOT_SUPPORTED`.
    Unsupported,
}

fn kind(name: &str, fate: Fate, text: impl Fn() -> String + Send + 'static) -> Kind {
    Kind::calls(format!("scale::{name}"), move || {
        let text = text();
        let begun = Instant::now();
        // A thread of ordinary size, whatever the harness gives its own.
        let mut context = CUcontext::NULL;
        ok!(cuCtxGetCurrent(&mut context));
        let work = move || {
            ok!(cuCtxSetCurrent(context));
            let (code, module) = load(&text);
            if fate == Fate::Refused {
                assert_eq!(code, C::INVALID_PTX, "{:?}", last_error());
                return;
            }
            assert!(code.is_success(), "{:?}", last_error());
            let (code, function) = look_up(module, "k");
            if fate == Fate::Unsupported {
                assert_eq!(code, C::NOT_SUPPORTED, "{:?}", last_error());
                return;
            }
            assert!(code.is_success(), "{:?}", last_error());
            let none = std::ptr::null_mut();
            ok!(cuLaunchKernel(
                function,
                2,
                1,
                1,
                32,
                1,
                1,
                0,
                CUstream::NULL,
                none,
                none
            ));
            ok!(cuCtxSynchronize());
        };
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(work);
        thread
            .expect("a thread starts")
            .join()
            .expect("it ends as expected");
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "{:?}",
            begun.elapsed()
        );
        computes().expect("the context is sound");
    })
}

/// A chain of `n` functions, each of which calls the next one, the last with `end`.
fn chain(n: u32, end: &str) -> String {
    let mut text = format!("{HEADER}.func f0() {{ {end} ret; }}\n");
    for level in 1..n {
        let _ = writeln!(text, ".func f{level}() {{ call f{}, (); ret; }}", level - 1);
    }
    let _ = writeln!(text, ".visible .entry k() {{ call f{}, (); ret; }}", n - 1);
    text
}

pub(crate) fn kinds() -> Vec<Kind> {
    vec![
        kind("scopes_in_scopes", Fate::Refused, || {
            let (open, close) = ("{".repeat(100_000), "}".repeat(100_000));
            format!("{HEADER}.visible .entry k() {{ {open} ret; {close} }}\n")
        }),
        kind("lists_in_lists", Fate::Refused, || {
            let (open, close) = ("{".repeat(100_000), "}".repeat(100_000));
            format!(
                "{HEADER}.global .u32 g[1] = {open} 1 {close};\n.visible .entry k() {{ ret; }}\n"
            )
        }),
        kind("vectors_in_vectors", Fate::Refused, || {
            let (open, close) = ("{".repeat(100_000), "}".repeat(100_000));
            format!(
                "{HEADER}.visible .entry k() {{ .reg .b32 %r; mov.b32 %r, {open} %r {close}; ret; }}\n"
            )
        }),
        kind("signs_without_end", Fate::Refused, || {
            format!("{HEADER}.global .u32 g = {} 1;\n", "-(".repeat(100_000))
        }),
        kind("many_functions", Fate::Runs, || {
            let mut text = String::from(HEADER);
            for n in 0..5_000 {
                let _ = writeln!(text, ".func f{n}() {{ ret; }}");
            }
            text + ".visible .entry k() { call f4999, (); ret; }\n"
        }),
        kind("a_chain_of_calls", Fate::Runs, || chain(500, "")),
        kind("a_chain_of_inlined_calls", Fate::Unsupported, || {
            chain(20_000, "bar.sync 0;")
        }),
        kind("a_short_chain_of_inlined_calls", Fate::Runs, || {
            chain(100, "bar.sync 0;")
        }),
        kind("a_tree_of_inlined_calls", Fate::Unsupported, || {
            let mut text = format!("{HEADER}.func f0() {{ bar.sync 0; ret; }}\n");
            for level in 1..40 {
                let _ = writeln!(
                    text,
                    ".func f{level}() {{ call f{0}, (); call f{0}, (); ret; }}",
                    level - 1
                );
            }
            text + ".visible .entry k() { call f39, (); ret; }\n"
        }),
        kind("many_labels", Fate::Runs, || {
            let mut text = format!("{HEADER}.visible .entry k() {{\n");
            for n in 0..3_000 {
                let _ = writeln!(text, "L{n}: bra L{};", n + 1);
            }
            text + "L3000: ret; }\n"
        }),
        kind("a_long_jump_table", Fate::Runs, || {
            let mut text = format!(
                "{HEADER}.visible .entry k() {{ .reg .b32 %r; mov.u32 %r, %tid.x;\nts: .branchtargets L0"
            );
            for n in 1..2_000 {
                let _ = write!(text, ", L{n}");
            }
            text += ";\nbrx.idx %r, ts;\n";
            for n in 0..2_000 {
                let _ = writeln!(text, "L{n}: bra END;");
            }
            text + "END: ret; }\n"
        }),
        kind(
            "more_live_values_than_a_stack_holds",
            Fate::Unsupported,
            || {
                // Each value is needed after all of them have been made.
                let count = 8_600;
                let mut text = format!(
                    "{HEADER}.global .align 8 .b64 g[2];\n.visible .entry k() {{ .reg .b64 %d<{}>; mov.u64 %d0, 0;\n",
                    count + 1
                );
                for n in 1..=count {
                    let _ = writeln!(text, "ld.volatile.global.u64 %d{n}, [g];");
                }
                for n in (1..=count).rev() {
                    let _ = writeln!(text, "mul.lo.u64 %d0, %d0, %d{n}; add.u64 %d0, %d0, 3;");
                }
                text + "st.global.u64 [g], %d0; ret; }\n"
            },
        ),
        kind("a_module_of_many_variables", Fate::Runs, || {
            let mut text = String::from(HEADER);
            for n in 0..5_000 {
                let _ = writeln!(text, ".global .align 4 .u32 v{n} = {n};");
            }
            text + ".visible .entry k() { .reg .b32 %r; ld.global.u32 %r, [v4999]; ret; }\n"
        }),
    ]
}
