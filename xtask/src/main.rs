//! Developer commands: `cargo xtask <command>`.

use std::process::ExitCode;

fn main() -> ExitCode {
    eprintln!("usage: cargo xtask <command>");
    ExitCode::FAILURE
}
