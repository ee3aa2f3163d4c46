//! The five motives: tuning, types, specialisation, constants, unrolling.

mod constants;
mod measure;
mod specialisation;
mod tuning;
mod types;
mod unrolling;

use std::process::ExitCode;

use cuprum::prelude::*;

use measure::{Bench, Gain};

type Motive = fn(&Bench) -> cuprum::Result<Gain>;

/// Every motive by name, with what it compares.
const MOTIVES: &[(&str, &str, Motive)] = &[
    (
        "tuning",
        "a block of 64 threads with one element each | what the tuner found",
        tuning::run,
    ),
    (
        "types",
        "one kernel in double for all | the kernel made for f32",
        types::run,
    ),
    (
        "specialisation",
        "extents as arguments | extents in the source",
        specialisation::run,
    ),
    (
        "constants",
        "coefficients in memory | coefficients in the source",
        constants::run,
    ),
    (
        "unrolling",
        "a loop over the taps | a line for each tap",
        unrolling::run,
    ),
];

/// Runs the motives that are named, or all.
pub(crate) fn main(args: impl Iterator<Item = String>) -> ExitCode {
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("motives: {text}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: impl Iterator<Item = String>) -> Result<(), String> {
    let mut wanted = Vec::new();
    let mut devices = Device::all();
    let mut args = args.peekable();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--help" | "-h" => {
                let names: Vec<&str> = MOTIVES.iter().map(|(name, ..)| *name).collect();
                println!("motives [--device cuda:0|soft:0] [{}]", names.join("|"));
                return Ok(());
            }
            "--device" => {
                let label = args.next().ok_or("--device wants a label such as soft:0")?;
                devices = vec![Device::by_name(&label).map_err(|error| error.to_string())?];
            }
            name => match MOTIVES.iter().find(|(known, ..)| *known == name) {
                Some(motive) => wanted.push(motive),
                None => return Err(format!("there is no motive {name}; --help lists them")),
            },
        }
    }
    if wanted.is_empty() {
        wanted = MOTIVES.iter().collect();
    }
    for device in devices {
        println!("{device}");
        let bench = Bench::new(&device).map_err(|error| error.to_string())?;
        for (name, what, motive) in &wanted {
            let gain = motive(&bench).map_err(|error| format!("{name}: {error}"))?;
            let (before, after) = what.split_once(" | ").expect("two sides");
            println!("  {name:15} {gain}   ({before} -> {after})");
        }
    }
    Ok(())
}
