//! The kernels that use cuRAND's device functions. Each generator is written from its publication, in another arithmetic
//! than cuRAND's and one number at a time; distributions are computed in double precision.

mod discrete;
mod distribution;
mod mrg32k3a;
mod mtgp32;
mod philox;
mod sobol64;

use super::Case;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = discrete::cases();
    cases.extend(mrg32k3a::cases());
    cases.extend(mtgp32::cases());
    cases.extend(philox::cases());
    cases.extend(sobol64::cases());
    cases
}
