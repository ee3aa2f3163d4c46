//! Opening drivers: none, old, stub, broken, each its own value and none a panic.

use std::ffi::c_void;
use std::ptr::NonNull;

use cuprum_driver_sys::{CUresult, DriverTable};

use super::mock;
use crate::driver::{Loader, Resolver, judge_loader_message};
use crate::{Driver, DriverKind, DriverProblem};

/// A library that is a table, or that does not load.
struct Fake(Result<DriverTable, DriverProblem>);

impl Loader for Fake {
    fn open(&self) -> Result<Resolver, DriverProblem> {
        let table = self.0.clone()?;
        Ok(Box::new(move |symbol| table.address(symbol)))
    }
}

fn open(table: DriverTable) -> Result<Driver, DriverProblem> {
    Driver::open(&Fake(Ok(table)), DriverKind::Custom)
}

#[test]
fn a_whole_driver_opens() {
    let driver = open(mock::table()).unwrap();
    assert_eq!(
        (driver.version(), driver.kind()),
        ((13, 0), DriverKind::Custom)
    );
}

#[test]
fn none_and_unloadable() {
    for problem in [
        DriverProblem::Missing("gone".to_owned()),
        DriverProblem::Unloadable("odd".to_owned()),
    ] {
        assert_eq!(
            Driver::open(&Fake(Err(problem.clone())), DriverKind::Cuda).unwrap_err(),
            problem
        );
    }
}

#[test]
fn an_empty_library_is_too_old() {
    let Err(DriverProblem::TooOld {
        version: None,
        missing,
    }) = open(DriverTable::load(|_| None))
    else {
        panic!("a library without symbols is no driver");
    };
    assert!(missing.contains(&"cuInit") && missing.contains(&"cuLaunchKernel"));
}

#[test]
fn an_old_driver_tells_its_version() {
    extern "C" fn old(version: *mut i32) -> CUresult {
        // SAFETY: the caller of `cuDriverGetVersion` passes a place for the number.
        unsafe { version.write(10_020) };
        CUresult::SUCCESS
    }
    let mut table = mock::table();
    table.cuDriverGetVersion = Some(old);
    assert_eq!(
        open(table).unwrap_err(),
        DriverProblem::TooOld {
            version: Some((10, 2)),
            missing: vec![]
        }
    );
    table.cuMemHostAlloc = None;
    assert_eq!(
        open(table).unwrap_err(),
        DriverProblem::TooOld {
            version: Some((10, 2)),
            missing: vec!["cuMemHostAlloc"]
        }
    );
}

#[test]
fn a_driver_without_a_required_entry_is_too_old() {
    let mut table = mock::table();
    table.cuStreamWaitEvent = None;
    assert_eq!(
        open(table).unwrap_err(),
        DriverProblem::TooOld {
            version: Some((13, 0)),
            missing: vec!["cuStreamWaitEvent"]
        }
    );
}

#[test]
fn stub_broken_and_empty_handed() {
    extern "C" fn answer<const CODE: u32>(_: u32) -> CUresult {
        CUresult(CODE)
    }
    let with = |init: unsafe extern "C" fn(u32) -> CUresult| {
        let mut table = mock::table();
        table.cuInit = Some(init);
        open(table).unwrap_err()
    };
    assert_eq!(with(answer::<34>), DriverProblem::Stub);
    assert_eq!(with(answer::<100>), DriverProblem::NoDevice);
    assert_eq!(
        with(answer::<803>),
        DriverProblem::InitFailed(CUresult::SYSTEM_DRIVER_MISMATCH)
    );
    assert_eq!(
        with(answer::<999>),
        DriverProblem::InitFailed(CUresult::UNKNOWN)
    );
}

/// The stubs of toolkits export everything, and every entry answers with the same code.
#[test]
fn a_stub_whose_every_entry_says_so() {
    extern "C" fn stub() -> CUresult {
        CUresult::STUB_LIBRARY
    }
    let table = DriverTable::load(|_| NonNull::new(stub as *mut c_void));
    assert_eq!(open(table).unwrap_err(), DriverProblem::Stub);
}

#[test]
fn the_loaders_words_tell_absent_from_broken() {
    let judge = |words: &str| judge_loader_message("libcuda.so.1", words);
    let absent = [
        "libcuda.so.1: cannot open shared object file: No such file or directory",
        "Error loading shared library libcuda.so.1: No such file or directory",
    ];
    for words in absent {
        assert_eq!(judge(words), DriverProblem::Missing(words.to_owned()));
    }
    let broken = [
        "libnvidia-tls.so.1: cannot open shared object file: No such file or directory",
        "libcuda.so.1: wrong ELF class: ELFCLASS32",
        "/usr/lib/libcuda.so.1: file too short",
        "/usr/lib/libcuda.so.1: undefined symbol: foo",
    ];
    for words in broken {
        assert_eq!(judge(words), DriverProblem::Unloadable(words.to_owned()));
    }
}

#[test]
fn the_systems_own_driver_is_a_value_too() {
    // Whatever this machine has, asking does not panic, and twice gives the same.
    match (Driver::cuda(), Driver::cuda()) {
        (Ok(first), Ok(second)) => assert!(std::ptr::eq(first, second)),
        (Err(first), Err(second)) => assert_eq!(first, second),
        _ => panic!("two answers to one question"),
    }
}
