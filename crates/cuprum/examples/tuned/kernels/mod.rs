//! What is tuned, and what comes of it.

mod matmul;
mod transpose;

use std::process::ExitCode;

use cuprum::codegen::tuner::{Strategy, Tuner, TuningReport};
use cuprum::prelude::*;

use matmul::Matmul;
use transpose::Transpose;

/// As many candidates of the largest space are shown.
const SHOWN: usize = 6;

/// Tunes the kernels that are named, or both.
pub(crate) fn main(args: impl Iterator<Item = String>) -> ExitCode {
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("tuned: {text}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut args: impl Iterator<Item = String>) -> Result<(), String> {
    let mut devices = Device::all();
    let mut names = Vec::new();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--help" | "-h" => {
                println!("tuned [--device cuda:0|soft:0] [transpose|matmul]");
                return Ok(());
            }
            "--device" => {
                let label = args.next().ok_or("--device wants a label such as soft:0")?;
                devices = vec![Device::by_name(&label).map_err(|error| error.to_string())?];
            }
            "transpose" | "matmul" => names.push(arg),
            other => return Err(format!("there is no kernel {other}; see --help")),
        }
    }
    if names.is_empty() {
        names = vec!["transpose".to_owned(), "matmul".to_owned()];
    }
    for device in devices {
        for name in &names {
            let report = match name.as_str() {
                "transpose" => transpose(&device),
                _ => matmul(&device),
            }
            .map_err(|error| format!("{name} on {device}: {error}"))?;
            show(&report);
        }
    }
    Ok(())
}

fn transpose(device: &Device) -> cuprum::Result<(TuningReport, String)> {
    let side = if device.is_software() { 500 } else { 8000 };
    let tunable = Transpose::new(side);
    let report = Tuner::new("transpose", Transpose::space())
        .problem(format!("{side} x {side} f32"))
        .run(device, &tunable)?;
    let seconds = report.best().1.median().as_secs_f64();
    let bytes = 2.0 * 4.0 * (side * side) as f64;
    Ok((report, format!("{:.1} GB/s", bytes / seconds * 1e-9)))
}

fn matmul(device: &Device) -> cuprum::Result<(TuningReport, String)> {
    let side = if device.is_software() { 130 } else { 2000 };
    let tunable = Matmul::new(side);
    let report = Tuner::new("matmul", Matmul::space())
        .problem(format!("{side} x {side} f32"))
        .strategy(Strategy::SuccessiveHalving { count: 24, seed: 1 })
        .repeats(3)
        .run(device, &tunable)?;
    let seconds = report.best().1.median().as_secs_f64();
    let operations = 2.0 * (side as f64).powi(3);
    Ok((
        report,
        format!("{:.1} Gflop/s", operations / seconds * 1e-9),
    ))
}

/// Prints the best candidates, and how many were left out and why.
fn show((report, rate): &(TuningReport, String)) {
    let text = report.to_string();
    for line in text.lines().take(1 + SHOWN) {
        println!("{line}");
    }
    let measured = report.measured().count();
    if measured > SHOWN {
        let (_, slowest) = report.measured().last().expect("one was measured");
        let (_, fastest) = report.best();
        println!(
            "  ... the slowest of {measured} takes {:.1} times as long",
            slowest.median().as_secs_f64() / fastest.median().as_secs_f64()
        );
    }
    for (candidate, rejection) in report.rejected() {
        println!("  left out: {candidate}: {}", rejection.reason());
    }
    println!("  best: {} at {rate}\n", report.best().0);
}
