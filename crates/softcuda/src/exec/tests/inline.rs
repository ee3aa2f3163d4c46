//! Instructions that are compiled in line give what the functions of `numeric`, which have references of their own, give.

use super::{Arg, Config, Machine};
use crate::numeric::function;

const COUNT: usize = 1 << 14;

/// Bits of numbers of every kind: special values, subnormals, powers of two and their neighbours, ordinary and arbitrary ones.
fn samples(seed: u32) -> Vec<u32> {
    let special = [
        0,
        1,
        0x7f_ffff,
        0x80_0000,
        0x3f80_0000,
        0x3f80_0001,
        0x4b40_0001,
        0x437c_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7fc0_0000,
        0xc2fc_0000, // -126
        0xc315_0000, // -149
        0x4300_0000, // 128
    ];
    let mut state = seed;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let mut list: Vec<u32> = special
        .iter()
        .flat_map(|&bits| [bits, bits | 1 << 31])
        .collect();
    while list.len() < COUNT {
        let bits = random();
        list.push(match bits & 3 {
            0 => random(),
            1 => (((random() >> 8) as f32 / 32768.0) - 256.0).to_bits(),
            2 => (random() & 0xff80_0000) | (bits >> 2 & 3),
            _ => special[random() as usize % special.len()] ^ (bits & 1 << 31),
        });
    }
    // Another order for each seed, so that operands meet in many ways.
    let turn = seed as usize % COUNT;
    list.rotate_left(turn);
    list
}

fn same(name: &str, operands: &[u32], device: u32, function: f32) {
    let device = f32::from_bits(device);
    assert!(
        device.to_bits() == function.to_bits() || (device.is_nan() && function.is_nan()),
        "{name} {operands:x?}: {device} ({:x}), not {function} ({:x})",
        device.to_bits(),
        function.to_bits()
    );
}

#[test]
fn fma_rm_and_ex2_are_those_of_the_functions() {
    const PTX: &str = ".version 7.0\n.target sm_80\n.address_size 64\n\
        .visible .entry k(.param .u64 in, .param .u64 out) {\n.reg .b64 %d<4>; .reg .b32 %r<4>; .reg .f32 %f<8>;\n\
        ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out];\n\
        mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r0, %r0, %r1, %r2; mul.wide.u32 %d3, %r0, 16;\n\
        add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3; ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d1];\n\
        fma.rm.f32 %f5, %f1, %f2, %f3; ex2.approx.f32 %f6, %f1; ex2.approx.ftz.f32 %f7, %f1;\n\
        st.global.v4.f32 [%d2], {%f5, %f6, %f7, %f4};\nret;\n}\n";
    let [a, b, c] = [1, 77, 4242].map(samples);
    let input: Vec<u32> = (0..COUNT).flat_map(|i| [a[i], b[i], c[i], 0]).collect();
    let machine = Machine::new();
    let (input, out) = (machine.upload(&input), machine.alloc(16 * COUNT));
    machine.succeed(
        PTX,
        "k",
        &Config::new(COUNT as u32 / 128, 128),
        &[Arg::U64(input), Arg::U64(out)],
    );
    let address = |name: &str| function(name).expect("the function exists").address();
    // SAFETY: the table's signatures of these functions.
    let (fma, ex2, ex2_ftz) = unsafe {
        (
            std::mem::transmute::<*const u8, extern "C" fn(f32, f32, f32) -> f32>(address(
                "fma_rm_f32",
            )),
            std::mem::transmute::<*const u8, extern "C" fn(f32) -> f32>(address("ex2_approx_f32")),
            std::mem::transmute::<*const u8, extern "C" fn(f32) -> f32>(address(
                "ex2_approx_ftz_f32",
            )),
        )
    };
    for (i, got) in machine
        .download::<u32>(out, 4 * COUNT)
        .as_chunks::<4>()
        .0
        .iter()
        .enumerate()
    {
        let [x, y, z] = [a[i], b[i], c[i]].map(f32::from_bits);
        same("fma.rm", &[a[i], b[i], c[i]], got[0], fma(x, y, z));
        same("ex2", &[a[i]], got[1], ex2(x));
        same("ex2.ftz", &[a[i]], got[2], ex2_ftz(x));
    }
}
