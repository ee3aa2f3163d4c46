//! CUDA arrays, mipmapped arrays, and copies of one-dimensional ones.

use std::sync::Arc;

use cuprum_driver_sys::{
    CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR, CUDA_MEMCPY2D, CUarray, CUdeviceptr,
    CUmemorytype, CUmipmappedArray, CUresult, CUstream,
};

use super::{Host, HostSource, In, Out, entries};
use crate::context::{self, Context, array, current};
use crate::driver::driver;
use crate::error::{Outcome, fail};
use crate::memory::copy::BoxCopy;
use crate::registry::handle;
use crate::texture::{Array, Shape};
use crate::transfer::{copy, copy_async};

entries! {
    fn cuArrayCreate_v2(array: Out<CUarray>, description: In<CUDA_ARRAY_DESCRIPTOR>) {
        let context = current()?;
        array.require()?;
        let d = description.read()?;
        let shape = Shape::new(&CUDA_ARRAY3D_DESCRIPTOR {
            Width: d.Width,
            Height: d.Height,
            Depth: 0,
            Format: d.Format,
            NumChannels: d.NumChannels,
            Flags: 0,
        })?;
        array.set(CUarray(create(&context, shape, 1)?))
    }

    fn cuArray3DCreate_v2(array: Out<CUarray>, description: In<CUDA_ARRAY3D_DESCRIPTOR>) {
        let context = current()?;
        array.require()?;
        let shape = Shape::new(&description.read()?)?;
        array.set(CUarray(create(&context, shape, 1)?))
    }

    fn cuArrayGetDescriptor_v2(description: Out<CUDA_ARRAY_DESCRIPTOR>, handle: CUarray) {
        current()?;
        let full = array(handle)?.shape.description();
        description.set(CUDA_ARRAY_DESCRIPTOR {
            Width: full.Width,
            Height: full.Height,
            Format: full.Format,
            NumChannels: full.NumChannels,
        })
    }

    fn cuArray3DGetDescriptor_v2(description: Out<CUDA_ARRAY3D_DESCRIPTOR>, handle: CUarray) {
        current()?;
        description.set(array(handle)?.shape.description())
    }

    fn cuArrayDestroy(handle: CUarray) {
        current()?;
        let found = array(handle)?;
        if found.is_part {
            return fail(
                CUresult::INVALID_HANDLE,
                "a level of a mipmapped array is destroyed with that",
            );
        }
        destroy(&found)
    }

    fn cuMipmappedArrayCreate(
        mipmap: Out<CUmipmappedArray>,
        description: In<CUDA_ARRAY3D_DESCRIPTOR>,
        levels: u32,
    ) {
        let context = current()?;
        mipmap.require()?;
        let shape = Shape::new(&description.read()?)?;
        mipmap.set(CUmipmappedArray(create(&context, shape, levels)?))
    }

    fn cuMipmappedArrayGetLevel(part: Out<CUarray>, mipmap: CUmipmappedArray, level: u32) {
        current()?;
        part.require()?;
        let id = match array(CUarray(mipmap.0))?.part(level)? {
            Ok(part) => {
                let id = part.id;
                keep(part)?;
                id
            }
            Err(id) => id,
        };
        part.set(CUarray(handle(id)))
    }

    fn cuMipmappedArrayDestroy(mipmap: CUmipmappedArray) {
        current()?;
        destroy(&*array(CUarray(mipmap.0))?)
    }

    fn cuMemcpyDtoA_v2(dst: CUarray, offset: usize, src: CUdeviceptr, bytes: usize) {
        current()?;
        copy(line(End::Array(dst, offset), End::Device(src), bytes)?)
    }

    fn cuMemcpyAtoD_v2(dst: CUdeviceptr, src: CUarray, offset: usize, bytes: usize) {
        current()?;
        copy(line(End::Device(dst), End::Array(src, offset), bytes)?)
    }

    fn cuMemcpyHtoA_v2(dst: CUarray, offset: usize, src: HostSource, bytes: usize) {
        current()?;
        copy(line(End::Array(dst, offset), End::Host(src.0.0), bytes)?)
    }

    fn cuMemcpyAtoH_v2(dst: Host, src: CUarray, offset: usize, bytes: usize) {
        current()?;
        copy(line(End::Host(dst.0), End::Array(src, offset), bytes)?)
    }

    fn cuMemcpyAtoA_v2(dst: CUarray, dst_offset: usize, src: CUarray, src_offset: usize, bytes: usize) {
        current()?;
        copy(line(End::Array(dst, dst_offset), End::Array(src, src_offset), bytes)?)
    }

    fn cuMemcpyHtoAAsync_v2(dst: CUarray, offset: usize, src: HostSource, bytes: usize, stream: CUstream) {
        let stream = context::stream(stream)?;
        copy_async(line(End::Array(dst, offset), End::Host(src.0.0), bytes)?, &stream)
    }

    fn cuMemcpyAtoHAsync_v2(dst: Host, src: CUarray, offset: usize, bytes: usize, stream: CUstream) {
        let stream = context::stream(stream)?;
        copy_async(line(End::Host(dst.0), End::Array(src, offset), bytes)?, &stream)
    }
}

/// Creates an array and answers its handle.
fn create(context: &Arc<Context>, shape: Shape, levels: u32) -> Outcome<*mut std::ffi::c_void> {
    let array = Array::new(context, shape, levels)?;
    let id = array.id;
    keep(array)?;
    Ok(handle(id))
}

fn keep(array: Array) -> Outcome {
    let arrays = &driver()?.arrays;
    let (id, context) = (array.id, Arc::clone(&array.context));
    arrays.insert(id, Arc::new(array));
    context.keep(|| drop(arrays.remove(handle(id))))
}

/// Forgets an array and its levels; the memory is freed when the last object that reads it is gone.
fn destroy(array: &Array) -> Outcome {
    array.context.synchronize()?;
    let arrays = &driver()?.arrays;
    for part in array.part_ids() {
        arrays.remove(handle(part));
    }
    arrays.remove(handle(array.id));
    Ok(())
}

/// One end of a copy of a row.
#[derive(Clone, Copy)]
enum End {
    Array(CUarray, usize),
    Device(CUdeviceptr),
    Host(u64),
}

/// The copy of bytes of the first row.
fn line(dst: End, src: End, bytes: usize) -> Outcome<BoxCopy> {
    for end in [dst, src] {
        if let End::Array(handle, _) = end {
            let shape = array(handle)?.shape;
            if shape.extent[1] > 1 || shape.extent[2] > 1 {
                return fail(
                    CUresult::INVALID_VALUE,
                    "this copy is for arrays of one dimension",
                );
            }
        }
    }
    let pointer =
        |address: u64| std::ptr::with_exposed_provenance_mut::<std::ffi::c_void>(address as usize);
    let (dst_kind, dst_host, dst_device, dst_array, dst_x) = parts(dst);
    let (src_kind, src_host, src_device, src_array, src_x) = parts(src);
    let description = CUDA_MEMCPY2D {
        srcXInBytes: src_x,
        srcY: 0,
        srcMemoryType: src_kind,
        srcHost: pointer(src_host),
        srcDevice: src_device,
        srcArray: src_array,
        srcPitch: 0,
        dstXInBytes: dst_x,
        dstY: 0,
        dstMemoryType: dst_kind,
        dstHost: pointer(dst_host),
        dstDevice: dst_device,
        dstArray: dst_array,
        dstPitch: 0,
        WidthInBytes: bytes,
        Height: usize::from(bytes > 0),
    };
    BoxCopy::from_2d(&driver()?.space, &description, false)
}

fn parts(end: End) -> (CUmemorytype, u64, CUdeviceptr, CUarray, usize) {
    match end {
        End::Array(array, x) => (CUmemorytype::ARRAY, 0, 0, array, x),
        End::Device(address) => (CUmemorytype::DEVICE, 0, address, CUarray::NULL, 0),
        End::Host(address) => (CUmemorytype::HOST, address, 0, CUarray::NULL, 0),
    }
}
