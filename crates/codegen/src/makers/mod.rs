//! Kernels made from expressions of C++: for each element, for all of them together, and for all before each.
//!
//! | maker | of | gives |
//! |---|---|---|
//! | [`ElementwiseKernel`] | an operation, `z[i] = a * x[i] + y[i]` | a loop over all elements, a range or a slice of them |
//! | [`ReductionKernel`] | how two values become one, `a + b`, and what each element gives, `x[i] * y[i]` | one value |
//! | [`ScanKernel`] | how two values become one | for each element what it and those before it give; also by segments |
//!
//! Arguments are declared as C text and checked at each call: number, types, what is written, and that vectors have one length. Indices have 64
//! bits. Names of the kernels' own variables begin with `cuprum_`, so that neither an argument nor a macro of yours can clash with them.
//!
//! The expressions are code that nobody checks, so making a kernel is `unsafe`: you vouch that for every `i` from 0 to `n - 1` they access vectors
//! only inside their lengths, and write an element only if no other `i` accesses it. Calling it is safe then.

mod arguments;
mod elementwise;
mod reduction;
mod scan;
mod text;

pub use arguments::{ArgumentList, MakerArg, MakerArgs};
pub use elementwise::{Elements, ElementwiseBuilder, ElementwiseKernel};
pub use reduction::{ReductionBuilder, ReductionKernel};
pub use scan::{ScanBuilder, ScanKernel};
