//! Devices: what they are called, what they can do, and their contexts.

use std::ffi::c_char;
use std::fmt;
use std::sync::{Mutex, PoisonError, Weak};

use cuprum_driver_sys::{CUdevice, CUdevice_attribute, CUuuid};

use crate::call::{Failure, call};
use crate::choose::{Choice, Machine};
use crate::context::{Context, ContextInner, Orphan};
use crate::driver::{Driver, DriverProblem};
use crate::{Error, ErrorKind, Result};

/// An attribute to ask a device for: the driver API's names, without the prefix.
///
/// ```
/// use cuprum_driver_core::{Device, DeviceAttribute};
///
/// let device = Device::by_name("soft:0")?;
/// assert_eq!(device.attribute(DeviceAttribute::WARP_SIZE)?, 32);
/// # Ok::<(), cuprum_driver_core::Error>(())
/// ```
pub type DeviceAttribute = CUdevice_attribute;

/// A device: a GPU, or the software device.
///
/// Equality is identity. Cloning is free.
#[derive(Clone)]
pub struct Device {
    inner: &'static DeviceInner,
}

pub(crate) struct DeviceInner {
    driver: &'static Driver,
    ordinal: i32,
    raw: CUdevice,
    name: String,
    total_memory: u64,
    capability: (u32, u32),
    /// The context that [`Device::context`] hands out while anybody holds it.
    pub(crate) context: Mutex<Weak<ContextInner>>,
    /// What a dying context could not release without waiting.
    pub(crate) orphans: Mutex<Vec<Orphan>>,
}

impl DeviceInner {
    pub(crate) fn open(driver: &'static Driver, ordinal: i32) -> Result<Self> {
        let fail = |failure: Failure| {
            failure
                .into_error(driver.is_software())
                .fact("device", ordinal)
        };
        let mut raw = 0;
        let mut name = [0u8; 256];
        let mut total_memory = 0usize;
        // SAFETY: `raw` is a live local that the call writes.
        unsafe { call!(driver, cuDeviceGet(&raw mut raw, ordinal)) }.map_err(fail)?;
        // SAFETY: `name` is a live array of 256 bytes, the length that is passed.
        unsafe {
            call!(
                driver,
                cuDeviceGetName(name.as_mut_ptr().cast::<c_char>(), 256, raw)
            )
        }
        .map_err(fail)?;
        // SAFETY: `total_memory` is a live local that the call writes.
        unsafe { call!(driver, cuDeviceTotalMem_v2(&raw mut total_memory, raw)) }.map_err(fail)?;
        let end = name
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(name.len());
        let mut inner = Self {
            driver,
            ordinal,
            raw,
            name: String::from_utf8_lossy(&name[..end]).into_owned(),
            total_memory: total_memory as u64,
            capability: (0, 0),
            context: Mutex::new(Weak::new()),
            orphans: Mutex::new(Vec::new()),
        };
        let major = inner
            .attribute(DeviceAttribute::COMPUTE_CAPABILITY_MAJOR)
            .map_err(fail)?;
        let minor = inner
            .attribute(DeviceAttribute::COMPUTE_CAPABILITY_MINOR)
            .map_err(fail)?;
        inner.capability = (
            u32::try_from(major).unwrap_or(0),
            u32::try_from(minor).unwrap_or(0),
        );
        Ok(inner)
    }

    fn attribute(&self, attribute: DeviceAttribute) -> Result<i32, Failure> {
        let mut value = 0;
        // SAFETY: `value` is a live local that the call writes; the device was found by `cuDeviceGet`.
        unsafe {
            call!(
                self.driver,
                cuDeviceGetAttribute(&raw mut value, attribute, self.raw)
            )
        }?;
        Ok(value)
    }
}

impl Device {
    pub(crate) fn from_inner(inner: &'static DeviceInner) -> Self {
        Self { inner }
    }

    pub(crate) fn inner(&self) -> &'static DeviceInner {
        self.inner
    }

    /// Every usable device: the GPUs, then the software devices.
    ///
    /// Drivers that cannot be used add none; [`Device::drivers_report`] says why.
    #[must_use]
    pub fn all() -> Vec<Self> {
        [Driver::cuda(), Driver::software()]
            .into_iter()
            .flatten()
            .flat_map(|d| d.devices().unwrap_or_default())
            .collect()
    }

    /// The device that `CUPRUM_DEVICE` chooses: `auto` (the default), `cuda:N` or `soft:N`.
    ///
    /// `auto` is the first GPU. On a machine without an NVIDIA device it is the software device, and one line on
    /// the standard error says so (unless `CUPRUM_QUIET` is set). A GPU whose driver is missing, too old or failing
    /// is an error, never a silent fall-back.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a malformed `CUPRUM_DEVICE`, [`ErrorKind::NoDevice`] for an absent device,
    /// [`ErrorKind::DriverUnavailable`] if its driver cannot be used.
    #[allow(
        clippy::should_implement_trait,
        reason = "it can fail, so it is not `Default`; the name says what it is"
    )]
    pub fn default() -> Result<Self> {
        Self::choose(Choice::from_env()?)
    }

    /// The device that `choice` names: for programs that do not want the environment to decide.
    ///
    /// # Errors
    /// As [`Device::default`].
    pub fn choose(choice: Choice) -> Result<Self> {
        crate::choose::choose(choice, &Machine::this())
    }

    /// The device with a label: `cuda:0`, `soft:0`, or `auto`.
    ///
    /// # Errors
    /// As [`Device::default`].
    pub fn by_name(label: &str) -> Result<Self> {
        Self::choose(label.parse()?)
    }

    /// Why a driver offers no device: one entry for each driver that cannot be used, empty if both work.
    #[must_use]
    pub fn drivers_report() -> Vec<DriverProblem> {
        let mut report = Vec::new();
        for driver in [Driver::cuda(), Driver::software()] {
            match driver {
                Err(problem) => report.push(problem.clone()),
                Ok(driver) if driver.devices().is_ok_and(|devices| devices.is_empty()) => {
                    report.push(DriverProblem::NoDevice);
                }
                Ok(_) => {}
            }
        }
        report
    }

    /// The device's short name, unique in the process: `cuda:0`, `soft:0`.
    #[must_use]
    pub fn label(&self) -> String {
        let prefix = match self.inner.driver.kind() {
            crate::DriverKind::Cuda => "cuda",
            crate::DriverKind::Software => "soft",
            crate::DriverKind::Custom => "custom",
        };
        format!("{prefix}:{}", self.inner.ordinal)
    }

    /// The product name, as the driver tells it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Whether this is a software device.
    #[must_use]
    pub fn is_software(&self) -> bool {
        self.inner.driver.is_software()
    }

    /// The device's number among those of its driver, from 0.
    #[must_use]
    pub fn ordinal(&self) -> u32 {
        u32::try_from(self.inner.ordinal).expect("ordinals count from 0")
    }

    /// The driver's handle.
    #[must_use]
    pub fn raw(&self) -> CUdevice {
        self.inner.raw
    }

    /// The driver of this device.
    #[must_use]
    pub fn driver(&self) -> &'static Driver {
        self.inner.driver
    }

    /// One attribute, in the unit of the driver API manual.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if the driver does not know the attribute.
    pub fn attribute(&self, attribute: DeviceAttribute) -> Result<i32> {
        self.inner
            .attribute(attribute)
            .map_err(|failure| self.raise(failure).fact("attribute", attribute.0))
    }

    /// The compute capability, as major and minor.
    #[must_use]
    pub fn compute_capability(&self) -> (u32, u32) {
        self.inner.capability
    }

    /// The device's memory in bytes.
    #[must_use]
    pub fn total_memory(&self) -> u64 {
        self.inner.total_memory
    }

    /// The CUDA version of the device's driver, as major and minor.
    #[must_use]
    pub fn driver_version(&self) -> (u32, u32) {
        self.inner.driver.version()
    }

    /// The number that is the device's own, the same in every process; sixteen bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if the driver cannot tell.
    pub fn uuid(&self) -> Result<[u8; 16]> {
        let mut uuid = CUuuid::default();
        // SAFETY: `uuid` is a live local of the layout that the call writes.
        unsafe {
            call!(
                self.inner.driver,
                cuDeviceGetUuid_v2(&raw mut uuid, self.inner.raw)
            )
        }
        .map_err(|failure| self.raise(failure))?;
        Ok(uuid.bytes)
    }

    /// The device's primary context: the same one for every caller, while anybody holds it.
    ///
    /// If device code has failed in it ([`Error::is_fatal`]) a software device answers with a new context, in which
    /// everything works; a GPU cannot.
    ///
    /// # Errors
    /// What the driver returns when it makes a context: [`ErrorKind::OutOfMemory`], [`ErrorKind::NoDevice`] if
    /// another process holds the device, or the fault that took the process's use of this GPU.
    pub fn context(&self) -> Result<Context> {
        let mut slot = self
            .inner
            .context
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(inner) = slot.upgrade()
            && (inner.fault().is_none() || !self.is_software())
        {
            return Ok(Context::from_inner(inner));
        }
        let context = Context::create(self)?;
        *slot = context.downgrade();
        Ok(context)
    }

    pub(crate) fn raise(&self, failure: Failure) -> Error {
        failure.into_error(self.is_software()).fact("device", self)
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.inner, other.inner)
    }
}

impl Eq for Device {}

/// The label and the product name: `cuda:0 NVIDIA H200`.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.label(), self.inner.name)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}

#[cold]
pub(crate) fn no_such_device(label: &str, count: usize) -> Error {
    Error::new(
        ErrorKind::NoDevice,
        format!("there is no device {label}: this driver has {count}"),
    )
}
