//! The tour's body, shared by the example and by the bundle for GPU machines.

mod options;
mod picture;
mod steps;
mod table;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use cuprum::prelude::Device;

use options::{Options, Request};
use picture::Picture;
use steps::Visit;
use table::{Row, Table};

/// Runs the tour as the command line asks. Fails if a step answers an error or a result is outside its bound.
pub(crate) fn main(args: impl Iterator<Item = String>) -> ExitCode {
    let options = match options::parse(args) {
        Ok(Request::Run(options)) => options,
        Ok(Request::Help) => {
            print!("{}", options::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("tour: {message}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("tour: a result is outside its bound");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("tour: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let devices = chosen(options.device.as_deref())?;
    println!("devices");
    let everyone = Device::all();
    for device in &everyone {
        let (major, minor) = device.compute_capability();
        let mark = if devices
            .iter()
            .any(|chosen| chosen.label() == device.label())
        {
            "*"
        } else {
            " "
        };
        println!(
            "{mark} {:8} {} (compute capability {major}.{minor}, {:.1} GiB)",
            device.label(),
            device.name(),
            device.total_memory() as f64 / f64::from(1 << 30)
        );
    }
    if everyone.iter().all(Device::is_software) {
        println!(
            "  no GPU: {}",
            Device::drivers_report()
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("; ")
        );
    }

    let picture = Picture::open(options.image.as_deref())?;
    println!("\npicture: {} x {} pixels", picture.width, picture.height);
    let visits = devices
        .iter()
        .map(|device| steps::visit(device, &picture))
        .collect::<Result<Vec<_>, _>>()?;
    std::fs::create_dir_all(&options.out)
        .map_err(|error| format!("cannot make the folder {}: {error}", options.out.display()))?;
    for visit in &visits {
        save(visit, &picture, &options.out)?;
    }

    let mut rows: Vec<Row> = visits.iter().flat_map(|visit| visit.rows.clone()).collect();
    rows.extend(
        visits
            .iter()
            .skip(1)
            .flat_map(|visit| compare(&visits[0], visit, &picture)),
    );
    let table = Table(rows);
    println!("\n{table}");
    Ok(table.0.iter().all(Row::holds))
}

/// The devices that the command line names.
fn chosen(name: Option<&str>) -> Result<Vec<Device>, Box<dyn Error>> {
    match name {
        None => Ok(vec![Device::default()?]),
        Some("all") => Ok(Device::all()),
        Some(name) => Ok(vec![Device::by_name(name)?]),
    }
}

/// Writes the pictures of a visit.
fn save(visit: &Visit, picture: &Picture, out: &Path) -> Result<(), String> {
    let device = visit.device.replace(':', "-");
    for (name, pixels, scale) in visit.pictures() {
        let path = out.join(format!("{name}-{device}.png"));
        picture::save_grey(&path, picture.width, picture.height, pixels, scale)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// How far two devices differ, picture by picture.
fn compare(first: &Visit, second: &Visit, picture: &Picture) -> Vec<Row> {
    let names = [
        ("greyscale, devices", steps::BOUND),
        ("sobel, devices", steps::BOUND),
        ("rotate, devices", steps::rotation_bound(picture)),
        ("expression, devices", steps::BOUND),
    ];
    first
        .pictures()
        .into_iter()
        .zip(second.pictures())
        .zip(names)
        .map(|(((_, a, _), (_, b, _)), (step, bound))| Row {
            step,
            device: format!("{}/{}", first.device, second.device),
            elements: a.len(),
            time: None,
            bytes: None,
            error: Some((
                steps::largest_difference(a, b.iter().map(|v| f64::from(*v))),
                bound,
            )),
        })
        .collect()
}
