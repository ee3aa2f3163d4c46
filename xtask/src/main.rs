//! Developer commands: `cargo xtask <command>`.

mod bundle;
mod loc;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  bundle DIR   build everything a machine with an NVIDIA GPU and no Rust toolchain needs to run the tests, the
               benchmarks and the examples, as one archive and a run.sh in DIR
  loc          lines of Rust per crate, and the files above 600 lines
";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let result = match (args.next().as_deref(), args.next(), args.next()) {
        (Some("bundle"), Some(dir), None) => bundle::run(dir.as_ref()),
        (Some("loc"), None, None) => loc::run(),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the workspace.
fn root() -> &'static std::path::Path {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies one folder below the root")
}
