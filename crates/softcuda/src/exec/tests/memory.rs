//! State spaces, windows, vectors, atomics, initial values.

use super::{Arg, Config, Machine, one_thread, with_out};

#[test]
fn local_arrays_are_private() {
    let body = "mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u64 %d1, buf;
        FILL: mul.wide.u32 %d2, %r2, 4; add.s64 %d3, %d1, %d2; mad.lo.s32 %r3, %r1, 100, %r2; st.local.u32 [%d3], %r3; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, 8; @%p1 bra FILL;
        and.b32 %r4, %r1, 7; mul.wide.u32 %d4, %r4, 4; cvta.local.u64 %d5, %d1; add.s64 %d5, %d5, %d4; ld.u32 %r5, [%d5];
        ld.local.u32 %r6, [buf+4]; add.s32 %r5, %r5, %r6; mul.wide.u32 %d6, %r1, 4; add.s64 %d6, %d6, %out; st.global.u32 [%d6], %r5;";
    let machine = Machine::new();
    let out = machine.alloc(4 * 64);
    machine.succeed(
        &with_out(".local .align 4 .b8 buf[32];", body),
        "k",
        &Config::new(1, 64),
        &[Arg::U64(out)],
    );
    for (t, &value) in machine.download::<u32>(out, 64).iter().enumerate() {
        let t = t as u32;
        assert_eq!(value, t * 100 + t % 8 + t * 100 + 1);
    }
}

#[test]
fn generic_addresses_know_their_window() {
    let body = "st.shared.u32 [s+4], 77; mov.u64 %d1, s; cvta.shared.u64 %d2, %d1; ld.u32 %r1, [%d2+4]; st.u32 [%d2+8], 5; ld.shared.u32 %r2, [s+8];
        st.u32 [%out], %r1; st.u32 [%out+4], %r2;
        isspacep.shared %p1, %d2; isspacep.global %p2, %d2; isspacep.global %p3, %out; isspacep.local %p4, %d2;
        selp.u32 %r3, 1, 0, %p1; selp.u32 %r4, 2, 0, %p2; selp.u32 %r5, 4, 0, %p3; selp.u32 %r6, 8, 0, %p4; or.b32 %r3, %r3, %r4; or.b32 %r3, %r3, %r5; or.b32 %r3, %r3, %r6; st.u32 [%out+8], %r3;
        cvta.to.shared.u64 %d3, %d2; cvt.u32.u64 %r7, %d3; ld.shared.u32 %r8, [%r7+4]; st.u32 [%out+12], %r8; atom.add.u32 %r9, [%d2+4], 3; ld.shared.u32 %r10, [s+4]; st.u32 [%out+16], %r10;";
    let machine = Machine::new();
    let out = machine.alloc(20);
    machine.succeed(
        &with_out(".shared .align 4 .b8 s[64];", body),
        "k",
        &Config::new(1, 1),
        &[Arg::U64(out)],
    );
    assert_eq!(machine.download::<u32>(out, 5), [77, 5, 5, 77, 80]);
}

#[test]
fn narrow_addresses_wrap() {
    // As NVRTC 13.5 writes s[31 - t] from compute_100 on.
    let body = "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.b32 %r3, s; add.s32 %r4, %r3, %r2; st.shared.u32 [%r4], %r1;
        bar.sync 0; sub.s32 %r5, %r3, %r2; ld.shared.u32 %r6, [%r5+124]; cvt.u64.u32 %d1, %r2; add.s64 %d1, %out, %d1; st.global.u32 [%d1], %r6;";
    let machine = Machine::new();
    let out = machine.alloc(128);
    machine.succeed(
        &with_out(".shared .align 4 .b8 s[128];", body),
        "k",
        &Config::new(1, 32),
        &[Arg::U64(out)],
    );
    let reversed: Vec<u32> = (0..32).rev().collect();
    assert_eq!(machine.download::<u32>(out, 32), reversed);
}

#[test]
fn constants_are_no_part_of_the_global_space() {
    let body = "mov.u64 %d1, c; cvta.const.u64 %d2, %d1; mov.u64 %d3, g; cvta.global.u64 %d4, %d3;
        isspacep.const %p1, %d2; isspacep.global %p2, %d2; isspacep.const %p3, %d4; isspacep.global %p4, %d4;
        selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 1, 0, %p3; selp.u32 %r4, 1, 0, %p4;
        st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};
        add.s64 %d2, %d2, 16; isspacep.const %p1, %d2; selp.u32 %r1, 1, 0, %p1; st.global.u32 [%out+16], %r1;";
    let machine = Machine::new();
    let out = machine.alloc(20);
    let variables = ".const .align 4 .b8 c[16]; .global .align 4 .b8 g[16];";
    machine.succeed(
        &with_out("", body).replace(".visible .entry", &format!("{variables}\n.visible .entry")),
        "k",
        &Config::new(1, 1),
        &[Arg::U64(out)],
    );
    assert_eq!(machine.download::<u32>(out, 5), [1, 0, 0, 1, 0]);
}

#[test]
fn bytes_halves_and_vectors() {
    let body = "ld.global.u8 %r1, [%out]; ld.global.s8 %r2, [%out+1]; ld.global.s16 %h1, [%out+2]; cvt.s32.s16 %r3, %h1; ld.global.v4.u8 {%h2, %h3, %h4, %h5}, [%out];
        cvt.u32.u16 %r4, %h5; ld.global.v2.u64 {%d1, %d2}, [%out+16]; add.s64 %d3, %d1, %d2; ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%out+32]; add.f32 %f5, %f1, %f4;
        st.global.v4.u32 [%out+48], {%r1, %r2, %r3, %r4}; st.global.u64 [%out+64], %d3; st.global.f32 [%out+72], %f5; st.global.u8 [%out+76], %r2; st.global.v2.u8 [%out+78], {%h2, %h3};";
    let machine = Machine::new();
    let mut data = vec![0u8; 80];
    data[..4].copy_from_slice(&[0x81, 0x82, 0x83, 0x84]);
    data[16..24].copy_from_slice(&(1u64 << 40).to_le_bytes());
    data[24..32].copy_from_slice(&7u64.to_le_bytes());
    for (index, value) in [1.5f32, 0.0, 0.0, 2.0].iter().enumerate() {
        data[32 + 4 * index..36 + 4 * index].copy_from_slice(&value.to_le_bytes());
    }
    let out = machine.upload(&data);
    machine.succeed(
        &with_out("", body),
        "k",
        &Config::new(1, 1),
        &[Arg::U64(out)],
    );
    let words = machine.download::<u32>(out + 48, 8);
    assert_eq!(words[..4], [0x81, 0xffff_ff82, 0xffff_8483, 0x84]);
    assert_eq!(
        u64::from(words[4]) | u64::from(words[5]) << 32,
        (1 << 40) + 7
    );
    assert_eq!(f32::from_bits(words[6]), 3.5);
    assert_eq!(words[7].to_le_bytes(), [0x82, 0, 0x81, 0x82]);
}

#[test]
fn atomics_on_global_and_shared_memory() {
    for space in ["global", "shared"] {
        let place = if space == "global" { "%out" } else { "s" };
        let body = format!(
            "mov.u32 %r1, %tid.x; setp.ne.s32 %p1, %r1, 0; @%p1 bra GO;
             st.{space}.u32 [{place}], 0; st.{space}.u32 [{place}+4], 0; st.{space}.u32 [{place}+8], 1000; st.{space}.u32 [{place}+12], 0; st.{space}.u32 [{place}+16], 0; st.{space}.f32 [{place}+20], 0f00000000; st.{space}.u64 [{place}+24], 0; st.{space}.u32 [{place}+32], 0; st.{space}.u32 [{place}+36], 3;
             GO: bar.sync 0;
             atom.{space}.add.u32 %r2, [{place}], 2; atom.{space}.max.u32 %r3, [{place}+4], %r1; atom.{space}.min.s32 %r4, [{place}+8], %r1; atom.{space}.inc.u32 %r5, [{place}+12], 9; red.{space}.or.b32 [{place}+16], %r1; cvt.rn.f32.u32 %f1, %r1; atom.{space}.add.f32 %f2, [{place}+20], %f1; cvt.u64.u32 %d1, %r1; atom.{space}.add.u64 %d2, [{place}+24], %d1; atom.{space}.xor.b32 %r6, [{place}+32], %r1; atom.{space}.dec.u32 %r7, [{place}+36], 5;
             bar.sync 0; @%p1 bra DONE;
             ld.{space}.v4.u32 {{%r10, %r11, %r12, %r13}}, [{place}]; st.global.v4.u32 [%out+64], {{%r10, %r11, %r12, %r13}}; ld.{space}.v2.u32 {{%r14, %r15}}, [{place}+16]; st.global.v2.u32 [%out+80], {{%r14, %r15}}; ld.{space}.u64 %d3, [{place}+24]; st.global.u64 [%out+88], %d3; ld.{space}.v2.u32 {{%r16, %r17}}, [{place}+32]; st.global.v2.u32 [%out+96], {{%r16, %r17}};
             DONE:"
        );
        let machine = Machine::new();
        let out = machine.alloc(128);
        machine.succeed(
            &with_out(".shared .align 16 .b8 s[64];", &body),
            "k",
            &Config::new(1, 100),
            &[Arg::U64(out)],
        );
        let r = machine.download::<u32>(out + 64, 10);
        let xor = (0..100).fold(0, |a, b| a ^ b);
        assert_eq!(r[..5], [200, 99, 0, 0, 127], "{space}");
        assert_eq!(f32::from_bits(r[5]), 4950.0);
        // From 3 down to 0, then 5, 4, 3, 2, 1, 0 again: 96 steps of six.
        assert_eq!(r[6..], [4950, 0, xor, 5], "{space}");
    }
}

#[test]
fn many_blocks_add_atomically() {
    let body = "atom.global.add.u32 %r1, [%out], 1; atom.global.add.f64 %g1, [%out+8], 0d3FF0000000000000; atom.global.cas.b64 %d1, [%out+16], 0, 5;";
    let machine = Machine::new();
    let out = machine.alloc(24);
    machine.succeed(
        &with_out("", body),
        "k",
        &Config::new(200, 64),
        &[Arg::U64(out)],
    );
    assert_eq!(machine.download::<u32>(out, 1), [12800]);
    assert_eq!(machine.download::<f64>(out + 8, 2)[0], 12800.0);
    assert_eq!(machine.download::<u64>(out + 16, 1), [5]);
}

#[test]
fn variables_have_their_initial_values() {
    let ptx = ".version 7.0\n.target sm_80\n.address_size 64\n
        .global .align 4 .u32 words[6] = {1, 2, -3, 4};
        .const .align 8 .f64 pi = 0d400921FB54442D18;
        .global .align 8 .u64 table[2] = {generic(words), generic(words)+8};
        .global .align 1 .b8 text[4] = {104, 105};
        .visible .entry k(.param .u64 out) { .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f64 %g<2>;
          ld.param.u64 %d1, [out]; ld.global.u64 %d2, [table+8]; ld.global.u32 %r1, [%d2]; st.global.u32 [%d1], %r1;
          ld.const.f64 %g1, [pi]; st.global.f64 [%d1+8], %g1; mov.u64 %d3, words; ld.global.u32 %r2, [%d3+12]; st.global.u32 [%d1+4], %r2;
          ld.global.u32 %r3, [text]; st.global.u32 [%d1+16], %r3; ld.global.u32 %r4, [words+20]; st.global.u32 [%d1+20], %r4; ret; }";
    let ptx = ptx.replace(".align 1 .b8 text", ".align 4 .b8 text");
    let machine = Machine::new();
    let out = machine.alloc(24);
    machine.succeed(&ptx, "k", &Config::new(1, 1), &[Arg::U64(out)]);
    let words = machine.download::<u32>(out, 6);
    assert_eq!(words[..2], [(-3i32) as u32, 4]);
    assert_eq!(machine.download::<f64>(out + 8, 1), [std::f64::consts::PI]);
    assert_eq!(words[4..], [u32::from_le_bytes(*b"hi\0\0"), 0]);
}

#[test]
fn dynamic_shared_memory_follows_the_static() {
    let ptx = ".version 7.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 dyn[];\n
        .visible .entry k(.param .u64 out) { .reg .b32 %r<9>; .reg .b64 %d<9>; .shared .align 4 .b8 fixed[20];
          ld.param.u64 %d1, [out]; mov.u64 %d2, dyn; st.shared.u32 [%d2+60], 9; st.shared.u32 [fixed+16], 3; ld.shared.u32 %r1, [dyn+60]; st.global.u32 [%d1], %r1;
          cvt.u32.u64 %r2, %d2; st.global.u32 [%d1+4], %r2; mov.u32 %r3, %dynamic_smem_size; st.global.u32 [%d1+8], %r3; mov.u32 %r4, %total_smem_size; st.global.u32 [%d1+12], %r4; ret; }";
    let machine = Machine::new();
    let out = machine.alloc(16);
    let config = Config {
        dynamic_shared: 64,
        ..Config::new(1, 1)
    };
    machine.succeed(ptx, "k", &config, &[Arg::U64(out)]);
    assert_eq!(machine.download::<u32>(out, 4), [9, 32, 64, 96]);
}

#[test]
fn parameters_by_address() {
    let ptx = ".version 7.0\n.target sm_80\n.address_size 64\n
        .visible .entry k(.param .u64 out, .param .u32 a, .param .u32 b) { .reg .b32 %r<9>; .reg .b64 %d<9>;
          ld.param.u64 %d1, [out]; mov.b64 %d2, a; ld.param.u32 %r1, [%d2]; ld.param.u32 %r2, [%d2+4]; st.global.u32 [%d1], %r1; st.global.u32 [%d1+4], %r2;
          cvta.param.u64 %d3, %d2; ld.u32 %r3, [%d3+4]; st.global.u32 [%d1+8], %r3; ret; }";
    let machine = Machine::new();
    let out = machine.alloc(12);
    machine.succeed(
        ptx,
        "k",
        &Config::new(1, 1),
        &[Arg::U64(out), Arg::U32(11), Arg::U32(22)],
    );
    assert_eq!(machine.download::<u32>(out, 3), [11, 22, 22]);
}

#[test]
fn registered_host_memory_is_reached_by_the_slow_path() {
    let host = Box::new(std::sync::atomic::AtomicU32::new(41));
    let address = std::ptr::from_ref(&*host).expose_provenance() as u64;
    let machine = Machine::new();
    let out = machine.alloc(4);
    *machine
        .arena
        .host
        .lock()
        .expect("nobody panics with the lock") = Some((address, 4));
    let body = format!(
        "mov.u64 %d1, {address}; ld.global.u32 %r1, [%d1]; add.s32 %r1, %r1, 1; st.u32 [%d1], %r1; st.global.u32 [%out], %r1;"
    );
    machine.succeed(
        &with_out("", &body),
        "k",
        &Config::new(1, 1),
        &[Arg::U64(out)],
    );
    assert_eq!(machine.download::<u32>(out, 1), [42]);
    assert_eq!(host.load(std::sync::atomic::Ordering::Relaxed), 42);
}

#[test]
fn special_registers() {
    let body = "mov.u32 %r1, %laneid; mov.u32 %r2, %warpid; mov.u32 %r3, %nwarpid; mov.u32 %r4, %lanemask_lt; mov.u32 %r5, %lanemask_ge; mov.u64 %d1, %gridid; mov.u32 %r6, %nsmid; mov.u64 %d2, %clock64; mov.u32 %r7, %envreg3; mov.u32 %r8, WARP_SZ;
        st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4}; st.global.v2.u32 [%out+16], {%r5, %r6}; st.global.u64 [%out+24], %d1; st.global.v2.u32 [%out+32], {%r7, %r8};";
    let result = one_thread(body, 10);
    assert_eq!(result, [0, 0, 1, 0, u32::MAX, 2, 1, 0, 0, 32]);
}

#[test]
fn sums_of_small_floats_are_flushed_in_global_memory_only() {
    // The least normal number minus the least subnormal one, at places reached by name, by space and by generic address.
    let body = "st.shared.u32 [s], 0x00800000; st.shared.u32 [s+4], 0x00800000; st.global.u32 [%out], 0x00800000; st.global.u32 [%out+4], 0x00800000;
        mov.u64 %d1, s; cvta.shared.u64 %d2, %d1; mov.b32 %f1, 0x80000001; mov.b32 %f3, 0x80400000;
        atom.shared.add.f32 %f2, [s], %f1; atom.add.f32 %f2, [%d2+4], %f1; atom.global.add.f32 %f2, [%out], %f1; atom.add.f32 %f2, [%out+4], %f3;
        ld.shared.u32 %r1, [s]; ld.shared.u32 %r2, [s+4]; st.global.v2.u32 [%out+8], {%r1, %r2};
        red.shared.add.f32 [s], %f3; red.add.f32 [%d2+4], %f3; ld.shared.u32 %r1, [s]; ld.shared.u32 %r2, [s+4]; st.global.v2.u32 [%out+16], {%r1, %r2};";
    let machine = Machine::new();
    let out = machine.alloc(24);
    machine.succeed(
        &with_out(".shared .align 4 .b8 s[64];", body),
        "k",
        &Config::new(1, 1),
        &[Arg::U64(out)],
    );
    assert_eq!(
        machine.download::<u32>(out, 6),
        [
            0x80_0000, 0x80_0000, 0x7f_ffff, 0x7f_ffff, 0x3f_ffff, 0x3f_ffff
        ]
    );
}
