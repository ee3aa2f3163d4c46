//! Every check on every device present: `[soft:0] name`, `[cuda:0 NVIDIA H200] name`.
//!
//! A device kind that the machine lacks is shown, as ignored tests, and never counts as a pass. Checks that fault a
//! device on purpose, or measure what others share, run in a child process each.

use std::process::{Command, ExitCode};
use std::sync::{PoisonError, RwLock};

use cuprum::prelude::Device;
use cuprum_checks::{Check, Subject, Tag};
use libtest_mimic::{Arguments, Failed, Trial};

/// Set in the child process that runs one check.
const CHILD: &str = "CUPRUM_CHECK_CHILD";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let devices = Device::all();
    let mut trials = Vec::new();
    for device in &devices {
        let label = label(device);
        for check in cuprum_checks::all()
            .into_iter()
            .filter(|check| check.applies_to(device))
        {
            let device = device.clone();
            let name = format!("[{label}] {}", check.name);
            trials.push(Trial::test(name.clone(), move || run(&name, check, device)));
        }
    }
    if devices.iter().all(Device::is_software) {
        for problem in Device::drivers_report() {
            eprintln!("no GPU is tested: {problem}");
        }
        for check in cuprum_checks::all()
            .iter()
            .filter(|check| !check.tags.contains(&Tag::SoftwareOnly))
        {
            let name = format!("[cuda:0 no such device] {}", check.name);
            trials.push(
                Trial::test(name, || Err("there is no such device".into())).with_ignored_flag(true),
            );
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn label(device: &Device) -> String {
    if device.is_software() {
        device.label()
    } else {
        format!("{} {}", device.label(), device.name())
    }
}

/// Held alone by checks that want nothing beside them, whichever process they run in, and shared by all others.
static BESIDE: RwLock<()> = RwLock::new(());

fn run(name: &str, check: Check, device: Device) -> Result<(), Failed> {
    let alone = check.tags.contains(&Tag::Alone);
    let (_write, _read) = if alone {
        (
            Some(BESIDE.write().unwrap_or_else(PoisonError::into_inner)),
            None,
        )
    } else {
        (
            None,
            Some(BESIDE.read().unwrap_or_else(PoisonError::into_inner)),
        )
    };
    if check.needs_own_process() && std::env::var_os(CHILD).is_none() {
        return run_in_child(name, check);
    }
    let subject = Subject::new(device)?;
    let report = check
        .run(&subject)
        .map_err(|failure| Failed::from(failure.to_string()))?;
    if report.cases == 0 {
        return Err("the check looked at nothing".into());
    }
    Ok(())
}

fn run_in_child(name: &str, check: Check) -> Result<(), Failed> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--exact", name])
        .env(CHILD, "1")
        .envs(check.variables.iter().copied())
        .output()?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || !stdout.contains("1 passed") {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}\n{stdout}{stderr}", output.status).into());
    }
    check
        .verify_output(&stdout)
        .map_err(|failure| failure.to_string().into())
}
