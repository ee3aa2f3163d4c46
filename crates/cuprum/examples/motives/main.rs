//! Why one generates code at run time: PyCUDA's five motives, each measured.
//!
//! `cargo run --release --example motives` runs all on every device; `-- unrolling` one of them; `--device soft:0` on one device.

mod parts;

fn main() -> std::process::ExitCode {
    parts::main(std::env::args().skip(1))
}
