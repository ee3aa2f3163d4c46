//! The guided tour of Cuprum: kernels compiled from source at work on a photograph, checked against the CPU.
//!
//! `cargo run --release --example tour -- --help`

mod guide;

fn main() -> std::process::ExitCode {
    guide::main(std::env::args().skip(1))
}
