//! Address space from the operating system.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// Granularity at which pages are handed back to the system.
pub(crate) const PAGE: u64 = 4096;

/// A reserved range of addresses. Its pages become usable by [`commit`](Self::commit) and stay usable until it drops.
#[derive(Debug)]
pub(crate) struct Reservation {
    base: NonNull<c_void>,
    len: usize,
    /// Bytes committed at once.
    chunk: u64,
    /// A bit for each chunk: whether it is committed.
    committed: Mutex<Vec<u64>>,
}

// SAFETY: the range is plain memory of the process; every method that touches it states its own rules.
unsafe impl Send for Reservation {}
// SAFETY: as for `Send`.
unsafe impl Sync for Reservation {}

/// What pages of a reservation that nobody committed may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Untouched {
    /// Nothing: an access ends the process.
    Forbidden,
    /// Reading: they hold zero.
    ReadsZero,
}

impl Reservation {
    /// Reserves `len` bytes, a multiple of `chunk`, or answers `None` if the system has no such range. Pages are
    /// committed `chunk` bytes, a multiple of the page size, at a time.
    pub(crate) fn new(len: u64, chunk: u64, untouched: Untouched) -> Option<Self> {
        debug_assert!(chunk.is_multiple_of(PAGE) && len.is_multiple_of(chunk));
        let bits = usize::try_from(len / chunk).ok()?;
        let len = usize::try_from(len).ok()?;
        let base = sys::reserve(len, untouched)?;
        Some(Self {
            base,
            len,
            chunk,
            committed: Mutex::new(vec![0; bits.div_ceil(64)]),
        })
    }

    /// The first address.
    pub(crate) fn base(&self) -> u64 {
        self.base.as_ptr().expose_provenance() as u64
    }

    /// The length in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len as u64
    }

    /// A pointer to `offset`, with the provenance of the whole range.
    pub(crate) fn at(&self, offset: u64) -> *mut u8 {
        debug_assert!(offset <= self.len());
        self.base
            .as_ptr()
            .cast::<u8>()
            .wrapping_add(usize::try_from(offset).unwrap_or(usize::MAX))
    }

    /// Makes the chunks that hold `len` bytes from `offset` readable and writable. False if the system is out of
    /// memory. Pages committed already keep their contents.
    #[must_use]
    pub(crate) fn commit(&self, offset: u64, len: u64) -> bool {
        let end = offset.checked_add(len).expect("the range does not wrap");
        assert!(end <= self.len(), "commit inside the reservation");
        let mut bits = self
            .committed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (mut chunk, last) = (offset / self.chunk, end.div_ceil(self.chunk));
        let is_set =
            |bits: &[u64], chunk: u64| bits[(chunk / 64) as usize] >> (chunk % 64) & 1 == 1;
        while chunk < last {
            if is_set(&bits, chunk) {
                chunk += 1;
                continue;
            }
            let start = chunk;
            while chunk < last && !is_set(&bits, chunk) {
                chunk += 1;
            }
            let len = (chunk - start) * self.chunk;
            // SAFETY: whole chunks inside this reservation are ours; granting access to pages invalidates nothing.
            if !unsafe { sys::commit(self.at(start * self.chunk).cast(), len as usize) } {
                return false;
            }
            for done in start..chunk {
                bits[(done / 64) as usize] |= 1 << (done % 64);
            }
        }
        true
    }

    /// Gives the pages of `len` bytes at `offset`, both multiples of the page size and committed, back to the system.
    /// They stay readable and writable and read as zero.
    pub(crate) fn discard(&self, offset: u64, len: u64) {
        assert!(
            offset.checked_add(len).is_some_and(|end| end <= self.len()),
            "discard inside the reservation"
        );
        // SAFETY: the range lies inside this reservation and is committed; the caller has freed what was there, and a
        // kernel that races with that finds pages that are still readable and writable.
        unsafe { sys::discard(self.at(offset).cast(), len as usize) };
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `reserve` with this base and length, and its only owner goes away.
        unsafe { sys::release(self.base, self.len) };
    }
}

#[cfg(unix)]
mod sys {
    use super::Untouched;
    use rustix::mm::{
        Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap,
    };
    use std::ffi::c_void;
    use std::ptr::NonNull;

    #[cfg(any(target_os = "linux", target_os = "android"))]
    const FLAGS: MapFlags = MapFlags::PRIVATE.union(MapFlags::NORESERVE);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const FLAGS: MapFlags = MapFlags::PRIVATE;

    pub(super) fn reserve(len: usize, untouched: Untouched) -> Option<NonNull<c_void>> {
        let access = match untouched {
            Untouched::Forbidden => ProtFlags::empty(),
            Untouched::ReadsZero => ProtFlags::READ,
        };
        // SAFETY: a new anonymous mapping at an address of the system's choice touches no existing memory.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), len, access, FLAGS) }.ok()?;
        NonNull::new(base)
    }

    /// # Safety
    ///
    /// The range must belong to a mapping made by [`reserve`].
    pub(super) unsafe fn commit(at: *mut c_void, len: usize) -> bool {
        // SAFETY: the caller owns the range; the new access is a superset of the old.
        unsafe { mprotect(at, len, MprotectFlags::READ | MprotectFlags::WRITE) }.is_ok()
    }

    /// # Safety
    ///
    /// The range must belong to a mapping made by [`reserve`], be committed, and hold nothing that is still needed.
    pub(super) unsafe fn discard(at: *mut c_void, len: usize) {
        // Only Linux promises that the pages read as zero afterwards.
        if cfg!(any(target_os = "linux", target_os = "android")) {
            // SAFETY: the caller owns the range and does not need its contents.
            if unsafe { madvise(at, len, Advice::LinuxDontNeed) }.is_ok() {
                return;
            }
        }
        // SAFETY: the range is committed, so it is writable.
        unsafe { std::ptr::write_bytes(at.cast::<u8>(), 0, len) };
    }

    /// # Safety
    ///
    /// `base` and `len` must be those of one [`reserve`], and nothing may use the range any more.
    pub(super) unsafe fn release(base: NonNull<c_void>, len: usize) {
        // SAFETY: as the caller promises. An error would mean a wrong range; there is nothing to do about it.
        let _ = unsafe { munmap(base.as_ptr(), len) };
    }
}

#[cfg(windows)]
mod sys {
    use super::Untouched;
    use std::ffi::c_void;
    use std::ptr::NonNull;

    const MEM_COMMIT: u32 = 0x1000;
    const MEM_RESERVE: u32 = 0x2000;
    const MEM_RELEASE: u32 = 0x8000;
    const PAGE_NOACCESS: u32 = 0x01;
    const PAGE_READONLY: u32 = 0x02;
    const PAGE_READWRITE: u32 = 0x04;

    #[link(name = "kernel32", kind = "raw-dylib")]
    unsafe extern "system" {
        fn VirtualAlloc(at: *mut c_void, len: usize, kind: u32, access: u32) -> *mut c_void;
        fn VirtualFree(at: *mut c_void, len: usize, kind: u32) -> i32;
    }

    pub(super) fn reserve(len: usize, untouched: Untouched) -> Option<NonNull<c_void>> {
        let (kind, access) = match untouched {
            Untouched::Forbidden => (MEM_RESERVE, PAGE_NOACCESS),
            Untouched::ReadsZero => (MEM_RESERVE | MEM_COMMIT, PAGE_READONLY),
        };
        // SAFETY: a new range at an address of the system's choice touches no existing memory.
        NonNull::new(unsafe { VirtualAlloc(std::ptr::null_mut(), len, kind, access) })
    }

    /// # Safety
    ///
    /// The range must belong to one made by [`reserve`].
    pub(super) unsafe fn commit(at: *mut c_void, len: usize) -> bool {
        // SAFETY: the caller owns the range; the new access is a superset of the old, and committing committed pages
        // keeps their contents.
        !unsafe { VirtualAlloc(at, len, MEM_COMMIT, PAGE_READWRITE) }.is_null()
    }

    /// # Safety
    ///
    /// The range must belong to one made by [`reserve`], be committed, and hold nothing that is still needed.
    pub(super) unsafe fn discard(at: *mut c_void, len: usize) {
        // Decommitting would leave a moment in which a racing access ends the process.
        // SAFETY: the range is committed, so it is writable.
        unsafe { std::ptr::write_bytes(at.cast::<u8>(), 0, len) };
    }

    /// # Safety
    ///
    /// `base` must come from [`reserve`], and nothing may use the range any more.
    pub(super) unsafe fn release(base: NonNull<c_void>, _len: usize) {
        // SAFETY: as the caller promises.
        unsafe { VirtualFree(base.as_ptr(), 0, MEM_RELEASE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_read_as_zero_and_can_be_given_back() {
        let range = Reservation::new(1 << 20, 4 * PAGE, Untouched::Forbidden)
            .expect("1 MiB of address space");
        assert!(range.commit(10, 2 * PAGE));
        // SAFETY: the first four pages were committed above and belong to this test.
        unsafe {
            assert_eq!(range.at(10).read(), 0);
            range.at(10).write(7);
            range.at(PAGE).write(9);
        }
        range.discard(0, PAGE);
        assert!(range.commit(0, 9 * PAGE), "committing twice is harmless");
        // SAFETY: as above; discarded pages stay accessible.
        unsafe {
            assert_eq!(range.at(10).read(), 0, "discarded");
            assert_eq!(range.at(PAGE).read(), 9, "kept");
            range.at(12 * PAGE - 1).write(1);
        }
    }

    #[test]
    fn untouched_pages_can_be_readable() {
        let range =
            Reservation::new(1 << 20, PAGE, Untouched::ReadsZero).expect("1 MiB of address space");
        // SAFETY: the whole range is readable.
        assert_eq!(unsafe { range.at(123_456).read() }, 0);
    }
}
