//! Tests against independent references.

mod approximations;
mod conversions;
mod exact;
mod halves;
mod integers;
mod rounding;
mod samples;

use super::{FUNCTIONS, function};

#[test]
fn every_function_is_found_by_its_name() {
    for entry in FUNCTIONS {
        let found = function(entry.name).expect("a listed name is found");
        assert_eq!(
            found.address(),
            entry.address(),
            "two functions are named {}",
            entry.name
        );
        assert!(!entry.address().is_null());
    }
    assert!(function("add_rn_f128").is_none());
}
