//! Copies and fills.

use cuprum_driver_sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUcontext, CUdeviceptr, CUresult, CUstream};

use super::{Host, HostSource, In, entries};
use crate::context::{self, by_handle, current};
use crate::driver::driver;
use crate::error::{Outcome, fail};
use crate::memory::copy::BoxCopy;
use crate::transfer::{Fill, copy, copy_async, copy_between, fill as fill_now};

/// One end of a copy of a line.
enum End {
    /// Device memory; checked.
    Device(CUdeviceptr),
    /// Host memory; what the caller says.
    Host(u64),
    /// Whichever the address says.
    Either(CUdeviceptr),
}

impl End {
    fn check(&self, what: &str, bytes: u64) -> Outcome<u64> {
        let space = &driver()?.space;
        match *self {
            Self::Device(address) if space.is_page_locked(address, bytes) => Ok(address),
            Self::Device(address) => space.check(what, address, bytes).map(|_| address),
            Self::Host(0) | Self::Either(0) => {
                fail(CUresult::INVALID_VALUE, format!("the {what} is null"))
            }
            Self::Host(address) => Ok(address),
            Self::Either(address) if space.contains(address) => {
                Self::Device(address).check(what, bytes)
            }
            Self::Either(address) => Ok(address),
        }
    }
}

/// The copy of `bytes` bytes, none of them if that is zero, whatever the ends.
fn line(dst: &End, src: &End, bytes: usize) -> Outcome<BoxCopy> {
    current()?;
    let len = bytes as u64;
    if len == 0 {
        return Ok(BoxCopy::line(0, 0, 0));
    }
    Ok(BoxCopy::line(
        dst.check("destination", len)?,
        src.check("source", len)?,
        len,
    ))
}

entries! {
    fn cuMemcpy(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize) {
        copy(line(&End::Either(dst), &End::Either(src), bytes)?)
    }

    fn cuMemcpyHtoD_v2(dst: CUdeviceptr, src: HostSource, bytes: usize) {
        copy(line(&End::Device(dst), &End::Host(src.0.0), bytes)?)
    }

    fn cuMemcpyDtoH_v2(dst: Host, src: CUdeviceptr, bytes: usize) {
        copy(line(&End::Host(dst.0), &End::Device(src), bytes)?)
    }

    fn cuMemcpyDtoD_v2(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize) {
        copy(line(&End::Device(dst), &End::Device(src), bytes)?)
    }

    fn cuMemcpyAsync(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize, stream: CUstream) {
        let stream = context::stream(stream)?;
        copy_async(line(&End::Either(dst), &End::Either(src), bytes)?, &stream)
    }

    fn cuMemcpyHtoDAsync_v2(dst: CUdeviceptr, src: HostSource, bytes: usize, stream: CUstream) {
        let stream = context::stream(stream)?;
        copy_async(line(&End::Device(dst), &End::Host(src.0.0), bytes)?, &stream)
    }

    fn cuMemcpyDtoHAsync_v2(dst: Host, src: CUdeviceptr, bytes: usize, stream: CUstream) {
        let stream = context::stream(stream)?;
        copy_async(line(&End::Host(dst.0), &End::Device(src), bytes)?, &stream)
    }

    fn cuMemcpyDtoDAsync_v2(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize, stream: CUstream) {
        let stream = context::stream(stream)?;
        copy_async(line(&End::Device(dst), &End::Device(src), bytes)?, &stream)
    }

    fn cuMemcpyPeer(dst: CUdeviceptr, dst_context: CUcontext, src: CUdeviceptr, src_context: CUcontext, bytes: usize) {
        let contexts = [by_handle(dst_context)?, by_handle(src_context)?];
        contexts.iter().try_for_each(|context| context.check())?;
        copy_between(line(&End::Device(dst), &End::Device(src), bytes)?, [&contexts[0], &contexts[1]])
    }

    fn cuMemcpyPeerAsync(
        dst: CUdeviceptr,
        dst_context: CUcontext,
        src: CUdeviceptr,
        src_context: CUcontext,
        bytes: usize,
        stream: CUstream,
    ) {
        let stream = context::stream(stream)?;
        by_handle(dst_context)?.check()?;
        by_handle(src_context)?.check()?;
        copy_async(line(&End::Device(dst), &End::Device(src), bytes)?, &stream)
    }

    fn cuMemcpy2D_v2(description: In<CUDA_MEMCPY2D>) {
        current()?;
        copy(BoxCopy::from_2d(&driver()?.space, &description.read()?, false)?)
    }

    fn cuMemcpy2DUnaligned_v2(description: In<CUDA_MEMCPY2D>) {
        current()?;
        copy(BoxCopy::from_2d(&driver()?.space, &description.read()?, true)?)
    }

    fn cuMemcpy2DAsync_v2(description: In<CUDA_MEMCPY2D>, stream: CUstream) {
        let stream = context::stream(stream)?;
        copy_async(BoxCopy::from_2d(&driver()?.space, &description.read()?, false)?, &stream)
    }

    fn cuMemcpy3D_v2(description: In<CUDA_MEMCPY3D>) {
        current()?;
        copy(BoxCopy::from_3d(&driver()?.space, &description.read()?)?)
    }

    fn cuMemcpy3DAsync_v2(description: In<CUDA_MEMCPY3D>, stream: CUstream) {
        let stream = context::stream(stream)?;
        copy_async(BoxCopy::from_3d(&driver()?.space, &description.read()?)?, &stream)
    }

    fn cuMemsetD8_v2(dst: CUdeviceptr, value: u8, count: usize) {
        fill_now(row(dst, value.to_ne_bytes(), count)?, None)
    }

    fn cuMemsetD16_v2(dst: CUdeviceptr, value: u16, count: usize) {
        fill_now(row(dst, value.to_ne_bytes(), count)?, None)
    }

    fn cuMemsetD32_v2(dst: CUdeviceptr, value: u32, count: usize) {
        fill_now(row(dst, value.to_ne_bytes(), count)?, None)
    }

    fn cuMemsetD8Async(dst: CUdeviceptr, value: u8, count: usize, stream: CUstream) {
        let stream = context::stream(stream)?;
        fill_now(row(dst, value.to_ne_bytes(), count)?, Some(&stream))
    }

    fn cuMemsetD16Async(dst: CUdeviceptr, value: u16, count: usize, stream: CUstream) {
        let stream = context::stream(stream)?;
        fill_now(row(dst, value.to_ne_bytes(), count)?, Some(&stream))
    }

    fn cuMemsetD32Async(dst: CUdeviceptr, value: u32, count: usize, stream: CUstream) {
        let stream = context::stream(stream)?;
        fill_now(row(dst, value.to_ne_bytes(), count)?, Some(&stream))
    }

    fn cuMemsetD2D8_v2(dst: CUdeviceptr, pitch: usize, value: u8, width: usize, height: usize) {
        fill_now(rows(dst, pitch, value.to_ne_bytes(), width, height)?, None)
    }

    fn cuMemsetD2D16_v2(dst: CUdeviceptr, pitch: usize, value: u16, width: usize, height: usize) {
        fill_now(rows(dst, pitch, value.to_ne_bytes(), width, height)?, None)
    }

    fn cuMemsetD2D32_v2(dst: CUdeviceptr, pitch: usize, value: u32, width: usize, height: usize) {
        fill_now(rows(dst, pitch, value.to_ne_bytes(), width, height)?, None)
    }
}

fn row<const N: usize>(dst: CUdeviceptr, element: [u8; N], count: usize) -> Outcome<Fill<N>> {
    rows(dst, 0, element, count, 1)
}

/// The fill, with all rows checked to lie in one allocation and elements to be aligned.
fn rows<const N: usize>(
    dst: CUdeviceptr,
    pitch: usize,
    element: [u8; N],
    width: usize,
    height: usize,
) -> Outcome<Fill<N>> {
    current()?;
    let (pitch, width, height) = (pitch as u64, width as u64, height as u64);
    let fill = Fill {
        dst,
        pitch,
        element,
        width,
        height,
    };
    if width == 0 || height == 0 {
        return Ok(fill);
    }
    if !dst.is_multiple_of(N as u64) || !pitch.is_multiple_of(N as u64) {
        return fail(
            CUresult::INVALID_VALUE,
            format!("address {dst:#x} or pitch {pitch} is no multiple of {N} bytes"),
        );
    }
    let bytes = width.checked_mul(N as u64);
    let span = bytes.and_then(|bytes| (height - 1).checked_mul(pitch)?.checked_add(bytes));
    let (Some(bytes), Some(span)) = (bytes, span) else {
        return fail(
            CUresult::INVALID_VALUE,
            format!("{height} rows of {width} elements"),
        );
    };
    if height > 1 && pitch < bytes {
        return fail(
            CUresult::INVALID_VALUE,
            format!("a pitch of {pitch} bytes for rows of {bytes}"),
        );
    }
    End::Device(dst).check("destination", span)?;
    Ok(fill)
}
