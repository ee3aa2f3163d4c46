//! `cargo +nightly fuzz run parse` in `crates/ptx`; a directory of `.ptx` files makes a good corpus.
#![no_main]

#[path = "../check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data));
