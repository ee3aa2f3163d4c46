//! The state of the software driver: made once, by `cuInit`.

use std::sync::{Mutex, OnceLock};

use cuprum_driver_sys::CUresult;

use crate::config::{Config, ConfigError};
use crate::context::Context;
use crate::device::Device;
use crate::error::{Outcome, fail, lock};
use crate::event::Event;
use crate::link::Link;
use crate::memory::Space;
use crate::memory::pool::Pool;
use crate::module::{Function, Module};
use crate::registry::Registry;
use crate::stream::Stream;
use crate::texture::{Array, SurfaceReference, TextureReference};
use std::sync::Arc;

/// The CUDA version that the driver says it is: 13.5, whose PTX (9.5) it reads.
pub(crate) const VERSION: i32 = 13_050;

/// All that exists.
#[derive(Debug)]
pub(crate) struct Driver {
    /// What it was configured to be.
    pub(crate) config: Config,
    /// All memory.
    pub(crate) space: Arc<Space>,
    /// The devices by ordinal.
    pub(crate) devices: Vec<Arc<Device>>,
    /// Live contexts.
    pub(crate) contexts: Registry<Context>,
    /// Live streams, without the default ones.
    pub(crate) streams: Registry<Stream>,
    /// Live events.
    pub(crate) events: Registry<Event>,
    /// Loaded modules.
    pub(crate) modules: Registry<Module>,
    /// Functions that were looked up, of loaded modules.
    pub(crate) functions: Registry<Function>,
    /// Links that have begun.
    pub(crate) links: Registry<Link>,
    /// Memory pools.
    pub(crate) pools: Registry<Pool>,
    /// Arrays, mipmapped arrays and their levels.
    pub(crate) arrays: Registry<Array>,
    /// Texture references that were looked up or created.
    pub(crate) texture_references: Registry<TextureReference>,
    /// Surface references that were looked up.
    pub(crate) surface_references: Registry<SurfaceReference>,
}

static DRIVER: OnceLock<Driver> = OnceLock::new();
/// What [`configure`] asked for; the lock also keeps two initialisations apart.
static CONFIG: Mutex<Option<Config>> = Mutex::new(None);

/// Sets what the software driver pretends to be, instead of [`Config::from_env`].
///
/// # Errors
///
/// If the driver is in use already (`cuInit` has succeeded), or if the configuration makes no sense.
pub fn configure(config: Config) -> Result<(), ConfigError> {
    config.check()?;
    let mut slot = lock(&CONFIG);
    if DRIVER.get().is_some() {
        return Err(ConfigError(
            "the software driver is in use already: configure it before the first call".into(),
        ));
    }
    *slot = Some(config);
    Ok(())
}

/// `cuInit`: makes the driver if there is none.
pub(crate) fn initialize() -> Outcome {
    let slot = lock(&CONFIG);
    if DRIVER.get().is_some() {
        return Ok(());
    }
    let config = match &*slot {
        Some(config) => config.clone(),
        None => {
            Config::from_env().or_else(|error| fail(CUresult::INVALID_VALUE, error.to_string()))?
        }
    };
    if config.devices.is_empty() {
        return fail(
            CUresult::NO_DEVICE,
            "the software driver is configured to have no devices",
        );
    }
    let memory: Vec<u64> = config
        .devices
        .iter()
        .map(|device| device.memory_bytes)
        .collect();
    let space = Space::new(config.address_space, &memory, config.poison)?;
    let pools = Registry::default();
    let mut devices = Vec::new();
    for (ordinal, device) in config.devices.iter().enumerate() {
        let device = Device::new(ordinal, device.clone(), config.kernel_time_limit, &space);
        pools.insert(device.pool.id, Arc::clone(&device.pool));
        devices.push(Arc::new(device));
    }
    let driver = Driver {
        config,
        space,
        devices,
        contexts: Registry::default(),
        streams: Registry::default(),
        events: Registry::default(),
        modules: Registry::default(),
        functions: Registry::default(),
        links: Registry::default(),
        pools,
        arrays: Registry::default(),
        texture_references: Registry::default(),
        surface_references: Registry::default(),
    };
    DRIVER.get_or_init(|| driver);
    Ok(())
}

/// The driver, or `NOT_INITIALIZED`.
pub(crate) fn driver() -> Outcome<&'static Driver> {
    match DRIVER.get() {
        Some(driver) => Ok(driver),
        None => fail(
            CUresult::NOT_INITIALIZED,
            "cuInit has not been called, or has failed",
        ),
    }
}

impl Driver {
    /// The device with this ordinal.
    pub(crate) fn device(&self, ordinal: i32) -> Outcome<&Arc<Device>> {
        let found = usize::try_from(ordinal)
            .ok()
            .and_then(|ordinal| self.devices.get(ordinal));
        found.map_or_else(
            || {
                fail(
                    CUresult::INVALID_DEVICE,
                    format!("device {ordinal} of {}", self.devices.len()),
                )
            },
            Ok,
        )
    }
}

/// How much of everything is alive, for leak tests; see [`counters`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Contexts, primary ones included.
    pub contexts: usize,
    /// Streams that were created, without the default ones.
    pub streams: usize,
    /// Events.
    pub events: usize,
    /// Loaded modules.
    pub modules: usize,
    /// Functions that were looked up.
    pub functions: usize,
    /// Blocks of memory in use: device, page-locked, managed, stream-ordered, module variables, device-side heap.
    pub allocations: usize,
    /// Bytes charged to all devices, whole granules of 256, with what memory pools keep.
    pub device_bytes: u64,
    /// Bytes of page-locked host memory.
    pub pinned_bytes: u64,
    /// Registered ranges of host memory.
    pub registrations: usize,
    /// Bytes that memory pools hold, in use or kept.
    pub pool_bytes: u64,
}

/// Counts what is alive in the software driver of this process. All zero before `cuInit`.
#[must_use]
pub fn counters() -> Counters {
    let Some(driver) = DRIVER.get() else {
        return Counters::default();
    };
    let (allocations, device_bytes, pinned_bytes, registrations) = driver.space.usage();
    Counters {
        contexts: driver.contexts.len(),
        streams: driver.streams.len(),
        events: driver.events.len(),
        modules: driver.modules.len(),
        functions: driver.functions.len(),
        allocations,
        device_bytes,
        pinned_bytes,
        registrations,
        pool_bytes: driver
            .devices
            .iter()
            .map(|device| device.pool.reserved())
            .sum(),
    }
}
