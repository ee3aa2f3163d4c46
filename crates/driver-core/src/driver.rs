//! The two drivers: NVIDIA's `libcuda`, and the software device.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{LazyLock, OnceLock};

use cuprum_driver_sys::{CUresult, DriverTable};

use crate::call::call;
use crate::device::{Device, DeviceInner};
use crate::{Error, Result};

/// The oldest driver that is accepted, as `cuDriverGetVersion` counts: CUDA 11.4.
const OLDEST: i32 = 11_040;

/// What every accepted driver exports. Entries beyond these are asked for when they are used.
const REQUIRED: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceTotalMem_v2",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuModuleLoadDataEx",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuModuleGetGlobal_v2",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemsetD8Async",
    "cuMemsetD16Async",
    "cuMemsetD32Async",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamQuery",
    "cuStreamWaitEvent",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuEventQuery",
    "cuEventSynchronize",
    "cuLaunchKernel",
];

/// Why a driver cannot be used. Each is a distinct value; none is a panic.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DriverProblem {
    /// There is no driver library on the loader's path. Holds the loader's words.
    Missing(String),
    /// The library is there and the loader refuses it: a wrong architecture, a missing dependency. Holds the
    /// loader's words.
    Unloadable(String),
    /// The library is the stub that toolkits ship for linking.
    Stub,
    /// The driver is older than CUDA 11.4.
    TooOld {
        /// Its CUDA version, as major and minor; `None` if it cannot even tell.
        version: Option<(u32, u32)>,
        /// Required entry points that it lacks.
        missing: Vec<&'static str>,
    },
    /// The library loads and `cuInit` fails.
    InitFailed(CUresult),
    /// The driver works and shows no device to this process.
    NoDevice,
    /// This program was built without the feature `soft`.
    SoftwareNotBuilt,
}

impl DriverProblem {
    pub(crate) fn code(&self) -> Option<CUresult> {
        match self {
            Self::Stub => Some(CUresult::STUB_LIBRARY),
            Self::InitFailed(code) => Some(*code),
            Self::NoDevice => Some(CUresult::NO_DEVICE),
            _ => None,
        }
    }

    pub(crate) fn call(&self) -> Option<&'static str> {
        self.code().map(|_| "cuInit")
    }

    pub(crate) fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Missing(_) => {
                "install NVIDIA's driver, or set CUPRUM_DEVICE=soft:0 to use the software device"
            }
            Self::Unloadable(_) => {
                "reinstall NVIDIA's driver for this architecture, or set CUPRUM_DEVICE=soft:0 to use the software device"
            }
            Self::Stub => {
                "remove the toolkit's stubs directory from LD_LIBRARY_PATH, or set CUPRUM_DEVICE=soft:0 to use the \
                 software device"
            }
            Self::TooOld { .. } => {
                "update NVIDIA's driver to one of CUDA 11.4 or newer, or set CUPRUM_DEVICE=soft:0 to use the software \
                 device"
            }
            Self::InitFailed(CUresult::SYSTEM_DRIVER_MISMATCH) => {
                "the driver was updated while the old one was loaded: reboot, or set CUPRUM_DEVICE=soft:0 to use the \
                 software device"
            }
            Self::InitFailed(_) => {
                "see whether nvidia-smi works, or set CUPRUM_DEVICE=soft:0 to use the software device"
            }
            Self::NoDevice => {
                "see whether CUDA_VISIBLE_DEVICES hides the device, or set CUPRUM_DEVICE=soft:0 to use the software \
                 device"
            }
            Self::SoftwareNotBuilt => {
                "build with the feature `soft` of the Cuprum crate you depend on"
            }
        })
    }
}

impl fmt::Display for DriverProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(words) => write!(f, "NVIDIA's driver library was not found: {words}"),
            Self::Unloadable(words) => {
                write!(f, "NVIDIA's driver library cannot be loaded: {words}")
            }
            Self::Stub => {
                f.write_str("the driver library found is a stub for linking, not a driver")
            }
            Self::TooOld { version, missing } => {
                f.write_str("NVIDIA's driver is too old")?;
                if let Some((major, minor)) = version {
                    write!(f, ": it calls itself CUDA {major}.{minor}")?;
                }
                match missing.as_slice() {
                    [] => Ok(()),
                    [only] => write!(f, " and lacks {only}"),
                    [first, rest @ ..] => write!(f, " and lacks {first} and {} more", rest.len()),
                }
            }
            Self::InitFailed(code) => {
                write!(
                    f,
                    "NVIDIA's driver does not initialise: cuInit failed: {code:?}"
                )?;
                code.description()
                    .map_or(Ok(()), |text| write!(f, ": {text}"))
            }
            Self::NoDevice => f.write_str("NVIDIA's driver shows no device to this process"),
            Self::SoftwareNotBuilt => {
                f.write_str("this program was built without the software device")
            }
        }
    }
}

impl std::error::Error for DriverProblem {}

/// Which driver a [`Driver`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DriverKind {
    /// NVIDIA's driver.
    Cuda,
    /// The software device.
    Software,
    /// A table given by the program.
    Custom,
}

/// An initialised driver: its table of entry points, and its devices.
///
/// Both drivers can be open in one process. A driver is never closed.
pub struct Driver {
    table: DriverTable,
    kind: DriverKind,
    version: i32,
    devices: OnceLock<Vec<DeviceInner>>,
}

impl Driver {
    /// NVIDIA's driver, opened and initialised at the first call.
    ///
    /// # Errors
    /// The [`DriverProblem`] that keeps it from being used; the same at each call.
    pub fn cuda() -> Result<&'static Self, &'static DriverProblem> {
        static DRIVER: LazyLock<Result<Driver, DriverProblem>> =
            LazyLock::new(|| Driver::open(&SystemLoader, DriverKind::Cuda));
        DRIVER.as_ref()
    }

    /// The driver of the software device.
    ///
    /// # Errors
    /// [`DriverProblem::SoftwareNotBuilt`] without the feature `soft`.
    pub fn software() -> Result<&'static Self, &'static DriverProblem> {
        static DRIVER: LazyLock<Result<Driver, DriverProblem>> =
            LazyLock::new(|| match software_table() {
                Some(table) => Driver::start(*table, DriverKind::Software),
                None => Err(DriverProblem::SoftwareNotBuilt),
            });
        DRIVER.as_ref()
    }

    /// A driver over a table that the caller filled: for tests and measurements.
    ///
    /// # Safety
    /// Every entry of the table must keep the contract of the driver API manual for calls that this crate makes.
    ///
    /// # Errors
    /// As for a real driver: too old, or failing to initialise.
    #[doc(hidden)]
    pub unsafe fn from_table(table: &'static DriverTable) -> Result<&'static Self, DriverProblem> {
        Self::start(*table, DriverKind::Custom).map(|driver| &*Box::leak(Box::new(driver)))
    }

    /// Loads a library and starts the driver in it.
    pub(crate) fn open(loader: &dyn Loader, kind: DriverKind) -> Result<Self, DriverProblem> {
        let resolve = loader.open()?;
        Self::start(DriverTable::load(resolve), kind)
    }

    /// Checks and initialises the driver behind a table.
    fn start(table: DriverTable, kind: DriverKind) -> Result<Self, DriverProblem> {
        let mut driver = Self {
            table,
            kind,
            version: 0,
            devices: OnceLock::new(),
        };
        let version = driver.ask_version();
        // The software driver comes with this crate: what it lacks is an error of the call that wants it.
        let required = if kind == DriverKind::Software {
            &[]
        } else {
            REQUIRED
        };
        let missing: Vec<_> = required
            .iter()
            .copied()
            .filter(|symbol| table.address(symbol).is_none())
            .collect();
        // SAFETY: `cuInit` takes no pointers and may be called at any time, from any thread, any number of times.
        // It is called before the age is judged, because a stub and a broken driver say so here and nowhere else.
        match unsafe { call!(driver, cuInit(0)) } {
            Ok(()) => {}
            Err(failure) => match failure.code {
                Some(CUresult::STUB_LIBRARY) => return Err(DriverProblem::Stub),
                Some(CUresult::NO_DEVICE) => return Err(DriverProblem::NoDevice),
                Some(code) => return Err(DriverProblem::InitFailed(code)),
                None => {
                    return Err(DriverProblem::TooOld {
                        version: readable(version),
                        missing,
                    });
                }
            },
        }
        // Some drivers tell their version only once initialised.
        driver.version = if version == 0 {
            driver.ask_version()
        } else {
            version
        };
        if !missing.is_empty() || driver.version < OLDEST {
            return Err(DriverProblem::TooOld {
                version: readable(driver.version),
                missing,
            });
        }
        Ok(driver)
    }

    /// The raw version, 0 if the driver cannot tell.
    fn ask_version(&self) -> i32 {
        let mut version = 0;
        // SAFETY: `version` is a live local that the call writes.
        let answer = unsafe { call!(self, cuDriverGetVersion(&raw mut version)) };
        if answer.is_ok() { version } else { 0 }
    }

    /// The table of entry points, for what has no safe wrapper yet.
    #[must_use]
    pub fn table(&self) -> &DriverTable {
        &self.table
    }

    /// Which driver this is.
    #[must_use]
    pub fn kind(&self) -> DriverKind {
        self.kind
    }

    /// Whether this is the driver of the software device.
    #[must_use]
    pub fn is_software(&self) -> bool {
        self.kind == DriverKind::Software
    }

    /// The CUDA version that the driver implements, as major and minor.
    #[must_use]
    pub fn version(&self) -> (u32, u32) {
        readable(self.version).unwrap_or((0, 0))
    }

    /// The devices of this driver, in its order.
    ///
    /// # Errors
    /// What `cuDeviceGetCount` and the first questions to each device return.
    pub fn devices(&'static self) -> Result<Vec<Device>> {
        if self.devices.get().is_none() {
            let found = self.find_devices()?;
            // Another thread may have been first; both lists are equal, and only one is kept.
            let _ = self.devices.set(found);
        }
        let list = self.devices.get().expect("the list was set above");
        Ok(list.iter().map(Device::from_inner).collect())
    }

    fn find_devices(&'static self) -> Result<Vec<DeviceInner>> {
        let mut count = 0;
        // SAFETY: `count` is a live local that the call writes.
        match unsafe { call!(self, cuDeviceGetCount(&raw mut count)) } {
            Ok(()) => {}
            Err(failure) if failure.is(CUresult::NO_DEVICE) => count = 0,
            Err(failure) => return Err(failure.into_error(self.is_software())),
        }
        (0..count)
            .map(|ordinal| DeviceInner::open(self, ordinal))
            .collect()
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("kind", &self.kind)
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}

impl From<&DriverProblem> for Error {
    fn from(problem: &DriverProblem) -> Self {
        Self::of_problem(problem.clone())
    }
}

impl From<DriverProblem> for Error {
    fn from(problem: DriverProblem) -> Self {
        Self::of_problem(problem)
    }
}

fn readable(version: i32) -> Option<(u32, u32)> {
    let version = u32::try_from(version).ok().filter(|&v| v > 0)?;
    Some((version / 1000, version % 1000 / 10))
}

#[cfg(feature = "soft")]
fn software_table() -> Option<&'static DriverTable> {
    Some(cuprum_softcuda::table())
}

#[cfg(not(feature = "soft"))]
fn software_table() -> Option<&'static DriverTable> {
    None
}

/// Maps an exported name to its address.
pub(crate) type Resolver = Box<dyn Fn(&'static str) -> Option<NonNull<c_void>>>;

/// Opens a driver library; tests have their own.
pub(crate) trait Loader {
    /// Opens the library, or says why not: [`DriverProblem::Missing`] or [`DriverProblem::Unloadable`].
    fn open(&self) -> Result<Resolver, DriverProblem>;
}

/// The loader of the operating system, through cudarc, so that both libraries use one and the same `libcuda`.
pub(crate) struct SystemLoader;

impl Loader for SystemLoader {
    fn open(&self) -> Result<Resolver, DriverProblem> {
        // SAFETY: loading NVIDIA's driver library runs its initialisers, which is what a CUDA program does at start.
        if !unsafe { cudarc::driver::sys::is_culib_present() } {
            return Err(explain_absence());
        }
        // SAFETY: as above; the library was found, so cudarc's loader does not panic, and it is never unloaded.
        let library = unsafe { cudarc::driver::sys::culib() };
        Ok(Box::new(move |symbol| {
            // SAFETY: the symbol is used as an address only; the table gives it the signature that NVIDIA documents
            // for this exported name.
            let entry = unsafe { library.get::<unsafe extern "C" fn()>(symbol) }.ok()?;
            NonNull::new(*entry as *mut c_void)
        }))
    }
}

/// Why no library was found, in the loader's words: cudarc's check only says that none was.
fn explain_absence() -> DriverProblem {
    let name = if cfg!(windows) {
        "nvcuda.dll"
    } else {
        "libcuda.so.1"
    };
    // SAFETY: as in `SystemLoader::open`; the library, should it load this time, is dropped again.
    match unsafe { libloading::Library::new(name) } {
        Ok(_) => DriverProblem::Unloadable(format!("{name} loads by that name only")),
        Err(error) => judge_loader_message(name, &chain(&error)),
    }
}

/// Tells "there is none" from "there is one, and it does not load".
pub(crate) fn judge_loader_message(name: &str, words: &str) -> DriverProblem {
    // glibc: "libcuda.so.1: cannot open shared object file: No such file or directory". A missing dependency reads
    // the same with that library's name in front.
    let absent = words.contains(&format!(
        "{name}: cannot open shared object file: No such file"
    )) || words.contains("Error loading shared library")
        && words.contains(&format!("{name}: No such file"))
        || words.contains("os error 126")
        || words.contains("no such file") && cfg!(target_os = "macos");
    if absent {
        DriverProblem::Missing(words.to_owned())
    } else {
        DriverProblem::Unloadable(words.to_owned())
    }
}

/// An error with its sources, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        source = inner.source();
    }
    text
}
