//! Allocation: device, page-locked, registered and stream-ordered memory; attributes of pointers.

use std::ffi::c_void;
use std::sync::Arc;

use cuprum_driver_sys::{
    CU_DEVICE_INVALID, CUdeviceptr, CUmemPool_attribute, CUmemoryPool, CUmemorytype,
    CUpointer_attribute, CUresult, CUstream, flags,
};

use super::{Host, List, Out, Untyped, entries};
use crate::context::{self, Context, current};
use crate::driver::driver;
use crate::error::{Failure, Outcome, fail};
use crate::memory::pool::{Pool, PoolValue};
use crate::memory::{Block, Kind, Registered, Request};
use crate::registry::handle;
use crate::stream::{Stream, Task};

/// Rows from `cuMemAllocPitch` start at multiples of this: the texture alignment.
const PITCH_ALIGNMENT: u64 = 512;
/// `CU_MEMHOSTREGISTER_IOMEMORY`: not offered.
const REGISTER_IO_MEMORY: u32 = 4;
/// `CU_MEMHOSTREGISTER_READ_ONLY`.
const REGISTER_READ_ONLY: u32 = 8;

entries! {
    fn cuMemAlloc_v2(address: Out<CUdeviceptr>, bytes: usize) {
        let context = current()?;
        address.require()?;
        address.set(allocate(&context, bytes as u64, Kind::Device, 0)?)
    }

    fn cuMemAllocPitch_v2(address: Out<CUdeviceptr>, pitch: Out<usize>, width: usize, height: usize, element: u32) {
        let context = current()?;
        address.require()?;
        pitch.require()?;
        if !matches!(element, 4 | 8 | 16) {
            return fail(CUresult::INVALID_VALUE, format!("elements of {element} bytes: 4, 8 or 16"));
        }
        let row = (width as u64).checked_next_multiple_of(PITCH_ALIGNMENT);
        let Some((row, bytes)) = row.and_then(|row| Some((row, row.checked_mul(height as u64)?))) else {
            return fail(CUresult::OUT_OF_MEMORY, format!("{width} by {height} bytes requested"));
        };
        address.set(allocate(&context, bytes, Kind::Device, 0)?)?;
        pitch.set(row as usize)
    }

    fn cuMemFree_v2(address: CUdeviceptr) {
        let context = current()?;
        let space = &driver()?.space;
        match space.find(address).filter(|block| block.address == address) {
            Some(block) => {
                wait_for_users(&context, &block)?;
                match block.kind {
                    Kind::Pooled => free_in_order(&block, &context.legacy()),
                    _ => space.free(address, &[Kind::Device, Kind::Managed]).map(drop),
                }
            }
            None => space.free(address, &[]).map(drop),
        }
    }

    fn cuMemGetAddressRange_v2(base: Out<CUdeviceptr>, bytes: Out<usize>, address: CUdeviceptr) {
        current()?;
        let space = &driver()?.space;
        let Some(block) = space.find(address) else {
            let told = space.describe(address);
            return fail(CUresult::NOT_FOUND, format!("{address:#x} is in no allocation: {told}"));
        };
        base.set_if_wanted(block.address);
        bytes.set_if_wanted(block.size as usize);
        Ok(())
    }

    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let context = current()?;
        let (left, all) = driver()?.space.device_memory(context.device.ordinal);
        free.set(left as usize)?;
        total.set(all as usize)
    }

    fn cuMemAllocHost_v2(pointer: Out<*mut c_void>, bytes: usize) {
        allocate_host(&pointer, bytes, 0)
    }

    fn cuMemHostAlloc(pointer: Out<*mut c_void>, bytes: usize, flags: u32) {
        let known =
            flags::CU_MEMHOSTALLOC_PORTABLE | flags::CU_MEMHOSTALLOC_DEVICEMAP | flags::CU_MEMHOSTALLOC_WRITECOMBINED;
        if flags & !known != 0 {
            current()?;
            return fail(CUresult::INVALID_VALUE, format!("unknown flags {flags:#x}"));
        }
        allocate_host(&pointer, bytes, flags)
    }

    fn cuMemFreeHost(pointer: Host) {
        let context = current()?;
        let address = pointer.require()?;
        let space = &driver()?.space;
        if let Some(block) = space.find(address).filter(|b| b.kind == Kind::Pinned && b.address == address) {
            wait_for_users(&context, &block)?;
        }
        space.free(address, &[Kind::Pinned]).map(drop)
    }

    fn cuMemHostGetDevicePointer_v2(address: Out<CUdeviceptr>, pointer: Host, flags: u32) {
        current()?;
        address.require()?;
        if flags != 0 {
            return fail(CUresult::INVALID_VALUE, format!("flags {flags:#x}: must be zero"));
        }
        let pointer = pointer.require()?;
        if !driver()?.space.is_page_locked(pointer, 1) {
            return fail(CUresult::INVALID_VALUE, format!("{pointer:#x} is not page-locked host memory"));
        }
        address.set(pointer)
    }

    fn cuMemHostGetFlags(flags: Out<u32>, pointer: Host) {
        current()?;
        flags.require()?;
        let pointer = pointer.require()?;
        match driver()?.space.find(pointer) {
            Some(block) if block.kind == Kind::Pinned => flags.set(block.flags),
            _ => fail(CUresult::INVALID_VALUE, format!("{pointer:#x} is not from cuMemHostAlloc")),
        }
    }

    fn cuMemHostRegister_v2(pointer: Host, bytes: usize, flags: u32) {
        let context = current()?;
        let address = pointer.require()?;
        if bytes == 0 {
            return fail(CUresult::INVALID_VALUE, "zero bytes to register");
        }
        let known = flags::CU_MEMHOSTREGISTER_PORTABLE
            | flags::CU_MEMHOSTREGISTER_DEVICEMAP
            | REGISTER_IO_MEMORY
            | REGISTER_READ_ONLY;
        if flags & !known != 0 {
            return fail(CUresult::INVALID_VALUE, format!("unknown flags {flags:#x}"));
        }
        if flags & REGISTER_IO_MEMORY != 0 {
            return fail(CUresult::NOT_SUPPORTED, "software devices know no memory of other devices");
        }
        let read_only = flags & REGISTER_READ_ONLY != 0;
        driver()?.space.register(Registered { address, len: bytes as u64, context: context.id, flags, read_only })
    }

    fn cuMemHostUnregister(pointer: Host) {
        current()?;
        let address = pointer.require()?;
        wait_for_all()?;
        driver()?.space.unregister(address).map(drop)
    }

    fn cuMemAllocAsync(address: Out<CUdeviceptr>, bytes: usize, stream: CUstream) {
        let stream = context::stream(stream)?;
        address.require()?;
        let pool = Arc::clone(&stream.context.device.pool);
        address.set(allocate_in_order(&pool, bytes as u64, &stream)?)
    }

    fn cuMemAllocFromPoolAsync(address: Out<CUdeviceptr>, bytes: usize, pool: CUmemoryPool, stream: CUstream) {
        let stream = context::stream(stream)?;
        address.require()?;
        let pool = pool_of(pool)?;
        address.set(allocate_in_order(&pool, bytes as u64, &stream)?)
    }

    fn cuMemFreeAsync(address: CUdeviceptr, stream: CUstream) {
        let stream = context::stream(stream)?;
        let space = &driver()?.space;
        match space.find(address).filter(|block| block.address == address && block.kind == Kind::Pooled) {
            Some(block) => free_in_order(&block, &stream),
            None => {
                let told = space.describe(address);
                fail(CUresult::INVALID_VALUE, format!("{address:#x} is no stream-ordered allocation: {told}"))
            }
        }
    }

    fn cuMemPoolTrimTo(pool: CUmemoryPool, keep: usize) {
        pool_of(pool)?.trim(keep as u64);
        Ok(())
    }

    fn cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: Untyped) {
        let pool = pool_of(pool)?;
        value.require()?;
        let value = match PoolValue::is_flag(attribute) {
            true => PoolValue::Flag(value.get::<i32>()? != 0),
            false => PoolValue::Bytes(value.get::<u64>()?),
        };
        pool.set_attribute(attribute, value)
    }

    fn cuMemPoolGetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: Untyped) {
        match pool_of(pool)?.attribute(attribute)? {
            PoolValue::Flag(on) => value.set::<i32>(i32::from(on)),
            PoolValue::Bytes(bytes) => value.set::<u64>(bytes),
        }
    }

    fn cuPointerGetAttribute(data: Untyped, attribute: CUpointer_attribute, address: CUdeviceptr) {
        current()?;
        data.require()?;
        pointer_attribute(&data, attribute, address)
    }

    fn cuPointerGetAttributes(
        count: u32,
        attributes: List<CUpointer_attribute>,
        data: List<*mut c_void>,
        address: CUdeviceptr,
    ) {
        current()?;
        attributes.require()?;
        data.require()?;
        for index in 0..count as usize {
            // SAFETY: the program passed `count` attributes, and as many pointers.
            let (attribute, data) = unsafe { (attributes.get(index), Untyped(data.get(index))) };
            data.require()?;
            // Unlike a single question, one of many about what is not known is answered, with nothing.
            if !is_known(address)? || attribute == CUpointer_attribute::HOST_POINTER {
                no_attribute(&data, attribute)?;
            }
            if is_known(address)? {
                match pointer_attribute(&data, attribute, address) {
                    Err(_) if attribute == CUpointer_attribute::HOST_POINTER => {}
                    answer => answer?,
                }
            }
        }
        Ok(())
    }
}

pub(super) fn allocate(context: &Context, size: u64, kind: Kind, flags: u32) -> Outcome<u64> {
    if size == 0 {
        return fail(CUresult::INVALID_VALUE, "zero bytes requested");
    }
    let request = Request {
        size,
        kind,
        device: context.device.ordinal,
        context: context.id,
        flags,
    };
    let space = &driver()?.space;
    let block = space.allocate(request).or_else(|full| {
        // What a pool keeps without need is given back before an allocation fails.
        context.device.pool.trim(0);
        space.allocate(request).map_err(|_| full)
    })?;
    Ok(block.address)
}

fn allocate_host(pointer: &Out<*mut c_void>, bytes: usize, flags: u32) -> Outcome {
    let context = current()?;
    pointer.require()?;
    let address = allocate(&context, bytes as u64, Kind::Pinned, flags)?;
    pointer.set(std::ptr::with_exposed_provenance_mut(address as usize))
}

/// Waits for the work that may use a block: that of its own context and of the current one, or of all contexts if all
/// may use it.
fn wait_for_users(current: &Context, block: &Block) -> Outcome {
    if block.kind.is_shared() {
        return wait_for_all();
    }
    current.synchronize()?;
    match driver()?.contexts.get(handle(block.context)) {
        Some(owner) if owner.id != current.id => owner.synchronize(),
        _ => Ok(()),
    }
}

/// Waits for the work of all contexts.
fn wait_for_all() -> Outcome {
    for context in driver()?.contexts.all() {
        // A fault of another context is told where that context is used.
        let _ = context.synchronize();
    }
    current().map(drop)
}

fn pool_of(pool: CUmemoryPool) -> Outcome<Arc<Pool>> {
    current()?;
    let found = driver()?.pools.get(pool.0);
    found.ok_or_else(|| {
        Failure::new(
            CUresult::INVALID_VALUE,
            "the handle is not that of a memory pool",
        )
    })
}

/// Allocates from a pool, usable in the order of `stream`.
fn allocate_in_order(pool: &Pool, size: u64, stream: &Arc<Stream>) -> Outcome<u64> {
    if size == 0 {
        return fail(CUresult::INVALID_VALUE, "zero bytes requested");
    }
    if pool.device() != stream.context.device.ordinal {
        return fail(
            CUresult::INVALID_VALUE,
            "the pool and the stream belong to different devices",
        );
    }
    let grant = pool.allocate(size, stream.id, stream.context.id)?;
    let space = Arc::clone(&driver()?.space);
    let address = grant.address;
    let expose = Task {
        after: grant.after.into_iter().collect(),
        short: true,
        ..Task::new(move || space.expose(address, size))
    };
    stream.enqueue(expose)?;
    Ok(address)
}

/// Frees a block of a pool in the order of `stream`.
fn free_in_order(block: &Block, stream: &Arc<Stream>) -> Outcome {
    let driver = driver()?;
    let Block {
        address,
        size,
        capacity,
        device,
        ..
    } = *block;
    // From now on the host may not name it; kernels that are queued ahead of the free may still use it.
    if driver.space.retire(address).is_none() {
        return fail(
            CUresult::INVALID_VALUE,
            format!("{address:#x} has been freed already"),
        );
    }
    let space = Arc::clone(&driver.space);
    let hide = Task {
        always: true,
        ..Task::short(move || space.hide(address, size))
    };
    let freed = stream.enqueue(hide)?;
    driver.devices[device]
        .pool
        .free(address, capacity, stream.id, freed);
    Ok(())
}

/// Whether an address is in memory of the driver, or registered with it.
fn is_known(address: u64) -> Outcome<bool> {
    let space = &driver()?.space;
    Ok(space.find(address).is_some() || space.registered().find(address).is_some())
}

/// Writes what stands for nothing.
fn no_attribute(data: &Untyped, attribute: CUpointer_attribute) -> Outcome {
    type A = CUpointer_attribute;
    match attribute {
        A::CONTEXT | A::DEVICE_POINTER | A::HOST_POINTER | A::BUFFER_ID => data.set::<u64>(0),
        A::RANGE_START_ADDR | A::RANGE_SIZE => data.set::<u64>(0),
        A::MEMORY_TYPE | A::SYNC_MEMOPS | A::IS_MANAGED | A::MAPPED => data.set::<u32>(0),
        A::DEVICE_ORDINAL => data.set::<i32>(CU_DEVICE_INVALID),
        other => fail(
            CUresult::INVALID_VALUE,
            format!("software devices have no pointer attribute {}", other.0),
        ),
    }
}

fn pointer_attribute(data: &Untyped, attribute: CUpointer_attribute, address: u64) -> Outcome {
    let driver = driver()?;
    let unknown = || {
        fail(
            CUresult::INVALID_VALUE,
            format!(
                "{address:#x} is not known: {}",
                driver.space.describe(address)
            ),
        )
    };
    let registered = driver.space.registered().find(address).copied();
    let (start, size, kind, owner, device, id) = match (driver.space.find(address), registered) {
        (Some(b), _) => (b.address, b.size, b.kind, b.context, b.device, b.id),
        (None, Some(r)) => {
            let device = driver
                .contexts
                .get(handle(r.context))
                .map_or(0, |context| context.device.ordinal);
            (r.address, r.len, Kind::Pinned, r.context, device, 0)
        }
        (None, None) => return unknown(),
    };
    type A = CUpointer_attribute;
    match attribute {
        A::CONTEXT => data.set(handle(owner)),
        A::MEMORY_TYPE => data.set(if kind == Kind::Pinned {
            CUmemorytype::HOST
        } else {
            CUmemorytype::DEVICE
        }),
        A::DEVICE_POINTER => data.set::<u64>(address),
        A::HOST_POINTER if kind.is_shared() => data.set::<u64>(address),
        A::HOST_POINTER => fail(
            CUresult::INVALID_VALUE,
            "device memory has no address on the host",
        ),
        // Every copy that the host could see unfinished is synchronous already, or asked not to be.
        A::SYNC_MEMOPS => data.set::<u32>(0),
        A::BUFFER_ID => data.set::<u64>(id),
        A::IS_MANAGED => data.set::<u32>(u32::from(kind == Kind::Managed)),
        A::DEVICE_ORDINAL => data.set(i32::try_from(device).unwrap_or(i32::MAX)),
        A::RANGE_START_ADDR => data.set::<u64>(start),
        A::RANGE_SIZE => data.set::<usize>(size as usize),
        A::MAPPED => data.set::<u32>(1),
        other => fail(
            CUresult::INVALID_VALUE,
            format!("software devices have no pointer attribute {}", other.0),
        ),
    }
}
