//! Linking.

use std::ffi::c_void;
use std::sync::Arc;

use cuprum_driver_sys::{CUjit_option, CUjitInputType, CUlinkState, CUresult};

use super::{List, Out, Text, entries};
use crate::context::current;
use crate::driver::driver;
use crate::error::{Outcome, fail};
use crate::link::Link;

/// An input of a link: as many bytes as the call says.
struct Input(*const u8);

impl super::Argument for Input {
    type Raw = *mut c_void;

    unsafe fn from_raw(raw: *mut c_void) -> Self {
        Self(raw.cast_const().cast())
    }
}

entries! {
    fn cuLinkCreate_v2(
        _count: u32,
        _options: List<CUjit_option>,
        _values: List<*mut c_void>,
        state: Out<CUlinkState>,
    ) {
        current()?;
        state.require()?;
        state.set(Link::create()?.handle())
    }

    fn cuLinkAddData_v2(
        state: CUlinkState,
        kind: CUjitInputType,
        data: Input,
        size: usize,
        name: Text,
        _count: u32,
        _options: List<CUjit_option>,
        _values: List<*mut c_void>,
    ) {
        let link = by_handle(state)?;
        if data.0.is_null() || size == 0 {
            return fail(CUresult::INVALID_VALUE, "the input is empty");
        }
        if kind != CUjitInputType::PTX {
            return fail(CUresult::NO_BINARY_FOR_GPU, "software devices link PTX text only");
        }
        // SAFETY: the program passed `size` readable bytes, as the manual demands.
        let bytes = unsafe { std::slice::from_raw_parts(data.0, size) };
        let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        let name = match name.read() {
            Ok(name) => name.to_string_lossy().into_owned(),
            Err(_) => "an input".to_owned(),
        };
        link.add(name, text)
    }

    fn cuLinkComplete(state: CUlinkState, image: Out<*mut c_void>, size: Out<usize>) {
        let link = by_handle(state)?;
        image.require()?;
        let (address, bytes) = link.complete()?;
        size.set_if_wanted(bytes);
        image.set(address)
    }

    fn cuLinkDestroy(state: CUlinkState) {
        by_handle(state)?.destroy()
    }
}

fn by_handle(state: CUlinkState) -> Outcome<Arc<Link>> {
    match driver()?.links.get(state.0) {
        Some(link) => Ok(link),
        None => fail(CUresult::INVALID_HANDLE, "the handle is not that of a link"),
    }
}
