//! The interpreter on kernels whose results are worked out by hand: it judges others, so it is judged first.

use cuprum_tests::interpreter::{Launch, Memory, Stop, run};

const OUT: u64 = 0x1_0000;

/// Runs a kernel of one pointer parameter on a buffer of words and gives the buffer back.
fn words(body: &str, block: u32, buffer: &[u32]) -> Result<Vec<u32>, Stop> {
    let source = format!(".version 8.0\n.target sm_80\n.address_size 64\n{body}",);
    let module = cuprum_ptx::parse(&source).unwrap_or_else(|e| panic!("{e}"));
    let mut memory = Memory::new();
    memory.add(
        OUT,
        buffer.iter().flat_map(|word| word.to_le_bytes()).collect(),
    );
    let params = OUT.to_le_bytes();
    let launch = Launch {
        grid: [1, 1, 1],
        block: [block, 1, 1],
        dynamic_shared: 0,
        params: &params,
    };
    run(&module, "k", &launch, &mut memory)?;
    let bytes = memory.region(OUT).expect("the region was added");
    Ok(bytes
        .chunks(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect())
}

/// A kernel with registers, `%rd1` the address of this thread's word and `%r1` the thread.
fn kernel(body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out) {{
            .reg .pred %p<8>; .reg .b32 %r<20>; .reg .b64 %rd<8>; .reg .f32 %f<8>;
            .shared .align 4 .b8 tile[1024];
            ld.param.u64 %rd1, [out];
            mov.u32 %r1, %tid.x;
            mul.wide.u32 %rd2, %r1, 4;
            add.s64 %rd1, %rd1, %rd2;
            {body}
        }}"
    )
}

#[test]
fn loops_and_divergence() {
    // Collatz steps of thread + 1.
    let steps = |mut n: u32| {
        let mut count = 0;
        while n != 1 {
            n = if n.is_multiple_of(2) {
                n / 2
            } else {
                3 * n + 1
            };
            count += 1;
        }
        count
    };
    let out = words(
        &kernel(
            "add.u32 %r2, %r1, 1;
             mov.u32 %r3, 0;
             LOOP: setp.eq.u32 %p1, %r2, 1;
             @%p1 bra DONE;
             and.b32 %r4, %r2, 1;
             setp.ne.u32 %p2, %r4, 0;
             @%p2 mad.lo.u32 %r2, %r2, 3, 1;
             @!%p2 shr.u32 %r2, %r2, 1;
             add.u32 %r3, %r3, 1;
             bra LOOP;
             DONE: st.global.u32 [%rd1], %r3; ret;",
        ),
        40,
        &[0; 40],
    );
    assert_eq!(out, Ok((1..=40).map(steps).collect()));
}

#[test]
fn barriers_and_shared_memory() {
    // Reverses the block through shared memory; half of the threads leave before the second barrier.
    let out = words(
        &kernel(
            "mov.u32 %r2, tile;
             shl.b32 %r3, %r1, 2;
             add.u32 %r4, %r2, %r3;
             ld.global.u32 %r5, [%rd1];
             st.shared.u32 [%r4], %r5;
             bar.sync 0;
             sub.u32 %r6, 252, %r3;
             add.u32 %r6, %r6, %r2;
             ld.shared.u32 %r7, [%r6];
             st.global.u32 [%rd1], %r7;
             and.b32 %r8, %r1, 1;
             setp.eq.u32 %p1, %r8, 0;
             @%p1 exit;
             bar.sync 0;
             bar.red.popc.u32 %r9, 0, %p1;
             st.global.u32 [%rd1], %r9;",
        ),
        64,
        &(0..64).collect::<Vec<_>>(),
    );
    let want = (0..64)
        .map(|i| if i % 2 == 0 { 63 - i } else { 0 })
        .collect();
    assert_eq!(out, Ok(want));
}

#[test]
fn shuffles_and_votes() {
    let out = words(
        &kernel(
            "ld.global.u32 %r2, [%rd1];
             shfl.sync.bfly.b32 %r3|%p1, %r2, 1, 31, -1;
             shfl.sync.up.b32 %r4|%p2, %r3, 2, 0, -1;
             selp.u32 %r5, %r4, 1000, %p2;
             setp.gt.u32 %p3, %r2, 20;
             vote.sync.ballot.b32 %r6, %p3, -1;
             popc.b32 %r7, %r6;
             redux.sync.max.u32 %r8, %r2, -1;
             add.u32 %r5, %r5, %r7;
             add.u32 %r5, %r5, %r8;
             st.global.u32 [%rd1], %r5;",
        ),
        32,
        &(0..32).collect::<Vec<_>>(),
    );
    let want = (0..32u32)
        .map(|i| (if i >= 2 { (i - 2) ^ 1 } else { 1000 }) + 11 + 31)
        .collect();
    assert_eq!(out, Ok(want));
}

#[test]
fn calls_atomics_and_module_variables() {
    let out = words(
        &format!(
            ".const .align 4 .u32 table[3] = {{7, 8}};
             .global .align 4 .u32 total = 5;
             .func (.param .b32 result) factorial(.param .b32 n) {{
                .reg .pred %p; .reg .b32 %r<4>;
                ld.param.u32 %r1, [n];
                setp.gt.u32 %p, %r1, 1;
                @%p bra MORE;
                st.param.b32 [result], 1;
                ret;
                MORE: sub.u32 %r2, %r1, 1;
                {{ .param .b32 n; .param .b32 value;
                   st.param.b32 [n], %r2;
                   call.uni (value), factorial, (n);
                   ld.param.b32 %r3, [value]; }}
                mul.lo.u32 %r3, %r3, %r1;
                st.param.b32 [result], %r3;
                ret;
             }}
             {}",
            kernel(
                "{ .param .b32 a; .param .b32 b;
                   st.param.b32 [a], %r1;
                   call.uni (b), factorial, (a);
                   ld.param.b32 %r2, [b]; }
                 mov.u64 %rd3, total;
                 atom.global.add.u32 %r3, [total], %r2;
                 ld.const.u32 %r4, [table+4];
                 add.u32 %r3, %r3, %r4;
                 st.global.u32 [%rd1], %r3;",
            )
        ),
        5,
        &[0; 5],
    );
    // Sums of the factorials before, from 5, plus 8.
    assert_eq!(out, Ok(vec![13, 14, 15, 17, 23]));
}

#[test]
fn local_memory_generic_addresses_and_jump_tables() {
    let out = words(
        &kernel(
            ".local .align 8 .b8 stack[16];
             mov.u64 %rd3, stack;
             cvta.local.u64 %rd4, %rd3;
             st.u32 [%rd4+4], %r1;
             ld.local.u32 %r2, [stack+4];
             mov.u64 %rd5, tile;
             cvta.shared.u64 %rd5, %rd5;
             add.s64 %rd5, %rd5, %rd2;
             st.u32 [%rd5], %r2;
             TABLE: .branchtargets A, B, C;
             brx.idx %r1, TABLE;
             A: mov.u32 %r3, 10; bra END;
             B: mov.u32 %r3, 20; bra END;
             C: mov.u32 %r3, 30;
             END: ld.u32 %r4, [%rd5];
             mad.lo.u32 %r3, %r4, 100, %r3;
             st.global.u32 [%rd1], %r3;",
        ),
        3,
        &[0; 3],
    );
    assert_eq!(out, Ok(vec![10, 120, 230]));
}

#[test]
fn wide_arithmetic_and_vectors() {
    let out = words(
        &kernel(
            "mov.u32 %r2, 0xffffffff;
             add.cc.u32 %r3, %r2, 2;
             addc.u32 %r4, 0, 0;
             mul.wide.s32 %rd3, %r2, 3;
             mov.b64 {%r5, %r6}, %rd3;
             sub.cc.u32 %r7, 0, 1;
             subc.u32 %r8, 5, 0;
             cvt.s32.s8 %r9, 0x80;
             st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6};
             st.global.v2.u32 [%rd1+16], {%r8, %r9};",
        ),
        1,
        &[0; 8],
    );
    assert_eq!(
        out,
        Ok(vec![
            1,
            1,
            (-3i32) as u32,
            u32::MAX,
            4,
            (-128i32) as u32,
            0,
            0
        ])
    );
}

#[test]
fn misbehaviour_is_reported() {
    let fault = |body: &str| match words(&kernel(body), 2, &[0; 2]) {
        Err(Stop::Fault(text)) => text,
        other => panic!("{other:?}"),
    };
    assert!(fault("st.global.u32 [%rd1+8], 0;").contains("no memory at 0x10008"));
    assert!(fault("st.global.u32 [%rd1+2], 0;").contains("misaligned"));
    assert!(
        fault("setp.eq.u32 %p1, %r1, 0; @%p1 bar.sync 0, 64; @!%p1 bar.sync 1, 64; bar.sync 1;")
            .contains("wait")
    );
    assert!(fault("trap;").contains("trap"));
    assert_eq!(words(&kernel("L: bra L;"), 1, &[0]), Err(Stop::OutOfTime));
    assert!(matches!(
        words(&kernel("activemask.b32 %r2;"), 1, &[0]),
        Err(Stop::Unsupported(_))
    ));
}
