//! Kernels of `malloc_new`, `printf_`, `misc_target_a`, `rdc_extern`, `rare_alloca_asm` and `cdp`.

use super::inputs::Inputs;
use super::{Bound, Case};

pub(super) fn cases() -> Vec<Case> {
    let mut inputs = Inputs::new(0xd3);
    let mut cases = heap(&mut inputs);
    cases.extend(printing());
    cases.extend(other_module());
    cases.extend(launches_from_kernels());
    cases.push(Case::new("misc_target_a", "arch").shape(1, 32).judged(
        &[0i32; 3],
        "what the compiler was told and is",
        |o: &[i32]| {
            let dispatched = match o[0] {
                800.. => 80,
                750.. => 75,
                _ => 0,
            };
            // The three that are pinned.
            if o[0] >= 750
                && o[0] % 10 == 0
                && o[1] == dispatched
                && [1209, 1300, 1305].contains(&o[2])
            {
                Ok(())
            } else {
                Err(format!("{o:?}"))
            }
        },
    ));
    for n in [0i32, 1, 7, 300] {
        let want: Vec<i32> = (0..64)
            .map(|t| {
                (0..n)
                    .rev()
                    .fold(0i32, |s, i| s.wrapping_mul(3).wrapping_add(i ^ t))
            })
            .collect();
        cases.push(
            Case::new("rare_alloca_asm", "dynalloc")
                .variant(format!("{n}"))
                .shape(1, 64)
                .output(&want, Bound::Equal)
                .scalar(n),
        );
    }
    cases
}

fn heap(inputs: &mut Inputs) -> Vec<Case> {
    let mut cases = Vec::new();
    for n in [0i32, 1, 50] {
        let gauss = n * (n - 1) / 2;
        let want: Vec<i32> = (0..128).map(|t| t * gauss).collect();
        cases.push(
            Case::new("malloc_new", "list")
                .variant(format!("{n}"))
                .shape(4, 128)
                .output(&want, Bound::Equal)
                .scalar(n),
        );
        cases.push(
            Case::new("malloc_new", "nw")
                .variant(format!("{n}"))
                .shape(2, 96)
                .output(&[f64::from(gauss) + 3.0; 96], Bound::Equal)
                .scalar(n),
        );
    }
    for n in [0usize, 1, 6, 63, 64, 130, 192] {
        let s = inputs.many(200, |r| r.between(1, 127) as i8);
        let initial = inputs.many(320, |r| r.bits() as i8);
        let mut want = initial.clone();
        want[..n].copy_from_slice(&s[..n]);
        want[n..n + 64].fill(7);
        want[256..288].copy_from_slice(&s[..32]);
        let at = n & 63;
        want[0] = if (3..8).contains(&at) { 0 } else { s[at] };
        cases.push(
            Case::new("malloc_new", "mem")
                .variant(format!("{n}"))
                .shape(1, 1)
                .update(&initial, &want, Bound::Equal)
                .input(&s)
                .scalar(n as i32),
        );
    }
    let o = inputs.many(12, |r| r.bits() as i32);
    let mut want = o.clone();
    want.copy_within(0..4, 8);
    cases.push(
        Case::new("malloc_new", "heap_align")
            .shape(1, 1)
            .update(&o, &want, Bound::Equal),
    );
    cases
}

fn printing() -> Vec<Case> {
    let mut cases = vec![
        Case::new("printf_", "p0")
            .shape(3, 40)
            .prints((0..120).map(|_| "hello".to_owned())),
    ];
    let lines = (0..2).flat_map(|y| {
        (0..3).flat_map(move |z| {
            (0..2).flat_map(move |x| {
                (0..5).map(move |t| format!("I am {t}th thread in {x}.{y}.{z} f=-2.750000 s=lit"))
            })
        })
    });
    cases.push(
        Case::new("printf_", "p1")
            .shape_3d((2, 2, 3), (48, 1, 1))
            .scalar(5i32)
            .scalar(-2.75f32)
            .scalar(0u64)
            .prints(lines),
    );
    // What C's `printf` makes of the values, written out by hand, up to `%zu`: CUDA does not know it, prints it as it stands,
    // and takes no argument for it. From there on each conversion takes the bytes that come next: `%5.2f` those of `z`, a
    // tiny number; `%-8d` and `%08x` the two halves of `d`; `%+d` what was meant for `%-8d`; `%lu` `h` and bytes that nobody wrote.
    let line = "1.5 1.500000e+00 -42 18446744073709551615 -7 A 0x10 1 %zu %  0.00 0       | 3ff80000 -42 …";
    cases.push(
        Case::new("printf_", "p2")
            .variant("plain")
            .shape(1, 2)
            .scalar(1.5f64)
            .scalar(-42i64)
            .scalar(u64::MAX)
            .scalar(-7i16)
            .scalar(b'A' as i8)
            .scalar(0x10u64)
            .scalar(1u8)
            .scalar(123_456_789_012u64)
            .prints([line.to_owned(), line.to_owned()]),
    );
    let line = "-1e-10 -1.000000e-10 9223372036854775807 0 32767 z 0xdeadbeef0 0 %zu %  0.00 -640172613| bddb7cdf -1 …";
    cases.push(
        Case::new("printf_", "p2")
            .variant("ends")
            .shape(1, 1)
            .scalar(-1e-10f64)
            .scalar(i64::MAX)
            .scalar(0u64)
            .scalar(i16::MAX)
            .scalar(b'z' as i8)
            .scalar(0xd_eadb_eef0u64)
            .scalar(0u8)
            .scalar(0u64)
            .prints([line.to_owned()]),
    );
    cases
}

/// What `rdc_extern.cu` declares: a function, `x * k - 0.5`, and two variables.
const OTHER: &str = "
.version 6.0
.target sm_60
.address_size 64
.visible .global .align 4 .u32 ext_var = 7;
.visible .const .align 4 .f32 ext_c[3] = {0f3F800000, 0f42280000, 0f40400000};
.visible .func (.param .b32 func_retval0) _Z6ext_fnfi(.param .b32 x, .param .b32 k)
{
    .reg .f32 %f<4>;
    .reg .b32 %r<2>;
    ld.param.f32 %f1, [x];
    ld.param.u32 %r1, [k];
    cvt.rn.f32.s32 %f2, %r1;
    fma.rn.f32 %f3, %f1, %f2, 0fBF000000;
    st.param.f32 [func_retval0], %f3;
    ret;
}
";

/// One thread: others would read shared memory that it has not written yet.
fn other_module() -> Vec<Case> {
    [0.0f32, -15.25, 1.5, 1e6]
        .into_iter()
        .map(|x| {
            // Exact, fused or not.
            let want = (x + 7.0) * 7.0 - 0.5 + 42.0 + 1.0;
            Case::new("rdc_extern", "useext")
                .variant(format!("{x}"))
                .shape(1, 1)
                .shared_bytes(4)
                .update(&[x], &[want], Bound::Equal)
                .linked_with(OTHER)
        })
        .collect()
}

/// The two blocks of the child add to the same elements, each on its own.
fn launches_from_kernels() -> [Case; 2] {
    let p: Vec<i32> = (0..32).map(|t| t * 1000 - 7).collect();
    let once: Vec<i32> = p.iter().map(|v| v + 9).collect();
    let initial = p.clone();
    let judge = move |got: &[i32]| match got
        .iter()
        .zip(&initial)
        .position(|(g, p)| ![5, 10].contains(&(g - p)))
    {
        Some(index) => Err(format!("element {index} is {}", got[index])),
        None => Ok(()),
    };
    [
        Case::new("cdp", "parent")
            .shape(1, 64)
            .judged(&p, "5 once or twice", judge),
        Case::new("cdp", "_Z5childPii")
            .shape(1, 32)
            .update(&p, &once, Bound::Equal)
            .scalar(9i32),
    ]
}
