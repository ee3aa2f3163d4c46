//! Accesses that are checked together are as right and as wrong as each by itself.

use cuprum_driver_sys::CUresult;

use super::{Arg, Config, Machine, with_out};

/// The fault of one thread, whose `%out` points to 100 bytes; the body stands in lines of its own from line 8 of the PTX.
fn fault(regs: &str, body: &str) -> (CUresult, String, u64) {
    let machine = Machine::new();
    let out = machine.alloc(100);
    let fault = machine.fail(
        &with_out(regs, body),
        "k",
        &Config::new(1, 1),
        &[Arg::U64(out)],
    );
    (fault.code, fault.message, out)
}

#[test]
fn the_first_wrong_access_of_a_group_is_named() {
    for (body, line, offset) in [
        // The last of three.
        (
            "ld.global.u32 %r1, [%out];\nld.global.u32 %r2, [%out+96];\nld.global.u32 %r3, [%out+100];",
            10,
            100,
        ),
        // The middle one, though a later one is wrong too.
        (
            "ld.global.u32 %r1, [%out+4];\nst.global.u32 [%out+104], %r1;\nld.global.u32 %r3, [%out+-4];",
            9,
            104,
        ),
        // The first, which is the lowest.
        (
            "st.global.u32 [%out+-8], 1;\nst.global.u32 [%out+8], 1;\nst.global.u32 [%out+4], 1;",
            8,
            -8,
        ),
        // Of another size than its neighbours.
        (
            "st.global.u32 [%out+96], 1;\nst.global.u64 [%out+96], 1;\nst.global.u32 [%out+92], 1;",
            9,
            96,
        ),
        // Through a generic address.
        (
            "ld.u16 %h1, [%out+2];\nld.u16 %h2, [%out+98];\nld.u16 %h3, [%out+100];",
            10,
            100,
        ),
    ] {
        let (code, message, out) = fault("", body);
        assert_eq!(code, CUresult::ILLEGAL_ADDRESS, "{body}: {message}");
        let address = format!("{:#x}", out.wrapping_add_signed(offset));
        assert!(message.contains(&address), "no {address} in {message}");
        let place = format!("PTX line {line},");
        assert!(message.contains(&place), "not {place} in {message}");
    }
}

#[test]
fn groups_in_small_windows_end_with_them() {
    for body in [
        "mov.u32 %r1, s; ld.shared.u32 %r2, [%r1]; ld.shared.u32 %r3, [%r1+64];",
        "mov.u32 %r1, s; ld.shared.u32 %r2, [%r1+-4]; ld.shared.u32 %r3, [%r1+60];",
        "mov.u32 %r1, 0xfffffff0; st.shared.u32 [%r1], 1; st.shared.u32 [%r1+16], 1;",
        "mov.u64 %d1, s; cvta.shared.u64 %d1, %d1; ld.u32 %r2, [%d1+4]; ld.u32 %r3, [%d1+64];",
        "mov.u64 %d1, l; ld.local.u32 %r2, [%d1+4]; ld.local.u32 %r3, [%d1+4096];",
        "mov.u64 %d1, l; cvta.local.u64 %d1, %d1; ld.u32 %r2, [%d1]; st.u32 [%d1+4096], 1;",
        "mov.u64 %d1, l; cvta.local.u64 %d1, %d1; ld.u32 %r2, [%d1+-4]; st.u32 [%d1+8], 1;",
    ] {
        let regs = ".shared .align 4 .b8 s[64]; .local .align 4 .b8 l[64];";
        let (code, message, _) = fault(regs, body);
        assert_eq!(code, CUresult::ILLEGAL_ADDRESS, "{body}: {message}");
    }
    let (code, message, _) = fault(
        ".shared .align 4 .b8 s[64];",
        "mov.u32 %r1, s; add.s32 %r1, %r1, 2; ld.shared.u32 %r2, [%r1]; ld.shared.u32 %r3, [%r1+4];",
    );
    assert_eq!(code, CUresult::MISALIGNED_ADDRESS, "{message}");
}

#[test]
fn a_register_that_changes_begins_a_new_group() {
    let body = "mov.u64 %d1, %out; st.global.u32 [%d1], 1; st.global.u32 [%d1+4], 2; add.s64 %d1, %d1, 8; st.global.u32 [%d1], 3; st.global.u32 [%d1+4], 4;
        st.global.u64 [%d1+8], %out; ld.global.u64 %d1, [%d1+8]; ld.global.u32 %r1, [%d1+4]; st.global.u32 [%d1+24], %r1;";
    let machine = Machine::new();
    let out = machine.alloc(28);
    machine.succeed(
        &with_out("", body),
        "k",
        &Config::new(1, 1),
        &[Arg::U64(out)],
    );
    let words = machine.download::<u32>(out, 7);
    assert_eq!((&words[..4], words[6]), (&[1, 2, 3, 4][..], 2));
}

#[test]
fn one_instruction_meets_every_space_and_many_allocations() {
    // Thread t reads word t of a table of addresses, and what is there: allocations, shared and local memory in turn.
    let body = "mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 8; add.s64 %d2, %out, %d1; ld.global.u64 %d3, [%d2];
        add.s32 %r2, %r1, 1000; st.shared.u32 [s+12], %r2; st.shared.u32 [s+16], %r2; st.local.u32 [l+4], %r1; st.local.u32 [l+8], %r1;
        mov.u64 %d4, s; cvta.shared.u64 %d4, %d4; add.s64 %d4, %d4, 12; mov.u64 %d5, l; cvta.local.u64 %d5, %d5; add.s64 %d5, %d5, 4;
        and.b32 %r3, %r1, 3; setp.eq.s32 %p1, %r3, 1; selp.b64 %d3, %d4, %d3, %p1; setp.eq.s32 %p2, %r3, 2; selp.b64 %d3, %d5, %d3, %p2;
        ld.u32 %r4, [%d3]; ld.u32 %r5, [%d3+4]; add.s32 %r4, %r4, %r5; cvt.u64.u32 %d6, %r4; st.global.u64 [%d2], %d6;";
    let machine = Machine::new();
    let table: Vec<u64> = (0..128u32)
        .map(|t| machine.upload(&[t * 7, t * 5]))
        .collect();
    let out = machine.upload(&table);
    let regs = ".shared .align 4 .b8 s[32]; .local .align 4 .b8 l[16];";
    machine.succeed(
        &with_out(regs, body),
        "k",
        &Config::new(1, 128),
        &[Arg::U64(out)],
    );
    for (t, &sum) in machine.download::<u64>(out, 128).iter().enumerate() {
        let t = t as u64;
        let expected = match t % 4 {
            1 => 2 * (t + 1000),
            2 => 2 * t,
            _ => 12 * t,
        };
        assert_eq!(sum, expected, "thread {t}");
    }
}

#[test]
fn freed_memory_is_not_remembered() {
    const PTX: &str = ".version 7.0\n.target sm_80\n.address_size 64\n\
        .extern .func (.param .b64 r) malloc (.param .b64 n);\n.extern .func free (.param .b64 p);\n\
        .visible .entry k(.param .u32 late) {\n.reg .b64 %d<4>; .reg .b32 %r<8>; .reg .pred %p<4>;\n\
        { .param .b64 n; .param .b64 r; st.param.b64 [n], 512; call.uni (r), malloc, (n); ld.param.b64 %d1, [r]; }\n\
        mov.u32 %r1, 0;\n\
        LOOP: st.global.u32 [%d1], %r1;\nadd.s32 %r1, %r1, 1;\nsetp.ne.s32 %p1, %r1, 5;\n@%p1 bra NEXT;\n\
        { .param .b64 p; st.param.b64 [p], %d1; call.uni free, (p); }\n\
        NEXT: ld.param.u32 %r2, [late];\nadd.s32 %r2, %r2, 5;\nsetp.lt.s32 %p2, %r1, %r2;\n@%p2 bra LOOP;\nret;\n}\n";
    let machine = Machine::new();
    let kernel = machine.prepare(PTX, "k");
    machine
        .start(&kernel, &Config::new(1, 1), &[Arg::U32(0)])
        .expect("it frees after its last store");
    let fault = machine
        .start(&kernel, &Config::new(1, 1), &[Arg::U32(1)])
        .expect_err("it stores once more");
    assert_eq!(fault.code, CUresult::ILLEGAL_ADDRESS, "{}", fault.message);
}
