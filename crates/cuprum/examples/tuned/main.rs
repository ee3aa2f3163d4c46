//! Transpose and matrix product, tuned on every device present.
//!
//! `cargo run --release --example tuned`; `-- --device soft:0 matmul` chooses. What is found is remembered: the second run starts
//! from it.

mod kernels;

fn main() -> std::process::ExitCode {
    kernels::main(std::env::args().skip(1))
}
