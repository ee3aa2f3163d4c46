//! Kernels of `malloc_new`, `printf_`, `misc_target_a` and `rare_alloca_asm`.

use super::inputs::Inputs;
use super::{Bound, Case};

pub(super) fn cases() -> Vec<Case> {
    let mut inputs = Inputs::new(0xd3);
    let mut cases = heap(&mut inputs);
    cases.extend(printing());
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
    // What C's `printf` makes of the values, written out by hand.
    let line = "1.5 1.500000e+00 -42 18446744073709551615 -7 A 0x10 1 123456789012 %  1.50 -42     | ffffffff -7 123456789012";
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
    let line = "-1e-10 -1.000000e-10 9223372036854775807 0 32767 z 0xdeadbeef0 0 0 % -0.00 -1      | 00000000 +32767 0";
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
