//! What a Rust programmer would write for one thread of the host instead of the kernels: plain loops, compiled for the
//! vector units and fused multiply-add of the host.

/// Functions compiled twice: for hosts with AVX2 and FMA, and for any. Which runs is decided at run time, because without
/// the instruction `mul_add` is a call, several times slower than anything a programmer would accept.
macro_rules! for_the_host {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $ty:ty),*) $body:block)*) => {$(
        $(#[$doc])*
        pub(super) fn $name($($argument: $ty),*) {
            #[inline(always)]
            fn plain($($argument: $ty),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn wide($($argument: $ty),*) {
                    plain($($argument),*);
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: the host has both features.
                    unsafe { wide($($argument),*) };
                    return;
                }
            }
            plain($($argument),*);
        }
    )*};
}

for_the_host! {
    /// `y = a x + y`, vectorised; bound by memory.
    fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
        for (y, x) in y.iter_mut().zip(x) {
            *y = a.mul_add(*x, *y);
        }
    }

    /// `sin(x) exp(y) + x` with the functions of the host's C library.
    fn elementwise(x: &[f32], y: &[f32], out: &mut [f32]) {
        for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
            *out = x.sin().mul_add(y.exp(), *x);
        }
    }

    /// Sums of 256 in the order of the kernel's tree, a halving at a time: vectorised, and without its barriers, so a floor
    /// rather than an equal.
    fn block_reduce(x: &[f32], sums: &mut [f32]) {
        for (sum, x) in sums.iter_mut().zip(x.as_chunks::<256>().0) {
            let mut part = *x;
            let mut half = 128;
            while half > 0 {
                let (low, high) = part.split_at_mut(half);
                for (low, high) in low.iter_mut().zip(&high[..half]) {
                    *low += *high;
                }
                half /= 2;
            }
            *sum = part[0];
        }
    }

    /// Sums of 32 in the order of the kernel's shuffles; a floor as well.
    fn shuffle_reduce(x: &[f32], sums: &mut [f32]) {
        for (sum, x) in sums.iter_mut().zip(x.as_chunks::<32>().0) {
            let mut part = *x;
            for half in [16, 8, 4, 2, 1] {
                for lane in 0..half {
                    part[lane] += part[lane + half];
                }
            }
            *sum = part[0];
        }
    }

    /// `C = A B` in `ikj` order: rows of `B` and `C` are walked along, so the inner loop is vectorised.
    fn matmul(n: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
        for (a, c) in a.chunks_exact(n).zip(c.chunks_exact_mut(n)) {
            c.fill(0.0);
            for (a, b) in a.iter().zip(b.chunks_exact(n)) {
                for (c, b) in c.iter_mut().zip(b) {
                    *c = a.mul_add(*b, *c);
                }
            }
        }
    }

    /// 256 steps of xorwow for each element.
    fn xorwow(out: &mut [u32]) {
        for (i, out) in out.iter_mut().enumerate() {
            let i = i as u32;
            let [mut x, mut y, mut z, mut w, mut v] = [
                123_456_789 ^ i,
                362_436_069,
                521_288_629,
                88_675_123,
                5_783_321u32.wrapping_add(i),
            ];
            let (mut d, mut sum) = (6_615_241u32, 0u32);
            for _ in 0..256 {
                let t = x ^ (x >> 2);
                (x, y, z, w) = (y, z, w, v);
                v = (v ^ (v << 4)) ^ (t ^ (t << 1));
                d = d.wrapping_add(362_437);
                sum = sum.wrapping_add(v.wrapping_add(d));
            }
            *out = sum;
        }
    }
}
