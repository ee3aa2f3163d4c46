//! Illegal accesses and traps: which code, and what the message says.

use cuprum_driver_sys::CUresult;

use super::{Arg, Config, Machine, load_error, with_out};

fn fault(regs: &str, body: &str) -> (CUresult, String) {
    let machine = Machine::new();
    let out = machine.alloc(100);
    let body = body.replace("BASE", &machine.base().to_string());
    let fault = machine.fail(
        &with_out(regs, &body),
        "k",
        &Config::new(1, 1),
        &[Arg::U64(out)],
    );
    (fault.code, fault.message)
}

#[test]
fn illegal_global_accesses() {
    for body in [
        "st.global.u32 [%out+100], 1;",
        "st.global.u32 [%out+-4], 1;",
        "ld.global.u64 %d1, [%out+96];",
        "mov.u64 %d1, 0; ld.global.u8 %r1, [%d1];",
        "mov.u64 %d1, 0; ld.u8 %r1, [%d1];",
        "mov.u64 %d1, BASE; ld.global.u32 %r1, [%d1];",
        "mov.u64 %d1, -4; st.global.u32 [%d1], 3;",
        "add.s64 %d1, %out, 0x400000; ld.global.u32 %r1, [%d1];",
        "atom.global.add.u32 %r1, [%out+100], 1;",
        "mov.u64 %d1, s; cvta.shared.u64 %d2, %d1; ld.global.u32 %r1, [%d2];",
        "mov.u64 %d1, s; cvta.shared.u64 %d2, %d1; ld.u32 %r1, [%d2+16];",
        "mov.u64 %d1, s; cvta.shared.u64 %d2, %d1; ld.u32 %r1, [%d2+-4];",
        "mov.u64 %d1, s; ld.shared.u32 %r1, [%d1+16];",
        "mov.u32 %r1, 0xfffffffc; st.shared.u32 [%r1], 1;",
        "mov.u64 %d1, l; ld.local.u32 %r1, [%d1+4000];",
        "mov.u64 %d1, l; cvta.local.u64 %d2, %d1; st.u32 [%d2+4000], 1;",
    ] {
        let (code, message) = fault(
            ".shared .align 4 .b8 s[16]; .local .align 4 .b8 l[16];",
            body,
        );
        assert_eq!(code, CUresult::ILLEGAL_ADDRESS, "{body}: {message}");
    }
}

#[test]
fn misaligned_accesses() {
    for body in [
        "ld.global.u32 %r1, [%out+2];",
        "st.global.v4.f32 [%out+4], {%f1, %f1, %f1, %f1};",
        "ld.u64 %d1, [%out+4];",
        "mov.u64 %d1, s; ld.shared.u32 %r1, [%d1+1];",
        "mov.u64 %d1, 2; ld.global.u32 %r1, [%d1];",
    ] {
        let (code, message) = fault(".shared .align 4 .b8 s[16];", body);
        assert_eq!(code, CUresult::MISALIGNED_ADDRESS, "{body}: {message}");
    }
}

#[test]
fn atomics_on_local_memory_are_of_the_wrong_space() {
    let (code, message) = fault(
        ".local .align 4 .b8 l[16];",
        "mov.u64 %d1, l; cvta.local.u64 %d2, %d1; atom.add.u32 %r1, [%d2], 1;",
    );
    assert_eq!(code, CUresult::INVALID_ADDRESS_SPACE, "{message}");
}

#[test]
fn the_last_valid_bytes_are_valid() {
    let machine = Machine::new();
    let out = machine.alloc(100);
    let body = "st.global.u32 [%out+96], 1; st.global.u8 [%out+99], 2; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%out+80];";
    machine.succeed(
        &with_out("", body),
        "k",
        &Config::new(1, 1),
        &[Arg::U64(out)],
    );
}

#[test]
fn messages_say_everything() {
    let ptx = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry poke(.param .u64 out) {\n.reg .b32 %r<9>; .reg .b64 %d<9>;\nld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.y;\nmul.wide.u32 %d2, %r1, 64;\nadd.s64 %d1, %d1, %d2;\n.loc 1 17 3\nst.global.u32 [%d1], %r1;\nret;\n}\n.file 1 \"saxpy.cu\"\n";
    let machine = Machine::new();
    let out = machine.alloc(130);
    let config = Config {
        grid: [1, 2, 1],
        block: [1, 5, 1],
        ..Config::new(1, 1)
    };
    let fault = machine.fail(ptx, "poke", &config, &[Arg::U64(out)]);
    let address = out + 128;
    assert_eq!(fault.code, CUresult::ILLEGAL_ADDRESS);
    let expected = format!(
        "kernel `poke`: illegal write of 4 bytes of global memory at {address:#x} at saxpy.cu:17 (PTX line 11), block (0, 0, 0), thread (0, 2, 0); {address:#x} is in no allocation of the test"
    );
    let elsewhere = expected.replace("block (0, 0, 0)", "block (0, 1, 0)");
    assert!(
        fault.message == expected || fault.message == elsewhere,
        "{}",
        fault.message
    );
}

#[test]
fn traps_and_breakpoints() {
    let (code, message) = fault("", "trap;");
    assert_eq!(code, CUresult::LAUNCH_FAILED);
    assert!(message.contains("trap instruction"), "{message}");
    assert!(fault("", "brkpt;").1.contains("brkpt"));
}

#[test]
fn a_fault_in_one_block_stops_the_others() {
    let body = "mov.u32 %r1, %ctaid.x; setp.eq.s32 %p1, %r1, 0; @%p1 trap; LOOP: bra LOOP;";
    let machine = Machine::new();
    let out = machine.alloc(4);
    let fault = machine.fail(
        &with_out("", body),
        "k",
        &Config::new(4, 64),
        &[Arg::U64(out)],
    );
    assert!(fault.message.contains("trap"), "{}", fault.message);
}

#[test]
fn what_is_not_supported_is_named() {
    let error = load_error(&with_out(
        "",
        "mov.u32 %r1, 1;\n{ .reg .b32 %q<4>;\nldmatrix.sync.aligned.m8n8.x4.shared.b16 {%q0, %q1, %q2, %q3}, [%r1]; }",
    ));
    assert_eq!(error.code, CUresult::NOT_SUPPORTED);
    assert!(
        error.message.contains("function `k`, PTX line 10")
            && error.message.contains("`ldmatrix.b16`"),
        "{}",
        error.message
    );
    let error = load_error(&with_out("", "frobnicate.u32 %r1, %r2;"));
    assert!(error.message.contains("frobnicate"), "{}", error.message);
}

#[test]
fn clusters_are_refused_by_their_directive() {
    let asking = |shape: &str| {
        let directive = format!(".reqnctapercluster {shape}\n{{");
        with_out("", "st.global.u32 [%out], 5;").replacen('{', &directive, 1)
    };
    let error = load_error(&asking("2, 1, 1"));
    assert_eq!(error.code, CUresult::NOT_SUPPORTED);
    assert_eq!(
        error.message,
        "kernel `k` asks for clusters of 2x1x1 blocks by `.reqnctapercluster`, which is not supported"
    );
    // A block is a cluster by itself.
    let machine = Machine::new();
    let out = machine.alloc(4);
    let ptx = asking("1, 1, 1");
    machine.succeed(&ptx, "k", &Config::new(3, 1), &[Arg::U64(out)]);
    assert_eq!(machine.download::<u32>(out, 1), [5]);
}

#[test]
fn an_unsupported_kernel_does_not_spoil_its_neighbours() {
    let good = with_out("", "st.global.u32 [%out], 5;");
    let bad = ".visible .entry other() { .reg .b32 %r<4>; frobnicate.u32 %r1, %r2; ret; }\n";
    let machine = Machine::new();
    let out = machine.alloc(4);
    machine.succeed(&(good + bad), "k", &Config::new(1, 1), &[Arg::U64(out)]);
    assert_eq!(machine.download::<u32>(out, 1), [5]);
}
