//! No text makes the crate panic, overflow the stack or run away.

use std::time::{Duration, Instant};

use cuprum_ptx::parse;
use proptest::prelude::*;

#[path = "../fuzz/check.rs"]
mod fuzz;

use fuzz::check;

const SAMPLES: [&str; 4] = [
    include_str!("data/classic.ptx"),
    include_str!("data/middle.ptx"),
    include_str!("data/untyped.ptx"),
    include_str!("data/debug.ptx"),
];

/// Pieces that the grammar knows, so that random texts get past the first token.
const PIECES: &[&str] = &[
    ".version 8.0\n",
    ".target sm_80\n",
    ".address_size 64\n",
    ".entry k",
    ".func f",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ",",
    ";",
    ":",
    "+",
    "-",
    "|",
    "!",
    "@",
    "=",
    "_",
    "%r1",
    "%tid.x",
    "x",
    "$L1",
    ".reg",
    ".b32",
    ".v2",
    ".param",
    ".ptr",
    ".align 8",
    ".global",
    ".shared",
    "add.s32",
    "call",
    "ld.global.f32",
    "0f3F800000",
    "0d3FF0000000000000",
    "0xFF",
    "1.5",
    "WARP_SZ",
    "generic(",
    "\"s\"",
    "//c\n",
    "/*",
    "*/",
    ".loc 1 2 3",
    ", function_name",
    ", inlined_at 1 2 3",
    ".section .s {",
    ".file 1",
    ".pragma",
    ".branchtargets",
    ".callprototype",
    ".alias a, b;",
    " ",
    "\n",
    "\0",
    "é",
];

#[test]
fn every_prefix_of_a_good_text_is_handled() {
    for sample in SAMPLES {
        for end in (0..sample.len()).filter(|&end| sample.is_char_boundary(end)) {
            check(&sample.as_bytes()[..end]);
        }
    }
}

#[test]
fn every_line_of_a_good_text_can_go_missing() {
    for sample in SAMPLES {
        let lines: Vec<_> = sample.lines().collect();
        for gone in 0..lines.len() {
            let text: Vec<_> = lines
                .iter()
                .enumerate()
                .filter(|&(i, _)| i != gone)
                .map(|(_, l)| *l)
                .collect();
            check(text.join("\n").as_bytes());
        }
    }
}

#[test]
fn whatever_nests_is_bounded() {
    const DEPTH: usize = 100_000;
    let head = ".version 8.0\n.target sm_80\n";
    for (before, open) in [
        (".func f()", "{"),
        (".func f(){ op ", "{"),
        (".func f(){ op ", "("),
        (".func f(){ op ", "[a, {"),
        (".func f(){ op ", "[a, "),
        (".func f(){ op ", "{[a, ("),
        (".func f(){ op ", "{a|{"),
        (".func f(){ op ", "-"),
        (".func f(){ op ", "!"),
        (".global .u8 v[2] = ", "{"),
        (".global .u8 v[2] = ", "0xFF(generic("),
        (".global .u8 v", "[1]"),
        (".section .x {", "{"),
        (".func f", "("),
    ] {
        let text = format!("{head}{before}{}", open.repeat(DEPTH));
        assert!(parse(&text).is_err(), "{before}{open}");
    }
}

#[test]
fn time_grows_linearly() {
    let head = ".version 8.0\n.target sm_80\n.func f()\n{\n";
    let time = |line: &str, lines: usize| {
        let text = format!("{head}{}}}\n", line.repeat(lines));
        // The best of several runs: other work on the machine only ever adds time.
        (0..5)
            .map(|_| {
                let start = Instant::now();
                let _ = parse(&text);
                start.elapsed()
            })
            .min()
            .expect("it ran")
    };
    for line in [
        "add.s32 %r1, %r2, 7;\n",
        "/* c */",
        "{ }",
        "x: ",
        "op {a,b,c},",
        "é\n",
        "-",
        "\"s\" ",
        ".reg .b32 a, ",
    ] {
        let short = time(line, 2_000);
        let long = time(line, 32_000);
        // Sixteen times the text: quadratic time would be 256-fold.
        assert!(
            long < short * 90 + Duration::from_millis(20),
            "`{line}`: {short:?}, then {long:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        check(&data);
        check(String::from_utf8_lossy(&data).as_bytes());
    }

    #[test]
    fn random_pieces(pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..60), headed in any::<bool>()) {
        let head = if headed { ".version 8.0\n.entry k(){" } else { "" };
        check(format!("{head}{}", pieces.concat()).as_bytes());
        check(format!("{head}{}", pieces.join(" ")).as_bytes());
    }

    #[test]
    fn mutated_samples(
        sample in proptest::sample::select(&SAMPLES[..]),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..20, proptest::sample::select(PIECES)), 1..6),
    ) {
        let mut text = sample.to_owned();
        for (at, cut, piece) in edits {
            let mut start = at.index(text.len());
            while !text.is_char_boundary(start) { start -= 1; }
            let mut end = (start + cut).min(text.len());
            while !text.is_char_boundary(end) { end += 1; }
            text.replace_range(start..end, piece);
        }
        check(text.as_bytes());
    }
}
