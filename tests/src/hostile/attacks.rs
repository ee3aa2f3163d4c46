//! Attacks by hand on the parser, the compiler and the running device. Each must end in success or a clean error.

use std::fmt::Write as _;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// A kernel with many registers of each kind, its pointers in `%d1` and `%d2`; `before` stands before its body's statements.
fn kernel(before: &str, body: &str) -> String {
    format!(
        "{HEAD}{before}\n.visible .entry k(.param .u64 out, .param .u64 other, .param .u32 n)\n{{\n\
         .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b128 %q<4>; .reg .f32 %f<9>; .reg .f64 %g<9>;\n\
         .local .align 8 .b8 depot[64]; .shared .align 8 .b8 tile[64];\n\
         ld.param.u64 %d1, [out]; ld.param.u64 %d2, [other]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n{body}\nret;\n}}\n"
    )
}

/// Attacks: a name and a text. All of them if `thorough`, which takes long; else a part of those that come in thousands, and smaller sizes.
#[must_use]
pub fn attacks(thorough: bool) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut add = |name: String, text: String| all.push((name, text));
    addresses(&mut add);
    registers(thorough, &mut add);
    if !thorough {
        // A step that shares no factor with the lists that are multiplied.
        all = all.into_iter().step_by(7).collect();
    }
    let mut add = |name: String, text: String| all.push((name, text));
    control(thorough, &mut add);
    calls(&mut add);
    declarations(&mut add);
    sizes(thorough, &mut add);
    all
}

type Add<'a> = dyn FnMut(String, String) + 'a;

/// Offsets and addresses that wrap, miss or straddle.
fn addresses(add: &mut Add<'_>) {
    let offsets = [
        "9223372036854775807",
        "9223372036854775800",
        "9223372036854775806",
        "-9223372036854775808",
        "-9223372036854775807",
        "4294967295",
        "4294967296",
        "-4294967296",
        "2147483647",
        "2147483640",
        "-2147483648",
        "-1",
        "-8",
        "56",
        "57",
        "60",
        "64",
        "65528",
        "1099511627776",
    ];
    for offset in &offsets {
        for (space, base) in [
            ("local", "depot"),
            ("shared", "tile"),
            ("global", "place"),
            ("const", "fixed"),
            ("param", "out"),
            ("global", "%d1"),
            ("local", "%d1"),
            ("shared", "%r1"),
            ("param", "%d1"),
        ] {
            let variables = ".global .align 8 .b8 place[64]; .const .align 8 .b8 fixed[64];";
            let mut body = String::new();
            for (ty, register) in [("u8", "%r3"), ("u64", "%d3"), ("b128", "%q1")] {
                let _ = writeln!(body, "ld.{space}.{ty} {register}, [{base}+{offset}];");
            }
            add(format!("load at {base}+{offset}"), kernel(variables, &body));
            for (ty, register) in [
                ("u8", "%r3"),
                ("u64", "%d3"),
                ("v4.u32", "{%r1, %r2, %r3, %r4}"),
            ] {
                add(
                    format!("store of {ty} in {space} at {base}+{offset}"),
                    kernel(
                        variables,
                        &format!("st.{space}.{ty} [{base}+{offset}], {register};"),
                    ),
                );
            }
            add(
                format!("atomic in {space} at {base}+{offset}"),
                kernel(
                    variables,
                    &format!("atom.{space}.add.u32 %r3, [{base}+{offset}], 1;"),
                ),
            );
        }
    }
    // Accesses through one register may be checked together: far apart, at distances that wrap, in either order.
    for first in &offsets {
        for second in &offsets {
            for (space, base) in [
                ("global.", "%d1"),
                ("", "%d1"),
                ("shared.", "%r1"),
                ("local.", "%d3"),
            ] {
                add(
                    format!("two accesses in {space} at {base}+{first} and {second}"),
                    kernel(
                        "",
                        &format!(
                            "mov.u64 %d3, depot; mov.u32 %r1, tile; ld.{space}u64 %d4, [{base}+{first}]; st.{space}u64 [{base}+{second}], %d4;"
                        ),
                    ),
                );
            }
        }
    }
    for address in [
        "0",
        "1",
        "255",
        "4096",
        "0x7fffffffffff",
        "0x800000000000",
        "0xffff800000000000",
        "0xffffffffffffffff",
        "0xfffffffffffffff8",
        "0x0100000000000000",
        "0x7100000000000000",
        "0x7200000000000000",
        "0x0200000000000000",
        "0x0300000000000000",
        "0x0400000000000000",
        "0x01ffffffffffffff",
        "0x02ffffffffffffff",
        "0x03ffffffffffffff",
    ] {
        for space in ["", ".global", ".shared", ".local", ".const", ".param"] {
            add(
                format!("load in {space} at {address}"),
                kernel(
                    "",
                    &format!("mov.u64 %d3, {address}; ld{space}.u64 %d4, [%d3];"),
                ),
            );
            add(
                format!("store in {space} at {address}"),
                kernel(
                    "",
                    &format!("mov.u64 %d3, {address}; st{space}.u64 [%d3], %d4;"),
                ),
            );
        }
        for more in [
            "atom.add.u64 %d4, [%d3], %d1;",
            "atom.add.f32 %f1, [%d3], %f2;",
            "atom.add.noftz.f16 %h1, [%d3], %h2;",
            "cp.async.ca.shared.global [%r1], [%d3], 16;",
            "cp.async.ca.shared.global [%r1], [%d3], 16, %r2;",
            "cvta.to.shared.u64 %d4, %d3; ld.shared.u8 %r3, [%d4];",
            "cvta.local.u64 %d4, %d3; ld.u64 %d5, [%d4];",
            "prefetch.global.L2 [%d3]; prefetchu.L1 [%d3];",
            "mbarrier.init.shared.b64 [%d3], 3;",
            "mbarrier.arrive.shared.b64 %d4, [%d3];",
            "ld.global.nc.v2.u64 {%d4, %d5}, [%d3];",
            "ldu.global.u32 %r3, [%d3];",
            "st.release.sys.u32 [%d3], %r1;",
        ] {
            add(
                format!("{more} at {address}"),
                kernel("", &format!("mov.u64 %d3, {address}; {more}")),
            );
        }
    }
    add(
        "a constant is written".to_owned(),
        kernel(".const .u32 fixed = 5;", "st.global.u32 [fixed], %r1;"),
    );
    add(
        "a parameter of the kernel is written".to_owned(),
        kernel(
            "",
            "st.param.u32 [n], %r1; cvta.param.u64 %d3, %d4; st.u32 [%d3], %r1;",
        ),
    );
    add(
        "the local memory of the next thread".to_owned(),
        kernel(
            "",
            "mov.u64 %d3, depot; st.local.u64 [%d3+64], %d1; st.local.u64 [%d3+1048576], %d1;",
        ),
    );
}

/// Registers of another width or kind than the instruction wants, everywhere.
fn registers(thorough: bool, add: &mut Add<'_>) {
    let names = [
        "%p1",
        "%h1",
        "%r1",
        "%d1",
        "%q1",
        "%f1",
        "%g1",
        "5",
        "-1",
        "0f7FC00000",
        "0d7FF8000000000000",
        "_",
        "tile",
        "k",
        "{%r1, %r2}",
        "{%h1, %h2, %h3, %h4}",
        "%p1|%p2",
        "%tid.x",
        "%clock64",
        "!%p1",
        "-%r1",
        "tile+4",
        "[%d1]",
    ];
    let templates = [
        "mov.b32 A, B;",
        "mov.b64 A, B;",
        "mov.pred A, B;",
        "mov.b128 A, B;",
        "add.u32 A, B, %r2;",
        "add.cc.u32 A, B, B;",
        "add.f32 A, %f2, B;",
        "add.f64 A, B, %g2;",
        "add.f16 A, B, B;",
        "fma.rn.bf16x2 A, B, B, B;",
        "mul.wide.s32 A, B, B;",
        "mad.hi.sat.s32 A, B, B, B;",
        "div.s64 A, B, B;",
        "shl.b16 A, B, B;",
        "shf.l.wrap.b32 A, B, B, B;",
        "bfe.s64 A, B, B, B;",
        "prmt.b32 A, B, B, B;",
        "lop3.b32 A, B, B, B, B;",
        "setp.lt.s32 A, B, B;",
        "setp.lt.and.f32 A|%p3, B, B, B;",
        "setp.nan.f16x2 A, B, B;",
        "set.eq.f32.f64 A, B, B;",
        "selp.b32 A, B, B, B;",
        "slct.f32.f32 A, B, B, B;",
        "cvt.u8.s64 A, B;",
        "cvt.rn.f16.u64 A, B;",
        "cvt.rzi.s8.f64 A, B;",
        "cvt.rn.f16x2.f32 A, B, B;",
        "cvt.pack.sat.u8.s32.b32 A, B, B, B;",
        "copysign.f64 A, B, B;",
        "testp.normal.f32 A, B;",
        "popc.b64 A, B;",
        "dp4a.s32.u32 A, B, B, B;",
        "vadd4.u32.u32.u32 A, B, B, B;",
        "vmad.s32.s32.s32 A, B, B, B;",
        "ld.global.u32 A, [%d1];",
        "ld.global.v2.b64 A, [%d1];",
        "ld.global.u8 A, B;",
        "ld.shared.b128 A, B;",
        "st.global.u64 [%d1], B;",
        "st.local.v4.f32 B, A;",
        "atom.global.cas.b64 A, [%d1], B, B;",
        "red.global.add.f32 [%d1], B;",
        "cvta.shared.u64 A, B;",
        "isspacep.local A, B;",
        "shfl.sync.up.b32 A, B, B, B, -1;",
        "shfl.sync.idx.b32 A|%p2, %r1, B, B, B;",
        "vote.sync.ballot.b32 A, B, -1;",
        "vote.sync.any.pred A, B, B;",
        "match.all.sync.b64 A|%p1, B, -1;",
        "redux.sync.add.s32 A, B, B;",
        "activemask.b32 A;",
        "elect.sync A|%p1, B;",
        "bar.sync A, B;",
        "bar.red.popc.u32 A, 0, B;",
        "bar.warp.sync B;",
        "barrier.arrive B, B;",
        "mbarrier.try_wait.shared.b64 A, [tile], B;",
        "cp.async.ca.shared.global [tile], [%d1], B, B;",
        "@A bra END; END:",
        "@!B add.u32 %r1, %r1, 1;",
        "brx.idx A, LIST; LIST: .branchtargets L1, L2; L1: L2:",
        "nanosleep.u32 B;",
        "ex2.approx.f32 A, B;",
        "sqrt.rm.f64 A, B;",
        "call (A), f, (B, B);",
        "call (A), B, (B), PROTO; PROTO: .callprototype (.param .b32 _) _ (.param .b64 _);",
        "{ .param .b32 x; st.param.b64 [x], B; ld.param.v2.u32 A, [x]; }",
        "min.xorsign.abs.f32 A, B, B;",
        "neg.bf16x2 A, B;",
        "sad.u16 A, B, B, B;",
        "szext.wrap.s32 A, B, B;",
        "fns.b32 A, B, B, B;",
    ];
    let function = ".func (.param .b32 r) f(.param .b32 a, .param .b64 b) { ret; }";
    for template in templates {
        for a in names {
            for b in names {
                if !thorough && a != names[2] && b != names[2] {
                    continue;
                }
                let body = template.replace('A', a).replace('B', b);
                add(body.clone(), kernel(function, &body));
            }
        }
    }
}

/// Labels and branches out of place.
fn control(thorough: bool, add: &mut Add<'_>) {
    for (name, body) in [
        (
            "a label of an inner scope",
            "bra IN; { IN: add.u32 %r1, %r1, 1; }",
        ),
        (
            "a label twice",
            "bra X; X: X: bra Y; Y: add.u32 %r1, %r1, 1; Y:",
        ),
        ("a label that is a register", "%r1: bra %r1;"),
        ("a label that is a function", "bra k;"),
        ("a branch to itself", "HERE: bra HERE;"),
        ("a guarded branch to itself", "HERE: @!%p1 bra HERE;"),
        (
            "a table of no labels",
            "T: .branchtargets ; brx.idx %r1, T;",
        ),
        ("a table of itself", "T: .branchtargets T; brx.idx %r1, T;"),
        (
            "an index beyond its table",
            "mov.u32 %r3, 0xffffffff; T: .branchtargets L; brx.idx %r3, T; L:",
        ),
        (
            "a jump into the middle of a waiting loop",
            "bra IN; OUT: atom.add.u32 %r3, [%d1], 1; IN: setp.lt.u32 %p1, %r3, 50; @%p1 bra OUT;",
        ),
        (
            "two entries to one loop",
            "setp.lt.u32 %p1, %r2, 5; @%p1 bra B; A: ld.volatile.u32 %r3, [%d1]; B: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 9; @%p2 bra A;",
        ),
        (
            "barriers in a loop that threads leave apart",
            "L: bar.sync 0; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r2; @%p1 bra L;",
        ),
        (
            "a barrier of one half",
            "setp.lt.u32 %p1, %r2, 32; @%p1 bar.sync 0;",
        ),
        (
            "a barrier of a number that does not exist",
            "bar.sync 16; mov.u32 %r3, 99; bar.sync %r3; bar.sync -1;",
        ),
        (
            "a barrier of odd counts",
            "bar.sync 0, 33; bar.sync 1, 0; bar.arrive 2, -32;",
        ),
        (
            "a shuffle of nobody",
            "shfl.sync.idx.b32 %r3, %r1, 5, 31, 0;",
        ),
        (
            "a shuffle in one lane",
            "setp.eq.u32 %p1, %r2, 0; @%p1 shfl.sync.idx.b32 %r3, %r1, 5, 31, -1;",
        ),
        (
            "masks that differ",
            "and.b32 %r3, %r2, 1; add.u32 %r3, %r3, 0x7ffffffe; vote.sync.ballot.b32 %r4, %p1, %r3;",
        ),
        (
            "exit in the middle of a warp operation",
            "setp.lt.u32 %p1, %r2, 7; @%p1 exit; redux.sync.add.u32 %r3, %r2, -1; st.global.u32 [%d1], %r3;",
        ),
        (
            "a loop that counts for ever",
            "L: add.u32 %r3, %r3, 1; setp.ne.u32 %p1, %r3, %r3; @!%p1 bra L;",
        ),
        (
            "a spin on memory that nobody writes",
            "L: ld.volatile.global.u32 %r3, [%d1]; setp.eq.u32 %p1, %r3, 0; @%p1 bra L;",
        ),
        (
            "a return in a scope of scopes",
            "{ { { ret; } } } { exit; }",
        ),
        ("code after the end", "ret; bar.sync 0; L: bra L;"),
        ("a trap", "trap;"),
        ("a breakpoint", "brkpt;"),
        (
            "a division by nothing",
            "mov.u64 %d3, 0; div.s64 %d4, %d1, %d3; rem.u64 %d4, %d1, %d3; mov.u32 %r3, 0; div.u32 %r4, %r1, %r3; rem.s32 %r4, %r1, %r3; div.s32 %r4, -2147483648, -1; rem.s64 %d4, 0x8000000000000000, -1; div.s16 %h1, -32768, -1;",
        ),
    ] {
        add(name.to_owned(), kernel("", body));
    }
    let mut nested = String::new();
    let mut flat = String::new();
    for i in 0..if thorough { 400 } else { 60 } {
        let _ = writeln!(
            flat,
            "setp.eq.u32 %p1, %r2, {i}; @%p1 bra N{i}; bar.sync 0; N{i}:"
        );
    }
    for _ in 0..60 {
        nested += "{ .reg .b32 %r<9>; add.u32 %r1, %r1, 1; ";
    }
    add(
        "many scopes".to_owned(),
        kernel("", &(nested + &"}".repeat(60))),
    );
    add("a ladder of barriers".to_owned(), kernel("", &flat));
    let mut tangle = String::new();
    for i in 0..300 {
        let _ = writeln!(
            tangle,
            "T{i}: add.u32 %r3, %r3, 1; setp.gt.u32 %p2, %r3, 5000; @%p2 exit; rem.u32 %r4, %r3, 3; setp.eq.u32 %p1, %r4, 0; @%p1 bra T{}; atom.add.u32 %r5, [%d1], 1; bra T{};",
            (i * 7 + 3) % 300,
            (i * 13 + 5) % 300
        );
    }
    add("a tangle of loops".to_owned(), kernel("", &tangle));
}

/// Calls with wrong signatures, through garbage, without end.
fn calls(add: &mut Add<'_>) {
    let function = ".func (.param .b32 r) f(.param .b32 a, .param .b64 b) { .reg .b64 %d<3>; ld.param.u64 %d1, [b]; st.param.b32 [r], 7; ret; }\n\
                    .func g(.reg .b64 %x) { ret; }\n.global .u64 table[2] = {f, g};\n.func h(.param .align 16 .b8 big[4096]) { .reg .b64 %d<3>; ld.param.u64 %d1, [big+4088]; ret; }\n\
                    .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n.extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n\
                    .extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);";
    for (name, body) in [
        ("too few arguments", "{ .param .b32 x; call (x), f, (x); }"),
        (
            "too many arguments",
            "{ .param .b32 x; .param .b64 y; call (x), f, (x, y, y, y); }",
        ),
        (
            "no result",
            "{ .param .b32 x; .param .b64 y; call f, (x, y); }",
        ),
        (
            "a result of nothing",
            "{ .param .b64 y; call (y), g, (y); }",
        ),
        (
            "arguments of other sizes",
            "{ .param .b8 x; .param .b8 y; call (x), f, (x, y); .param .align 8 .b8 z[400]; call (z), f, (z, z); }",
        ),
        ("a constant as a result", "call (5), f, (1, 2);"),
        (
            "registers of other widths",
            "call (%d3), f, (%h1, %p1); call (%p1), f, (%g1, %f1); call g, (%q1);",
        ),
        ("a call of a register", "call %d1, (%d1);"),
        ("a call of a label", "L: call L;"),
        ("a call of a variable", "call table;"),
        ("a call of a kernel", "call k, (%d1, %d1, %r1);"),
        (
            "a prototype of another function",
            "mov.u64 %d3, g; P: .callprototype (.param .align 16 .b8 _[256]) _ (.param .align 16 .b8 _[4096]); { .param .align 16 .b8 x[4096]; .param .align 16 .b8 y[256]; call (y), %d3, (x), P; ld.param.u64 %d4, [y+248]; }",
        ),
        (
            "a prototype of nothing for a large function",
            "mov.u64 %d3, h; P: .callprototype _ (); call %d3, P;",
        ),
        (
            "an address between functions",
            "mov.u64 %d3, f; add.u64 %d3, %d3, 1; P: .callprototype _ (); call %d3, P;",
        ),
        ("an address of data", "P: .callprototype _ (); call %d1, P;"),
        (
            "a null address",
            "mov.u64 %d3, 0; P: .callprototype _ (); call %d3, P;",
        ),
        (
            "an address of a kernel",
            "mov.u64 %d3, k; P: .callprototype _ (.param .b64 _, .param .b64 _, .param .b32 _); call %d3, (%d1, %d1, %r1), P;",
        ),
        (
            "addresses of all functions and beyond",
            "P: .callprototype _ (); mov.u64 %d3, f; mov.u32 %r3, 0; L: add.u64 %d4, %d3, %r3; setp.gt.u32 %p1, %r3, 9; @%p1 bra E; call %d4, P; add.u32 %r3, %r3, 1; bra L; E:",
        ),
        (
            "an address that is cut",
            "mov.u64 %d3, f; cvt.u32.u64 %r3, %d3; P: .callprototype _ (); call %r3, P;",
        ),
        (
            "a format from nowhere",
            "{ .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], 12345; st.param.b64 [y], 99999; call (z), vprintf, (x, y); }",
        ),
        (
            "a format without end",
            "{ .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %d1; st.param.b64 [y], %d1; mov.u32 %r3, 0; L: cvt.u64.u32 %d3, %r3; add.u64 %d3, %d3, %d1; st.u8 [%d3], 37; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 65536; @%p1 bra L; call (z), vprintf, (x, y); }",
        ),
        (
            "a format that asks for too much",
            "st.u64 [%d1], 0x2a2a2a2a2e2a2a25; st.u64 [%d1+8], 0x7325732573257325; { .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %d1; st.param.b64 [y], %d1; call (z), vprintf, (x, y); }",
        ),
        (
            "a format of wide fields",
            "st.u64 [%d1], 0x3939393939393925; st.u64 [%d1+8], 0x6439; { .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %d1; st.param.b64 [y], %d1; call (z), vprintf, (x, y); }",
        ),
        (
            "vprintf without arguments",
            "call vprintf; call (%r3), vprintf, (%d1);",
        ),
        (
            "malloc of everything",
            "{ .param .b64 x; .param .b64 y; st.param.b64 [x], 0xffffffffffffffff; call (y), malloc, (x); ld.param.u64 %d3, [y]; st.u64 [%d3], 1; }",
        ),
        (
            "malloc in small parameters",
            "{ .param .b8 x; .param .b8 y; call (y), malloc, (x); }",
        ),
        (
            "free of what was not allocated",
            "{ .param .b64 x; st.param.b64 [x], %d1; call free, (x); }",
        ),
        (
            "free twice",
            "{ .param .b64 x; .param .b64 y; st.param.b64 [x], 16; call (y), malloc, (x); ld.param.u64 %d3, [y]; st.param.b64 [x], %d3; call free, (x); call free, (x); }",
        ),
        (
            "an assertion from nowhere",
            "{ .param .b64 x; .param .b32 y; st.param.b64 [x], 77; call __assertfail, (x, x, y, x, x); }",
        ),
    ] {
        add(name.to_owned(), kernel(function, body));
    }
    for (name, function) in [
        ("recursion of nothing", ".func f() { call f; ret; }"),
        (
            "recursion with local memory",
            ".func f() { .local .b8 x[64]; .reg .b64 %d<2>; mov.u64 %d1, x; st.local.u64 [%d1], %d1; call f; ret; }",
        ),
        (
            "recursion in pairs",
            ".func f(); .func g() { call f; ret; } .func f() { call g; call g; ret; }",
        ),
        (
            "recursion with a barrier",
            ".func f() { bar.sync 0; call f; ret; }",
        ),
        (
            "recursion by address",
            ".func f() { .reg .b64 %d<2>; mov.u64 %d1, f; P: .callprototype _ (); call %d1, P; ret; }",
        ),
        (
            "recursion with a waiting loop",
            ".func f() { .reg .b32 %r<3>; .reg .pred %p; .reg .b64 %d; L: ld.volatile.u32 %r1, [%d]; setp.ne.u32 %p, %r1, 0; @%p bra L; call f; ret; }",
        ),
        (
            "local memory beyond all bounds",
            ".func f() { .local .b8 x[1073741824]; .local .b8 y[1073741824]; .local .b8 z[1073741824]; .local .b8 w[1073741824]; .local .b8 v[1073741824]; .reg .b32 %r; st.local.u8 [v+1073741823], %r; ret; }",
        ),
        (
            "parameters beyond all bounds",
            ".func (.param .b8 r[1073741824]) f(.param .b8 x[4294967295], .param .b8 y[1073741824], .param .b8 z[1073741824], .param .b32 w) { st.param.b8 [r], 1; ret; }",
        ),
        (
            "a function that is a variable",
            ".global .u32 f; .func f() { ret; }",
        ),
        (
            "a function twice",
            ".func f() { ret; } .func f(.param .b64 x) { trap; }",
        ),
        ("an alias of itself", ".func f(); .alias f, f;"),
        ("an alias of a kernel", ".func f(); .alias f, k;"),
    ] {
        add(name.to_owned(), kernel(function, "call f;"));
    }
    // Chains in which each function calls the next twice: paths double with each.
    for (name, inner, depth) in [
        ("a call tree of 2^60 paths", "ret;", 60),
        (
            "a call tree of 2^60 paths with barriers",
            "bar.sync 0; ret;",
            60,
        ),
        ("a call tree of 2^12 inlined bodies", "bar.sync 0; ret;", 12),
    ] {
        let mut functions = format!(".func f0() {{ {inner} }}\n");
        for i in 1..depth {
            let _ = writeln!(
                functions,
                ".func f{i}() {{ call f{}; call f{}; ret; }}",
                i - 1,
                i - 1
            );
        }
        add(
            name.to_owned(),
            kernel(&functions, &format!("call f{};", depth - 1)),
        );
    }
    let mut table = String::new();
    for i in 0..40 {
        let _ = writeln!(
            table,
            ".func f{i}() {{ .reg .b64 %d<3>; .reg .b32 %r<3>; mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 0; P: .callprototype _ (); call %d1, P; ret; }}"
        );
    }
    let names: Vec<String> = (0..40).map(|i| format!("f{i}")).collect();
    let _ = writeln!(table, ".global .u64 all[40] = {{{}}};", names.join(", "));
    add(
        "functions that may each call any other".to_owned(),
        kernel(
            &table,
            "ld.global.u64 %d3, [all]; P: .callprototype _ (); call %d3, P;",
        ),
    );
    let line = "add.u32 %r1, %r1, 1;\n".repeat(3000);
    let mut heavy = format!(".func f0() {{ .reg .b32 %r<3>; bar.sync 0; {line} ret; }}\n");
    for i in 1..14 {
        let _ = writeln!(
            heavy,
            ".func f{i}() {{ call f{}; call f{}; ret; }}",
            i - 1,
            i - 1
        );
    }
    add(
        "large bodies that are inlined often".to_owned(),
        kernel(&heavy, "call f13;"),
    );
}

/// Declarations with odd sizes, alignments, counts and names.
fn declarations(add: &mut Add<'_>) {
    for size in [
        "0",
        "1",
        "3",
        "65536",
        "65537",
        "1073741824",
        "4294967295",
        "4294967296",
        "1099511627776",
        "9223372036854775807",
        "18446744073709551615",
    ] {
        for space in [".shared", ".local", ".global", ".const", ".param", ".reg"] {
            for ty in [".b8", ".b64", ".b128"] {
                add(
                    format!("{space} {ty} x[{size}] in a body"),
                    kernel(
                        "",
                        &format!(
                            "{space} .align 8 {ty} x[{size}]; mov.u64 %d3, x; ld{space}.u8 %r3, [x];"
                        ),
                    ),
                );
                add(
                    format!("{space} {ty} x[{size}] in a module"),
                    kernel(
                        &format!("{space} .align 8 {ty} x[{size}];"),
                        &format!("mov.u64 %d3, x; st{space}.u8 [x], %r3;"),
                    ),
                );
            }
        }
        add(
            format!("{size} registers"),
            kernel(
                "",
                &format!(
                    ".reg .b32 %z<{size}>; add.u32 %z0, %z0, 1; add.u32 %z2000000000, %z0, %z1;"
                ),
            ),
        );
        add(
            format!("a parameter of {size} bytes"),
            format!(
                "{HEAD}.visible .entry k(.param .b8 x[{size}], .param .align 16 .b8 y[{size}], .param .u64 z) {{ .reg .b64 %d; ld.param.u64 %d, [z]; ld.param.u64 %d, [x]; ret; }}"
            ),
        );
        add(
            format!("dimensions of {size}"),
            kernel(
                &format!(
                    ".global .u32 x[{size}][{size}] = {{{{1, 2}}, {{3}}}}; .global .u8 y[2][3][{size}] = {{{{{{1}}, {{2}}}}, {{{{3}}}}}};"
                ),
                "ld.global.u32 %r3, [x+4];",
            ),
        );
        add(
            format!("a block of {size} threads"),
            format!(
                "{HEAD}.visible .entry k() .maxntid {size}, {size}, {size} .reqntid {size}, 1, 1 .minnctapersm {size} .maxnreg {size} {{ ret; }}"
            ),
        );
    }
    for alignment in [
        "0",
        "1",
        "3",
        "5",
        "7",
        "24",
        "128",
        "4096",
        "65536",
        "1048576",
        "1073741824",
        "2147483648",
        "4294967295",
        "9223372036854775808",
    ] {
        for space in [".shared", ".local", ".global", ".const", ".param"] {
            add(
                format!("{space} of alignment {alignment}"),
                kernel(
                    &format!(
                        ".global .u8 before; .shared .align {alignment} .b8 s[8]; .global .align {alignment} .b8 g[8];"
                    ),
                    &format!(
                        "{space} .align {alignment} .b8 x[16]; {space} .b8 y; {space} .align {alignment} .b64 z; mov.u64 %d3, z; ld{space}.u64 %d4, [z]; ld.global.u64 %d4, [g]; ld.shared.u64 %d4, [s];"
                    ),
                ),
            );
        }
        add(
            format!("parameters of alignment {alignment}"),
            format!(
                "{HEAD}.visible .entry k(.param .u8 a, .param .align {alignment} .b8 x[16], .param .u64 .ptr .global .align {alignment} z) {{ .reg .b64 %d; ld.param.u64 %d, [z]; ld.param.u64 %d, [x]; ret; }}"
            ),
        );
    }
    let many =
        |line: &dyn Fn(usize) -> String, count: usize| (0..count).map(line).collect::<String>();
    for (name, before, body) in [
        ("names twice", ".global .u32 x; .global .u64 x; .shared .u32 x; .const .u32 x = 3; .func x() { ret; }".to_owned(), ".local .b8 x[4]; .reg .b32 x; .reg .f64 x; .shared .b64 x; mov.b64 %d3, x;".to_owned()),
        ("a kernel twice", ".visible .entry k(.param .u64 a) { .reg .b64 %d; ld.param.u64 %d, [a]; st.u64 [%d], 1; ret; }".to_owned(), "trap;".to_owned()),
        ("a kernel that is a function", ".func (.param .b64 r) k(.param .b8 x[64]) { st.param.b64 [r], 1; ret; }".to_owned(), String::new()),
        ("parameters of one name", ".func (.param .b32 a) f(.param .b32 a, .param .b64 a, .reg .b32 a) { ret; }".to_owned(), "call (%r1), f, (%r1, %d1, %r1);".to_owned()),
        ("registers that are special", ".reg .b32 %tid;".to_owned(), ".reg .b32 %tid, %clock64, %laneid<5>; mov.u32 %r3, %tid.x; mov.u64 %d3, %clock64; mov.u32 %r3, %laneid3;".to_owned()),
        ("families that overlap", String::new(), ".reg .b32 %r1<20>; .reg .b64 %r<30>; .reg .pred %<5>; add.u32 %r11, %r12, %r111; mov.b64 %d1, %r25; setp.eq.u32 %1, %r1, %r2;".to_owned()),
        ("many shared variables", many(&|i| format!(".shared .b8 s{i}[1000];"), 2000), many(&|i| format!("st.shared.u8 [s{i}], 1;"), 2000)),
        ("many global variables", many(&|i| format!(".global .b8 s{i}[1000] = {{1}};"), 2000), many(&|i| format!("st.global.u8 [s{i}], 1;"), 2000)),
        ("many labels", String::new(), many(&|i| format!("L{i}:"), 20_000)),
        ("many branches to one place", String::new(), many(&|i| format!("setp.eq.u32 %p1, %r1, {i}; @%p1 bra E;"), 4000) + "E:"),
        ("initial values that point anywhere", ".global .u64 a[3] = {a, b+0x7fffffffffffffff, k}; .global .u32 b[2] = {a, 0xFF(a)}; .global .u8 c[4] = {0xFF00000000000000(a), 0xFF(k), 0x8000000000000000(b), 300}; .const .f32 d = a; .global .b128 e = a;".to_owned(), "ld.global.u64 %d3, [a]; st.global.u64 [%d3], 5;".to_owned()),
        ("initial values too many", ".global .u32 a[2] = {1, 2, 3, 4, 5, 6, 7, 8}; .const .u8 b = {1, 2, 3}; .global .u32 c[2][2] = {{1, 2, 3, 4, 5}, {6, {7}}, 8};".to_owned(), "ld.global.u64 %d3, [a+8];".to_owned()),
        ("initial values of shared memory", ".shared .u32 a = 5; .local .u32 b = 6;".to_owned(), ".local .u32 c = 7; .shared .u32 d[2] = {8, 9}; ld.shared.u32 %r3, [a];".to_owned()),
        ("declarations in no space", ".param .u32 a; .reg .b32 b; .tex .u32 c; .global .texref d; .global .samplerref e; .global .surfref f;".to_owned(), "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [d, {%r1}]; mov.u64 %d3, d;".to_owned()),
        ("external things", ".extern .global .u32 a; .extern .func f(); .extern .shared .b8 s[]; .extern .const .u32 c[];".to_owned(), "call f; st.shared.u64 [s+8], 4; ld.shared.u64 %d3, [s+1000000];".to_owned()),
        ("variables of vectors", ".global .v4 .f32 a = {1, 2, 3, 4}; .shared .v2 .b64 s[3]; .global .v3 .u8 b; .global .v8 .b128 c;".to_owned(), "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [a]; ld.shared.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [s];".to_owned()),
        ("managed and unified", ".global .attribute(.managed) .u32 a[1000000000]; .global .attribute(.unified(1, 2)) .u32 b;".to_owned(), "st.global.u32 [a], 3;".to_owned()),
    ] {
        add(name.to_owned(), kernel(&before, &body));
    }
    for (name, text) in [
        ("nothing", String::new()),
        ("only a head", HEAD.to_owned()),
        ("32-bit addresses", ".version 8.0\n.target sm_80\n.address_size 32\n.visible .entry k(.param .u32 p) { .reg .b32 %r; ld.param.u32 %r, [p]; st.global.u32 [%r], %r; ret; }".to_owned()),
        ("no address size", ".version 8.0\n.target sm_80\n.visible .entry k(.param .u64 p) { .reg .b64 %r; ld.param.u64 %r, [p]; ret; }".to_owned()),
        ("a version of zeros", ".version 0.0\n.target sm_0\n.visible .entry k() { ret; }".to_owned()),
        ("a target of debug", ".version 8.0\n.target sm_80, debug, texmode_independent, map_f64_to_f32\n.visible .entry k() { ret; }".to_owned()),
        ("a kernel of no name", format!("{HEAD}.visible .entry () {{ ret; }}")),
        ("a body that does not end", format!("{HEAD}.visible .entry k() {{ add.u32 ")),
        ("a kernel without body", format!("{HEAD}.visible .entry k();")),
        ("sections of everything", format!("{HEAD}.section .debug_info {{ .b8 1, 2 .b64 k, .b32 .debug_line+9 }} .visible .entry k() {{ ret; }} .section .debug_str {{ x: .b8 0 }}")),
    ] {
        add(name.to_owned(), text);
    }
}

/// Texts that are large, or become so.
fn sizes(thorough: bool, add: &mut Add<'_>) {
    let mut block = String::new();
    for i in 0..60_000 {
        let _ = writeln!(
            block,
            "mad.lo.u32 %r{}, %r{}, %r{}, {i};",
            i % 9,
            (i + 1) % 9,
            (i + 5) % 9
        );
    }
    add(
        "a block of 60000 instructions".to_owned(),
        kernel("", &block),
    );
    // Values that all live at once: the machine function's own stack must hold them.
    let counts: &[usize] = if thorough {
        &[2000, 60_000]
    } else {
        &[300, 30_000]
    };
    for &count in counts {
        let mut live = format!(".reg .b64 %z<{count}>;\n");
        for i in 0..count {
            let _ = writeln!(
                live,
                "ld.volatile.global.u64 %z{i}, [%d1+{}];",
                i % 8000 * 8
            );
        }
        for i in (0..count).rev() {
            let _ = writeln!(
                live,
                "st.volatile.global.u64 [%d2+{}], %z{i};",
                i % 8000 * 8
            );
        }
        add(
            format!("{count} values that live at once"),
            kernel("", &live),
        );
        let function =
            format!(".func f(.reg .b64 %d1, .reg .b64 %d2) {{ {live} call f, (%d1, %d2); ret; }}");
        add(
            format!("recursion with {count} values that live at once"),
            kernel(&function, "call f, (%d1, %d2);"),
        );
        let across = live
            .replacen(&format!("%z{}, ", count - 1), "%d3, ", 1)
            .replace("st.volatile", "bar.sync 0; st.volatile");
        if count < 10_000 {
            add(
                format!("{count} values that live across barriers"),
                kernel("", &across),
            );
        }
    }
    let mut guarded = String::new();
    for i in 0..8000 {
        let _ = writeln!(
            guarded,
            "setp.lt.u32 %p{}, %r2, {i}; @%p{} st.global.u32 [%d1+{}], %r{};",
            i % 9,
            i % 9,
            i % 1000 * 4,
            i % 9
        );
    }
    add("8000 guarded stores".to_owned(), kernel("", &guarded));
    let barriers: String = (0..3000)
        .map(|i| format!("bar.sync {}; add.u32 %r3, %r3, {i};\n", i % 16))
        .collect();
    add("3000 barriers".to_owned(), kernel("", &barriers));
    let shuffles: String = (0..1500)
        .map(|i| {
            format!(
                "shfl.sync.bfly.b32 %r{}, %r{}, {}, 31, -1;\n",
                i % 9,
                (i + 4) % 9,
                i % 32
            )
        })
        .collect();
    add("1500 shuffles".to_owned(), kernel("", &shuffles));
    let targets: Vec<String> = (0..20_000).map(|i| format!("L{}", i % 7)).collect();
    let labels: String = (0..7)
        .map(|i| format!("L{i}: add.u32 %r3, %r3, {i};\n"))
        .collect();
    add(
        "a table of 20000 labels".to_owned(),
        kernel(
            "",
            &format!(
                "T: .branchtargets {}; brx.idx %r2, T; {labels}",
                targets.join(", ")
            ),
        ),
    );
    add(
        "a long line".to_owned(),
        kernel("", &format!("add.u32 %r1, {}1, %r2;", "-".repeat(200))),
    );
    add(
        "a long name".to_owned(),
        kernel("", &format!("bra {0}; {0}:", "x".repeat(1_000_000))),
    );
    add(
        "a long vector".to_owned(),
        kernel(
            "",
            &format!("mov.b64 {{{}}}, %d1;", vec!["%r1"; 5000].join(", ")),
        ),
    );
    let kernels: String = (0..3000).map(|i| format!(".visible .entry k{i}(.param .u64 p) {{ .reg .b64 %d; ld.param.u64 %d, [p]; ret; }}\n")).collect();
    add("3000 kernels".to_owned(), format!("{HEAD}{kernels}"));
    let functions: String = (0..3000)
        .map(|i| format!(".func f{i}() {{ call f{}; ret; }}\n", (i + 1) % 3000))
        .collect();
    add(
        "a ring of 3000 functions".to_owned(),
        kernel(&functions, "call f0;"),
    );
    let functions: String = (0..3000)
        .map(|i| {
            format!(
                ".func f{i}() {{ {} ret; }}\n",
                if i < 2999 {
                    format!("call f{};", i + 1)
                } else {
                    String::new()
                }
            )
        })
        .collect();
    add(
        "a chain of 3000 functions".to_owned(),
        kernel(&functions, "call f0;"),
    );
    let functions: String = (0..3000)
        .map(|i| {
            format!(
                ".func f{i}() {{ bar.sync 0; {} ret; }}\n",
                if i < 2999 {
                    format!("call f{};", i + 1)
                } else {
                    String::new()
                }
            )
        })
        .collect();
    add(
        "a chain of 3000 functions with barriers".to_owned(),
        kernel(&functions, "call f0;"),
    );
}
