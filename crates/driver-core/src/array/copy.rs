//! Copies of arrays: boxes of texels, to and from host slices, device memory and other arrays.

use std::ffi::c_void;

use cuprum_driver_sys::{CUDA_MEMCPY3D, CUarray, CUmemorytype};

use super::Array;
use crate::call::call;
use crate::memory::{DeviceCopy, DeviceView, DeviceViewMut, queue, settle};
use crate::stream::Stream;
use crate::tracking::Access;
use crate::{Error, ErrorKind, Result};

/// A box of texels in an array: x counts texels, y rows, z slices, layers or faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first texel.
    pub origin: [usize; 3],
    /// Texels, rows and slices.
    pub extent: [usize; 3],
}

impl Region {
    /// All of an array.
    #[must_use]
    pub fn whole(array: &Array) -> Self {
        Self {
            origin: [0; 3],
            extent: array.extent(),
        }
    }

    fn is_empty(&self) -> bool {
        self.extent.contains(&0)
    }

    fn check(&self, array: &Array) -> Result<()> {
        let limits = array.extent();
        let inside = (0..3).all(|axis| {
            self.origin[axis]
                .checked_add(self.extent[axis])
                .is_some_and(|end| end <= limits[axis])
        });
        if inside {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::InvalidArgument,
            format!(
                "a region of {:?} texels from {:?} leaves the array of {limits:?}",
                self.extent, self.origin
            ),
        ))
    }

    /// Checks that `bytes` bytes hold the region's rows, `pitch` bytes apart, slices following each other.
    fn check_linear(&self, texel: usize, pitch: usize, bytes: usize) -> Result<()> {
        let [width, height, depth] = self.extent;
        let row = width.checked_mul(texel);
        let needed = row.and_then(|row| {
            let rows = height.checked_mul(depth)?;
            (rows - 1).checked_mul(pitch)?.checked_add(row)
        });
        match (row, needed) {
            (Some(row), Some(needed)) if row <= pitch && needed <= bytes => Ok(()),
            _ => Err(Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "{depth} slices of {height} rows of {width} texels of {texel} bytes, {pitch} bytes apart, do not lie in \
                     {bytes} bytes"
                ),
            )),
        }
    }
}

/// One end of a copy.
enum End<'a> {
    Array(&'a Array, [usize; 3]),
    Host(*mut c_void, usize),
    Device(u64, usize),
}

/// The description of a copy of `extent`, in texels of `texel` bytes.
fn describe(dst: &End<'_>, src: &End<'_>, extent: [usize; 3], texel: usize) -> CUDA_MEMCPY3D {
    let [width, height, depth] = extent;
    let mut copy = CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: CUmemorytype::HOST,
        srcHost: std::ptr::null(),
        srcDevice: 0,
        srcArray: CUarray::NULL,
        reserved0: std::ptr::null_mut(),
        srcPitch: 0,
        srcHeight: height,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: CUmemorytype::HOST,
        dstHost: std::ptr::null_mut(),
        dstDevice: 0,
        dstArray: CUarray::NULL,
        reserved1: std::ptr::null_mut(),
        dstPitch: 0,
        dstHeight: height,
        WidthInBytes: width * texel,
        Height: height,
        Depth: depth,
    };
    match *src {
        End::Array(array, [x, y, z]) => {
            copy.srcMemoryType = CUmemorytype::ARRAY;
            copy.srcArray = array.raw();
            (copy.srcXInBytes, copy.srcY, copy.srcZ) = (x * texel, y, z);
        }
        End::Host(host, pitch) => (copy.srcHost, copy.srcPitch) = (host.cast_const(), pitch),
        End::Device(address, pitch) => {
            copy.srcMemoryType = CUmemorytype::DEVICE;
            (copy.srcDevice, copy.srcPitch) = (address, pitch);
        }
    }
    match *dst {
        End::Array(array, [x, y, z]) => {
            copy.dstMemoryType = CUmemorytype::ARRAY;
            copy.dstArray = array.raw();
            (copy.dstXInBytes, copy.dstY, copy.dstZ) = (x * texel, y, z);
        }
        End::Host(host, pitch) => (copy.dstHost, copy.dstPitch) = (host, pitch),
        End::Device(address, pitch) => {
            copy.dstMemoryType = CUmemorytype::DEVICE;
            (copy.dstDevice, copy.dstPitch) = (address, pitch);
        }
    }
    copy
}

/// Queues a copy.
///
/// # Safety
/// The description's ends are valid for it until it has finished.
unsafe fn submit(stream: &Stream, copy: &CUDA_MEMCPY3D) -> Result<(), crate::call::Failure> {
    // SAFETY: the caller vouches for the ends; the stream is of the current context.
    unsafe {
        call!(
            stream.context().driver(),
            cuMemcpy3DAsync_v2(copy, stream.raw())
        )
    }
}

impl Array {
    /// Copies texels from the host into a region; rows lie `pitch` bytes apart, slices follow each other. `source` may be
    /// changed as soon as this returns.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if the region leaves the array or `source` is too short; what the driver returns; the
    /// failure of earlier work.
    pub fn write(&self, region: Region, source: &[u8], pitch: usize) -> Result<()> {
        region.check(self)?;
        if region.is_empty() {
            return Ok(());
        }
        region.check_linear(self.texel_bytes(), pitch, source.len())?;
        let host = source.as_ptr().cast_mut().cast::<c_void>();
        let copy = describe(
            &End::Array(self, region.origin),
            &End::Host(host, pitch),
            region.extent,
            self.texel_bytes(),
        );
        let stream = self.stream();
        queue(stream, &[Some(self.span(Access::Write))], || {
            // SAFETY: the region lies in this array, which is borrowed; the rows lie in `source`, which is borrowed until the
            // copy has finished, and are only read.
            unsafe { submit(stream, &copy) }
        })?;
        settle(stream)
    }

    /// Copies the texels of a region to the host; rows come to lie `pitch` bytes apart, slices follow each other. Waits for
    /// the work that writes them.
    ///
    /// # Errors
    /// As [`Array::write`].
    pub fn read(&self, region: Region, target: &mut [u8], pitch: usize) -> Result<()> {
        region.check(self)?;
        if region.is_empty() {
            return Ok(());
        }
        region.check_linear(self.texel_bytes(), pitch, target.len())?;
        let copy = describe(
            &End::Host(target.as_mut_ptr().cast::<c_void>(), pitch),
            &End::Array(self, region.origin),
            region.extent,
            self.texel_bytes(),
        );
        let stream = self.stream();
        queue(stream, &[Some(self.span(Access::Read))], || {
            // SAFETY: the region lies in this array, which is borrowed; the rows lie in `target`, which is borrowed
            // exclusively until the copy has finished.
            unsafe { submit(stream, &copy) }
        })?;
        settle(stream)
    }

    /// Copies from device memory into a region, on `stream`; rows lie `pitch` bytes apart, slices follow each other. The host
    /// does not wait.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if the region leaves the array or the source is too short;
    /// [`ErrorKind::WrongContext`]; what the driver returns.
    pub fn copy_from<T: DeviceCopy>(
        &self,
        stream: &Stream,
        region: Region,
        source: DeviceView<'_, T>,
        pitch: usize,
    ) -> Result<()> {
        region.check(self)?;
        if region.is_empty() {
            return Ok(());
        }
        region.check_linear(self.texel_bytes(), pitch, source.size_bytes())?;
        let copy = describe(
            &End::Array(self, region.origin),
            &End::Device(source.address(), pitch),
            region.extent,
            self.texel_bytes(),
        );
        let spans = [Some(self.span(Access::Write)), source.span()];
        queue(stream, &spans, || {
            // SAFETY: the region lies in this array and the rows in the view, whose records keep both in stream order.
            unsafe { submit(stream, &copy) }
        })
    }

    /// Copies a region into device memory, on `stream`, as [`Array::copy_from`] the other way.
    ///
    /// # Errors
    /// As [`Array::copy_from`].
    pub fn copy_to<T: DeviceCopy>(
        &self,
        stream: &Stream,
        region: Region,
        target: &mut DeviceViewMut<'_, T>,
        pitch: usize,
    ) -> Result<()> {
        region.check(self)?;
        if region.is_empty() {
            return Ok(());
        }
        region.check_linear(self.texel_bytes(), pitch, target.size_bytes())?;
        let copy = describe(
            &End::Device(target.address(), pitch),
            &End::Array(self, region.origin),
            region.extent,
            self.texel_bytes(),
        );
        let spans = [Some(self.span(Access::Read)), target.span()];
        queue(stream, &spans, || {
            // SAFETY: the region lies in this array and the rows in the view, whose records keep both in stream order.
            unsafe { submit(stream, &copy) }
        })
    }

    /// Copies a region of another array to `origin` of this one, on `stream`. The host does not wait.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if a region leaves its array or texels differ in size; [`ErrorKind::WrongContext`];
    /// what the driver returns.
    pub fn copy_from_array(
        &self,
        stream: &Stream,
        origin: [usize; 3],
        source: &Self,
        region: Region,
    ) -> Result<()> {
        region.check(source)?;
        Region { origin, ..region }.check(self)?;
        if self.texel_bytes() != source.texel_bytes() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "cannot copy texels of {} bytes to texels of {}",
                    source.texel_bytes(),
                    self.texel_bytes()
                ),
            ));
        }
        if region.is_empty() {
            return Ok(());
        }
        let copy = describe(
            &End::Array(self, origin),
            &End::Array(source, region.origin),
            region.extent,
            self.texel_bytes(),
        );
        let spans = [
            Some(self.span(Access::Write)),
            Some(source.span(Access::Read)),
        ];
        queue(stream, &spans, || {
            // SAFETY: both regions lie in their arrays, which are borrowed and whose records keep them in stream order.
            unsafe { submit(stream, &copy) }
        })
    }
}
