//! Contexts and the calling thread's stack of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cuprum_driver_sys::{CUcontext, CUfunc_cache, CUlimit, CUresult};

use super::device::check_context_flags;
use super::{Out, entries};
use crate::context::{Context, by_handle, current, current_any, current_if_any, with_stack};
use crate::driver::driver;
use crate::error::{Outcome, fail};

/// The API version of contexts made by `cuCtxCreate_v2`.
const API_VERSION: u32 = 3020;
/// The highest stream priority; the lowest is zero.
pub(super) const GREATEST_PRIORITY: i32 = -5;

entries! {
    fn cuCtxCreate_v2(context: Out<CUcontext>, flags: u32, device: i32) {
        let driver = driver()?;
        context.require()?;
        let device = driver.device(device)?;
        check_context_flags(flags)?;
        let created = Context::new(driver, device, flags, false)?;
        context.set(created.handle())?;
        with_stack(|stack| stack.push(created));
        Ok(())
    }

    fn cuCtxDestroy_v2(context: CUcontext) {
        let context = by_handle(context)?;
        if context.is_primary {
            return fail(CUresult::INVALID_CONTEXT, "a primary context is released, not destroyed");
        }
        with_stack(|stack| stack.pop_if(|top| Arc::ptr_eq(top, &context)));
        context.destroy(driver()?);
        Ok(())
    }

    fn cuCtxPushCurrent_v2(context: CUcontext) {
        let context = by_handle(context)?;
        with_stack(|stack| stack.push(context));
        Ok(())
    }

    fn cuCtxPopCurrent_v2(context: Out<CUcontext>) {
        driver()?;
        let Some(top) = with_stack(Vec::pop) else {
            return fail(CUresult::INVALID_CONTEXT, "no context is current on this thread");
        };
        context.set_if_wanted(top.handle());
        Ok(())
    }

    fn cuCtxSetCurrent(context: CUcontext) {
        driver()?;
        if context.is_null() {
            with_stack(Vec::pop);
            return Ok(());
        }
        let context = by_handle(context)?;
        with_stack(|stack| {
            stack.pop();
            stack.push(context);
        });
        Ok(())
    }

    fn cuCtxGetCurrent(context: Out<CUcontext>) {
        driver()?;
        context.set(current_if_any().map_or(CUcontext::NULL, |context| context.handle()))
    }

    fn cuCtxGetDevice(device: Out<i32>) {
        let context = current_any()?;
        device.set(i32::try_from(context.device.ordinal).unwrap_or(i32::MAX))
    }

    fn cuCtxGetFlags(flags: Out<u32>) {
        flags.set(current()?.flags.load(Ordering::Relaxed))
    }

    fn cuCtxGetId(context: CUcontext, id: Out<u64>) {
        let context = if context.is_null() { current_any()? } else { by_handle(context)? };
        id.set(context.id)
    }

    fn cuCtxGetApiVersion(context: CUcontext, version: Out<u32>) {
        if context.is_null() {
            current_any()?;
        } else {
            by_handle(context)?;
        }
        version.set(API_VERSION)
    }

    fn cuCtxSynchronize() {
        current()?.synchronize()
    }

    fn cuCtxSetLimit(limit: CUlimit, value: usize) {
        current()?.set_limit(limit, value)
    }

    fn cuCtxGetLimit(value: Out<usize>, limit: CUlimit) {
        let context = current()?;
        value.require()?;
        value.set(context.limit(limit)?)
    }

    fn cuCtxGetCacheConfig(config: Out<CUfunc_cache>) {
        config.set(CUfunc_cache(current()?.cache_config.load(Ordering::Relaxed)))
    }

    fn cuCtxSetCacheConfig(config: CUfunc_cache) {
        let context = current()?;
        check_cache_config(config)?;
        context.cache_config.store(config.0, Ordering::Relaxed);
        Ok(())
    }

    fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        current()?;
        least.set_if_wanted(0);
        greatest.set_if_wanted(GREATEST_PRIORITY);
        Ok(())
    }

    fn cuCtxEnablePeerAccess(peer: CUcontext, flags: u32) {
        let context = current()?;
        if flags != 0 {
            return fail(CUresult::INVALID_VALUE, format!("flags {flags:#x}: must be zero"));
        }
        if set_peer(&context, peer, true)? {
            return Ok(());
        }
        fail(CUresult::PEER_ACCESS_ALREADY_ENABLED, "the peer's memory can be used already")
    }

    fn cuCtxDisablePeerAccess(peer: CUcontext) {
        let context = current()?;
        // Kernels that are queued may use the peer's memory.
        context.synchronize()?;
        if set_peer(&context, peer, false)? {
            return Ok(());
        }
        fail(CUresult::PEER_ACCESS_NOT_ENABLED, "the peer's memory cannot be used as it is")
    }
}

fn set_peer(context: &Arc<Context>, peer: CUcontext, enabled: bool) -> Outcome<bool> {
    let peer = by_handle(peer)?;
    if Arc::ptr_eq(context, &peer) {
        return fail(CUresult::INVALID_CONTEXT, "a context is no peer of itself");
    }
    driver()?.space.set_peer(&context.view, peer.id, enabled)
}

/// Fails if the value is no cache preference.
pub(super) fn check_cache_config(config: CUfunc_cache) -> Outcome {
    if CUfunc_cache::NAMED
        .iter()
        .any(|&(_, known)| known == config)
    {
        return Ok(());
    }
    fail(
        CUresult::INVALID_VALUE,
        format!("{} is no cache preference", config.0),
    )
}
