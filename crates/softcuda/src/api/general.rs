//! Initialisation, version, result codes, entry point addresses, profiler control.

use std::collections::HashMap;
use std::ffi::{CString, c_char, c_void};
use std::sync::Mutex;

use cuprum_driver_sys::CUresult;

use super::{Out, Text, entries, table, table_per_thread};
use crate::context::current;
use crate::driver::{VERSION, initialize};
use crate::error::{fail, lock};

/// Values of `CUdriverProcAddressQueryResult`.
const SYMBOL_FOUND: u32 = 0;
const SYMBOL_NOT_FOUND: u32 = 1;
/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const PER_THREAD_DEFAULT_STREAM: u64 = 2;

entries! {
    fn cuInit(flags: u32) {
        if flags != 0 {
            return fail(CUresult::INVALID_VALUE, format!("flags {flags:#x}: must be zero"));
        }
        initialize()
    }

    fn cuDriverGetVersion(version: Out<i32>) {
        version.set(VERSION)
    }

    fn cuGetErrorName(error: CUresult, name: Out<*const c_char>) {
        name.set(text_of(error, false))?;
        known(error)
    }

    fn cuGetErrorString(error: CUresult, text: Out<*const c_char>) {
        text.set(text_of(error, true))?;
        known(error)
    }

    fn cuGetProcAddress_v2(symbol: Text, function: Out<*mut c_void>, version: i32, flags: u64, status: Out<u32>) {
        let symbol = symbol.read()?.to_string_lossy();
        function.require()?;
        if flags > 2 {
            return fail(CUresult::INVALID_VALUE, format!("unknown flags {flags:#x}"));
        }
        if version < 1000 {
            return fail(CUresult::INVALID_VALUE, format!("{version} is no CUDA version"));
        }
        let table = if flags == PER_THREAD_DEFAULT_STREAM { table_per_thread() } else { table() };
        // The base name stands for the newest version of the call that the table has.
        let newest = table.address(&format!("{symbol}_v2")).or_else(|| table.address(&symbol));
        function.set(newest.map_or(std::ptr::null_mut(), |address| address.as_ptr()))?;
        status.set_if_wanted(if newest.is_some() { SYMBOL_FOUND } else { SYMBOL_NOT_FOUND });
        Ok(())
    }

    fn cuProfilerStart() {
        current().map(drop)
    }

    fn cuProfilerStop() {
        current().map(drop)
    }
}

fn known(error: CUresult) -> crate::error::Outcome {
    match error.name() {
        Some(_) => Ok(()),
        None => fail(
            CUresult::INVALID_VALUE,
            format!("{} is no result code", error.0),
        ),
    }
}

/// The name or the description of a code as C text that lives as long as the process; null for an unknown code.
fn text_of(error: CUresult, description: bool) -> *const c_char {
    static TEXTS: Mutex<Option<HashMap<(u32, bool), CString>>> = Mutex::new(None);
    let text = if description {
        error.description()
    } else {
        error.name()
    };
    let Some(text) = text else {
        return std::ptr::null();
    };
    let mut texts = lock(&TEXTS);
    let all = texts.get_or_insert_default();
    // The bytes behind a `CString` stay where they are when the map grows, and nothing is ever removed.
    all.entry((error.0, description))
        .or_insert_with(|| CString::new(text).unwrap_or_default())
        .as_ptr()
}
