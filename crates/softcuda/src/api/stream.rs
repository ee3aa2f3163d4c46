//! Streams and the functions of the program that they call.

use std::ffi::c_void;
use std::sync::Arc;

use cuprum_driver_sys::{
    CUcontext, CUevent, CUhostFn, CUresult, CUstream, CUstreamCallback, CUstreamCaptureStatus,
    flags,
};

use super::context::GREATEST_PRIORITY;
use super::{Out, entries};
use crate::context::{self, current, run_host_function};
use crate::driver::driver;
use crate::error::{Outcome, fail};
use crate::event::Event;
use crate::registry::{handle, next_id};
use crate::stream::{Role, Stream, Task, Work};

/// The pointer that the program wants back in its function.
struct UserData(*mut c_void);

// SAFETY: the driver only carries the pointer to the call of the program's function; the program knows that another
// thread makes that call.
unsafe impl Send for UserData {}

impl super::Argument for UserData {
    type Raw = *mut c_void;

    unsafe fn from_raw(raw: *mut c_void) -> Self {
        Self(raw)
    }
}

impl UserData {
    /// The pointer. A method, so that closures capture the whole, which is `Send`.
    fn get(&self) -> *mut c_void {
        self.0
    }
}

entries! {
    fn cuStreamCreate(stream: Out<CUstream>, flags: u32) {
        create(&stream, flags, 0)
    }

    fn cuStreamCreateWithPriority(stream: Out<CUstream>, flags: u32, priority: i32) {
        // Out of range is not an error: the nearest priority is taken.
        create(&stream, flags, priority.clamp(GREATEST_PRIORITY, 0))
    }

    fn cuStreamDestroy_v2(stream: CUstream) {
        let found = own(stream)?;
        driver()?.streams.remove(stream.0);
        if driver()?.space.is_attaching(found.id) {
            let (space, id) = (Arc::clone(&driver()?.space), found.id);
            found.enqueue(Task { always: true, ..Task::short(move || space.detach_all(id)) })?;
        }
        found.close();
        Ok(())
    }

    fn cuStreamSynchronize(stream: CUstream) {
        let stream = context::stream(stream)?;
        stream.synchronize();
        stream.context.synchronized()
    }

    fn cuStreamQuery(stream: CUstream) {
        let stream = context::stream(stream)?;
        if !stream.is_done() {
            return fail(CUresult::NOT_READY, "the stream has unfinished work");
        }
        stream.context.check()
    }

    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: u32) {
        let stream = context::stream(stream)?;
        let event = Event::by_handle(event)?;
        if flags > 1 {
            return fail(CUresult::INVALID_VALUE, format!("unknown flags {flags:#x}"));
        }
        let after: Vec<_> = event.marker().into_iter().filter(|marker| !marker.has_passed()).collect();
        if !after.is_empty() {
            stream.enqueue(Task { after, ..Task::short(|| {}) })?;
        }
        Ok(())
    }

    fn cuStreamGetPriority(stream: CUstream, priority: Out<i32>) {
        priority.set(context::stream(stream)?.priority)
    }

    fn cuStreamGetFlags(stream: CUstream, flags: Out<u32>) {
        flags.set(context::stream(stream)?.flags)
    }

    fn cuStreamGetId(stream: CUstream, id: Out<u64>) {
        id.set(context::stream(stream)?.id)
    }

    fn cuStreamGetCtx(stream: CUstream, context: Out<CUcontext>) {
        context.set(context::stream(stream)?.context.handle())
    }

    fn cuStreamAddCallback(shown: CUstream, callback: CUstreamCallback, user_data: UserData, flags: u32) {
        let stream = context::stream(shown)?;
        if flags != 0 {
            return fail(CUresult::INVALID_VALUE, format!("flags {flags:#x}: must be zero"));
        }
        let Some(callback) = callback else {
            return fail(CUresult::INVALID_VALUE, "the callback is null");
        };
        let work: Work = Box::new(move |fault| {
            let status = fault.unwrap_or(CUresult::SUCCESS);
            // SAFETY: the program passed the function and the pointer to be called together, once, in stream order.
            run_host_function(|| unsafe { callback(shown, status, user_data.get()) });
            Ok(())
        });
        // A callback learns of a fault by its status, so it runs in a poisoned context too.
        stream.enqueue(Task { after: Vec::new(), always: true, short: false, work }).map(drop)
    }

    fn cuLaunchHostFunc(stream: CUstream, function: CUhostFn, user_data: UserData) {
        let stream = context::stream(stream)?;
        let Some(function) = function else {
            return fail(CUresult::INVALID_VALUE, "the function is null");
        };
        stream
            .enqueue(Task::new(move || {
                // SAFETY: the program passed the function and the pointer to be called together, once, in stream order.
                run_host_function(|| unsafe { function(user_data.get()) });
                Ok(())
            }))
            .map(drop)
    }

    fn cuStreamIsCapturing(stream: CUstream, status: Out<CUstreamCaptureStatus>) {
        context::stream(stream)?;
        status.set(CUstreamCaptureStatus::NONE)
    }
}

fn create(stream: &Out<CUstream>, flags: u32, priority: i32) -> Outcome {
    let context = current()?;
    stream.require()?;
    let role = match flags {
        flags::CU_STREAM_DEFAULT => Role::Blocking,
        flags::CU_STREAM_NON_BLOCKING => Role::NonBlocking,
        _ => {
            return fail(
                CUresult::INVALID_VALUE,
                format!("unknown stream flags {flags:#x}"),
            );
        }
    };
    let id = next_id();
    let streams = &driver()?.streams;
    streams.insert(id, Stream::new(id, &context, role, flags, priority));
    let shown = CUstream(handle(id));
    context.keep(|| drop(streams.remove(shown.0)))?;
    stream.set(shown)
}

/// The stream behind a handle, if the program created it.
fn own(stream: CUstream) -> Outcome<Arc<Stream>> {
    if stream.is_null() || stream == CUstream::LEGACY || stream == CUstream::PER_THREAD {
        current()?;
        return fail(
            CUresult::INVALID_HANDLE,
            "a default stream cannot be destroyed",
        );
    }
    context::stream(stream)
}
