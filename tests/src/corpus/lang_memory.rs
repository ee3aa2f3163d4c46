//! Kernels of `lang_addrspace`, `lang_globals`, `lang_init_forms`, `lang_local_arrays` and `lang_memops`.

use super::inputs::Inputs;
use super::{Bound, Case};

pub(super) fn cases() -> Vec<Case> {
    let mut inputs = Inputs::new(0x3e3);
    let mut cases = address_spaces(&mut inputs);
    cases.extend(globals());
    cases.extend(initial_forms());
    cases.extend(local_arrays(&mut inputs));
    cases.extend(memory_operations(&mut inputs));
    cases
}

fn address_spaces(inputs: &mut Inputs) -> Vec<Case> {
    let p: Vec<f32> = (0..32).map(|i| (i * 3 + 5) as f32).collect();
    let gg = [70.0f32, 71.0, 72.0, 73.0];
    let cc = [80.0f32, 81.0, 82.0, 83.0];
    // Which space the pointer is of, and what is at it: by the space that the kernel is told to choose.
    let chosen = [
        (1, p[0] as i32),
        (2, p[1] as i32),
        (8, 3),
        (1, gg[3] as i32),
        (4, cc[0] as i32),
    ];
    let mut cases: Vec<Case> = (0..5)
        .map(|k| {
            let (space, value) = chosen[k];
            let want = [(0, space), (1, value), (6, p[1] as i32), (7, gg[0] as i32)];
            Case::new("lang_addrspace", "spaces")
                .variant(["global", "shared", "local", "variable", "constant"][k])
                .shape(1, 32)
                .input(&p)
                .judged(&[0i32; 8], "right but for addresses", move |o: &[i32]| {
                    for (index, want) in want {
                        if o[index] != want {
                            return Err(format!("o[{index}] is {}, want {want}", o[index]));
                        }
                    }
                    Ok(())
                })
                .scalar(k as i32)
                .global("gg", &gg)
                .global("cc", &cc)
        })
        .collect();
    cases.push(
        Case::new("lang_addrspace", "gridconst_sp")
            .shape(2, 32)
            .scalar(77i32)
            .output(&[1i32], Bound::Equal),
    );
    let o: Vec<f32> = inputs.many(8, |r| (r.unit() * 100.0) as f32);
    let mut want = o.clone();
    for t in 0..4 {
        want[t] = o[t] + o[t + 4] + o[t] + gg[t] + cc[t];
    }
    cases.push(
        Case::new("lang_addrspace", "ni")
            .shape(1, 4)
            .update(&o, &want, Bound::Equal)
            .global("gg", &gg)
            .global("cc", &cc),
    );
    cases
}

/// The initial values that the source writes out.
fn globals() -> Vec<Case> {
    let strings = ["alpha\0", "beta\0", "gamma\t\"q\"\n\\\0"];
    let mut cases: Vec<Case> = (0..6usize)
        .map(|k| {
            let arr = {
                let mut arr = [0.0f32; 16];
                arr[..3].copy_from_slice(&[1.0, 2.0, 3.0]);
                arr
            };
            let index = k as i32;
            let last = [1, 2, 3, 4, 255][k % 5];
            // `counter++ + *ip`, where `ip` points to `counter`: C++ leaves open whether the second is read before or
            // after the first is stored.
            let counted = [5 + 5, 5 + 6];
            let rest = arr[4 + k] as i32
                + i32::from(strings[k % 3].as_bytes()[k])
                + 7
                + arr[3] as i32
                + [1, 2, 3][k % 3]
                + 11
                + 3
                + [-1, 1][k & 1]
                + 1
                + last
                - 3
                - 5
                + 9
                + 4
                + index;
            let mut marr = [0.0f32; 8];
            marr[k & 7] = [0.1f32, 0.2, 3.4e38, -0.0][k & 3] + 2.0;
            let mut big = [0.0f64; 1000];
            big[k] = 2.5;
            Case::new("lang_globals", "glob")
                .variant(format!("{k}"))
                .shape(1, 1)
                .judged(
                    &[0i32; 2],
                    "one of two sums, and one call",
                    move |o: &[i32]| {
                        if !counted.contains(&(o[0] - rest)) || o[1] != 1 {
                            return Err(format!(
                                "{o:?}, want {} or {} and 1",
                                rest + 10,
                                rest + 11
                            ));
                        }
                        Ok(())
                    },
                )
                .scalar(index)
                .global_update("counter", &[5i32], &[6i32], Bound::Equal)
                .global_update("marr", &[0.0f32; 8], &marr, Bound::Equal)
                .global_update("big", &[0.0f64; 1000], &big, Bound::Equal)
                // It counts its calls, and leaves an address in a variable.
                .alone()
        })
        .collect();
    cases.push(Case::new("lang_globals", "addrs").shape(1, 1).judged(
        &[0u64; 5],
        "five addresses, aligned",
        |o: &[u64]| {
            let aligned = [4, 4, 1, 4, 1];
            for (index, (&address, align)) in o.iter().zip(aligned).enumerate() {
                if address == 0 || address % align != 0 {
                    return Err(format!("o[{index}] is {address:#x}"));
                }
            }
            Ok(())
        },
    ));
    cases
}

fn initial_forms() -> Vec<Case> {
    let mut cases = Vec::new();
    // Threads of the second kernel half read o[1] while thread 1 writes it, so both values must select alike.
    for (o0, o1, x) in [(40, 10, 6), (41, 11, 7), (-8, 0, -100), (-9, 1, 0x101)] {
        let rc = if o1 & 1 == 0 { 2 } else { 3 };
        let want = [o0 + 3 + 1 + rc + x; 64];
        let mut o = [0i32; 64];
        (o[0], o[1]) = (o0, o1);
        assert_eq!(want[1] & 1, o1 & 1, "the case must not depend on order");
        cases.push(
            Case::new("lang_init_forms", "a")
                .variant(format!("{o0} {o1} {x}"))
                .shape(1, 64)
                .update(&o, &want, Bound::Equal)
                .global("x", &[x]),
        );
    }
    for (o0, o1) in [(1, 10), (0, 11), (7, -2)] {
        let mut o = [0i32; 64];
        (o[0], o[1]) = (o0, o1);
        let want = [o1 + 1; 64];
        assert_eq!(want[0] & 1, o0 & 1, "the case must not depend on order");
        let d = 1.5 + 2.5 + [1.0, 2.0][(o0 & 1) as usize] + 1.0;
        cases.push(
            Case::new("lang_init_forms", "b")
                .variant(format!("{o0} {o1}"))
                .shape(1, 64)
                .update(&o, &want, Bound::Equal)
                .output(&[d], Bound::Equal),
        );
    }
    cases
}

fn local_arrays(inputs: &mut Inputs) -> Vec<Case> {
    let mut cases: Vec<Case> = [0i32, 1, 5, 7, 13, 30, 31, 100]
        .into_iter()
        .map(|k| {
            let o2 = k.wrapping_mul(5) - 3;
            let mut b = [5, 4, 3, 2, 1, 0, 9, 8];
            let halves = 1 << (3 - (k & 3));
            let text = i32::from(b"local string"[(k % 12) as usize]);
            let square = (k & 31).pow(2);
            let cell = (3 * (k % 3) + (k + 1) % 3) * k;
            let first = square + b[(k & 7) as usize] + halves + text + cell;
            b[(k & 7) as usize] = 3;
            let second = b[(o2 & 7) as usize];
            Case::new("lang_local_arrays", "la")
                .variant(format!("{k}"))
                .shape(1, 1)
                .update(&[-1, -1, o2], &[first, second, o2], Bound::Equal)
                .scalar(k)
        })
        .collect();
    for k in [0i32, 1, 100, 5000] {
        // Whole numbers below 2^24 at first; then rounding, in this order.
        let o = 3.0f32;
        let want = (0..k).fold(0.0f32, |s, i| s + ((i * 37) & 4095) as f32 * o);
        cases.push(
            Case::new("lang_local_arrays", "bigstack")
                .variant(format!("{k}"))
                .shape(1, 1)
                .update(&[o], &[want], Bound::Equal)
                .scalar(k),
        );
    }
    let x = inputs.many(32, Inputs::bits);
    let picked = x
        .iter()
        .enumerate()
        .map(|(t, v)| u32::from(v.to_le_bytes()[t & 3]));
    let replaced = x.iter().enumerate().map(|(t, v)| {
        let mut bytes = v.to_le_bytes();
        bytes[t & 1] = 7;
        u32::from_le_bytes(bytes)
    });
    let want: Vec<u32> = picked.chain(replaced).collect();
    cases.push(
        Case::new("lang_local_arrays", "bytes")
            .shape(1, 32)
            .input(&x)
            .output(&want, Bound::Equal),
    );
    cases
}

fn memory_operations(inputs: &mut Inputs) -> Vec<Case> {
    let mut cases = Vec::new();
    let a = [1i32, 1000, -7, 3, 99, 5];
    cases.push(
        Case::new("lang_memops", "vol")
            .shape(1, 32)
            .judged(
                &a,
                "right but for a[3], which is read unordered",
                |a: &[i32]| {
                    let rest = [a[0], a[1], a[2], a[4], a[5]];
                    if rest != [2000, 1000, -7, 99, 99] {
                        return Err(format!("{a:?}"));
                    }
                    Ok(())
                },
            )
            .update(&[0.0f64, 2.75], &[2.75, 2.75], Bound::Equal),
    );
    let a = inputs.many(65, |r| (r.unit() - 0.5) as f32);
    let b = inputs.many(128, |r| r.unit() - 0.5);
    let c = inputs.many(256, |r| r.bits() as u8);
    let want: Vec<f32> = (0..64)
        .map(|i| {
            let singles = f64::from(a[i] + a[i + 1]);
            let doubles = singles + b[2 * i] + b[2 * i + 1];
            (doubles + f64::from(c[4 * i]) + f64::from(c[4 * i + 2])) as f32
        })
        .collect();
    cases.push(
        Case::new("lang_memops", "restr")
            .shape(1, 64)
            .input(&a)
            .input(&b)
            .input(&c)
            .output(&want, Bound::Equal),
    );
    // Bytes of an element, and whether the kernel reads through the read-only cache too.
    let copies = [
        ("c1", 1, false),
        ("c3", 3, false),
        ("c2", 2, true),
        ("c4", 4, true),
        ("uc4", 4, true),
        ("s2", 4, true),
        ("s3", 6, false),
        ("s4", 8, true),
        ("us4", 8, true),
        ("i2", 8, true),
        ("i3", 12, false),
        ("i4", 16, true),
        ("u4", 16, true),
        ("l2", 16, true),
        ("l4", 32, false),
        ("ul2", 16, true),
        ("f2", 8, true),
        ("f3", 12, false),
        ("f4", 16, true),
        ("d2", 16, true),
        ("d3", 24, false),
        ("d4", 32, false),
    ];
    for (name, size, read_only) in copies {
        let a = inputs.many(33 * size, |r| r.bits() as u8);
        let mut want = vec![0xee; 96 * size];
        let initial = want.clone();
        for i in 0..32 {
            let (from, reversed) = (&a[i * size..][..size], &a[(32 - i) * size..][..size]);
            want[i * size..][..size].copy_from_slice(from);
            if read_only {
                want[(i + 32) * size..][..size].copy_from_slice(from);
            }
            want[(i + 64) * size..][..size].copy_from_slice(reversed);
        }
        cases.push(
            Case::new("lang_memops", format!("v_{name}"))
                .shape(1, 32)
                .input(&a)
                .update(&initial, &want, Bound::Equal),
        );
    }
    for (name, size) in [
        ("f", 4),
        ("i", 4),
        ("uc", 1),
        ("s", 2),
        ("d", 8),
        ("f4", 16),
        ("u2", 8),
        ("l", 8),
        ("c4", 4),
    ] {
        let a = inputs.many(10 * size, |r| r.bits() as u8);
        cases.push(
            Case::new("lang_memops", format!("c_{name}"))
                .shape(2, 64)
                .input(&a)
                .output(&a, Bound::Equal),
        );
    }
    let mut a = inputs.many(32 * 4, |r| (r.unit() - 0.5) as f32);
    // All threads write `o[32].y`, with the same value.
    for v in a.chunks_exact_mut(4) {
        v[2] = 6.25;
    }
    let mut want: Vec<f32> = a
        .chunks_exact(4)
        .flat_map(|v| [v[0] + 1.0, v[1], v[2], v[3] * 2.0])
        .collect();
    let mut initial = vec![-1.0f32; 33 * 4];
    want.extend([-1.0, 6.25, -1.0, -1.0]);
    initial[129] = 0.0;
    cases.push(
        Case::new("lang_memops", "stru")
            .shape(1, 32)
            .input(&a)
            .update(&initial, &want, Bound::Equal),
    );
    cases
}
