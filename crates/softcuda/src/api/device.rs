//! Devices and primary contexts.

use std::ffi::c_char;
use std::sync::Arc;

use cuprum_driver_sys::{CUcontext, CUdevice_attribute, CUmemoryPool, CUresult, CUuuid, flags};

use super::{Out, Text, entries};
use crate::driver::driver;
use crate::error::{Outcome, fail};
use crate::registry::handle;

entries! {
    fn cuDeviceGet(device: Out<i32>, ordinal: i32) {
        driver()?;
        device.require()?;
        driver()?.device(ordinal)?;
        device.set(ordinal)
    }

    fn cuDeviceGetCount(count: Out<i32>) {
        let driver = driver()?;
        count.set(i32::try_from(driver.devices.len()).unwrap_or(i32::MAX))
    }

    fn cuDeviceGetName(name: Out<c_char>, len: i32, device: i32) {
        let device = driver()?.device(device)?;
        name.set_text(&device.config.name, len)
    }

    fn cuDeviceGetUuid_v2(uuid: Out<CUuuid>, device: i32) {
        uuid.set(driver()?.device(device)?.uuid())
    }

    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) {
        let driver = driver()?;
        let device = driver.device(device)?;
        let (_, total) = driver.space.device_memory(device.ordinal);
        bytes.set(usize::try_from(total).unwrap_or(usize::MAX))
    }

    fn cuDeviceGetAttribute(value: Out<i32>, attribute: CUdevice_attribute, device: i32) {
        driver()?;
        value.require()?;
        value.set(driver()?.device(device)?.attribute(attribute)?)
    }

    fn cuDeviceGetPCIBusId(text: Out<c_char>, len: i32, device: i32) {
        let address = driver()?.device(device)?.pci_address();
        if usize::try_from(len).is_ok_and(|len| len <= address.len()) {
            return fail(CUresult::INVALID_VALUE, format!("the address needs {} bytes", address.len() + 1));
        }
        text.set_text(&address, len)
    }

    fn cuDeviceGetByPCIBusId(device: Out<i32>, text: Text) {
        let driver = driver()?;
        device.require()?;
        let wanted = text.read()?.to_string_lossy();
        let Some(wanted) = parse_pci(&wanted) else {
            return fail(CUresult::INVALID_VALUE, format!("{wanted:?} is no PCI address"));
        };
        match driver.devices.iter().find(|device| parse_pci(&device.pci_address()) == Some(wanted)) {
            Some(found) => device.set(i32::try_from(found.ordinal).unwrap_or(i32::MAX)),
            None => fail(CUresult::INVALID_DEVICE, "no device has this PCI address"),
        }
    }

    fn cuDeviceCanAccessPeer(can: Out<i32>, device: i32, peer: i32) {
        let driver = driver()?;
        can.require()?;
        let (device, peer) = (driver.device(device)?, driver.device(peer)?);
        can.set(i32::from(!Arc::ptr_eq(device, peer)))
    }

    fn cuDeviceGetDefaultMemPool(pool: Out<CUmemoryPool>, device: i32) {
        default_pool(pool, device)
    }

    fn cuDeviceGetMemPool(pool: Out<CUmemoryPool>, device: i32) {
        // Only `cuDeviceSetMemPool`, which is not offered, would make these two differ.
        default_pool(pool, device)
    }

    fn cuDevicePrimaryCtxRetain(context: Out<CUcontext>, device: i32) {
        let driver = driver()?;
        context.require()?;
        context.set(driver.device(device)?.retain_primary(driver)?.handle())
    }

    fn cuDevicePrimaryCtxRelease_v2(device: i32) {
        let driver = driver()?;
        driver.device(device)?.release_primary(driver)
    }

    fn cuDevicePrimaryCtxReset_v2(device: i32) {
        let driver = driver()?;
        driver.device(device)?.reset_primary(driver);
        Ok(())
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32) {
        let device = driver()?.device(device)?;
        check_context_flags(flags)?;
        device.set_primary_flags(flags);
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) {
        let (set, is_active) = driver()?.device(device)?.primary_state();
        flags.set(set)?;
        active.set(i32::from(is_active))
    }
}

fn default_pool(pool: Out<CUmemoryPool>, device: i32) -> Outcome {
    let driver = driver()?;
    pool.require()?;
    pool.set(CUmemoryPool(handle(driver.device(device)?.pool.id)))
}

/// Fails if a context cannot have these flags.
pub(super) fn check_context_flags(given: u32) -> Outcome {
    let schedule = given & 0x7;
    if given & !flags::CU_CTX_FLAGS_MASK != 0 || schedule.count_ones() > 1 {
        return fail(
            CUresult::INVALID_VALUE,
            format!("unknown context flags {given:#x}"),
        );
    }
    Ok(())
}

/// Domain, bus, device and function of a PCI address; the domain may be left out.
fn parse_pci(text: &str) -> Option<[u32; 4]> {
    let hex = |part: &str| u32::from_str_radix(part, 16).ok();
    let (rest, function) = text.rsplit_once('.').unwrap_or((text, "0"));
    let parts: Vec<&str> = rest.split(':').collect();
    match parts[..] {
        [domain, bus, device] => Some([hex(domain)?, hex(bus)?, hex(device)?, hex(function)?]),
        [bus, device] => Some([0, hex(bus)?, hex(device)?, hex(function)?]),
        _ => None,
    }
}
