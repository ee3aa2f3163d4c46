//! Arrays, textures and surfaces, against a sampler on the host.

mod objects;
mod reference;
mod sampling;

use crate::check::Check;

pub(crate) fn checks() -> Vec<Check> {
    let mut checks = sampling::checks();
    checks.extend(objects::checks());
    checks
}
