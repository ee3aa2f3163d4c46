//! Rough costs of a thread: `cargo test -p cuprum-softcuda --lib speed -- --ignored --nocapture`;
//! `CUPRUM_SPEED=word` picks the lines that contain the word.

use std::time::Instant;

use super::{Arg, Config, Machine, with_out};

/// Nanoseconds of wall-clock time for each thread, the least of some launches.
fn measure(name: &str, regs: &str, body: &str, grid: u32, block: u32) {
    if std::env::var("CUPRUM_SPEED").is_ok_and(|wanted| !name.contains(&wanted)) {
        return;
    }
    let machine = Machine::new();
    let out = machine.alloc((grid * block * 8) as usize);
    let ptx = with_out(regs, body);
    let kernel = machine.prepare(&ptx, "k");
    let best = (0..15)
        .map(|_| {
            let start = Instant::now();
            machine
                .start(&kernel, &Config::new(grid, block), &[Arg::U64(out)])
                .unwrap_or_else(|fault| panic!("{}", fault.message));
            start.elapsed()
        })
        .min()
        .expect("several launches were made");
    println!(
        "{name:24} {:8.2} ns/thread",
        best.as_secs_f64() * 1e9 / f64::from(grid * block)
    );
}

#[test]
#[ignore = "prints measurements"]
fn speed() {
    let index = "mov.u32 %r60, %ctaid.x; mov.u32 %r61, %ntid.x; mov.u32 %r62, %tid.x; mad.lo.s32 %r0, %r60, %r61, %r62; mul.wide.s32 %d60, %r0, 4; add.s64 %d0, %out, %d60;\n";
    measure("empty", "", "", 1024, 256);
    measure("empty, small blocks", "", "", 8192, 32);
    measure(
        "saxpy",
        "",
        &format!(
            "{index} ld.global.f32 %f1, [%d0]; ld.global.f32 %f2, [%d0]; fma.rn.f32 %f3, %f1, 0f40000000, %f2; st.global.f32 [%d0], %f3;"
        ),
        1024,
        256,
    );
    measure(
        "barrier x8",
        ".shared .align 4 .b8 s[1024];",
        &format!(
            "{index} bar.sync 0; bar.sync 0; bar.sync 0; bar.sync 0; bar.sync 0; bar.sync 0; bar.sync 0; bar.sync 0;"
        ),
        1024,
        256,
    );
    measure(
        "shuffle x5",
        "",
        &format!(
            "{index} shfl.sync.bfly.b32 %r1, %r0, 16, 31, -1; shfl.sync.bfly.b32 %r1, %r1, 8, 31, -1; shfl.sync.bfly.b32 %r1, %r1, 4, 31, -1; shfl.sync.bfly.b32 %r1, %r1, 2, 31, -1; shfl.sync.bfly.b32 %r1, %r1, 1, 31, -1; st.global.u32 [%d0], %r1;"
        ),
        1024,
        256,
    );
    measure(
        "integer loop x256",
        "",
        &format!(
            "{index} mov.u32 %r1, %r0; mov.u32 %r2, 0; L: shl.b32 %r3, %r1, 13; xor.b32 %r1, %r1, %r3; shr.u32 %r3, %r1, 17; xor.b32 %r1, %r1, %r3; shl.b32 %r3, %r1, 5; xor.b32 %r1, %r1, %r3; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, 256; @%p1 bra L; st.global.u32 [%d0], %r1;"
        ),
        256,
        256,
    );
    measure(
        "tile of shared x64",
        ".shared .align 4 .b8 s[2048];",
        &format!(
            "{index} and.b32 %r1, %r62, 15; shl.b32 %r1, %r1, 2; mov.u32 %r4, s; add.s32 %r4, %r4, %r1; mov.u32 %r2, 0; mov.f32 %f1, 0f00000000; bar.sync 0; L: ld.shared.f32 %f2, [%r4]; ld.shared.f32 %f3, [%r4+64]; fma.rn.f32 %f1, %f2, %f3, %f1; add.s32 %r4, %r4, 4; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, 64; @%p1 bra L; st.global.f32 [%d0], %f1;"
        ),
        1024,
        256,
    );
    measure(
        "one block",
        "",
        &format!("{index} st.global.u32 [%d0], %r0;"),
        1,
        32,
    );
}
