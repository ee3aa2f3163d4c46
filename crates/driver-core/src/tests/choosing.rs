//! Choosing a device: what `auto` means on every sort of machine.

use std::cell::RefCell;
use std::rc::Rc;

use cuprum_driver_sys::CUresult;

use super::mock;
use crate::choose::{Hardware, Machine, choose, look_for_hardware};
use crate::{Choice, Device, Driver, DriverProblem, ErrorKind, Result};

fn fresh_driver() -> &'static Driver {
    // SAFETY: the entries of the recording driver have the signatures and the meaning of the driver API's.
    unsafe { Driver::from_table(Box::leak(Box::new(mock::table()))) }.unwrap()
}

/// A choice on a machine, and what was said about it.
fn on(
    cuda: Option<DriverProblem>,
    hardware: Hardware,
    visible: Option<&str>,
    choice: Choice,
) -> (Result<Device>, Vec<String>, [&'static Driver; 2]) {
    let (gpu, software) = (fresh_driver(), fresh_driver());
    let said = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&said);
    let machine = Machine {
        cuda: Box::new(move || cuda.clone().map_or(Ok(gpu), Err)),
        software: Box::new(move || Ok(software)),
        hardware: Box::new(move || hardware),
        visible: visible.map(str::to_owned),
        say: Box::new(move |line| log.borrow_mut().push(line.to_owned())),
    };
    let device = choose(choice, &machine);
    (device, said.take(), [gpu, software])
}

fn missing() -> DriverProblem {
    DriverProblem::Missing("gone".to_owned())
}

#[test]
fn auto_takes_the_first_gpu_and_says_nothing() {
    let (device, said, [gpu, _]) = on(None, Hardware::Exposed, None, Choice::Auto);
    assert!(std::ptr::eq(device.unwrap().driver(), gpu));
    assert!(said.is_empty());
}

#[test]
fn auto_without_hardware_is_the_software_device_and_says_so() {
    let (device, said, [_, software]) = on(Some(missing()), Hardware::None, None, Choice::Auto);
    assert!(std::ptr::eq(device.unwrap().driver(), software));
    insta::assert_snapshot!(said.join("\n"), @"cuprum: this machine has no NVIDIA device; using the software device soft:0 (CUPRUM_DEVICE chooses, CUPRUM_QUIET=1 silences this)");
    let (device, said, _) = on(Some(missing()), Hardware::OnBusOnly, None, Choice::Auto);
    assert!(device.is_ok());
    insta::assert_snapshot!(said.join("\n"), @"cuprum: an NVIDIA card is on the bus, but NVIDIA's kernel driver does not expose it to this process; using the software device soft:0 (CUPRUM_DEVICE chooses, CUPRUM_QUIET=1 silences this)");
}

#[test]
fn a_gpu_whose_driver_fails_is_never_replaced_in_silence() {
    for problem in [
        missing(),
        DriverProblem::Unloadable("odd".to_owned()),
        DriverProblem::Stub,
        DriverProblem::TooOld {
            version: Some((10, 0)),
            missing: vec![],
        },
        DriverProblem::InitFailed(CUresult::UNKNOWN),
        DriverProblem::NoDevice,
    ] {
        let (device, said, _) = on(Some(problem.clone()), Hardware::Exposed, None, Choice::Auto);
        let error = device.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DriverUnavailable);
        assert_eq!(error.driver_problem(), Some(&problem));
        assert!(
            error.to_string().contains("CUPRUM_DEVICE=soft:0"),
            "{error}"
        );
        assert!(said.is_empty());
    }
}

#[test]
fn hiding_every_gpu_is_a_wish() {
    let (device, said, [_, software]) = on(
        Some(DriverProblem::NoDevice),
        Hardware::Exposed,
        Some(""),
        Choice::Auto,
    );
    assert!(std::ptr::eq(device.unwrap().driver(), software));
    assert!(said[0].contains("CUDA_VISIBLE_DEVICES hides"), "{said:?}");
    // It does not excuse a broken driver.
    assert!(
        on(
            Some(DriverProblem::Stub),
            Hardware::Exposed,
            Some(""),
            Choice::Auto
        )
        .0
        .is_err()
    );
}

#[test]
fn an_explicit_choice_is_kept() {
    let (device, said, [_, software]) = on(None, Hardware::Exposed, None, Choice::Software(0));
    assert!(std::ptr::eq(device.unwrap().driver(), software));
    assert!(said.is_empty());
    let error = on(Some(missing()), Hardware::None, None, Choice::Cuda(0))
        .0
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DriverUnavailable);
    let error = on(None, Hardware::Exposed, None, Choice::Cuda(3))
        .0
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoDevice);
    insta::assert_snapshot!(error, @"there is no device cuda:3: this driver has 1");
}

#[test]
fn hardware_is_what_the_kernel_driver_exposes() {
    let root = std::env::temp_dir().join(format!("cuprum-hardware-{}", std::process::id()));
    let file = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    assert_eq!(look_for_hardware(&root), Hardware::None);
    // The control node alone is no device; nor is a card of another vendor, or a sound function of NVIDIA's.
    file("dev/nvidiactl", "");
    file("sys/bus/pci/devices/0000:01:00.0/vendor", "0x8086\n");
    file("sys/bus/pci/devices/0000:01:00.0/class", "0x030000\n");
    file("sys/bus/pci/devices/0000:02:00.1/vendor", "0x10de\n");
    file("sys/bus/pci/devices/0000:02:00.1/class", "0x040300\n");
    assert_eq!(look_for_hardware(&root), Hardware::None);
    file("sys/bus/pci/devices/0000:02:00.0/vendor", "0x10de\n");
    file("sys/bus/pci/devices/0000:02:00.0/class", "0x030200\n");
    assert_eq!(look_for_hardware(&root), Hardware::OnBusOnly);
    file("dev/nvidia0", "");
    assert_eq!(look_for_hardware(&root), Hardware::Exposed);
    std::fs::remove_file(root.join("dev/nvidia0")).unwrap();
    file("dev/dxg", "");
    assert_eq!(look_for_hardware(&root), Hardware::Exposed);
    std::fs::remove_dir_all(&root).unwrap();
}
