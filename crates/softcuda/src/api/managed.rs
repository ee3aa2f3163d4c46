//! Managed memory: allocation, attachment, advice, prefetching, and what can be asked of a range.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::Arc;

use cuprum_driver_sys::{
    CU_DEVICE_CPU, CU_DEVICE_INVALID, CUdeviceptr, CUmem_advise, CUmem_range_attribute,
    CUmemLocation, CUmemLocationType, CUresult, CUstream, flags,
};

use super::memory::allocate;
use super::{List, Out, Untyped, entries};
use crate::context::{self, current};
use crate::driver::driver;
use crate::error::{Outcome, fail};
use crate::memory::{Attached, Kind, Place};
use crate::stream::{Role, Stream, Task};

entries! {
    fn cuMemAllocManaged(address: Out<CUdeviceptr>, bytes: usize, flags: u32) {
        let context = current()?;
        address.require()?;
        if !matches!(flags, flags::CU_MEM_ATTACH_GLOBAL | flags::CU_MEM_ATTACH_HOST) {
            return fail(CUresult::INVALID_VALUE, format!("attach flags {flags:#x}: global or host"));
        }
        address.set(allocate(&context, bytes as u64, Kind::Managed, flags)?)
    }

    fn cuStreamAttachMemAsync(stream: CUstream, address: CUdeviceptr, bytes: usize, flags: u32) {
        let stream = context::stream(stream)?;
        let to = match flags {
            flags::CU_MEM_ATTACH_GLOBAL => Attached::Global,
            flags::CU_MEM_ATTACH_HOST => Attached::Host,
            flags::CU_MEM_ATTACH_SINGLE if stream.role == Role::Legacy => {
                return fail(
                    CUresult::INVALID_VALUE,
                    "memory cannot be attached to the legacy default stream, which stands for all",
                );
            }
            flags::CU_MEM_ATTACH_SINGLE => Attached::Stream(stream.id),
            _ => return fail(CUresult::INVALID_VALUE, format!("attach flags {flags:#x}: one of global, host, single")),
        };
        let space = Arc::clone(&driver()?.space);
        let block = space.to_attach(address, bytes as u64, to)?;
        stream.enqueue(Task { short: true, ..Task::new(move || space.attach(&block, to)) }).map(drop)
    }

    fn cuMemAdvise(address: CUdeviceptr, bytes: usize, advice: CUmem_advise, device: i32) {
        current()?;
        advise(address, bytes as u64, advice, || place_of_device(device))
    }

    fn cuMemAdvise_v2(address: CUdeviceptr, bytes: usize, advice: CUmem_advise, location: CUmemLocation) {
        current()?;
        advise(address, bytes as u64, advice, || place(location))
    }

    fn cuMemPrefetchAsync(address: CUdeviceptr, bytes: usize, device: i32, stream: CUstream) {
        let stream = context::stream(stream)?;
        prefetch(address, bytes as u64, place_of_device(device)?, &stream)
    }

    fn cuMemPrefetchAsync_v2(
        address: CUdeviceptr,
        bytes: usize,
        location: CUmemLocation,
        flags: u32,
        stream: CUstream,
    ) {
        let stream = context::stream(stream)?;
        if flags != 0 {
            return fail(CUresult::INVALID_VALUE, format!("flags {flags:#x}: must be zero"));
        }
        prefetch(address, bytes as u64, place(location)?, &stream)
    }

    fn cuMemRangeGetAttribute(
        data: Untyped,
        size: usize,
        attribute: CUmem_range_attribute,
        address: CUdeviceptr,
        bytes: usize,
    ) {
        current()?;
        range_attribute(&data, size, attribute, address, bytes as u64)
    }

    fn cuMemRangeGetAttributes(
        data: List<*mut c_void>,
        sizes: List<usize>,
        attributes: List<CUmem_range_attribute>,
        count: usize,
        address: CUdeviceptr,
        bytes: usize,
    ) {
        current()?;
        data.require()?;
        sizes.require()?;
        attributes.require()?;
        if count == 0 {
            return fail(CUresult::INVALID_VALUE, "no attributes are asked for");
        }
        for index in 0..count {
            // SAFETY: the program passed `count` attributes, sizes and pointers.
            let (data, size, attribute) =
                unsafe { (Untyped(data.get(index)), sizes.get(index), attributes.get(index)) };
            range_attribute(&data, size, attribute, address, bytes as u64)?;
        }
        Ok(())
    }
}

/// The place that a device's ordinal names, or [`CU_DEVICE_CPU`].
fn place_of_device(device: i32) -> Outcome<Place> {
    if device == CU_DEVICE_CPU {
        return Ok(Place::Host);
    }
    let found = driver()?.device(device)?;
    if !found.config.concurrent_managed_access {
        return fail(
            CUresult::INVALID_DEVICE,
            format!("device {device} has no concurrent access to managed memory"),
        );
    }
    Ok(Place::Device(device))
}

/// The place that a location names. The host of a software device has one NUMA node.
fn place(location: CUmemLocation) -> Outcome<Place> {
    type T = CUmemLocationType;
    match location.type_ {
        T::DEVICE if location.id != CU_DEVICE_CPU => place_of_device(location.id),
        T::HOST => Ok(Place::Host),
        T::HOST_NUMA if location.id == 0 => Ok(Place::Node(0)),
        T::HOST_NUMA_CURRENT => Ok(Place::Node(0)),
        T::HOST_NUMA => fail(
            CUresult::INVALID_VALUE,
            format!("NUMA node {}: there is node 0", location.id),
        ),
        CUmemLocationType(other) => fail(
            CUresult::INVALID_VALUE,
            format!(
                "{other} is no kind of location, or has no number {}",
                location.id
            ),
        ),
    }
}

/// Keeps a piece of advice. `place` is asked for by the kinds that name one.
fn advise(
    address: u64,
    len: u64,
    advice: CUmem_advise,
    place: impl FnOnce() -> Outcome<Place>,
) -> Outcome {
    let space = &driver()?.space;
    type A = CUmem_advise;
    match advice {
        A::SET_READ_MOSTLY | A::UNSET_READ_MOSTLY => {
            let on = advice == A::SET_READ_MOSTLY;
            space.say(address, len, |said| said.read_mostly = on)
        }
        A::SET_PREFERRED_LOCATION => {
            let place = place()?;
            space.say(address, len, |said| said.preferred = Some(place))
        }
        A::UNSET_PREFERRED_LOCATION => space.say(address, len, |said| said.preferred = None),
        A::SET_ACCESSED_BY | A::UNSET_ACCESSED_BY => {
            let place = place()?;
            if matches!(place, Place::Node(_)) {
                return fail(
                    CUresult::INVALID_VALUE,
                    "the host accesses memory as a whole: a NUMA node cannot be named",
                );
            }
            space.say(address, len, |said| {
                if advice == A::SET_ACCESSED_BY {
                    said.accessed_by.insert(place);
                } else {
                    said.accessed_by.remove(&place);
                }
            })
        }
        CUmem_advise(other) => fail(CUresult::INVALID_VALUE, format!("{other} is no advice")),
    }
}

/// Notes a prefetch. There is nothing to move; the stream has an operation more.
fn prefetch(address: u64, len: u64, to: Place, stream: &Arc<Stream>) -> Outcome {
    let device = &stream.context.device;
    if !device.config.concurrent_managed_access {
        return fail(
            CUresult::INVALID_DEVICE,
            format!(
                "the stream is of device {}, which has no concurrent access to managed memory",
                device.ordinal
            ),
        );
    }
    let space = &driver()?.space;
    space.say(address, len, |said| said.prefetched = Some(to))?;
    stream.enqueue(Task::short(|| {})).map(drop)
}

fn range_attribute(
    data: &Untyped,
    size: usize,
    attribute: CUmem_range_attribute,
    address: u64,
    len: u64,
) -> Outcome {
    data.require()?;
    type A = CUmem_range_attribute;
    let list = attribute == A::ACCESSED_BY;
    if size == 0 || !size.is_multiple_of(4) || !list && size != 4 {
        return fail(
            CUresult::INVALID_VALUE,
            format!("{size} bytes for attribute {}", attribute.0),
        );
    }
    let space = &driver()?.space;
    let preferred = || -> Outcome<Option<Place>> {
        Ok(same(space.said(address, len, |said| said.preferred)?).flatten())
    };
    let prefetched = || -> Outcome<Option<Place>> {
        Ok(same(space.said(address, len, |said| said.prefetched)?).flatten())
    };
    match attribute {
        A::READ_MOSTLY => {
            let all = space.said(address, len, |said| said.read_mostly)?;
            data.set::<i32>(i32::from(all.iter().all(|&on| on)))
        }
        A::PREFERRED_LOCATION => data.set(as_device(preferred()?)),
        A::LAST_PREFETCH_LOCATION => data.set(as_device(prefetched()?)),
        A::PREFERRED_LOCATION_TYPE => data.set(kind(preferred()?)),
        A::LAST_PREFETCH_LOCATION_TYPE => data.set(kind(prefetched()?)),
        A::PREFERRED_LOCATION_ID => data.set(number(preferred()?)),
        A::LAST_PREFETCH_LOCATION_ID => data.set(number(prefetched()?)),
        A::ACCESSED_BY => {
            let each = space.said(address, len, |said| said.accessed_by.clone())?;
            let all = each
                .into_iter()
                .reduce(|a: BTreeSet<Place>, b| a.intersection(&b).copied().collect());
            let all = all.unwrap_or_default();
            let mut names = all.into_iter().map(|place| as_device(Some(place)));
            for index in 0..size / 4 {
                let name = names.next().unwrap_or(CU_DEVICE_INVALID);
                // SAFETY: the program passed room for `size` bytes, a multiple of four.
                unsafe { data.at::<i32>(index) }.set(name)?;
            }
            Ok(())
        }
        CUmem_range_attribute(other) => fail(
            CUresult::INVALID_VALUE,
            format!("ranges have no attribute {other}"),
        ),
    }
}

/// The value that all pages have.
fn same<R: PartialEq>(values: Vec<R>) -> Option<R> {
    let mut values = values.into_iter();
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// The place as the number that stands for it where a device is meant.
fn as_device(place: Option<Place>) -> i32 {
    match place {
        Some(Place::Device(ordinal)) => ordinal,
        Some(Place::Host) => CU_DEVICE_CPU,
        Some(Place::Node(_)) | None => CU_DEVICE_INVALID,
    }
}

fn kind(place: Option<Place>) -> CUmemLocationType {
    match place {
        Some(Place::Device(_)) => CUmemLocationType::DEVICE,
        Some(Place::Host) => CUmemLocationType::HOST,
        Some(Place::Node(_)) => CUmemLocationType::HOST_NUMA,
        None => CUmemLocationType::INVALID,
    }
}

fn number(place: Option<Place>) -> i32 {
    match place {
        Some(Place::Device(number) | Place::Node(number)) => number,
        Some(Place::Host) | None => 0,
    }
}
