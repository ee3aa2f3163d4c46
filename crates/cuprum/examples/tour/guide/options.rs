//! What the command line asks for.

use std::path::PathBuf;

pub(super) const USAGE: &str = "\
The tour: kernels compiled from source at work on a photograph, checked against the CPU.

usage: tour [--device auto|cuda:N|soft:N|all] [--image FILE.png] [--out FOLDER]

  --device   where to run; `all` runs on every device and compares them  [default: auto, or CUPRUM_DEVICE]
  --image    a picture of any size                                       [default: the astronaut]
  --out      where the pictures go                                       [default: target/tour]
";

#[derive(Debug, PartialEq)]
pub(super) struct Options {
    pub(super) device: Option<String>,
    pub(super) image: Option<PathBuf>,
    pub(super) out: PathBuf,
}

/// What to do: run the tour, or say how.
#[derive(Debug, PartialEq)]
pub(super) enum Request {
    Run(Options),
    Help,
}

pub(super) fn parse(mut args: impl Iterator<Item = String>) -> Result<Request, String> {
    let mut options = Options {
        device: None,
        image: None,
        out: PathBuf::from("target/tour"),
    };
    while let Some(arg) = args.next() {
        let mut value = || {
            args.next()
                .ok_or(format!("{arg} needs a value; see --help"))
        };
        match arg.as_str() {
            "--device" => options.device = Some(value()?),
            "--image" => options.image = Some(value()?.into()),
            "--out" => options.out = value()?.into(),
            "--help" | "-h" => return Ok(Request::Help),
            other => return Err(format!("unknown argument {other:?}; see --help")),
        }
    }
    Ok(Request::Run(options))
}
