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
pub(crate) fn is_own(name: &str) -> bool {
    name.starts_with("cuprum/") && name != PRELUDE
}

/// The text of a virtual header.
pub(crate) fn text(name: &str) -> Option<&'static str> {
    VIRTUAL
        .binary_search_by(|(known, _)| known.cmp(&name))
        .ok()
        .map(|at| VIRTUAL[at].1)
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
}
