//! PyCUDA's bins: sizes with the same leading bits share a bin.
//!
//! A bin is named by the exponent of a size and the four bits after its leading one. Every block of a bin has the
//! largest size of the bin, so a block is less than a sixteenth larger than what was asked for. The sizes 1 to 31 have
//! bins of their own.

/// How many bits after the leading one tell bins apart.
const LEADING: u32 = 4;

/// `floor(log2(value))`; 0 for 0.
#[must_use]
pub fn bitlog2(value: u64) -> u32 {
    value.checked_ilog2().unwrap_or(0)
}

/// The bin of a size in bytes.
///
/// ```
/// use cuprum_mempool::{alloc_size, bin_number};
///
/// assert_eq!(bin_number(1000), 159);
/// assert_eq!(alloc_size(159), Some(1023));
/// ```
#[must_use]
pub fn bin_number(bytes: u64) -> u32 {
    let exponent = bitlog2(bytes);
    let leading = if exponent < LEADING {
        bytes << (LEADING - exponent)
    } else {
        bytes >> (exponent - LEADING)
    };
    // Below the leading one there are four bits.
    (exponent << LEADING) | (leading & ((1 << LEADING) - 1)) as u32
}

/// The size of the blocks of a bin: the largest size that has this bin. `None` if no size has it.
#[must_use]
pub fn alloc_size(bin: u32) -> Option<u64> {
    let (exponent, mantissa) = (bin >> LEADING, u64::from(bin & ((1 << LEADING) - 1)));
    if exponent > u64::BITS - 1 {
        return None;
    }
    let leading = (1 << LEADING) | mantissa;
    Some(if exponent <= LEADING {
        leading >> (LEADING - exponent)
    } else {
        let free = exponent - LEADING;
        (leading << free) | ((1 << free) - 1)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What PyCUDA's functions answered: size, bin, allocated.
    const PYCUDA: &[(u64, u32, u64)] = &[
        (0, 0, 1),
        (1, 0, 1),
        (17, 65, 17),
        (32, 80, 33),
        (100, 105, 103),
        (1000, 159, 1023),
        (1024, 160, 1087),
        (65536, 256, 69631),
        (1 << 20, 320, 1_114_111),
        (1 << 30, 480, 1_140_850_687),
        (5_000_000_000, 514, 5_100_273_663),
    ];

    #[test]
    fn bins_are_those_of_pycuda() {
        for &(bytes, bin, allocated) in PYCUDA {
            assert_eq!(bin_number(bytes), bin, "{bytes}");
            assert_eq!(alloc_size(bin), Some(allocated), "{bytes}");
        }
        for bytes in 1..32 {
            assert_eq!(alloc_size(bin_number(bytes)), Some(bytes));
        }
    }

    /// PR-26: sizes around the widths that overflowed elsewhere.
    #[test]
    fn large_sizes_do_not_wrap() {
        for bytes in [
            255,
            256,
            1 << 24,
            u64::from(u32::MAX),
            1 << 32,
            (1 << 32) + 1,
            1 << 40,
            u64::MAX,
        ] {
            let allocated = alloc_size(bin_number(bytes)).unwrap();
            assert!(allocated >= bytes, "{bytes}: {allocated}");
            assert_eq!(bin_number(allocated), bin_number(bytes), "{bytes}");
            assert!(allocated - bytes < bytes / 16 + 1, "{bytes}: {allocated}");
        }
        assert_eq!(
            alloc_size(bin_number(1 << 24)),
            Some((1 << 24) + (1 << 20) - 1)
        );
        assert_eq!(alloc_size(64 << LEADING), None);
    }

    /// The formula once more, from its words: numbers with the same leading five binary digits and the same length.
    fn digits(bytes: u64) -> (usize, String) {
        let text = format!("{bytes:b}");
        (text.len(), format!("{text:0<5}")[..5].to_owned())
    }

    proptest! {
        #[test]
        fn a_bin_is_the_leading_digits(a in any::<u64>(), shift in 0u32..64, step in 0u64..1 << 30) {
            let a = (a >> shift).max(1);
            let b = a.saturating_add(step >> (shift / 2));
            prop_assert_eq!(bin_number(a) == bin_number(b), digits(a) == digits(b));
            let allocated = alloc_size(bin_number(a)).unwrap();
            prop_assert_eq!(digits(allocated), digits(a));
            prop_assert!(allocated == u64::MAX || digits(allocated + 1) != digits(a));
        }
    }
}
