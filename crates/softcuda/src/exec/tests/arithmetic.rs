//! Instructions on registers, against what the PTX ISA and hardware say.

use super::{Arg, Config, Machine, one_thread, with_out};

/// Runs `body` after loading the words of `input` into `%r1` on, and reads `count` words.
fn with_input(input: &[u32], body: &str, count: usize) -> Vec<u32> {
    let machine = Machine::new();
    let values = machine.upload(input);
    let out = machine.alloc(4 * count);
    let mut text = String::from("mov.u64 %d63, INPUT;\n");
    for index in 0..input.len() {
        text += &format!("ld.global.b32 %r{}, [%d63+{}];\n", index + 1, 4 * index);
    }
    let text = text.replace("INPUT", &values.to_string());
    machine.succeed(
        &with_out("", &(text + body)),
        "k",
        &Config::new(1, 1),
        &[Arg::U64(out)],
    );
    machine.download(out, count)
}

#[test]
fn saxpy() {
    let ptx = ".version 7.0\n.target sm_80\n.address_size 64\n
.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)
{
 .reg .pred %p<2>; .reg .f32 %f<5>; .reg .b32 %r<6>; .reg .b64 %rd<8>;
 ld.param.u32 %r2, [n]; ld.param.f32 %f1, [a]; ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
 mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
 mad.lo.s32 %r1, %r3, %r4, %r5;
 setp.ge.u32 %p1, %r1, %r2;
 @%p1 bra $L__BB0_2;
 cvta.to.global.u64 %rd3, %rd1; mul.wide.u32 %rd4, %r1, 4; add.s64 %rd5, %rd3, %rd4;
 cvta.to.global.u64 %rd6, %rd2; add.s64 %rd7, %rd6, %rd4;
 ld.global.f32 %f2, [%rd5]; ld.global.f32 %f3, [%rd7];
 fma.rn.f32 %f4, %f2, %f1, %f3; st.global.f32 [%rd7], %f4;
$L__BB0_2:
 ret;
}";
    let n = 10_007u32;
    let x: Vec<f32> = (0..n).map(|i| i as f32 * 0.25).collect();
    let y: Vec<f32> = (0..n).map(|i| 3.0 - i as f32).collect();
    let machine = Machine::new();
    let (px, py) = (machine.upload(&x), machine.upload(&y));
    machine.succeed(
        ptx,
        "saxpy",
        &Config::new(n.div_ceil(256), 256),
        &[Arg::U32(n), Arg::F32(1.5), Arg::U64(px), Arg::U64(py)],
    );
    let result = machine.download::<f32>(py, n as usize);
    for i in 0..n as usize {
        assert_eq!(result[i], x[i].mul_add(1.5, y[i]));
    }
}

#[test]
fn three_dimensional_indices() {
    let machine = Machine::new();
    let out = machine.alloc(4 * 24 * 6);
    let body = "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
        mad.lo.s32 %r4, %r3, 3, %r2; mad.lo.s32 %r4, %r4, 4, %r1;
        mov.u32 %r5, %ctaid.x; mov.u32 %r6, %ctaid.y; mov.u32 %r7, %nctaid.x; mad.lo.s32 %r8, %r6, %r7, %r5;
        mad.lo.s32 %r9, %r8, 24, %r4; mul.wide.s32 %d1, %r9, 4; add.s64 %d1, %d1, %out;
        mov.u32 %r10, %nctaid.y; mad.lo.s32 %r11, %r9, 100, %r10; st.global.u32 [%d1], %r11;";
    let config = Config {
        grid: [3, 2, 1],
        block: [4, 3, 2],
        ..Config::new(1, 1)
    };
    machine.succeed(&with_out("", body), "k", &config, &[Arg::U64(out)]);
    let expected: Vec<u32> = (0..144).map(|i| i * 100 + 2).collect();
    assert_eq!(machine.download::<u32>(out, 144), expected);
}

#[test]
fn division_where_mathematics_has_no_answer() {
    let body = "div.s32 %r10, %r1, %r2; rem.s32 %r11, %r1, %r2; div.u32 %r12, %r1, %r2; rem.u32 %r13, %r1, %r2;
        div.s32 %r14, %r3, %r4; rem.s32 %r15, %r3, %r4;
        cvt.s64.s32 %d1, %r1; cvt.s64.s32 %d2, %r2; div.s64 %d3, %d1, %d2; rem.s64 %d4, %d1, %d2;
        div.s32 %r16, %r3, 7; rem.s32 %r17, %r3, -5; div.u32 %r18, %r3, 10;
        st.global.v4.u32 [%out], {%r10, %r11, %r12, %r13}; st.global.v2.u32 [%out+16], {%r14, %r15};
        st.global.v2.u64 [%out+32], {%d3, %d4}; st.global.u32 [%out+48], %r16; st.global.u32 [%out+52], %r17; st.global.u32 [%out+56], %r18;";
    let result = with_input(&[7, 0, i32::MIN as u32, u32::MAX], body, 16);
    assert_eq!(&result[..4], [u32::MAX; 4]);
    assert_eq!(&result[4..6], [i32::MIN as u32, 0]);
    assert_eq!(&result[8..12], [u32::MAX, 0, u32::MAX, 0]);
    assert_eq!(result[12].cast_signed(), i32::MIN / 7);
    assert_eq!(result[13].cast_signed(), i32::MIN % -5);
    assert_eq!(result[14], (i32::MIN as u32) / 10);
}

#[test]
fn shifts_clamp() {
    let body = "shl.b32 %r10, %r1, %r2; shr.u32 %r11, %r1, %r2; shr.s32 %r12, %r1, %r2; shl.b32 %r13, %r1, %r3; shr.s32 %r14, %r1, 99; shr.u32 %r15, %r1, 32;
        shf.l.wrap.b32 %r16, %r1, %r4, 8; shf.r.clamp.b32 %r17, %r1, %r4, %r2; shf.r.wrap.b32 %r18, %r1, %r4, 36;
        st.global.v4.u32 [%out], {%r10, %r11, %r12, %r13}; st.global.v4.u32 [%out+16], {%r14, %r15, %r16, %r17}; st.global.u32 [%out+32], %r18;";
    let result = with_input(&[0x8765_4321, 40, 4, 0x1234_5678], body, 9);
    assert_eq!(result[..4], [0, 0, u32::MAX, 0x7654_3210]);
    assert_eq!(result[4..6], [u32::MAX, 0]);
    assert_eq!(result[6..], [0x3456_7887, 0x1234_5678, 0x8876_5432]);
}

#[test]
fn bit_fields_and_counts() {
    let body = "bfe.u32 %r10, %r1, 4, 8; bfe.s32 %r11, %r1, 28, 8; bfe.s32 %r12, %r1, 40, 4; bfi.b32 %r13, %r2, %r1, 8, 4; bfe.u32 %r14, %r1, 0, 0; bfe.s32 %r15, %r1, 0, 32;
        popc.b32 %r16, %r1; clz.b32 %r17, %r2; brev.b32 %r18, %r2; bfind.u32 %r19, %r2; bfind.s32 %r20, -1; bfind.shiftamt.u32 %r21, %r2;
        prmt.b32 %r22, %r1, %r2, 0x4705; prmt.b32 %r23, %r1, %r2, 0x5410; prmt.b32 %r24, %r1, %r2, 0xb321; lop3.b32 %r25, %r1, %r2, %r3, 0x96; lop3.b32 %r26, %r1, %r2, %r3, 0xe8;
        st.global.v4.u32 [%out], {%r10, %r11, %r12, %r13}; st.global.v4.u32 [%out+16], {%r14, %r15, %r16, %r17}; st.global.v4.u32 [%out+32], {%r18, %r19, %r20, %r21};
        st.global.v4.u32 [%out+48], {%r22, %r23, %r24, %r25}; st.global.u32 [%out+64], %r26;";
    let (a, b, c) = (0x8765_4321u32, 0x0000_0f0fu32, 0x1357_9bdfu32);
    let result = with_input(&[a, b, c], body, 17);
    assert_eq!(result[..4], [0x32, 0xffff_fff8, u32::MAX, 0x8765_4f21]);
    assert_eq!(result[4..8], [0, a, a.count_ones(), b.leading_zeros()]);
    assert_eq!(result[8..12], [b.reverse_bits(), 11, u32::MAX, 20]);
    assert_eq!(result[12..15], [0x0f00_210f, 0x0f0f_4321, 0xff87_6543]);
    assert_eq!(result[15], a ^ b ^ c);
    assert_eq!(result[16], a & b | a & c | b & c);
}

#[test]
fn carries_run_through_long_sums() {
    let body = "add.cc.u32 %r10, %r1, %r2; addc.cc.u32 %r11, %r3, %r4; addc.u32 %r12, 0, 0;
        sub.cc.u32 %r13, %r2, %r1; subc.u32 %r14, %r4, %r3;
        mad.lo.cc.u32 %r15, %r1, %r3, %r2; madc.hi.u32 %r16, %r1, %r3, 0;
        st.global.v4.u32 [%out], {%r10, %r11, %r12, %r13}; st.global.v2.u32 [%out+16], {%r14, %r15}; st.global.u32 [%out+24], %r16;";
    let (a, b) = (0x8000_0001_ffff_fff0u64, 0x9000_0002_0000_0020u64);
    let parts = [a as u32, b as u32, (a >> 32) as u32, (b >> 32) as u32];
    let result = with_input(&parts, body, 7);
    let sum = u128::from(a) + u128::from(b);
    assert_eq!(
        result[..3],
        [sum as u32, (sum >> 32) as u32, (sum >> 64) as u32]
    );
    let difference = b.wrapping_sub(a);
    assert_eq!(result[3..5], [difference as u32, (difference >> 32) as u32]);
    let product = u64::from(parts[0]) * u64::from(parts[2]) + u64::from(parts[1]);
    assert_eq!(result[5..], [product as u32, (product >> 32) as u32]);
}

#[test]
fn products_of_every_width() {
    let body = "mul.hi.s32 %r10, %r1, %r2; mul.hi.u32 %r11, %r1, %r2; mul.wide.s32 %d1, %r1, %r2; cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2;
        mul.wide.s16 %r12, %h1, %h2; mul.wide.u16 %r13, %h1, %h2; mul.hi.s16 %h3, %h1, %h2; cvt.s32.s16 %r14, %h3;
        cvt.s64.s32 %d2, %r1; cvt.u64.u32 %d3, %r2; mul.hi.s64 %d4, %d2, %d3; mul.lo.s64 %d5, %d2, %d3; mad.wide.u32 %d6, %r1, %r2, %d3; mul24.lo.s32 %r15, %r1, %r2; sad.s32 %r16, %r1, %r2, 5;
        st.global.v4.u32 [%out], {%r10, %r11, %r12, %r13}; st.global.u32 [%out+16], %r14; st.global.u32 [%out+20], %r15; st.global.u64 [%out+24], %d1;
        st.global.v2.u64 [%out+32], {%d4, %d5}; st.global.u64 [%out+48], %d6; st.global.u32 [%out+56], %r16;";
    let (a, b) = (0xf234_9876u32, 0x7654_8321u32);
    let result = with_input(&[a, b], body, 15);
    let (sa, sb) = (i64::from(a.cast_signed()), i64::from(b.cast_signed()));
    let wide = |low: usize| u64::from(result[low]) | u64::from(result[low + 1]) << 32;
    assert_eq!(result[0], ((sa * sb) >> 32) as u32);
    assert_eq!(result[1], ((u64::from(a) * u64::from(b)) >> 32) as u32);
    let (ha, hb) = (a as u16, b as u16);
    assert_eq!(
        result[2].cast_signed(),
        i32::from(ha.cast_signed()) * i32::from(hb.cast_signed())
    );
    assert_eq!(result[3], u32::from(ha) * u32::from(hb));
    assert_eq!(
        result[4].cast_signed(),
        (i32::from(ha.cast_signed()) * i32::from(hb.cast_signed())) >> 16
    );
    assert_eq!(wide(6), (sa * sb) as u64);
    let product = i128::from(sa) * i128::from(b);
    assert_eq!(wide(8), (product >> 64) as u64);
    assert_eq!(wide(10), product as u64);
    assert_eq!(wide(12), u64::from(a) * u64::from(b) + u64::from(b));
    assert_eq!(result[14], b.wrapping_sub(a).wrapping_add(5));
}

#[test]
fn floats_to_integers_saturate() {
    let body = "mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3; cvt.f64.f32 %g1, %f1;
        cvt.rzi.s32.f32 %r10, %f1; cvt.rzi.u32.f32 %r11, %f1; cvt.rzi.s32.f64 %r12, %g1; cvt.rzi.s64.f32 %d1, %f1;
        cvt.rzi.s32.f32 %r13, %f2; cvt.rzi.u32.f32 %r14, %f3; cvt.rni.s32.f32 %r15, 0f40200000; cvt.rpi.s32.f32 %r16, 0f40200000; cvt.rmi.s32.f32 %r17, 0fC0200000;
        cvt.rni.sat.u8.f32 %r18, 0f43960000; cvt.rzi.s16.f32 %h1, %f2; cvt.s32.s16 %r19, %h1;
        st.global.v4.u32 [%out], {%r10, %r11, %r12, %r13}; st.global.v4.u32 [%out+16], {%r14, %r15, %r16, %r17}; st.global.u64 [%out+32], %d1; st.global.v2.u32 [%out+40], {%r18, %r19};";
    let result = with_input(
        &[f32::NAN.to_bits(), 3e38f32.to_bits(), (-3e38f32).to_bits()],
        body,
        12,
    );
    assert_eq!(result[..4], [0, 0, 0x8000_0000, 0x7fff_ffff]);
    assert_eq!(result[4..8], [0, 2, 3, (-3i32) as u32]);
    assert_eq!(result[8..], [0, 0x8000_0000, 255, 32767]);
}

#[test]
fn integers_narrow_extend_and_saturate() {
    let body = "cvt.s32.s8 %r10, %r1; cvt.u32.u8 %r11, %r1; cvt.s8.s32 %r12, %r2; cvt.sat.s8.s32 %r13, %r3; cvt.sat.u8.s32 %r14, %r2; cvt.sat.u16.u32 %r15, %r2;
        cvt.rn.f32.s32 %f1, %r2; cvt.rn.f32.u32 %f2, %r2; cvt.rz.f32.u32 %f3, %r2; mov.b32 %r16, %f1; mov.b32 %r17, %f2; mov.b32 %r18, %f3;
        cvt.s64.s32 %d1, %r2; cvt.u64.u32 %d2, %r2; cvt.sat.s32.s64 %r19, %d2;
        st.global.v4.u32 [%out], {%r10, %r11, %r12, %r13}; st.global.v4.u32 [%out+16], {%r14, %r15, %r16, %r17}; st.global.v2.u32 [%out+32], {%r18, %r19}; st.global.v2.u64 [%out+48], {%d1, %d2};";
    let result = with_input(&[0x1234_56f8, 0xffff_ff85, 1000], body, 16);
    assert_eq!(result[..4], [0xffff_fff8, 0xf8, 0xffff_ff85, 127]);
    assert_eq!(result[4..6], [0, 0xffff]);
    assert_eq!(result[6], (-123f32).to_bits());
    assert_eq!(result[7], 4_294_967_173f32.to_bits());
    assert_eq!(result[8..10], [0x4f7f_ffff, 0x7fff_ffff]);
    assert_eq!(result[12..], [0xffff_ff85, u32::MAX, 0xffff_ff85, 0]);
}

#[test]
fn floats_flush_saturate_and_order() {
    // %r1 subnormal, %r2 NaN, %r3 -0, %r4 +0
    let body = "mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3; mov.b32 %f4, %r4;
        add.f32 %f10, %f1, %f1; add.ftz.f32 %f11, %f1, %f1; mul.sat.f32 %f12, 0f40000000, 0f3F400000; add.sat.f32 %f13, %f2, %f2;
        min.f32 %f14, %f2, 0f40000000; max.f32 %f15, 0fC0000000, %f2; min.f32 %f16, %f4, %f3; max.f32 %f17, %f3, %f4; min.NaN.f32 %f18, 0f3F800000, %f2;
        setp.lt.f32 %p1, %f2, %f4; setp.ltu.f32 %p2, %f2, %f4; setp.ne.f32 %p3, %f2, %f2; setp.neu.f32 %p4, %f2, %f2; setp.eq.f32 %p5, %f3, %f4; setp.num.f32 %p6, %f1, %f2; setp.gt.ftz.f32 %p7, %f1, %f4;
        selp.u32 %r10, 1, 0, %p1; selp.u32 %r11, 2, 0, %p2; selp.u32 %r12, 4, 0, %p3; selp.u32 %r13, 8, 0, %p4; selp.u32 %r14, 16, 0, %p5; selp.u32 %r15, 32, 0, %p6; selp.u32 %r16, 64, 0, %p7;
        or.b32 %r10, %r10, %r11; or.b32 %r10, %r10, %r12; or.b32 %r10, %r10, %r13; or.b32 %r10, %r10, %r14; or.b32 %r10, %r10, %r15; or.b32 %r10, %r10, %r16;
        st.global.v4.f32 [%out], {%f10, %f11, %f12, %f13}; st.global.v4.f32 [%out+16], {%f14, %f15, %f16, %f17}; st.global.f32 [%out+32], %f18; st.global.u32 [%out+36], %r10;
        copysign.f32 %f19, %f3, 0f3F800000; st.global.f32 [%out+40], %f19; testp.subnormal.f32 %p8, %f1; testp.notanumber.f32 %p9, %f1; selp.u32 %r20, 1, 0, %p8; selp.u32 %r21, 1, 0, %p9; st.global.u32 [%out+44], %r20; st.global.u32 [%out+48], %r21;";
    let result = with_input(&[0x0000_1000, f32::NAN.to_bits(), 0x8000_0000, 0], body, 13);
    assert_eq!(result[..4], [0x2000, 0, 1f32.to_bits(), 0]);
    assert_eq!(
        result[4..8],
        [2f32.to_bits(), (-2f32).to_bits(), 0x8000_0000, 0]
    );
    assert!(f32::from_bits(result[8]).is_nan());
    assert_eq!(result[9], 2 | 8 | 16);
    assert_eq!(result[10], (-1f32).to_bits());
    assert_eq!(result[11..], [1, 0]);
}

#[test]
fn directed_rounding_and_approximations() {
    let body = "fma.rm.f32 %f1, 0f3F800001, 0f3F800001, 0f00000000; fma.rp.f32 %f2, 0f3F800001, 0f3F800001, 0f00000000; add.rz.f32 %f3, 0f3F800000, 0f33000000; div.rn.f32 %f4, 0f3F800000, 0f40400000; rcp.rn.f32 %f5, 0f40400000; sqrt.rn.f32 %f6, 0f40000000;
        ex2.approx.ftz.f32 %f7, 0f40400000; lg2.approx.f32 %f8, 0f41000000; rsqrt.approx.f32 %f9, 0f40800000; sin.approx.f32 %f10, 0f00000000; cos.approx.f32 %f11, 0f00000000; div.full.f32 %f12, 0f41200000, 0f40A00000; div.rn.f64 %g1, 0d3FF0000000000000, 0d4008000000000000; cvt.rm.f32.f64 %f13, %g1;
        st.global.v4.f32 [%out], {%f1, %f2, %f3, %f4}; st.global.v4.f32 [%out+16], {%f5, %f6, %f7, %f8}; st.global.v4.f32 [%out+32], {%f9, %f10, %f11, %f12}; st.global.f32 [%out+48], %f13;";
    let result = one_thread(body, 13);
    let float = |index: usize| f32::from_bits(result[index]);
    assert_eq!(result[..3], [0x3f80_0002, 0x3f80_0003, 0x3f80_0000]);
    assert_eq!(float(3), 1.0 / 3.0);
    assert_eq!(float(4), 1.0 / 3.0);
    assert_eq!(float(5), 2f32.sqrt());
    for (index, expected) in [(6, 8.0), (7, 3.0), (8, 0.5), (9, 0.0), (10, 1.0), (11, 2.0)] {
        assert!(
            (float(index) - expected).abs() <= 1e-6,
            "{index}: {}",
            float(index)
        );
    }
    assert_eq!(result[12], 0x3eaa_aaaa);
}

#[test]
fn packing_and_wide_registers() {
    let body = "mov.b64 %d1, {%r1, %r2}; mov.b64 {%r10, %r11}, %d1; mov.b64 {_, %r12}, %d1; mov.b32 {%h1, %h2}, %r1; mov.b32 %r13, {%h2, %h1}; mov.b32 %r14, {0, %h1};
        mov.b128 %w, {%d1, %d1}; mov.b128 {%d2, %d3}, %w; mov.b64 {%r15, %r16}, %d3;
        st.global.v4.b32 [%out], {%r10, %r11, %r12, %r13}; st.global.v2.b32 [%out+16], {%r14, %r15}; st.global.b32 [%out+24], %r16;";
    let body = format!(".reg .b128 %w;\n{body}");
    let result = with_input(&[0x1234_5678, 0x9abc_def0], &body, 7);
    assert_eq!(
        result,
        [
            0x1234_5678,
            0x9abc_def0,
            0x9abc_def0,
            0x5678_1234,
            0x5678_0000,
            0x1234_5678,
            0x9abc_def0
        ]
    );
}

#[test]
fn floats_in_untyped_registers() {
    // The newest dialect: everything is .b32.
    let body = "ld.global.b32 %r10, [%out]; ld.global.b32 %r11, [%out+4]; add.f32 %r12, %r10, %r11; mul.f32 %r13, %r12, 0f40000000; setp.gt.f32 %p1, %r13, %r12; selp.b32 %r14, %r13, %r12, %p1;
        fma.rn.f32 %r15, %r14, %r10, %r11; st.global.b32 [%out+8], %r15; and.b32 %r16, %r15, 0x7f800000; st.global.b32 [%out+12], %r16;";
    let machine = Machine::new();
    let out = machine.upload(&[1.5f32, 2.25, 0.0, 0.0]);
    machine.succeed(
        &with_out("", body),
        "k",
        &Config::new(1, 1),
        &[Arg::U64(out)],
    );
    let result = machine.download::<f32>(out, 4);
    assert_eq!(result[2], 7.5f32.mul_add(1.5, 2.25));
    assert_eq!(result[3].to_bits(), result[2].to_bits() & 0x7f80_0000);
}

#[test]
fn halves() {
    let body = "cvt.rn.f16.f32 %h1, 0f3FC00000; cvt.rn.f16.f32 %h2, 0f40200000; add.f16 %h3, %h1, %h2; fma.rn.f16 %h4, %h1, %h2, %h3; setp.lt.f16 %p1, %h1, %h2; selp.u32 %r3, 1, 0, %p1;
        cvt.f32.f16 %f1, %h3; cvt.f32.f16 %f2, %h4; cvt.rn.f16x2.f32 %r1, 0f3F800000, 0f40000000; add.f16x2 %r2, %r1, %r1; neg.f16x2 %r4, %r2;
        st.global.v2.f32 [%out], {%f1, %f2}; st.global.v2.u32 [%out+8], {%r2, %r3}; st.global.u32 [%out+16], %r4;";
    let result = one_thread(body, 5);
    assert_eq!(f32::from_bits(result[0]), 4.0);
    assert_eq!(f32::from_bits(result[1]), 7.75);
    assert_eq!(result[2..], [0x4000_4400, 1, 0xc000_c400]);
}

#[test]
fn guarded_instructions_and_tables() {
    let body = "mov.u32 %r1, %tid.x; mov.u32 %r2, 5; setp.gt.s32 %p1, %r1, 1; @%p1 add.s32 %r2, %r2, 10; @!%p1 sub.s32 %r2, %r2, 1;
        brx.idx %r1, TABLE; TABLE: .branchtargets A, B, C, B;
        A: add.s32 %r2, %r2, 100; bra END; B: add.s32 %r2, %r2, 200; bra END; C: add.s32 %r2, %r2, 300;
        END: mul.wide.u32 %d1, %r1, 4; add.s64 %d1, %d1, %out; @%p1 st.global.u32 [%d1], %r2; @!%p1 st.global.u32 [%d1], %r2;";
    let machine = Machine::new();
    let out = machine.alloc(16);
    machine.succeed(
        &with_out("", body),
        "k",
        &Config::new(1, 4),
        &[Arg::U64(out)],
    );
    assert_eq!(machine.download::<u32>(out, 4), [104, 204, 315, 215]);
}

#[test]
fn video_instructions() {
    let body = "vabsdiff4.u32.u32.u32.add %r10, %r1, %r2, %r3; vabsdiff4.u32.u32.u32 %r11, %r1, %r2, %r3; vadd.s32.s32.s32.sat %r12, %r4, %r4; vmax2.s32.s32.s32 %r13, %r1, %r2, %r3;
        st.global.v4.u32 [%out], {%r10, %r11, %r12, %r13};";
    let result = with_input(&[0x0102_80ff, 0x0501_7f00, 1000, 0x7fff_0000], body, 4);
    assert_eq!(
        result,
        [
            1000 + 4 + 1 + 1 + 255,
            0x0401_01ff,
            0x7fff_ffff,
            0x0501_7f00
        ]
    );
}

#[test]
fn zeros_are_normal_numbers() {
    let body = "mov.b32 %f1, 0x80000000; mov.b32 %f2, 0x807fffff; mov.b32 %f3, 0x7f800000; mov.b64 %g1, 0x8000000000000000; mov.b64 %g2, 1;
        testp.normal.f32 %p1, %f1; testp.normal.f32 %p2, %f2; testp.normal.f32 %p3, %f3; testp.normal.f64 %p4, %g1; testp.normal.f64 %p5, %g2;
        testp.subnormal.f32 %p6, %f1; testp.subnormal.f32 %p7, %f2; testp.subnormal.f32 %p8, %f3; testp.subnormal.f64 %p9, %g1; testp.subnormal.f64 %p10, %g2;
        selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 1, 0, %p3; selp.u32 %r4, 1, 0, %p4; selp.u32 %r5, 1, 0, %p5;
        selp.u32 %r6, 1, 0, %p6; selp.u32 %r7, 1, 0, %p7; selp.u32 %r8, 1, 0, %p8; selp.u32 %r9, 1, 0, %p9; selp.u32 %r10, 1, 0, %p10;
        st.global.v2.u32 [%out], {%r1, %r2}; st.global.v2.u32 [%out+8], {%r3, %r4}; st.global.v2.u32 [%out+16], {%r5, %r6}; st.global.v2.u32 [%out+24], {%r7, %r8}; st.global.v2.u32 [%out+32], {%r9, %r10};";
    assert_eq!(one_thread(body, 10), [1, 0, 0, 1, 0, 0, 1, 0, 0, 1]);
}

#[test]
fn the_carry_of_a_difference_says_that_it_did_not_borrow() {
    // Hardware computes a - b as a + !b + 1, and NVRTC's 128-bit division relies on it.
    let body = "sub.cc.u32 %r10, %r1, %r2; addc.u32 %r11, 0, 0; sub.cc.u32 %r10, %r2, %r1; addc.u32 %r12, 0, 0;
        add.cc.u32 %r10, %r1, %r2; subc.u32 %r13, 5, 0; add.cc.u32 %r10, %r2, %r2; subc.u32 %r14, 5, 0;
        st.global.v4.u32 [%out], {%r11, %r12, %r13, %r14};";
    assert_eq!(with_input(&[1, u32::MAX], body, 4), [0, 1, 5, 5]);
    assert_eq!(with_input(&[7, 7], body, 4), [1, 1, 4, 4]);
}

#[test]
fn integer_constants_of_untyped_moves_are_bits() {
    // Registers that are used as floats only, set as headers of CUDA do: by moves and selections of untyped bits.
    let body = "{ .reg .b32 c, n, s; mov.b32 c, 0x3fb8aa3b; mov.b32 n, 0x80000000; fma.rn.f32 %f1, %f1, c, n;
        setp.eq.u32 %p1, %r1, 0; selp.b32 s, 0x40000000, 0x3f000000, %p1; mul.f32 %f2, s, s; }
        { .reg .b64 d; mov.b64 d, 0x4000000000000000; mul.f64 %g1, d, d; }
        st.global.f32 [%out], %f1; st.global.f32 [%out+4], %f2; st.global.f64 [%out+8], %g1;";
    let body = format!("mov.b32 %f1, %r2;\n{body}");
    let result = with_input(&[1, 2.0f32.to_bits()], &body, 4);
    assert_eq!(f32::from_bits(result[0]), 2.0 * f32::from_bits(0x3fb8_aa3b));
    assert_eq!(f32::from_bits(result[1]), 0.25);
    assert_eq!(result[2..], [0, 0x4010_0000]);
}
