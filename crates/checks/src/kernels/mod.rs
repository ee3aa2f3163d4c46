//! What compiled kernels compute: arithmetic, control flow, and threads that work together.

mod arithmetic;
mod control;
mod cooperation;

use crate::check::Check;

pub(crate) fn checks() -> Vec<Check> {
    [
        arithmetic::checks(),
        control::checks(),
        cooperation::checks(),
    ]
    .concat()
}
