//! All examples in one executable, for machines without a toolchain.
//!
//! `examples NAME [ARG ...]` runs one, `examples all` every one with its defaults. Two commands serve the bundle:
//! `cubins FOLDER` compiles the shipped kernels to cubins with the pinned NVRTC, `load FOLDER` loads and runs them on the
//! first GPU.

#[path = "../../../crates/cuprum/examples/motives/parts/mod.rs"]
mod motives;
#[path = "../../../crates/cuprum/examples/tour/guide/mod.rs"]
mod tour;
#[path = "../../../crates/cuprum/examples/tuned/kernels/mod.rs"]
mod tuned;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use cuprum::codegen::nvrtc::{Nvrtc, Wheel};
use cuprum::codegen::{Source, Target, compile};
use cuprum::prelude::*;

type Body = fn(&mut dyn Iterator<Item = String>) -> ExitCode;

/// Every example by name.
const EXAMPLES: &[(&str, Body)] = &[
    ("tour", |args| tour::main(args)),
    ("motives", |args| motives::main(args)),
    ("tuned", |args| tuned::main(args)),
];

/// The architectures that the bundle's cubins are for.
const ARCHITECTURES: &[u32] = &[80, 90, 100, 120];

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_default();
    match name.as_str() {
        "all" => {
            let failed = EXAMPLES
                .iter()
                .filter(|(_, body)| body(&mut std::iter::empty()) != ExitCode::SUCCESS)
                .count();
            ExitCode::from(u8::from(failed > 0))
        }
        "cubins" | "load" => {
            let folder = args.next().unwrap_or_else(|| ".".to_owned());
            let result = if name == "load" {
                load(folder.as_ref())
            } else {
                cubins(folder.as_ref())
            };
            result.map_or_else(
                |error| {
                    eprintln!("{name}: {error}");
                    ExitCode::FAILURE
                },
                |()| ExitCode::SUCCESS,
            )
        }
        _ => match EXAMPLES.iter().find(|(example, _)| *example == name) {
            Some((_, body)) => body(&mut args),
            None => {
                let names: Vec<_> = EXAMPLES.iter().map(|(name, _)| *name).collect();
                eprintln!(
                    "usage: examples all|cubins FOLDER|load FOLDER|{}",
                    names.join("|")
                );
                ExitCode::from(2)
            }
        },
    }
}

/// Writes `first-sm_NN.cubin` for each architecture.
fn cubins(folder: &Path) -> Result<(), Box<dyn Error>> {
    let compiler = Nvrtc::of_wheel(Wheel::Cuda13_5)?;
    for sm in ARCHITECTURES {
        let source = Source::new(cuprum::kernels::FIRST)
            .compiler(compiler)
            .cache(false);
        let image = compile(&source, Target::Cubin(*sm))?;
        let cubin = image.cubin().ok_or("the compiler made no cubin")?;
        std::fs::write(folder.join(format!("first-sm_{sm}.cubin")), cubin)?;
        println!(
            "first-sm_{sm}.cubin by {}: {} bytes",
            image.compiler(),
            cubin.len()
        );
    }
    Ok(())
}

/// Loads the cubin for the first GPU, runs `doublify` from it and checks the result.
fn load(folder: &Path) -> Result<(), Box<dyn Error>> {
    let device = Device::by_name("cuda:0")?;
    let (major, minor) = device.compute_capability();
    let file = folder.join(format!("first-sm_{major}{minor}.cubin"));
    let stream = device.context()?.default_stream();
    let module = Module::from_image(stream.context(), &std::fs::read(&file)?)?;
    let mut values = DeviceBuffer::from_slice(&stream, &[1.5f64, -2.0, 4.0])?;
    // SAFETY: the kernel touches values below 3 only, and the buffer holds 3.
    unsafe {
        module.function("doublify")?.launch(
            &stream,
            LaunchConfig::for_elements(3),
            (&mut values, 3i64),
        )?;
    };
    let got = values.to_vec()?;
    if got != [3.0, -4.0, 8.0] {
        return Err(format!("{} gave {got:?}", file.display()).into());
    }
    println!(
        "{} loads and runs on {} ({})",
        file.display(),
        device.label(),
        device.name()
    );
    Ok(())
}
