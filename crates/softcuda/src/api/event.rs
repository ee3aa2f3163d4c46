//! Events.

use cuprum_driver_sys::{CUevent, CUresult, CUstream};

use super::{Out, entries};
use crate::context::{self, current};
use crate::driver::driver;
use crate::error::{Outcome, fail};
use crate::event::Event;

entries! {
    fn cuEventCreate(event: Out<CUevent>, flags: u32) {
        let context = current()?;
        event.require()?;
        event.set(Event::create(&context, flags)?)
    }

    fn cuEventDestroy_v2(event: CUevent) {
        Event::by_handle(event)?;
        driver()?.events.remove(event.0);
        Ok(())
    }

    fn cuEventRecord(event: CUevent, stream: CUstream) {
        let stream = context::stream(stream)?;
        Event::by_handle(event)?.record(&stream)
    }

    fn cuEventQuery(event: CUevent) {
        let event = Event::by_handle(event)?;
        if event.marker().is_some_and(|marker| !marker.has_passed()) {
            return fail(CUresult::NOT_READY, "the event has not passed");
        }
        event.context.check()
    }

    fn cuEventSynchronize(event: CUevent) {
        let event = Event::by_handle(event)?;
        if let Some(marker) = event.marker() {
            marker.wait();
        }
        event.context.synchronized()
    }

    fn cuEventElapsedTime(milliseconds: Out<f32>, start: CUevent, end: CUevent) {
        elapsed(&milliseconds, start, end)
    }

    fn cuEventElapsedTime_v2(milliseconds: Out<f32>, start: CUevent, end: CUevent) {
        elapsed(&milliseconds, start, end)
    }
}

fn elapsed(milliseconds: &Out<f32>, start: CUevent, end: CUevent) -> Outcome {
    let (start, end) = (Event::by_handle(start)?, Event::by_handle(end)?);
    milliseconds.require()?;
    milliseconds.set(Event::elapsed(&start, &end)?)
}
