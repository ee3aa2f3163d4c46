//! Kernels of `lang_bool_pred`, `lang_switch_jumptable`, `lang_switch_loops` and `lang_recursion`.

use super::inputs::Inputs;
use super::{Bound, Case};

pub(super) fn cases() -> Vec<Case> {
    let mut inputs = Inputs::new(0xc02);
    let mut cases = predicates(&mut inputs);
    cases.extend(clamps());
    cases.extend(jump_tables(&mut inputs));
    cases.extend(dense_switch(&mut inputs));
    cases.extend(sparse_switch());
    cases.extend(virtual_machine());
    cases.extend(nested_loops(&mut inputs));
    cases.push(collatz(&mut inputs));
    cases.extend(early_returns(&mut inputs));
    cases.extend(recursion(&mut inputs));
    cases
}

/// One thread: neighbours would write the same elements.
fn predicates(inputs: &mut Inputs) -> Vec<Case> {
    let floats = [0.5f32, 1.0, 1.5, f32::NAN, f32::INFINITY, -2.0];
    (0..18)
        .map(|index| {
            let x = inputs.many(8, |r| r.between(-40, 40) as i32);
            let v = x[0];
            let (lo, hi) = match index % 4 {
                0 => (v - 1, v + 1),
                1 => (v, v + 5),
                2 => (v - 5, v),
                _ => (-1000, 1000),
            };
            let g = floats[index % floats.len()];
            let within = (lo + 1..hi).contains(&v);
            let beyond = g.is_nan() || g > 1.0;
            let one = within != beyond;
            let initial = inputs.many(8, |r| r.between(-100, 100) as i32);
            let mut o = initial.clone();
            o[0] = i32::from(within) + if beyond { 2 } else { v } + if one { v * 3 } else { -v };
            if within {
                o[1] = 1;
            }
            if !beyond {
                o[2] = 2;
            }
            if one {
                o[3] += v;
            }
            o[4] = i32::from(within) + i32::from(beyond) + i32::from(one);
            o[5] = (0..8).filter(|&k| x[k] > v).map(|k| 1 << k).sum();
            o[6] = i32::from((lo <= v) == (v <= hi));
            let bit = |n: u32| (v >> n) & 1 == 1;
            o[7] = i32::from((bit(0) && bit(2)) || bit(4));
            Case::new("lang_bool_pred", "preds")
                .variant(format!("{index}"))
                .shape(1, 1)
                .input(&x)
                .input(&[g])
                .output(&[u8::from(one), u8::from(within && !beyond)], Bound::Equal)
                .update(&initial, &o, Bound::Equal)
                .scalar(lo)
                .scalar(hi)
        })
        .collect()
}

fn clamps() -> Vec<Case> {
    // -0 is left out: the sign of a saturated -0 is not determined.
    let values = [
        0.0f32,
        0.2,
        0.5,
        0.75,
        1.0,
        3.5,
        -0.25,
        -9.0,
        1e-42,
        -1e-42,
        1e38,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    values
        .into_iter()
        .map(|v| {
            let (lo, hi) = (-0.5f32, 2.0f32);
            let below = |x: f32| if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) };
            let sign = f32::from(i8::from(v > 0.0) - i8::from(v < 0.0));
            let want = [
                if v < lo {
                    lo
                } else if v > hi {
                    hi
                } else {
                    v
                },
                below(v * 2.0),
                below(v),
                sign,
                v,
                f32::from(u8::from(v > lo)) - f32::from(u8::from(v < lo)),
            ];
            Case::new("lang_bool_pred", "clampf")
                .variant(format!("{v}"))
                .shape(1, 1)
                .input(&[v])
                .output(&want, Bound::Equal)
                .scalar(lo)
                .scalar(hi)
        })
        .collect()
}

/// What a step of the first kernel's switch does, by the remainder of its label: one formula for each, with the label in it.
///
/// `None`: a product and a difference may be fused or not, and here it shows.
fn step(a: &mut [f32], label: usize, r: f32) -> Option<f32> {
    if label >= 24 {
        return Some(0.0);
    }
    let k = label as f32;
    let result = match label % 6 {
        0 => a[label] * (k + 7.0),
        1 => (f64::from(r).sin() as f32) + k,
        2 => r / a[label],
        3 => f32::from_bits((label ^ (77 * label)) as u32) * r,
        4 => {
            let apart = r * r - a[label];
            if r.mul_add(r, -a[label]) != apart {
                return None;
            }
            apart
        }
        _ => {
            a[label] += 1.0;
            a[label] - 1.0
        }
    };
    Some(result)
}

fn jump_tables(inputs: &mut Inputs) -> Vec<Case> {
    let mut cases = Vec::new();
    for start in 0..25usize {
        for steps in [1, 2, 4, 0] {
            // Whole numbers, small enough to be exact but where a sine, a quotient or a tiny factor comes in.
            let mut a = inputs.many(25, |r| r.between(1, 60) as f32);
            let initial = a.clone();
            let (mut label, mut r) = (start, Some(a[start]));
            let mut sines = 0;
            for _ in 0..steps {
                sines += usize::from(label < 24 && label % 6 == 1);
                r = r.and_then(|r| step(&mut a, label, r));
                label = (label * 5 + 3) % 25;
            }
            let Some(r) = r else {
                continue;
            };
            a[0] = r;
            // A sine within 2 ulp is a result of as many, but not once something more is done to it.
            let ends_in_sine = start < 24 && start % 6 == 1 && steps == 1;
            if (sines > 0 && !ends_in_sine) || (steps == 0 && start % 5 != 0) {
                continue;
            }
            let bound = if sines == 0 {
                Bound::Equal
            } else {
                Bound::Absolute(4e-6)
            };
            cases.push(
                Case::new("lang_switch_jumptable", "jt")
                    .variant(format!("{start} {steps}"))
                    .shape(1, 1)
                    .update(&initial, &a, bound)
                    .update(
                        &[start as i32, 0, 0, steps],
                        &[start as i32, 0, 0, steps],
                        Bound::Equal,
                    ),
            );
        }
    }
    for x in [0u64, 2, 3, 4, 5, 6, 7, 8, 9, 0x1_0000_0003, u64::MAX] {
        let initial = [10i32, 20, 30, 40, 50, 60, -70, 80];
        let mut a = initial;
        match x {
            3 => a[0] = 1,
            4 => a[1] = 30,
            5 => a[3] = 80,
            6 => a[4] = 0,
            7 => a[5] = -23,
            8 => a[7] = 81,
            _ => {}
        }
        cases.push(
            Case::new("lang_switch_jumptable", "jt64")
                .variant(format!("{x:#x}"))
                .shape(1, 1)
                .update(&initial, &a, Bound::Equal)
                .input(&[x]),
        );
    }
    cases
}

/// The result of the switch on `v` for thread `t`, and what is in `f[t]` after.
fn chosen(v: i32, t: usize, o: &[i32], f: &[f32]) -> (i32, f32) {
    let own = o[t];
    let r = match v {
        0 => own * 3,
        1 => own - 5,
        2 => (f[t] * 2.0) as i32,
        3 => own * 4,
        4 => o[t + 1],
        5 => own.count_ones() as i32,
        6 => v * o[2],
        7 => 0,
        8 | 9 => 8,
        _ => -1,
    };
    (r, if v == 7 { 1.0 } else { f[t] })
}

fn dense_switch(inputs: &mut Inputs) -> Vec<Case> {
    // Labels 4 and 6 read what other threads write; they are for one thread alone.
    let labels = [0, 1, 2, 3, 5, 7, 8, 9, 10, 11, 12, -1, i32::MAX, i32::MIN];
    let case = |x: &[i32], inputs: &mut Inputs| {
        let o = inputs.many(x.len() + 3, |r| r.between(0, 1_000_000) as i32);
        let f = inputs.many(x.len(), |r| (r.unit() * 1e4 - 5e3) as f32);
        let (mut after, mut floats) = (o.clone(), f.clone());
        for (t, &v) in x.iter().enumerate() {
            (after[t], floats[t]) = chosen(v, t, &o, &f);
        }
        Case::new("lang_switch_loops", "dense")
            .shape(1, x.len() as u32)
            .input(x)
            .update(&o, &after, Bound::Equal)
            .update(&f, &floats, Bound::Equal)
    };
    let many = inputs.many(128, |r| labels[r.between(0, 13) as usize]);
    let mut cases = vec![case(&many, inputs).variant("many")];
    for v in -1..13 {
        cases.push(case(&[v], inputs).variant(format!("{v}")));
    }
    cases
}

fn sparse_switch() -> Vec<Case> {
    [1, 100, 10000, -7, 99999, 0, 2, 101, i32::MIN, i32::MAX]
        .into_iter()
        .map(|v| {
            let o = [-1, 111, 222];
            let labels = [(1, 10), (100, 20), (10000, 111), (-7, 222), (99999, 3)];
            let r = labels.iter().find(|l| l.0 == v).map_or(0, |l| l.1);
            Case::new("lang_switch_loops", "sparse")
                .variant(format!("{v}"))
                .shape(1, 1)
                .input(&[v])
                .update(&o, &[r, 111, 222], Bound::Equal)
        })
        .collect()
}

/// Programs whose results are known without running them. Their machine has registers `a` and `b`, first loaded from
/// cells 0 and 1; `a` goes to cell 0 at the end.
fn virtual_machine() -> Vec<Case> {
    // Cells: 2 counts down, 3 gathers, 4 is one.
    let factorial: &[u8] = &[
        6, 3, 9, 6, 2, 3, 7, 3, // cell 3 = cell 2 * cell 3
        6, 4, 9, 6, 2, 2, 7, 2, // cell 2 -= 1
        4, 0, // again while it is not 0
        6, 3,
    ];
    let run = |variant: &str, code: &[u8], cells: [i64; 6], want: [i64; 6]| {
        Case::new("lang_switch_loops", "vm")
            .variant(variant)
            .shape(1, 1)
            .input(code)
            .update(&cells, &want, Bound::Equal)
            .scalar(code.len() as i32)
    };
    let twenty = (1..=20i64).product::<i64>();
    vec![
        run(
            "20!",
            factorial,
            [0, 0, 20, 1, 1, 9],
            [twenty, 0, 0, twenty, 1, 9],
        ),
        run("sum", &[1, 1, 1], [5, 7, 0, 0, 0, 0], [26, 7, 0, 0, 0, 0]),
        run("swap", &[5, 2], [5, 7, 0, 0, 0, 0], [2, 7, 0, 0, 0, 0]),
        run("not", &[8], [5, 0, 0, 0, 0, 0], [-6, 0, 0, 0, 0, 0]),
        run(
            "left",
            &[10],
            [1, 62 + 64, 0, 0, 0, 0],
            [1 << 62, 126, 0, 0, 0, 0],
        ),
        run(
            "right",
            &[11],
            [-1_000_000, 3, 0, 0, 0, 0],
            [-125_000, 3, 0, 0, 0, 0],
        ),
        // Returns before the end, so nothing is stored but what an instruction stored.
        run(
            "return",
            &[1, 7, 5, 0, 8],
            [5, 7, 0, 0, 0, 0],
            [5, 7, 0, 0, 0, 12],
        ),
        // Operations of no meaning are passed over.
        run("unknown", &[200, 12, 8], [0; 6], [-1, 0, 0, 0, 0, 0]),
    ]
}

fn nested_loops(inputs: &mut Inputs) -> Vec<Case> {
    [
        (0, 0),
        (1, 1),
        (5, 9),
        (10, 10),
        (33, 17),
        (100, 64),
        (1000, 500),
        (1 << 30, 3),
    ]
    .into_iter()
    .map(|(n, m): (i32, i32)| {
        let o = inputs.many(m as usize + 16, |r| r.between(-1000, 1000) as i32);
        // Sums of products of pairs of like parity, up to the first sum above the limit.
        let pairs = (0..n.min(m)).flat_map(|i| (i..m).step_by(2).map(move |j| i * j));
        let mut s = 0;
        for product in pairs {
            if s > 100_000 {
                break;
            }
            s += product;
        }
        let halvings = (0..31).map(|k| n >> k).take_while(|&k| k != 0);
        s = halvings.fold(s, |s, k| s ^ k);
        s += o[..m as usize].iter().sum::<i32>();
        s = o[m as usize..].iter().fold(s, |s, &v| s ^ v);
        if s != 0 {
            s >>= s.trailing_zeros();
        }
        let mut after = o.clone();
        after[0] = s;
        Case::new("lang_switch_loops", "loops")
            .variant(format!("{n} {m}"))
            .shape(1, 1)
            .update(&o, &after, Bound::Equal)
            .scalar(n)
            .scalar(m)
    })
    .collect()
}

/// Steps to 1: published for the first few, by the definition for the others.
fn collatz(inputs: &mut Inputs) -> Case {
    fn steps(v: u128) -> i32 {
        if v == 1 {
            0
        } else {
            1 + steps(if v.is_multiple_of(2) {
                v / 2
            } else {
                3 * v + 1
            })
        }
    }
    let known = [
        (1, 0),
        (27, 111),
        (97, 118),
        (871, 178),
        (6171, 261),
        (77_031, 350),
        (837_799, 524),
        (63_728_127, 949),
        (1 << 63, 63),
    ];
    let mut x = inputs.many(1000, |r| r.between(1, 1 << 40) as u64);
    let mut want: Vec<i32> = x.iter().map(|&v| steps(u128::from(v))).collect();
    for (index, (v, k)) in known.into_iter().enumerate() {
        assert_eq!(steps(u128::from(v)), k, "the definition is right");
        (x[index], want[index]) = (v, k);
    }
    Case::new("lang_switch_loops", "collatz")
        .shape(3, 96)
        .input(&x)
        .output(&want, Bound::Equal)
        .scalar(1000i32)
}

/// Threads leave before a barrier. Even ones add their neighbours', which are odd and hold 0 by then, or what is beyond
/// the last thread of all.
fn early_returns(inputs: &mut Inputs) -> Vec<Case> {
    [(50usize, 64u32), (64, 64), (200, 256), (1, 32), (0, 32)]
        .into_iter()
        .map(|(n, threads)| {
            let o: Vec<i32> = (0..threads)
                .map(|i| {
                    let v = inputs.between(1, 1_000_000) as i32;
                    if i % 2 == 1 { -v } else { v }
                })
                .collect();
            let after: Vec<i32> = (0..threads as usize)
                .map(|i| match (i < n, i % 2, n) {
                    (false, ..) => o[i],
                    // Its neighbour is itself.
                    (_, _, 1) => 4 * o[i],
                    (_, 0, _) => 2 * o[i],
                    _ => 0,
                })
                .collect();
            Case::new("lang_switch_loops", "divergent_ret")
                .variant(format!("{n} of {threads}"))
                .shape(1, threads)
                .update(&o, &after, Bound::Equal)
                .scalar(n as i32)
        })
        .collect()
}

fn recursion(inputs: &mut Inputs) -> Vec<Case> {
    // Numbers of a formula each, not of a recursion.
    let fibonacci = |n: i32| {
        let root = 5f64.sqrt();
        (((1.0 + root) / 2.0).powi(n) / root).round() as i32
    };
    let ackermann = |m: i32, n: i32| match m {
        0 => n + 1,
        1 => n + 2,
        2 => 2 * n + 3,
        _ => (1 << (n + 3)) - 3,
    };
    [
        (0, 0, 0, 0, 1),
        (1, 1, 6, 1, 2),
        (10, 2, 4, 10, 33),
        (15, 3, 2, 31, 200),
        (5, 7, 1, 8, 1),
    ]
    .into_iter()
    .map(|(n, m, k, e, count): (i32, i32, i32, i32, usize)| {
        let a = inputs.many(count, |r| r.between(-50, 50) as i32);
        let mut sorted = a.clone();
        sorted.sort_unstable();
        Case::new("lang_recursion", "rec")
            .variant(format!("{n} {m} {k} {e} {count}"))
            .shape(1, 1)
            .stack_bytes(16 << 10)
            .update(
                &[n, m, k, e],
                &[fibonacci(n), ackermann(m & 3, k), i32::from(e % 2 == 0), e],
                Bound::Equal,
            )
            .update(&a, &sorted, Bound::Equal)
            .scalar(count as i32)
            // The integral of x^3 over [0, 1], to the tolerance that the kernel asks for.
            .output(&[0.25f64], Bound::Absolute(1e-6))
    })
    .collect()
}
