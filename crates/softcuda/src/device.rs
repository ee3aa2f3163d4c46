//! Devices and their primary contexts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cuprum_driver_sys::{CUresult, CUuuid};

use crate::config::DeviceConfig;
use crate::context::Context;
use crate::driver::Driver;
use crate::error::{Outcome, fail, lock};
use crate::exec::Workers;
use crate::memory::Space;
use crate::memory::pool::Pool;
use crate::registry::next_id;

/// The PCI domain of software devices: no machine has it, so their addresses meet no real card's.
pub(crate) const PCI_DOMAIN: i32 = 0xc0de;

/// One software device.
#[derive(Debug)]
pub(crate) struct Device {
    /// Its number, from 0.
    pub(crate) ordinal: usize,
    /// What it was configured to be.
    pub(crate) config: DeviceConfig,
    /// The longest run of a kernel.
    pub(crate) time_limit: Option<Duration>,
    /// The default pool of stream-ordered memory.
    pub(crate) pool: Arc<Pool>,
    primary: Mutex<Primary>,
    /// The threads that run blocks, from the first launch on.
    workers: Mutex<Option<Arc<Workers>>>,
}

/// The state of a primary context.
#[derive(Debug, Default)]
struct Primary {
    references: u32,
    flags: u32,
    /// The context, while it is active.
    context: Option<Arc<Context>>,
}

impl Device {
    /// A device that nobody uses yet.
    pub(crate) fn new(
        ordinal: usize,
        config: DeviceConfig,
        time_limit: Option<Duration>,
        space: &Arc<Space>,
    ) -> Self {
        let pool = Pool::new(next_id(), ordinal, space);
        Self {
            ordinal,
            config,
            time_limit,
            pool,
            primary: Mutex::default(),
            workers: Mutex::default(),
        }
    }

    /// A number for the device that is the same in every run: the ordinal behind a fixed text.
    pub(crate) fn uuid(&self) -> CUuuid {
        let mut bytes = *b"cuprum-softcuda\0";
        bytes[15] = self.ordinal as u8;
        CUuuid { bytes }
    }

    /// The PCI address as text.
    pub(crate) fn pci_address(&self) -> String {
        format!("{PCI_DOMAIN:04X}:{:02X}:00.0", self.ordinal)
    }

    /// The threads that run blocks, started if there are none.
    pub(crate) fn workers(&self) -> Outcome<Arc<Workers>> {
        let mut workers = lock(&self.workers);
        if let Some(workers) = &*workers {
            return Ok(Arc::clone(workers));
        }
        match Workers::new(self.config.worker_threads) {
            Ok(new) => Ok(Arc::clone(workers.insert(Arc::new(new)))),
            Err(error) => fail(
                CUresult::OPERATING_SYSTEM,
                format!("the device's threads could not be started: {error}"),
            ),
        }
    }

    /// Takes a reference to the primary context, making it if it is not active.
    pub(crate) fn retain_primary(self: &Arc<Self>, driver: &Driver) -> Outcome<Arc<Context>> {
        let mut primary = lock(&self.primary);
        let context = match &primary.context {
            Some(context) => {
                context.check()?;
                Arc::clone(context)
            }
            None => {
                let context = Context::new(driver, self, primary.flags, true)?;
                primary.context = Some(Arc::clone(&context));
                context
            }
        };
        primary.references += 1;
        Ok(context)
    }

    /// Gives a reference back; the last one destroys the context.
    pub(crate) fn release_primary(&self, driver: &Driver) -> Outcome {
        let mut primary = lock(&self.primary);
        if primary.references == 0 {
            return fail(
                CUresult::INVALID_CONTEXT,
                "the primary context is not retained",
            );
        }
        primary.references -= 1;
        let last = if primary.references == 0 {
            primary.context.take()
        } else {
            None
        };
        drop(primary);
        if let Some(context) = last {
            context.destroy(driver);
        }
        Ok(())
    }

    /// Destroys the primary context, whoever holds references; they stay counted.
    pub(crate) fn reset_primary(&self, driver: &Driver) {
        let context = lock(&self.primary).context.take();
        if let Some(context) = context {
            context.destroy(driver);
        }
    }

    /// The flags of the primary context, and whether it is active.
    pub(crate) fn primary_state(&self) -> (u32, bool) {
        let primary = lock(&self.primary);
        (primary.flags, primary.context.is_some())
    }

    /// Sets the flags of the primary context, now and later.
    pub(crate) fn set_primary_flags(&self, flags: u32) {
        let mut primary = lock(&self.primary);
        primary.flags = flags;
        if let Some(context) = &primary.context {
            context
                .flags
                .store(flags, std::sync::atomic::Ordering::Relaxed);
        }
    }
}
