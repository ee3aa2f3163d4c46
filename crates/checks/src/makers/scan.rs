//! For each element, one value of it and all before it.

use cuprum::codegen::DeviceRepr;
use cuprum::codegen::makers::ScanKernel;
use cuprum::prelude::*;
use proptest::prelude::*;

use super::{lengths, numbers};
use crate::check::{Check, Failure, Report, Subject, check, property};
use crate::runner::equal;

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(scans_keep_the_order),
        check!(scans_by_segments),
        check!(scans_in_place_and_of_expressions),
    ]
}

/// `x -> m x + b`, of which one after the other is not the other after the one.
#[derive(Clone, Copy, Debug, PartialEq, DeviceRepr)]
#[repr(C)]
struct Affine {
    m: u32,
    b: u32,
}

impl Affine {
    fn then(self, next: Self) -> Self {
        Self {
            m: next.m.wrapping_mul(self.m),
            b: next.m.wrapping_mul(self.b).wrapping_add(next.b),
        }
    }
}

const THEN: &str = "{b.m * a.m, b.m * a.b + b.b}";

fn affine(n: usize, seed: u32) -> Vec<Affine> {
    numbers(2 * n, seed)
        .chunks_exact(2)
        .map(|pair| Affine {
            m: pair[0] | 1,
            b: pair[1],
        })
        .collect()
}

fn scans_keep_the_order(subject: &Subject) -> Result<Report, Failure> {
    // SAFETY: only element i of each vector is accessed.
    let (inclusive, exclusive) = unsafe {
        (
            // Without a neutral value.
            ScanKernel::<Affine>::inclusive("const Affine *x, Affine *y", THEN)
                .build(&subject.context)?,
            ScanKernel::<Affine>::exclusive("const Affine *x, Affine *y", "{1u, 0u}", THEN)
                .build(&subject.context)?,
        )
    };
    let stream = &subject.stream;
    property((lengths(), any::<u32>()), |(n, seed)| {
        let x = affine(n, seed);
        let device = DeviceBuffer::from_slice(stream, &x)?;
        let mut y = DeviceBuffer::from_slice(stream, &x)?;
        inclusive.call(stream, (&device, &mut y))?;
        let mut all = Affine { m: 1, b: 0 };
        let mut before = Vec::with_capacity(n);
        let mut with = Vec::with_capacity(n);
        for &one in &x {
            before.push(all);
            all = all.then(one);
            with.push(all);
        }
        equal("inclusive", &y.to_vec()?, &with)?;
        exclusive.call(stream, (&device, &mut y))?;
        equal("exclusive", &y.to_vec()?, &before)?;
        Ok(())
    })
}

fn scans_by_segments(subject: &Subject) -> Result<Report, Failure> {
    // SAFETY: of each vector element i is accessed, of `key`, which is not written, also the one before if there is one.
    let (inclusive, exclusive) = unsafe {
        let both = |exclusive: bool| {
            let arguments = "const unsigned *key, const long long *x, long long *y";
            let builder = if exclusive {
                ScanKernel::<i64>::exclusive(arguments, "-5", "a + b").neutral("0")
            } else {
                ScanKernel::<i64>::inclusive(arguments, "a + b")
            };
            builder
                .input("x[i]")
                .segments("i == 0 || key[i] != key[i - 1]")
                .build(&subject.context)
        };
        (both(false)?, both(true)?)
    };
    let stream = &subject.stream;
    property(
        (lengths(), any::<u32>(), 1_u32..3000),
        |(n, seed, longest)| {
            let random = numbers(n, seed);
            let mut key = Vec::with_capacity(n);
            let mut left = 0;
            let mut current = 0_u32;
            for &one in &random {
                if left == 0 {
                    current += 1;
                    left = one % longest + 1;
                }
                left -= 1;
                key.push(current);
            }
            let x: Vec<i64> = random.iter().map(|&x| i64::from(x as i32)).collect();
            let (mut with, mut before) = (Vec::new(), Vec::new());
            let mut sum = 0;
            for i in 0..n {
                if i == 0 || key[i] != key[i - 1] {
                    sum = 0;
                }
                before.push(sum);
                sum += x[i];
                with.push(sum);
            }
            let key = DeviceBuffer::from_slice(stream, &key)?;
            let x = DeviceBuffer::from_slice(stream, &x)?;
            let mut y = DeviceBuffer::<i64>::zeros(stream, n)?;
            inclusive.call(stream, (&key, &x, &mut y))?;
            equal("inclusive", &y.to_vec()?, &with)?;
            exclusive.call(stream, (&key, &x, &mut y))?;
            equal("exclusive", &y.to_vec()?, &before)?;
            Ok(())
        },
    )
}

fn scans_in_place_and_of_expressions(subject: &Subject) -> Result<Report, Failure> {
    // SAFETY: element i of each vector is accessed; `kept` is written at the number of elements kept before i, which is
    // less than n and differs for each i that is kept.
    let (in_place, compact, small) = unsafe {
        (
            ScanKernel::<u32>::inclusive("unsigned *x", "a + b").build(&subject.context)?,
            ScanKernel::<u32>::exclusive(
                "const unsigned *x, unsigned *kept, unsigned *count",
                "0",
                "a + b",
            )
            .input("x[i] % 3 == 0")
            .output("if (x[i] % 3 == 0) kept[previous] = x[i]; if (i == n - 1) *count = item;")
            .any_length(["count"])
            .build(&subject.context)?,
            ScanKernel::<u8>::inclusive(
                "const unsigned char *x, unsigned char *y",
                "a > b ? a : b",
            )
            .build(&subject.context)?,
        )
    };
    let stream = &subject.stream;
    property((lengths(), any::<u32>()), |(n, seed)| {
        let x = numbers(n, seed);
        let device = DeviceBuffer::from_slice(stream, &x)?;
        let mut kept = DeviceBuffer::<u32>::zeros(stream, n)?;
        let mut count = DeviceBuffer::<u32>::zeros(stream, 1)?;
        compact.call(stream, (&device, &mut kept, &mut count))?;
        let mut want: Vec<u32> = x.iter().copied().filter(|x| x % 3 == 0).collect();
        equal("the number kept", &count.to_vec()?, &[want.len() as u32])?;
        want.resize(n, 0);
        equal("what is kept", &kept.to_vec()?, &want)?;

        let mut device = device;
        in_place.call(stream, (&mut device,))?;
        let sums: Vec<u32> = x
            .iter()
            .scan(0_u32, |sum, &x| {
                *sum = sum.wrapping_add(x);
                Some(*sum)
            })
            .collect();
        equal("sums in place", &device.to_vec()?, &sums)?;

        let bytes: Vec<u8> = x.iter().map(|&x| (x >> 11) as u8).collect();
        let device = DeviceBuffer::from_slice(stream, &bytes)?;
        let mut y = DeviceBuffer::<u8>::zeros(stream, n)?;
        small.call(stream, (&device, &mut y))?;
        let most: Vec<u8> = bytes
            .iter()
            .scan(0, |most, &x| {
                *most = x.max(*most);
                Some(*most)
            })
            .collect();
        equal("the greatest so far", &y.to_vec()?, &most)?;
        Ok(())
    })
}
