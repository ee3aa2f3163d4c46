//! Arguments of a launch.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

use smallvec::SmallVec;

use crate::array::{SurfaceObject, TextureObject};
use crate::memory::{DeviceBuffer, DeviceCopy, DeviceView, DeviceViewMut, Span};
use crate::tracking::Access;

/// How many arguments need no allocation.
const INLINE: usize = 16;

/// The arguments of one launch as the driver wants them: a pointer to each value, and what each uses.
pub struct ArgTable<'a> {
    pointers: SmallVec<[*mut c_void; INLINE]>,
    sizes: SmallVec<[u32; INLINE]>,
    spans: SmallVec<[Span<'a>; INLINE]>,
    values: PhantomData<&'a ()>,
}

impl<'a> ArgTable<'a> {
    #[inline]
    pub(crate) fn new() -> Self {
        Self {
            pointers: SmallVec::new(),
            sizes: SmallVec::new(),
            spans: SmallVec::new(),
            values: PhantomData,
        }
    }

    /// Appends a value of plain data.
    #[inline]
    pub fn value<T: DeviceCopy>(&mut self, value: &'a T) {
        self.push(std::ptr::from_ref(value).cast::<c_void>(), size_of::<T>());
    }

    /// Appends the address of memory that the kernel reads.
    #[inline]
    pub fn read<T: DeviceCopy>(&mut self, view: &'a DeviceView<'_, T>) {
        self.value(view.address_field());
        self.spans.extend(view.span());
    }

    /// Appends the address of memory that the kernel writes, and may read.
    #[inline]
    pub fn write<T: DeviceCopy>(&mut self, view: &'a DeviceViewMut<'_, T>) {
        self.value(view.address_field());
        self.spans.extend(view.span());
    }

    /// Appends a structure that holds the address of memory which the kernel reads: pointer and length in one, say.
    /// `value` is what the kernel gets.
    #[inline]
    pub fn value_reading<T: DeviceCopy, U: DeviceCopy>(
        &mut self,
        value: &'a T,
        view: &'a DeviceView<'_, U>,
    ) {
        self.value(value);
        self.spans.extend(view.span());
    }

    /// As [`ArgTable::value_reading`], for memory that the kernel writes.
    #[inline]
    pub fn value_writing<T: DeviceCopy, U: DeviceCopy>(
        &mut self,
        value: &'a T,
        view: &'a DeviceViewMut<'_, U>,
    ) {
        self.value(value);
        self.spans.extend(view.span());
    }

    /// Appends a texture object, whose memory the kernel reads.
    #[inline]
    pub fn texture(&mut self, texture: &'a TextureObject<'_>) {
        self.value_with_span(texture.handle(), texture.span());
    }

    /// Appends a surface object, whose array the kernel writes, and may read.
    #[inline]
    pub fn surface(&mut self, surface: &'a SurfaceObject) {
        self.value_with_span(surface.handle(), surface.span());
    }

    /// Appends a value that stands for memory.
    #[inline]
    fn value_with_span<T: DeviceCopy>(&mut self, value: &'a T, span: Span<'a>) {
        self.value(value);
        self.spans.push(span);
    }

    #[inline]
    fn buffer<T: DeviceCopy>(&mut self, buffer: &'a DeviceBuffer<T>, access: Access) {
        self.value(buffer.address_field());
        let bytes = buffer.size_bytes();
        if bytes > 0 {
            self.spans.push(Span {
                allocation: buffer.allocation(),
                bytes: 0..bytes,
                access,
            });
        }
    }

    #[inline]
    fn push(&mut self, pointer: *const c_void, size: usize) {
        self.pointers.push(pointer.cast_mut());
        self.sizes.push(u32::try_from(size).unwrap_or(u32::MAX));
    }

    /// How many arguments there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// The size of each argument in bytes.
    #[inline]
    pub(crate) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    #[inline]
    pub(crate) fn spans(&self) -> &[Span<'a>] {
        &self.spans
    }

    /// For `cuLaunchKernel`, which reads through the pointers and writes nothing.
    #[inline]
    pub(crate) fn pointers(&mut self) -> *mut *mut c_void {
        self.pointers.as_mut_ptr()
    }
}

impl fmt::Debug for ArgTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgTable")
            .field("sizes", &self.sizes)
            .field("spans", &self.spans)
            .finish_non_exhaustive()
    }
}

/// One argument of a launch. Types of other crates implement it through the methods of [`ArgTable`].
pub trait KernelArg {
    /// Appends exactly one argument.
    fn add<'a>(&'a self, table: &mut ArgTable<'a>);
}

impl<T: DeviceCopy> KernelArg for T {
    #[inline]
    fn add<'a>(&'a self, table: &mut ArgTable<'a>) {
        table.value(self);
    }
}

impl<T: DeviceCopy> KernelArg for &DeviceBuffer<T> {
    #[inline]
    fn add<'a>(&'a self, table: &mut ArgTable<'a>) {
        table.buffer(self, Access::Read);
    }
}

impl<T: DeviceCopy> KernelArg for &mut DeviceBuffer<T> {
    #[inline]
    fn add<'a>(&'a self, table: &mut ArgTable<'a>) {
        table.buffer(self, Access::Write);
    }
}

impl<T: DeviceCopy> KernelArg for DeviceView<'_, T> {
    #[inline]
    fn add<'a>(&'a self, table: &mut ArgTable<'a>) {
        table.read(self);
    }
}

impl<T: DeviceCopy> KernelArg for &DeviceView<'_, T> {
    #[inline]
    fn add<'a>(&'a self, table: &mut ArgTable<'a>) {
        table.read(self);
    }
}

impl<T: DeviceCopy> KernelArg for DeviceViewMut<'_, T> {
    #[inline]
    fn add<'a>(&'a self, table: &mut ArgTable<'a>) {
        table.write(self);
    }
}

impl<T: DeviceCopy> KernelArg for &mut DeviceViewMut<'_, T> {
    #[inline]
    fn add<'a>(&'a self, table: &mut ArgTable<'a>) {
        table.write(self);
    }
}

/// The arguments of a launch: a tuple of up to 16 [`KernelArg`]s, or [`Args`].
pub trait KernelArgs {
    /// Appends the arguments in order.
    fn fill<'a>(&'a self, table: &mut ArgTable<'a>);
}

impl KernelArgs for () {
    #[inline]
    fn fill<'a>(&'a self, _table: &mut ArgTable<'a>) {}
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<$($name: KernelArg),+> KernelArgs for ($($name,)+) {
            #[inline]
            fn fill<'a>(&'a self, table: &mut ArgTable<'a>) {
                #[allow(non_snake_case, reason = "the type's letter names the value too")]
                let ($($name,)+) = self;
                $($name.add(table);)+
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
tuples!(A B C D E F G H I);
tuples!(A B C D E F G H I J);
tuples!(A B C D E F G H I J K);
tuples!(A B C D E F G H I J K L);
tuples!(A B C D E F G H I J K L M);
tuples!(A B C D E F G H I J K L M N);
tuples!(A B C D E F G H I J K L M N O);
tuples!(A B C D E F G H I J K L M N O P);

/// A list of arguments that is built at run time, for kernels that are.
///
/// ```
/// use cuprum_driver_core::{Args, Device, DeviceBuffer};
///
/// let context = Device::by_name("soft:0")?.context()?;
/// let stream = context.new_stream()?;
/// let input = DeviceBuffer::from_slice(&stream, &[1.0f32; 8])?;
/// let mut output = DeviceBuffer::<f32>::zeros(&stream, 8)?;
/// let mut args = Args::new();
/// args.write(output.view_mut()).read(input.view()).scalar(8u32);
/// assert_eq!(args.len(), 3);
/// # Ok::<(), cuprum_driver_core::Error>(())
/// ```
#[derive(Default)]
pub struct Args<'a> {
    /// The values, each aligned to 16 bytes.
    words: Vec<u128>,
    entries: Vec<Entry<'a>>,
}

struct Entry<'a> {
    /// Index of the value's first word, and its size in bytes.
    word: usize,
    bytes: usize,
    span: Option<Span<'a>>,
}

/// The alignment of values in [`Args`], in bytes.
const WORD: usize = size_of::<u128>();

impl<'a> Args<'a> {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a value of plain data.
    pub fn scalar<T: DeviceCopy>(&mut self, value: T) -> &mut Self {
        let at = self.reserve(size_of::<T>(), None);
        // SAFETY: room for a `T` was reserved, aligned to 16 bytes, which is the most that plain data needs; a
        // larger alignment would be a `repr(align)` structure, which the unaligned write allows for.
        unsafe { at.cast::<T>().write_unaligned(value) };
        self
    }

    /// Appends the bytes of a value whose type is known at run time only. Values are placed at 16 bytes' alignment,
    /// so none needs to be told.
    pub fn bytes(&mut self, value: &[u8]) -> &mut Self {
        let at = self.reserve(value.len(), None);
        // SAFETY: room for that many bytes was reserved, in memory that `value` cannot overlap.
        unsafe {
            at.cast::<u8>()
                .copy_from_nonoverlapping(value.as_ptr(), value.len());
        }
        self
    }

    /// Appends the address of memory that the kernel reads.
    pub fn read<T: DeviceCopy>(&mut self, view: DeviceView<'a, T>) -> &mut Self {
        let span = view.into_span();
        self.address(view.address(), span)
    }

    /// Appends the address of memory that the kernel writes, and may read.
    pub fn write<T: DeviceCopy>(&mut self, view: DeviceViewMut<'a, T>) -> &mut Self {
        let address = view.address();
        self.address(address, view.into_span())
    }

    /// How many arguments there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn address(&mut self, address: u64, span: Option<Span<'a>>) -> &mut Self {
        let at = self.reserve(size_of::<u64>(), span);
        // SAFETY: room for an address was reserved, aligned to 16 bytes.
        unsafe { at.cast::<u64>().write(address) };
        self
    }

    /// Room for a value of `bytes` bytes, zeroed, valid until the list changes.
    fn reserve(&mut self, bytes: usize, span: Option<Span<'a>>) -> *mut u128 {
        let word = self.words.len();
        // At least one word, so that every entry has a place.
        self.words.resize(word + bytes.div_ceil(WORD).max(1), 0);
        self.entries.push(Entry { word, bytes, span });
        self.words[word..].as_mut_ptr()
    }
}

impl KernelArgs for Args<'_> {
    fn fill<'a>(&'a self, table: &mut ArgTable<'a>) {
        for entry in &self.entries {
            table.push(
                self.words[entry.word..].as_ptr().cast::<c_void>(),
                entry.bytes,
            );
            table.spans.extend(entry.span.clone());
        }
    }
}

impl KernelArgs for &Args<'_> {
    fn fill<'a>(&'a self, table: &mut ArgTable<'a>) {
        (**self).fill(table);
    }
}

impl KernelArgs for &mut Args<'_> {
    fn fill<'a>(&'a self, table: &mut ArgTable<'a>) {
        (**self).fill(table);
    }
}

impl fmt::Debug for Args<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.entries.iter().map(|entry| entry.bytes))
            .finish()
    }
}
