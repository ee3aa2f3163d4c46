//! Release: deferred, in any order, never waiting, and sound when everything is forgotten.

use super::mock::{self, PENDING, calls, is_allocated};
use crate::{DeviceBuffer, LaunchConfig, Module, PinnedBuffer};

const CONFIG: LaunchConfig = LaunchConfig::grid_1d(1, 32);
/// Calls that wait for the device, or may.
const WAITING: [&str; 6] = [
    "cuCtxSynchronize",
    "cuStreamSynchronize",
    "cuEventSynchronize",
    "cuMemFree_v2",
    "cuMemFreeHost",
    "cuModuleUnload",
];

fn assert_no_wait() {
    let calls = calls();
    assert!(
        !calls.iter().any(|call| WAITING.contains(call)),
        "{calls:?}"
    );
}

#[test]
fn raw_memory_is_parked_until_its_last_use_has_passed() {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    let buffer = DeviceBuffer::<u8>::zeros(&stream, 100).unwrap();
    let address = buffer.address();
    PENDING.set(true);
    calls();
    drop(buffer);
    assert_no_wait();
    context.collect().unwrap();
    assert_no_wait();
    assert_eq!((context.parked(), is_allocated(address)), (1, true));
    PENDING.set(false);
    // A later allocation releases it.
    let _other = DeviceBuffer::<u8>::zeros(&stream, 100).unwrap();
    assert_eq!((context.parked(), is_allocated(address)), (0, false));
}

#[test]
fn modules_stay_loaded_while_their_kernels_run() {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    let kernel = Module::from_ptx(&context, "//")
        .unwrap()
        .function("k")
        .unwrap();
    mock::launch(&kernel, &stream, CONFIG, ()).unwrap();
    PENDING.set(true);
    calls();
    drop(kernel);
    assert_eq!(calls(), ["cuEventCreate", "cuEventRecord"]);
    context.collect().unwrap();
    assert_no_wait();
    PENDING.set(false);
    context.collect().unwrap();
    assert_eq!(calls(), ["cuEventQuery", "cuModuleUnload"]);
}

#[test]
fn a_context_that_ends_early_leaves_its_rest_to_the_next() {
    let device = mock::device_with(mock::table());
    let context = device.context().unwrap();
    let host = PinnedBuffer::<u8>::zeros(&context, 10).unwrap();
    let stream = context.new_stream().unwrap();
    let mut buffer = DeviceBuffer::<u8>::zeros(&stream, 10).unwrap();
    buffer.copy_from_pinned(&stream, &host).unwrap();
    let address = host.as_slice().unwrap().as_ptr().expose_provenance() as u64;
    PENDING.set(true);
    calls();
    drop((context, buffer, host, stream));
    let ending = calls();
    assert!(
        !ending.iter().any(|call| WAITING.contains(call)),
        "{ending:?}"
    );
    assert!(
        !ending.contains(&"cuDevicePrimaryCtxRelease_v2"),
        "the rest needs the context: {ending:?}"
    );
    assert!(is_allocated(address));
    PENDING.set(false);
    let next = device.context().unwrap();
    assert_eq!(next.parked(), 2);
    next.collect().unwrap();
    assert!(!is_allocated(address));
    drop(next);
    assert_eq!(calls().last(), Some(&"cuDevicePrimaryCtxRelease_v2"));
}

#[test]
fn any_drop_order_will_do() {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    let buffer = DeviceBuffer::<u8>::zeros(&stream, 10).unwrap();
    let kernel = Module::from_ptx(&context, "//")
        .unwrap()
        .function("k")
        .unwrap();
    drop(context);
    drop(stream);
    assert_eq!(buffer.to_vec().unwrap(), [0; 10]);
    let context = buffer.context().clone();
    std::thread::spawn(move || drop(buffer)).join().unwrap();
    drop(kernel);
    context.synchronize().unwrap();
    context.close().unwrap();
}

#[test]
fn destructors_report_what_failed_later() {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    mock::fail(
        "cuStreamDestroy_v2",
        cuprum_driver_sys::CUresult::INVALID_HANDLE,
    );
    drop(stream);
    let error = context.collect().unwrap_err();
    assert_eq!(error.call(), Some("cuStreamDestroy_v2"));
    context.collect().unwrap();
    let stream = context.new_stream().unwrap();
    assert_eq!(
        stream.close().unwrap_err().call(),
        Some("cuStreamDestroy_v2")
    );
    mock::fail("cuStreamDestroy_v2", cuprum_driver_sys::CUresult::SUCCESS);
}

#[test]
#[allow(
    clippy::mem_forget,
    clippy::forget_non_drop,
    reason = "the point of the test: no safe API relies on a destructor"
)]
fn forgetting_everything_is_sound() {
    use std::mem::forget;

    let context = mock::context();
    let stream = context.new_stream().unwrap();
    let mut buffer = DeviceBuffer::<u8>::zeros(&stream, 4).unwrap();

    // Views: what they did is on record in the buffer, not in them.
    let mut view = buffer.view_mut();
    view.fill(1).unwrap();
    forget(view);
    let other = context.new_stream().unwrap();
    let kernel = Module::from_ptx(&context, "//")
        .unwrap()
        .function("k:8")
        .unwrap();
    mock::ORDERED.take();
    mock::launch(&kernel, &other, CONFIG, (&buffer,)).unwrap();
    assert_eq!(
        mock::ORDERED.take().len(),
        1,
        "the fill through the forgotten view is ordered"
    );

    // Page-locked memory: the copy is on record in the buffer; forgetting device memory and handles changes nothing.
    let mut host = PinnedBuffer::from_slice(&context, &[5u8; 4]).unwrap();
    PENDING.set(true);
    buffer.copy_from_pinned(&stream, &host).unwrap();
    forget(buffer);
    forget(stream.clone());
    assert!(host.try_as_mut_slice().is_err(), "the copy still reads");
    PENDING.set(false);
    host.as_mut_slice().unwrap()[0] = 1;

    // A scope: the wait belongs to the function, whatever happens to values made inside.
    let source = [7u8; 4];
    let mut target = DeviceBuffer::<u8>::zeros(&stream, 4).unwrap();
    calls();
    context
        .scope(|scope| {
            let mut view = target.view_mut();
            scope.copy_to_device(&stream, &source, view.reborrow())?;
            forget(view);
            forget(scope.context().clone());
            forget(Box::new(scope));
            Ok(())
        })
        .unwrap();
    assert_eq!(calls(), ["cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"]);

    // Owners: memory leaks and nothing else.
    forget(host);
    forget(target);
    forget(stream.record().unwrap());
    forget(kernel);
    context.synchronize().unwrap();
}

#[test]
fn a_scope_waits_when_it_unwinds_and_when_it_fails() {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    let source = [7u8; 4];
    let mut target = DeviceBuffer::<u8>::zeros(&stream, 4).unwrap();
    calls();
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        context.scope(|scope| -> crate::Result<()> {
            scope.copy_to_device(&stream, &source, target.view_mut())?;
            panic!("on purpose");
        })
    }));
    assert!(unwound.is_err());
    assert_eq!(calls(), ["cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"]);

    let failed = context.scope(|scope| {
        scope.copy_to_device(&stream, &source, target.view_mut())?;
        scope.copy_to_device(&stream, &source[1..], target.view_mut())
    });
    assert!(failed.is_err());
    assert_eq!(calls(), ["cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"]);
}

#[test]
fn host_functions_run_once() {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    let (send, receive) = std::sync::mpsc::channel();
    stream.launch_host(move || send.send(1).unwrap()).unwrap();
    assert_eq!(receive.try_iter().collect::<Vec<_>>(), [1]);
}

/// What may cross threads, decided for each type.
#[test]
fn send_and_sync() {
    fn send_sync<T: Send + Sync>() {}
    send_sync::<crate::Device>();
    send_sync::<crate::Context>();
    send_sync::<crate::Stream>();
    send_sync::<crate::Event>();
    send_sync::<Module>();
    send_sync::<crate::Function>();
    send_sync::<crate::Global<f32>>();
    send_sync::<DeviceBuffer<f32>>();
    send_sync::<crate::DeviceView<'_, f32>>();
    send_sync::<crate::DeviceViewMut<'_, f32>>();
    send_sync::<PinnedBuffer<f32>>();
    send_sync::<crate::Args<'_>>();
    send_sync::<crate::Error>();
    send_sync::<crate::Driver>();
    send_sync::<crate::LastUses<'_>>();
    send_sync::<crate::PastUses>();
    send_sync::<crate::WeakContext>();
    // `ArgTable` holds raw pointers and `Scope` a cell: both stay on their thread by themselves.
}
