//! Kernels of `lang_attrs`, `lang_fnptr_virtual`, `lang_structs` and `lang_templates_lambda`.

use super::inputs::Inputs;
use super::{Bound, Case};

pub(super) fn cases() -> Vec<Case> {
    let mut inputs = Inputs::new(0xca11);
    let mut cases = attributes(&mut inputs);
    cases.extend(function_pointers(&mut inputs));
    cases.extend(structs(&mut inputs));
    cases.extend(templates(&mut inputs));
    cases
}

fn attributes(inputs: &mut Inputs) -> Vec<Case> {
    let mut cases = Vec::new();
    for (kernel, threads) in [("lb1", 256), ("lb2", 128), ("mr", 512)] {
        let mut p = inputs.many(threads, |r| f32::from_bits(r.bits()));
        p[..4].copy_from_slice(&[-0.0, 1e-45, f32::MAX, f32::INFINITY]);
        let want: Vec<f32> = p.iter().map(|v| v * 2.0).collect();
        cases.push(
            Case::new("lang_attrs", kernel)
                .shape(1, threads as u32)
                .update(&p, &want, Bound::Equal),
        );
    }
    for n in [1usize, 5, 6, 100] {
        let p = inputs.many(n, |r| (r.unit() * 100.0) as f32);
        let mut want = p.clone();
        if n > 5 {
            want[0] = 1.0;
        }
        for v in &mut want {
            *v += 1.0;
        }
        cases.push(
            Case::new("lang_attrs", "hints")
                .variant(format!("{n}"))
                .shape(1, 1)
                .update(&p, &want, Bound::Equal)
                .scalar(n as i32),
        );
    }
    for null in [false, true] {
        let ints = [7i32, -100, 2000, -3, 55, 1 << 20, -(1 << 19), 9];
        let (b0, b1, c0, d0, e0, f0) = (
            1.5f32,
            -0.25f32,
            1e6f64 + 0.125,
            -100i8,
            -30_000i16,
            1i64 << 30,
        );
        // All of it is exact in a double.
        let sum = f64::from(ints.iter().sum::<i32>())
            + f64::from(b0)
            + f64::from(b1)
            + c0
            + f64::from(d0)
            + f64::from(e0)
            + f0 as f64
            + if null { 0.0 } else { 1.0 }
            - 77.0;
        let mut case = Case::new("lang_attrs", "manyp")
            .variant(if null { "null" } else { "pointer" })
            .shape(1, 32);
        for a in ints {
            case = case.scalar(a);
        }
        case = case
            .scalar(b0)
            .scalar(b1)
            .scalar(c0)
            .scalar(d0)
            .scalar(e0)
            .scalar(f0);
        case = if null {
            case.scalar(0u64)
        } else {
            case.input(&[0u8; 8])
        };
        cases.push(
            case.input(&[-77i32])
                .output(&[sum.trunc() as i32], Bound::Equal),
        );
    }
    cases.push(Case::new("lang_attrs", "noparam").shape(3, 96));
    cases.push(Case::new("lang_attrs", "_Z10internal_kPi").output(&[1i32], Bound::Equal));
    cases.push(Case::new("lang_attrs", "_Z5weakkIiEvPT_").output(&[2i32], Bound::Equal));
    cases
}

fn function_pointers(inputs: &mut Inputs) -> Vec<Case> {
    let mut cases = Vec::new();
    let x = inputs.many(96, |r| (r.unit() * 8.0 + 0.125) as f32);
    for k in 0..3 {
        let want: Vec<f32> = x
            .iter()
            .map(|&v| {
                let first = match k {
                    0 => v + 2.0,
                    1 => v * 2.0,
                    _ => f64::from(v).powi(2) as f32,
                };
                first + if k & 1 == 0 { x[0] + 3.0 } else { x[0] * 3.0 }
            })
            .collect();
        // `powf` is within 4 units in the last place, and the sum of two positive numbers adds half of one.
        let bound = if k == 2 {
            Bound::Ulp(5.0)
        } else {
            Bound::Equal
        };
        cases.push(
            Case::new("lang_fnptr_virtual", "viatable")
                .variant(["add", "multiply", "power"][k])
                .shape(1, 96)
                .input(&x)
                .output(&want, bound)
                .scalar(k as i32),
        );
    }
    // All threads read y[0], which thread 0 writes: the operand leaves it as it is.
    let y = inputs.many(96, |r| (r.unit() * 8.0) as f32);
    for k in [0, 1, 7] {
        let mut x = x.clone();
        x[0] = if k == 0 { 1.0 } else { 0.0 };
        let want: Vec<f32> = x
            .iter()
            .map(|v| if k == 0 { v * y[0] } else { v + y[0] })
            .collect();
        cases.push(
            Case::new("lang_fnptr_virtual", "select")
                .variant(format!("{k}"))
                .shape(1, 96)
                .input(&x)
                .update(&y, &want, Bound::Equal)
                .scalar(k),
        );
    }
    // The source's own rough pi.
    let pi = 314_159.0f32 / 100_000.0;
    for k in [0, 1] {
        let own = if k == 0 { pi * 3.0 * 3.0 } else { 4.0 };
        let want: Vec<f32> = (0..128)
            .map(|t| own + if t % 2 == 1 { 16.0 } else { pi * 5.0 * 5.0 })
            .collect();
        cases.push(
            Case::new("lang_fnptr_virtual", "virt")
                .variant(format!("{k}"))
                .shape(1, 128)
                .output(&want, Bound::Equal)
                .scalar(k),
        );
    }
    cases.push(
        Case::new("lang_fnptr_virtual", "getptr")
            .shape(1, 32)
            .judged(&[0u64], "an address of code", |o: &[u64]| {
                if o[0] == 0 {
                    return Err("it is null".to_owned());
                }
                Ok(())
            }),
    );
    type Function = fn(f32) -> f32;
    let held: [(&str, usize, Function); 3] = [
        ("table", 0, |v| v + 1.0),
        ("table", 8, |v| v),
        ("single", 0, |v| v),
    ];
    for (variable, offset, function) in held {
        let want: Vec<f32> = y.iter().map(|&v| function(v)).collect();
        cases.push(
            Case::new("lang_fnptr_virtual", "param")
                .variant(format!("{variable} {offset}"))
                .shape(1, 96)
                .held_by(variable, offset)
                .update(&y, &want, Bound::Equal),
        );
    }
    for k in [0, 3, 4, 19] {
        let o = inputs.many(20, |r| r.between(-1000, 1000) as i32);
        let mut want = o.clone();
        want[k] = if k > 3 { 1 } else { want[k] + 1 };
        cases.push(
            Case::new("lang_fnptr_virtual", "bigcall")
                .variant(format!("{k}"))
                .shape(1, 1)
                .update(&o, &want, Bound::Equal)
                .scalar(k as i32),
        );
        cases.push(
            Case::new("lang_fnptr_virtual", "voidcall")
                .variant(format!("{k}"))
                .shape(1, 64)
                .output(&[if k > 3 { 1i32 } else { 2 }], Bound::Equal)
                .scalar(k as i32),
        );
    }
    cases
}

/// Bytes of a C structure, laid out by hand.
struct Layout(Vec<u8>);

impl Layout {
    fn of_size(size: usize) -> Self {
        Self(vec![0; size])
    }

    fn at<T: bytemuck::Pod>(mut self, offset: usize, value: T) -> Self {
        self.0[offset..offset + size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
        self
    }
}

/// `struct pod { char c; short s; int i; long long l; float f; double d; void *p; bool b; }`
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pod {
    c: i8,
    s: i16,
    i: i32,
    l: i64,
    f: f32,
    d: f64,
    p: u64,
    b: bool,
}

impl Pod {
    fn random(r: &mut Inputs) -> Self {
        Self {
            c: r.between(-100, 100) as i8,
            s: r.between(-30_000, 30_000) as i16,
            i: r.between(-100_000, 100_000) as i32,
            l: r.between(-1_000_000, 1_000_000),
            f: (r.between(-1000, 1000) as f32) / 8.0,
            d: r.between(-1000, 1000) as f64 / 16.0,
            p: r.word() & 1,
            b: r.word() & 1 == 1,
        }
    }

    fn bytes(self) -> Vec<u8> {
        Layout::of_size(48)
            .at(0, self.c)
            .at(2, self.s)
            .at(4, self.i)
            .at(8, self.l)
            .at(16, self.f)
            .at(24, self.d)
            .at(32, self.p)
            .at(40, u8::from(self.b))
            .0
    }

    /// The members; what lies between them is not read.
    fn read(bytes: &[u8]) -> Self {
        fn at<T: bytemuck::Pod>(bytes: &[u8], offset: usize) -> T {
            bytemuck::pod_read_unaligned(&bytes[offset..offset + size_of::<T>()])
        }
        Self {
            c: at(bytes, 0),
            s: at(bytes, 2),
            i: at(bytes, 4),
            l: at(bytes, 8),
            f: at(bytes, 16),
            d: at(bytes, 24),
            p: at(bytes, 32),
            b: bytes[40] == 1,
        }
    }
}

fn structs(inputs: &mut Inputs) -> Vec<Case> {
    let mut cases = Vec::new();
    for index in 0..4 {
        let eighths = |r: &mut Inputs| r.between(-1000, 1000) as f32 / 8.0;
        let a = inputs.many(3, eighths);
        let b = inputs.many(4, eighths);
        let c = Pod::random(inputs);
        let p = inputs.many(12, eighths);
        let (in_a, in_b) = (5i32, inputs.between(-500, 500) as i32);
        let q = inputs.many(4, eighths);
        let nested = Layout::of_size(80)
            .at::<[f32; 12]>(0, p.clone().try_into().expect("there are 12"))
            .at(48, in_a)
            .at(52, in_b)
            .at::<[f32; 4]>(64, q.clone().try_into().expect("there are 4"));
        // Eighths below 2^21 are exact in single precision, so the order of the sum does not matter.
        let sum: f64 = [a[0], a[1], a[2], b[3], c.f, p[1], q[2]]
            .iter()
            .map(|&v| f64::from(v))
            .sum::<f64>()
            + f64::from(c.c)
            + f64::from(c.s)
            + f64::from(c.i)
            + c.l as f64
            + f64::from(in_b)
            + f64::from(u8::from(c.p != 0) + u8::from(c.b));
        let want = (sum + (c.d * 8.0).trunc() / 8.0) as f32;
        let c = Pod {
            d: (c.d * 8.0).trunc() / 8.0,
            ..c
        };
        cases.push(
            Case::new("lang_structs", "s1")
                .variant(format!("{index}"))
                .shape(1, 1)
                .bytes(bytemuck::cast_slice(&a))
                .bytes(bytemuck::cast_slice(&b))
                .bytes(&c.bytes())
                .bytes(&nested.0)
                .output(&[want], Bound::Equal),
        );
    }
    let big = inputs.many(512, |r| r.between(-100_000, 100_000) as i32);
    let want: Vec<i32> = big.iter().map(|v| v + big[3]).collect();
    cases.push(
        Case::new("lang_structs", "s2")
            .shape(1, 512)
            .bytes(bytemuck::cast_slice(&big))
            .output(&want, Bound::Equal),
    );
    for index in 0..4 {
        // The union's float, whose low byte is read as a character too.
        let f = f32::from_bits((0x4300_0000u32 + index * 0x0012_3400) | (inputs.bits() & 0xff));
        let (a, b, c) = (
            inputs.bits() % 8,
            inputs.bits() % 128,
            inputs.bits() % (1 << 14),
        );
        let d = inputs.between(-16, 15) as i32;
        let fields = Layout::of_size(8)
            .at(0, a | b << 3 | c << 10)
            .at(4, (d as u32 & 31) | 0xabcd_ef00 & !31);
        let k = inputs.between(-1000, 1000) as i32;
        // NVRTC passes over the attribute after the structure: it is not packed.
        let packed = Layout::of_size(8).at(0, 0x55u8).at(4, k);
        let union = Layout::of_size(12).at(0, f).at(4, inputs.word());
        let low = (f.to_bits() & 0xff) as u8 as i8;
        let want = f + a as f32 + (b * c) as f32 + d as f32 + k as f32 + f32::from(low);
        cases.push(
            Case::new("lang_structs", "s3")
                .variant(format!("{index}"))
                .shape(1, 1)
                .bytes(&[0])
                .bytes(&union.0)
                .bytes(&fields.0)
                .bytes(&packed.0)
                .output(&[want], Bound::Equal),
        );
    }
    cases.push(
        Case::new("lang_structs", "s4")
            .shape(1, 512)
            .bytes(bytemuck::cast_slice(&big))
            .output(&big, Bound::Equal),
    );
    for count in [0usize, 1, 300, 512] {
        cases.push(by_value(inputs, &big, count));
    }
    for index in 0..4 {
        let a = inputs.bits() as u8;
        let b = inputs.bits() as i16;
        let c = inputs.bits() & 1;
        let d = inputs.between(-(1 << 40), 1 << 40);
        let e = inputs.between(-1000, 1000) as f64 / 16.0;
        let f = [inputs.between(-1000, 1000) as f32 / 8.0, 1e30];
        let g = inputs.many(4, |r| r.bits() as i32);
        let h = [1i8, 2, inputs.bits() as i8];
        let want = f64::from(a)
            + f64::from(b)
            + f64::from(c)
            + d as f64
            + e
            + f64::from(f[0])
            + f64::from(g[3])
            + f64::from(h[2]);
        cases.push(
            Case::new("lang_structs", "s6")
                .variant(format!("{index}"))
                .shape(1, 32)
                .scalar(a)
                .scalar(b)
                .scalar(c as u8)
                .scalar(d)
                .scalar(e)
                .bytes(bytemuck::cast_slice(&f))
                .bytes(bytemuck::cast_slice(&g))
                .bytes(bytemuck::cast_slice(&h))
                .output(&[want], Bound::Equal),
        );
    }
    cases
}

/// Structures by value in and out of functions that are not inlined.
fn by_value(inputs: &mut Inputs, big: &[i32], count: usize) -> Case {
    let a: Vec<i32> = inputs.many(6, |r| r.between(-200, 200) as i32);
    let floats: Vec<f32> = a.iter().map(|&v| v as f32).collect();
    // Whole numbers, exact in any order and fused or not.
    let minor = |i: usize, j: usize| (a[i] * a[3 + j] - a[j] * a[3 + i]) as f32;
    let cross = [minor(1, 2), minor(2, 0), minor(0, 1)];
    let pod = Pod::random(inputs);
    let want_pod = Pod {
        i: pod.i + 3,
        d: pod.d * 2.0,
        b: !pod.b,
        ..pod
    };
    let narrow = [
        inputs.bits() as i32,
        inputs.bits() as i32,
        2,
        inputs.bits() as i32,
    ];
    let total = narrow[0] as i8 as i32 + narrow[1] as i16 as i32 + 1 + narrow[3] as u8 as i32;
    let r = [
        0,
        count as i32,
        0,
        narrow[0],
        narrow[1],
        narrow[2],
        narrow[3],
    ];
    let mut after = r;
    after[0] = big[..count].iter().sum();
    after[2] = i32::from(total as i8);
    let f = inputs.many(4, |r| r.unit() as f32);
    let moved = [1.0f64, 2.0, 1.0, 4.0];
    let vector: Vec<f32> = f
        .iter()
        .zip(moved)
        .map(|(&v, by)| (f64::from(v) + by) as f32)
        .collect();
    Case::new("lang_structs", "s5")
        .variant(format!("{count}"))
        .shape(1, 1)
        .input(&floats)
        .input(&pod.bytes())
        .input(big)
        .output(&cross, Bound::Equal)
        .judged(
            &[0u8; 48],
            "the members, not what lies between",
            move |bytes: &[u8]| {
                let got = Pod::read(bytes);
                if got == want_pod {
                    Ok(())
                } else {
                    Err(format!("{got:?}, want {want_pod:?}"))
                }
            },
        )
        .update(&r, &after, Bound::Equal)
        .update(
            &[vec![0.0; 4], f.clone()].concat(),
            &[vector, f].concat(),
            Bound::Equal,
        )
}

fn templates(inputs: &mut Inputs) -> Vec<Case> {
    let n = 1000;
    let mut cases = Vec::new();
    let (a, b) = inputs.pairs(
        &[
            0.0f32,
            -0.0,
            f32::MAX,
            f32::INFINITY,
            f32::NAN,
            1e-45,
            -1e-45,
        ],
        n,
        |r| f32::from_bits(r.bits()),
    );
    let want: Vec<f32> = a.iter().zip(&b).map(|(x, y)| x + y).collect();
    cases.push(
        Case::new(
            "lang_templates_lambda",
            "_Z3zipIfN3ops4plusEEvPKT_S4_PS2_iT0_",
        )
        .shape(16, 64)
        .input(&a)
        .input(&b)
        .output(&want, Bound::Equal)
        .scalar(n as i32)
        .bytes(&[0]),
    );
    let (a, b) = inputs.pairs(&[0i16, 1, -1, i16::MIN, i16::MAX], n, |r| r.bits() as i16);
    let want: Vec<i16> = a.iter().zip(&b).map(|(&x, &y)| x.wrapping_add(y)).collect();
    cases.push(
        Case::new(
            "lang_templates_lambda",
            "_Z3zipIsN3ops4plusEEvPKT_S4_PS2_iT0_",
        )
        .shape(16, 64)
        .input(&a)
        .input(&b)
        .output(&want, Bound::Equal)
        .scalar(n as i32)
        .bytes(&[0]),
    );
    // Every thread writes p[1] from p[2], which thread 2 changes: this factor leaves 1 as it is.
    let k = -26.0f32;
    let mut p: Vec<f32> = (0..64)
        .map(|t| [0.0, 1.0, 2.0, 0.5, 1.5, 0.25][t % 6])
        .collect();
    p[2] = 1.0;
    // The product and the sum are exact; each step of the power is rounded.
    let mut want: Vec<f32> = p
        .iter()
        .map(|x| (0..5).fold(1.0, |r, _| r * (x * k + 27.0)))
        .collect();
    want[0] = 1.0 + 2.0 + 3.0 + 4.0;
    want[1] = 1.0 + 26.0;
    cases.push(
        Case::new("lang_templates_lambda", "lam")
            .shape(1, 64)
            .update(&p, &want, Bound::Equal)
            .scalar(k),
    );
    cases
}
