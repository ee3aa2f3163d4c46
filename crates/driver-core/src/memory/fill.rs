//! Writing one value to all elements.

use std::any::TypeId;

use super::copy::{queue, settle};
use super::{DeviceCopy, DeviceViewMut};
use crate::Result;
use crate::call::call;
use crate::stream::Stream;

/// How many bytes the seed of a fill by doubling has at most.
const SEED_BYTES: usize = 16 * 1024;

/// A value that the driver's fill calls can write.
enum Word {
    Byte(u8),
    Half(u16),
    Full(u32),
}

impl<T: DeviceCopy> DeviceViewMut<'_, T> {
    /// Writes `value` to every element, in the order of the home stream. The host does not wait, except for
    /// structures and for numbers wider than four bytes, whose first few elements it copies.
    ///
    /// # Errors
    /// What the driver returns.
    pub fn fill(&mut self, value: T) -> Result<()> {
        let stream = self.stream();
        self.fill_on(stream, value)
    }

    /// As [`DeviceViewMut::fill`], on `stream`.
    ///
    /// # Errors
    /// As [`DeviceViewMut::fill`].
    pub fn fill_on(&mut self, stream: &Stream, value: T) -> Result<()> {
        if self.size_bytes() == 0 {
            return Ok(());
        }
        match word(&value) {
            Some(word) => self.fill_words(stream, word),
            None => self.fill_by_doubling(stream, value),
        }
    }

    /// Writes zero to every byte, in the order of the home stream.
    ///
    /// # Errors
    /// What the driver returns.
    pub fn clear(&mut self) -> Result<()> {
        if self.size_bytes() == 0 {
            return Ok(());
        }
        let stream = self.stream();
        self.fill_words(stream, Word::Byte(0))
    }

    fn fill_words(&mut self, stream: &Stream, word: Word) -> Result<()> {
        let (driver, address, bytes, raw) = (
            stream.context().driver(),
            self.address(),
            self.size_bytes(),
            stream.raw(),
        );
        queue(stream, &[self.span()], || match word {
            // SAFETY (all three): the view borrows `bytes` bytes exclusively, aligned for its elements, which its
            // record keeps allocated in stream order.
            // SAFETY: as said above.
            Word::Byte(value) => unsafe {
                call!(driver, cuMemsetD8Async(address, value, bytes, raw))
            },
            // SAFETY: as said above; the elements are two bytes.
            Word::Half(value) => unsafe {
                call!(driver, cuMemsetD16Async(address, value, bytes / 2, raw))
            },
            // SAFETY: as said above; the elements are a multiple of four bytes.
            Word::Full(value) => unsafe {
                call!(driver, cuMemsetD32Async(address, value, bytes / 4, raw))
            },
        })
    }

    /// Copies a few elements from the host, then doubles them on the device.
    fn fill_by_doubling(&mut self, stream: &Stream, value: T) -> Result<()> {
        let len = self.len();
        let seed = vec![value; (SEED_BYTES / size_of::<T>()).clamp(1, len)];
        {
            let mut head = self.slice_mut(..seed.len());
            // SAFETY: `seed` holds the elements of `head` and lives until the copy has finished: the wait below.
            unsafe { head.write_from(stream, seed.as_ptr()) }?;
            settle(stream)?;
        }
        let mut done = seed.len();
        while done < len {
            let step = done.min(len - done);
            let (source, rest) = self.reborrow().split_at_mut(done);
            rest.into_slice(..step)
                .copy_from_on(stream, source.as_view().slice(..step))?;
            done += step;
        }
        Ok(())
    }
}

/// The bytes of `value` as a word that repeats in it, if it is a primitive number (which has no padding to read).
fn word<T: DeviceCopy>(value: &T) -> Option<Word> {
    let id = TypeId::of::<T>();
    let is = |ids: &[TypeId]| ids.contains(&id);
    macro_rules! ids {
        ($($ty:ty),*) => { &[$(TypeId::of::<$ty>()),*] };
    }
    if is(ids!(u8, i8, bool)) {
        // SAFETY: `T` is a one-byte primitive, checked by its id.
        Some(Word::Byte(unsafe {
            std::mem::transmute_copy::<T, u8>(value)
        }))
    } else if is(ids!(u16, i16, half::f16, half::bf16)) {
        // SAFETY: `T` is a two-byte primitive, checked by its id.
        Some(Word::Half(unsafe {
            std::mem::transmute_copy::<T, u16>(value)
        }))
    } else if is(ids!(u32, i32, f32)) {
        // SAFETY: `T` is a four-byte primitive, checked by its id.
        Some(Word::Full(unsafe {
            std::mem::transmute_copy::<T, u32>(value)
        }))
    } else if is(ids!(u64, i64, f64, usize, isize, super::DevicePtr)) && size_of::<T>() == 8 {
        // SAFETY: `T` is an eight-byte primitive, checked by its id and size.
        let [low, high] = unsafe { std::mem::transmute_copy::<T, [u32; 2]>(value) };
        (low == high).then_some(Word::Full(low))
    } else {
        None
    }
}
