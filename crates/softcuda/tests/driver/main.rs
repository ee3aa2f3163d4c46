//! The entry points that need no kernel: each one's effect and its errors.
//!
//! One process, configured once: three devices of 64 MiB, the second of compute capability 9.0, the third for
//! tests that want one to themselves.

#[path = "../common/mod.rs"]
mod common;

mod context;
mod copy;
mod device;
mod event;
mod memory;
mod order;
mod pool;
mod stream;

use std::sync::Once;

/// Configures and initialises the driver; every test begins with it.
fn init() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        no!(NOT_INITIALIZED, cuCtxSynchronize());
        no!(NOT_INITIALIZED, cuDeviceGetCount(&mut 0));
        no!(INVALID_VALUE, cuInit(1));
        let mut config = cuprum_softcuda::Config::default();
        config.devices[0].memory_bytes = MEMORY;
        config.devices[0].multiprocessors = 4;
        config.devices[0].worker_threads = 2;
        config.devices.push(config.devices[0].clone());
        config.devices[1].compute_capability = (9, 0);
        config.devices[1].name = "Second".into();
        config.devices.push(config.devices[0].clone());
        config.address_space = 8 << 30;
        cuprum_softcuda::configure(config.clone()).expect("nothing is in use yet");
        ok!(cuInit(0));
        let error = cuprum_softcuda::configure(config).expect_err("in use now");
        assert!(error.to_string().contains("in use"), "{error}");
    });
    ok!(cuInit(0));
}

/// Memory of each device.
const MEMORY: u64 = 64 << 20;
