//! Choosing a device: `CUPRUM_DEVICE`, and what `auto` means.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::device::{Device, no_such_device};
use crate::driver::{Driver, DriverProblem};
use crate::{Error, ErrorKind, Result};

/// The environment variable that chooses the device of [`Device::default`].
pub const DEVICE_VARIABLE: &str = "CUPRUM_DEVICE";
/// The environment variable that silences the line about falling back to the software device.
pub const QUIET_VARIABLE: &str = "CUPRUM_QUIET";

/// A choice of device.
///
/// ```
/// use cuprum_driver_core::Choice;
///
/// assert_eq!("soft:1".parse::<Choice>()?, Choice::Software(1));
/// assert_eq!("auto".parse::<Choice>()?, Choice::Auto);
/// assert!("gpu".parse::<Choice>().is_err());
/// # Ok::<(), cuprum_driver_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Choice {
    /// The first GPU; the software device where there is no NVIDIA device.
    #[default]
    Auto,
    /// The GPU with this number.
    Cuda(u32),
    /// The software device with this number.
    Software(u32),
}

impl Choice {
    /// What `CUPRUM_DEVICE` says; [`Choice::Auto`] if it is unset or empty.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if it says something else than `auto`, `cuda:N` or `soft:N`.
    pub fn from_env() -> Result<Self> {
        match std::env::var(DEVICE_VARIABLE) {
            Ok(text) if !text.trim().is_empty() => text
                .trim()
                .parse()
                .map_err(|error: Error| error.fact("from", DEVICE_VARIABLE)),
            _ => Ok(Self::Auto),
        }
    }
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |digits: &str| {
            if digits.is_empty() {
                None
            } else {
                digits.parse().ok()
            }
        };
        let choice = match text.split_once(':') {
            None if text.eq_ignore_ascii_case("auto") => Some(Self::Auto),
            None if text.eq_ignore_ascii_case("cuda") => Some(Self::Cuda(0)),
            None if text.eq_ignore_ascii_case("soft") => Some(Self::Software(0)),
            Some((kind, digits)) if kind.eq_ignore_ascii_case("cuda") => {
                number(digits).map(Self::Cuda)
            }
            Some((kind, digits)) if kind.eq_ignore_ascii_case("soft") => {
                number(digits).map(Self::Software)
            }
            _ => None,
        };
        choice.ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidArgument,
                format!("`{text}` names no device"),
            )
            .with_hint("use auto, cuda:N or soft:N, with N counting from 0")
        })
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            Self::Software(ordinal) => write!(f, "soft:{ordinal}"),
        }
    }
}

/// What can be seen of NVIDIA hardware without a driver library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hardware {
    /// NVIDIA's kernel driver exposes a device to this process.
    Exposed,
    /// A card is on the bus, and NVIDIA's kernel driver does not expose it here.
    OnBusOnly,
    /// Nothing.
    None,
}

type OpenDriver = Box<dyn Fn() -> Result<&'static Driver, DriverProblem>>;

/// What a choice depends on; tests have their own.
pub(crate) struct Machine {
    pub(crate) cuda: OpenDriver,
    pub(crate) software: OpenDriver,
    pub(crate) hardware: Box<dyn Fn() -> Hardware>,
    /// `CUDA_VISIBLE_DEVICES`, by which a user hides devices on purpose.
    pub(crate) visible: Option<String>,
    /// Says a line to the user.
    pub(crate) say: Box<dyn Fn(&str)>,
}

impl Machine {
    pub(crate) fn this() -> Self {
        let quiet =
            std::env::var_os(QUIET_VARIABLE).is_some_and(|value| !value.is_empty() && value != "0");
        Self {
            cuda: Box::new(|| Driver::cuda().map_err(Clone::clone)),
            software: Box::new(|| Driver::software().map_err(Clone::clone)),
            hardware: Box::new(|| {
                if cfg!(windows) {
                    // There NVIDIA's driver package is kernel driver and library in one.
                    match Driver::cuda() {
                        Err(DriverProblem::Missing(_)) => Hardware::None,
                        _ => Hardware::Exposed,
                    }
                } else {
                    look_for_hardware(Path::new("/"))
                }
            }),
            visible: std::env::var("CUDA_VISIBLE_DEVICES").ok(),
            say: Box::new(move |line| {
                if !quiet {
                    say_once(line);
                }
            }),
        }
    }
}

/// Prints a line on the standard error, once in the life of the process.
fn say_once(line: &str) {
    static SAID: std::sync::Once = std::sync::Once::new();
    SAID.call_once(|| eprintln!("{line}"));
}

/// The device that `choice` means on `machine`.
pub(crate) fn choose(choice: Choice, machine: &Machine) -> Result<Device> {
    match choice {
        Choice::Cuda(ordinal) => nth((machine.cuda)()?, ordinal, choice),
        Choice::Software(ordinal) => nth((machine.software)()?, ordinal, choice),
        Choice::Auto => automatic(machine),
    }
}

fn nth(driver: &'static Driver, ordinal: u32, choice: Choice) -> Result<Device> {
    let devices = driver.devices()?;
    let count = devices.len();
    devices
        .into_iter()
        .nth(ordinal as usize)
        .ok_or_else(|| no_such_device(&choice.to_string(), count))
}

fn automatic(machine: &Machine) -> Result<Device> {
    let problem = match (machine.cuda)() {
        Ok(driver) => match driver.devices()?.into_iter().next() {
            Some(device) => return Ok(device),
            None => DriverProblem::NoDevice,
        },
        Err(problem) => problem,
    };
    let reason = match (machine.hardware)() {
        // Hiding every device is a wish, not a failure.
        Hardware::Exposed if problem == DriverProblem::NoDevice && machine.visible.is_some() => {
            "CUDA_VISIBLE_DEVICES hides every NVIDIA device"
        }
        Hardware::Exposed => return Err(problem.into()),
        Hardware::OnBusOnly => {
            "an NVIDIA card is on the bus, but NVIDIA's kernel driver does not expose it to this process"
        }
        Hardware::None => "this machine has no NVIDIA device",
    };
    let software = (machine.software)().map_err(|software| match software {
        // Then the missing GPU is the news.
        DriverProblem::SoftwareNotBuilt => Error::from(problem.clone()),
        other => other.into(),
    })?;
    let device = nth(software, 0, Choice::Software(0))?;
    (machine.say)(&format!(
        "cuprum: {reason}; using the software device soft:0 ({DEVICE_VARIABLE} chooses, {QUIET_VARIABLE}=1 silences this)"
    ));
    Ok(device)
}

/// Looks for device nodes of NVIDIA's kernel driver under `root`, then for cards on the PCI bus.
pub(crate) fn look_for_hardware(root: &Path) -> Hardware {
    let is_gpu_node = |name: &str| {
        name.strip_prefix("nvidia")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let exposed = root.join("dev/dxg").exists()
        || std::fs::read_dir(root.join("dev")).is_ok_and(|nodes| {
            nodes
                .flatten()
                .any(|node| node.file_name().to_str().is_some_and(is_gpu_node))
        });
    if exposed {
        return Hardware::Exposed;
    }
    let is_nvidia_display = |device: &Path| {
        let read = |file: &str| std::fs::read_to_string(device.join(file)).unwrap_or_default();
        // PCI class 0x03 is a display controller; 0x10de is NVIDIA.
        read("vendor").trim() == "0x10de" && read("class").starts_with("0x03")
    };
    let on_bus = std::fs::read_dir(root.join("sys/bus/pci/devices")).is_ok_and(|devices| {
        devices
            .flatten()
            .any(|device| is_nvidia_display(&device.path()))
    });
    if on_bus {
        Hardware::OnBusOnly
    } else {
        Hardware::None
    }
}
