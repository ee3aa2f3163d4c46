//! Headers that sources written for nvcc include and NVRTC does not have.
//!
//! NVRTC brings the mathematical, atomic and texture functions, the vector types, `printf`, `assert` and `malloc` without any header,
//! but finds no standard header at all, so that `#include <stdio.h>` alone makes a source fail. These are small texts of our own, given
//! to NVRTC in memory. They hold what kernels use of each header, not all of it.

/// The name under which the prelude is given to NVRTC.
pub(crate) const PRELUDE: &str = "cuprum/prelude.h";

const EMPTY: &str = include_str!("empty.h");

/// The headers, by include name. `assert.h`, `stdio.h` and those of CUDA's own that are empty here declare what NVRTC has anyway.
pub(crate) const VIRTUAL: &[(&str, &str)] = &[
    ("algorithm", include_str!("algorithm.h")),
    ("assert.h", EMPTY),
    ("builtin_types.h", EMPTY),
    ("cassert", EMPTY),
    ("cfloat", include_str!("float.h")),
    ("climits", include_str!("limits.h")),
    ("cmath", include_str!("cmath.h")),
    ("cstddef", include_str!("cstddef.h")),
    ("cstdint", include_str!("cstdint.h")),
    ("cstdio", include_str!("cstdio.h")),
    ("cstdlib", include_str!("cstdlib.h")),
    ("cstring", include_str!("cstring.h")),
    ("ctime", EMPTY),
    ("cuda.h", EMPTY),
    ("cuda_runtime.h", EMPTY),
    ("cuda_surface_types.h", EMPTY),
    ("cuda_texture_types.h", EMPTY),
    ("cuprum/complex.h", include_str!("complex.h")),
    (PRELUDE, include_str!("prelude.h")),
    ("cuprum/span.h", include_str!("span.h")),
    ("device_functions.h", EMPTY),
    ("device_launch_parameters.h", EMPTY),
    ("driver_types.h", EMPTY),
    ("float.h", include_str!("float.h")),
    ("host_defines.h", EMPTY),
    ("limits.h", include_str!("limits.h")),
    ("math.h", include_str!("math.h")),
    ("math_functions.h", EMPTY),
    ("pycuda-complex.hpp", include_str!("pycuda-complex.hpp")),
    ("stddef.h", include_str!("stddef.h")),
    ("stdint.h", include_str!("stdint.h")),
    ("stdio.h", EMPTY),
    ("stdlib.h", include_str!("stdlib.h")),
    ("string.h", include_str!("string.h")),
    ("surface_functions.h", EMPTY),
    ("texture_fetch_functions.h", EMPTY),
    ("time.h", EMPTY),
    ("vector_functions.h", EMPTY),
];

/// Whether a header is Cuprum's own, and supplied also where no virtual headers are wanted: what is declared of Rust types needs it.
pub(crate) const fn is_own(name: &str) -> bool {
    const FOLDER: &[u8] = b"cuprum/";
    let name = name.as_bytes();
    let mut at = 0;
    while at < FOLDER.len() {
        if at >= name.len() || name[at] != FOLDER[at] {
            return false;
        }
        at += 1;
    }
    // The prelude is one of those that can be left out.
    name.len() != PRELUDE.len() || name[at] != b'p'
}

/// The text of a virtual header.
pub(crate) fn text(name: &str) -> Option<&'static str> {
    VIRTUAL
        .binary_search_by(|(known, _)| known.cmp(&name))
        .ok()
        .map(|at| VIRTUAL[at].1)
}

/// Stands for the texts that are supplied, in the cache's key: 128-bit FNV-1a, worked out when Cuprum is compiled, because hashing them would
/// be most of what a hit takes.
pub(crate) const fn digest(virtual_headers: bool) -> u128 {
    const ALL: u128 = digest_of(true);
    const OWN: u128 = digest_of(false);
    if virtual_headers { ALL } else { OWN }
}

const fn digest_of(all: bool) -> u128 {
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let mut at = 0;
    while at < VIRTUAL.len() {
        let (name, text) = VIRTUAL[at];
        if all || is_own(name) {
            hash = fnv(fnv(hash, name.as_bytes()), text.as_bytes());
        }
        at += 1;
    }
    hash
}

/// The bytes, then one that no text holds, so that where one ends counts.
const fn fnv(mut hash: u128, bytes: &[u8]) -> u128 {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u128).wrapping_mul(PRIME);
        at += 1;
    }
    (hash ^ 0xff).wrapping_mul(PRIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_so_that_the_search_finds_all() {
        let mut names: Vec<&str> = VIRTUAL.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        for name in names {
            assert!(text(name).is_some(), "{name} is out of order");
        }
        assert_eq!(text("iostream"), None);
    }

    #[test]
    fn own_headers_are_told_from_those_that_can_be_left_out() {
        let own: Vec<&str> = VIRTUAL
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| is_own(name))
            .collect();
        assert_eq!(own, ["cuprum/complex.h", "cuprum/span.h"]);
    }

    #[test]
    fn digests_are_fnv() {
        // The published values of FNV-1a of 128 bits for "" and "a", before the closing byte.
        let hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
        let prime = 0x0000_0000_0100_0000_0000_0000_0000_013b_u128;
        let close = |hash: u128| (hash ^ 0xff).wrapping_mul(prime);
        assert_eq!(fnv(hash, b""), close(hash));
        assert_eq!(
            fnv(hash, b"a"),
            close(0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964)
        );
        assert_ne!(digest(true), digest(false));
    }
}
