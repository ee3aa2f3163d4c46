//! Small applications: cryptography, finance, signals, images, simulation, sorting.

mod crypto;
mod image;
mod numeric;
mod random;
mod simulation;
mod sorting;

use super::Case;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = crypto::cases();
    cases.extend(numeric::cases());
    cases.extend(image::cases());
    cases.extend(random::cases());
    cases.extend(simulation::cases());
    cases.extend(sorting::cases());
    cases
}
