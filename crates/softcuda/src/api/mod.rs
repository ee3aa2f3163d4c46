//! The entry points: thin adaptors between the C interface and the parts of the driver.
//!
//! Raw pointers end here. Each entry's arguments become an [`Argument`] in one place, so that bodies are safe code; an
//! argument knows whether it is null, and reads or writes what the manual says is behind it.
// Names are those of `cuda.h`, so that its manual applies word for word.
#![allow(non_snake_case, reason = "the names of cuda.h")]

mod array;
mod context;
mod copy;
mod device;
mod event;
mod general;
mod launch;
mod link;
mod managed;
mod memory;
mod module;
mod stream;
mod texture;

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

use cuprum_driver_sys::*;

use crate::error::{Outcome, fail};

/// Declares entry points and a function that puts them into a table.
macro_rules! entries {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {
        $(
            unsafe extern "C" fn $name($($arg: <$ty as $crate::api::Argument>::Raw),*) -> cuprum_driver_sys::CUresult {
                // SAFETY: whoever calls an entry point keeps the manual's contract: a pointer is null, or is valid for
                // what the manual says the call reads or writes there.
                $(let $arg = unsafe { <$ty as $crate::api::Argument>::from_raw($arg) };)*
                $crate::error::guard(stringify!($name), move || -> $crate::error::Outcome { $body })
            }
        )*

        pub(super) fn fill(table: &mut cuprum_driver_sys::DriverTable) {
            $(table.$name = Some($name);)*
        }

        /// The same entry points where the default stream is the calling thread's own (`_ptds` and `_ptsz`).
        pub(super) mod per_thread {
            use super::*;

            $(
                unsafe extern "C" fn $name($($arg: <$ty as $crate::api::Argument>::Raw),*) -> cuprum_driver_sys::CUresult {
                    let _mode = $crate::context::PerThreadDefault::enter();
                    // SAFETY: the contract is the same.
                    unsafe { super::$name($($arg),*) }
                }
            )*

            pub(in $crate::api) fn fill(table: &mut cuprum_driver_sys::DriverTable) {
                $(table.$name = Some($name);)*
            }
        }
    };
}
use entries;

/// The software driver's entry points, with the contracts of the CUDA driver API manual. What it does not offer is
/// `None`.
#[must_use]
pub fn table() -> &'static DriverTable {
    static TABLE: OnceLock<DriverTable> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = DriverTable::load(|_symbol| None);
        for fill in [
            general::fill,
            device::fill,
            context::fill,
            memory::fill,
            managed::fill,
            copy::fill,
            array::fill,
            stream::fill,
            event::fill,
            module::fill,
            link::fill,
            launch::fill,
            texture::fill,
        ] {
            fill(&mut table);
        }
        table
    })
}

/// The entry points for programs whose default stream is each thread's own, as if compiled with
/// `CUDA_API_PER_THREAD_DEFAULT_STREAM`: where a stream is null, and in synchronous copies, `CU_STREAM_PER_THREAD` takes
/// the place of the legacy stream. NVIDIA's driver exports them with `_ptds` and `_ptsz` behind their names.
#[must_use]
pub fn table_per_thread() -> &'static DriverTable {
    static TABLE: OnceLock<DriverTable> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = DriverTable::load(|_symbol| None);
        for fill in [
            general::per_thread::fill,
            device::per_thread::fill,
            context::per_thread::fill,
            memory::per_thread::fill,
            managed::per_thread::fill,
            copy::per_thread::fill,
            array::per_thread::fill,
            stream::per_thread::fill,
            event::per_thread::fill,
            module::per_thread::fill,
            link::per_thread::fill,
            launch::per_thread::fill,
            texture::per_thread::fill,
        ] {
            fill(&mut table);
        }
        table
    })
}

/// One argument of an entry point.
trait Argument {
    /// Its type in the C interface.
    type Raw;

    /// # Safety
    ///
    /// A pointer must be null, or valid until the call ends for what the manual says is read or written there.
    unsafe fn from_raw(raw: Self::Raw) -> Self;
}

macro_rules! plain_arguments {
    ($($ty:ty)*) => {$(
        impl Argument for $ty {
            type Raw = $ty;

            unsafe fn from_raw(raw: $ty) -> $ty {
                raw
            }
        }
    )*};
}

plain_arguments! {
    u8 u16 u32 u64 i32 usize
    CUresult CUcontext CUstream CUevent CUmemoryPool
    CUdevice_attribute CUlimit CUfunc_cache CUpointer_attribute CUmemPool_attribute
    CUmem_advise CUmem_range_attribute CUmemLocation
    CUmodule CUfunction CUfunction_attribute CUlinkState CUjitInputType
    CUhostFn CUstreamCallback CUoccupancyB2DSize
    CUarray CUmipmappedArray CUtexref CUsurfref CUarray_format CUaddress_mode CUfilter_mode f32
}

/// Where the call writes a result.
struct Out<T>(*mut T);

impl<T> Argument for Out<T> {
    type Raw = *mut T;

    unsafe fn from_raw(raw: *mut T) -> Self {
        Self(raw)
    }
}

impl<T> Out<T> {
    /// Fails if the pointer is null; to be asked before anything is done.
    fn require(&self) -> Outcome {
        if self.0.is_null() {
            return fail(CUresult::INVALID_VALUE, "a pointer to a result is null");
        }
        Ok(())
    }

    /// Whether the caller wants the result.
    fn is_given(&self) -> bool {
        !self.0.is_null()
    }

    /// Writes the result.
    fn set(&self, value: T) -> Outcome {
        self.require()?;
        self.set_if_wanted(value);
        Ok(())
    }

    /// Writes the result unless the pointer is null.
    fn set_if_wanted(&self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not null, so valid for a write of `T`, by the contract of `Argument::from_raw`.
            unsafe { self.0.write(value) };
        }
    }
}

impl Out<c_char> {
    /// Writes text and a terminating zero, cut to `len` bytes in all.
    fn set_text(&self, text: &str, len: i32) -> Outcome {
        self.require()?;
        let Some(room) = usize::try_from(len).ok().and_then(|len| len.checked_sub(1)) else {
            return fail(
                CUresult::INVALID_VALUE,
                format!("a text buffer of {len} bytes"),
            );
        };
        let text = &text.as_bytes()[..room.min(text.len())];
        // SAFETY: the pointer is valid for `len` bytes, by the contract of `Argument::from_raw`; the text and the zero
        // are at most as many.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), self.0.cast(), text.len());
            self.0.add(text.len()).write(0);
        }
        Ok(())
    }
}

/// A structure that the call reads.
struct In<T>(*const T);

impl<T> Argument for In<T> {
    type Raw = *const T;

    unsafe fn from_raw(raw: *const T) -> Self {
        Self(raw)
    }
}

impl<T: Copy> In<T> {
    /// The structure, unless the pointer is null.
    fn read_if_given(&self) -> Option<T> {
        // SAFETY: null, or valid for a read of `T`, by the contract of `Argument::from_raw`.
        (!self.0.is_null()).then(|| unsafe { self.0.read() })
    }

    /// The structure, or `INVALID_VALUE` if the pointer is null.
    fn read(&self) -> Outcome<T> {
        if self.0.is_null() {
            return fail(CUresult::INVALID_VALUE, "a pointer to a structure is null");
        }
        // SAFETY: not null, so valid for a read of `T`, by the contract of `Argument::from_raw`.
        Ok(unsafe { self.0.read() })
    }
}

/// An array that the call reads or writes, as long as the manual says.
struct List<T>(*mut T);

impl<T> Argument for List<T> {
    type Raw = *mut T;

    unsafe fn from_raw(raw: *mut T) -> Self {
        Self(raw)
    }
}

impl<T: Copy> List<T> {
    /// Fails if the pointer is null.
    fn require(&self) -> Outcome {
        Out(self.0).require()
    }

    /// An element.
    ///
    /// # Safety
    ///
    /// The pointer must not be null, and the array must be longer than `index`.
    unsafe fn get(&self, index: usize) -> T {
        // SAFETY: the element exists, as the caller promises.
        unsafe { self.0.add(index).read() }
    }

    /// Writes an element.
    ///
    /// # Safety
    ///
    /// The pointer must not be null, and the array must be longer than `index`.
    unsafe fn set(&self, index: usize, value: T) {
        // SAFETY: the element exists, as the caller promises.
        unsafe { self.0.add(index).write(value) };
    }
}

/// Text that the call reads.
struct Text(*const c_char);

impl Argument for Text {
    type Raw = *const c_char;

    unsafe fn from_raw(raw: *const c_char) -> Self {
        Self(raw)
    }
}

impl Text {
    /// The text, or `INVALID_VALUE` if the pointer is null.
    fn read(&self) -> Outcome<&CStr> {
        if self.0.is_null() {
            return fail(CUresult::INVALID_VALUE, "a pointer to text is null");
        }
        // SAFETY: not null, so null-terminated text, by the contract of `Argument::from_raw`.
        Ok(unsafe { CStr::from_ptr(self.0) })
    }
}

/// The value of an attribute, of a type that the attribute decides.
struct Untyped(*mut c_void);

impl Argument for Untyped {
    type Raw = *mut c_void;

    unsafe fn from_raw(raw: *mut c_void) -> Self {
        Self(raw)
    }
}

impl Untyped {
    fn require(&self) -> Outcome {
        Out(self.0).require()
    }

    /// Writes the value as a `T`, the type that the manual gives the attribute at hand.
    fn set<T>(&self, value: T) -> Outcome {
        Out(self.0.cast::<T>()).set(value)
    }

    /// An element of a list of values of `T`.
    ///
    /// # Safety
    ///
    /// The pointer must not be null, and the list must be longer than `index`.
    unsafe fn at<T>(&self, index: usize) -> Out<T> {
        // SAFETY: the element exists, as the caller promises.
        Out(unsafe { self.0.cast::<T>().add(index) })
    }

    /// Reads the value as a `T`, the type that the manual gives the attribute at hand.
    fn get<T: Copy>(&self) -> Outcome<T> {
        In(self.0.cast_const().cast::<T>()).read()
    }
}

/// Host memory that a copy reads or writes, or that the program hands over: an address.
struct Host(u64);

impl Argument for Host {
    type Raw = *mut c_void;

    unsafe fn from_raw(raw: *mut c_void) -> Self {
        Self(raw.expose_provenance() as u64)
    }
}

impl Host {
    /// The address, or `INVALID_VALUE` if it is null.
    fn require(&self) -> Outcome<u64> {
        if self.0 == 0 {
            return fail(CUresult::INVALID_VALUE, "the host pointer is null");
        }
        Ok(self.0)
    }
}

/// Host memory that a copy reads.
struct HostSource(Host);

impl Argument for HostSource {
    type Raw = *const c_void;

    unsafe fn from_raw(raw: *const c_void) -> Self {
        Self(Host(raw.expose_provenance() as u64))
    }
}
