//! Texture and surface objects, and references of old PTX.

use std::sync::Arc;

use cuprum_driver_sys::{
    CUDA_ARRAY_DESCRIPTOR, CUDA_RESOURCE_DESC, CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC,
    CUaddress_mode, CUarray, CUarray_format, CUdeviceptr, CUfilter_mode, CUmipmappedArray,
    CUmodule, CUresourcetype, CUresult, CUsurfObject, CUsurfref, CUtexObject, CUtexref,
};

use super::module::by_handle;
use super::{In, List, Out, Text, entries};
use crate::context::{array, current};
use crate::driver::driver;
use crate::error::{Outcome, fail};
use crate::registry::handle;
use crate::texture::{
    Array, Created, Format, Resource, Surface, SurfaceReference, Texture, TextureReference,
};

entries! {
    fn cuTexObjectCreate(
        texture: Out<CUtexObject>,
        resource: In<CUDA_RESOURCE_DESC>,
        description: In<CUDA_TEXTURE_DESC>,
        view: In<CUDA_RESOURCE_VIEW_DESC>,
    ) {
        let context = current()?;
        texture.require()?;
        let created = Created {
            resource: resource.read()?,
            description: description.read()?,
            view: view.read_if_given(),
        };
        let looked_up = look_up(&created.resource)?;
        let mut object = Texture::new(looked_up, &created.description, created.view.as_ref())?;
        object.created = Some(Box::new(created));
        match context.objects.textures.insert(Arc::new(object)) {
            Some(number) => texture.set(number),
            None => fail(CUresult::OUT_OF_MEMORY, "too many texture objects"),
        }
    }

    fn cuTexObjectDestroy(texture: CUtexObject) {
        if current()?.objects.textures.remove(texture).is_none() {
            return no_object("texture", texture);
        }
        Ok(())
    }

    fn cuTexObjectGetResourceDesc(resource: Out<CUDA_RESOURCE_DESC>, texture: CUtexObject) {
        resource.set(created(texture)?.resource)
    }

    fn cuTexObjectGetTextureDesc(description: Out<CUDA_TEXTURE_DESC>, texture: CUtexObject) {
        description.set(created(texture)?.description)
    }

    fn cuTexObjectGetResourceViewDesc(view: Out<CUDA_RESOURCE_VIEW_DESC>, texture: CUtexObject) {
        match created(texture)?.view {
            Some(known) => view.set(known),
            None => fail(CUresult::INVALID_VALUE, "the texture object has no resource view"),
        }
    }

    fn cuSurfObjectCreate(surface: Out<CUsurfObject>, resource: In<CUDA_RESOURCE_DESC>) {
        let context = current()?;
        surface.require()?;
        let Resource::Array(array) = look_up(&resource.read()?)? else {
            return fail(CUresult::INVALID_VALUE, "a surface object is made of an array");
        };
        let object = Surface::new(array)?;
        match context.objects.surfaces.insert(Arc::new(object)) {
            Some(number) => surface.set(number),
            None => fail(CUresult::OUT_OF_MEMORY, "too many surface objects"),
        }
    }

    fn cuSurfObjectDestroy(surface: CUsurfObject) {
        if current()?.objects.surfaces.remove(surface).is_none() {
            return no_object("surface", surface);
        }
        Ok(())
    }

    fn cuSurfObjectGetResourceDesc(resource: Out<CUDA_RESOURCE_DESC>, surface: CUsurfObject) {
        let Some(object) = current()?.objects.surfaces.get(surface) else {
            return no_object("surface", surface);
        };
        resource.set(CUDA_RESOURCE_DESC {
            resType: CUresourcetype::ARRAY,
            res: cuprum_driver_sys::CUDA_RESOURCE {
                array: CUarray(handle(object.array.id)),
            },
            flags: 0,
        })
    }

    fn cuModuleGetTexRef(reference: Out<CUtexref>, module: CUmodule, name: Text) {
        let module = by_handle(module)?;
        reference.require()?;
        let variable = module.find_reference(&name.read()?.to_string_lossy(), false)?;
        let (found, is_new) = module.context.objects.references.texture(&module.context, variable);
        if is_new {
            driver()?.texture_references.insert(found.id, Arc::clone(&found));
        }
        reference.set(CUtexref(handle(found.id)))
    }

    fn cuModuleGetSurfRef(reference: Out<CUsurfref>, module: CUmodule, name: Text) {
        let module = by_handle(module)?;
        reference.require()?;
        let variable = module.find_reference(&name.read()?.to_string_lossy(), true)?;
        let (found, is_new) = module.context.objects.references.surface(&module.context, variable);
        if is_new {
            driver()?.surface_references.insert(found.id, Arc::clone(&found));
        }
        reference.set(CUsurfref(handle(found.id)))
    }

    fn cuTexRefCreate(reference: Out<CUtexref>) {
        let context = current()?;
        reference.require()?;
        let new = TextureReference::new(&context, None);
        let id = new.id;
        driver()?.texture_references.insert(id, Arc::new(new));
        reference.set(CUtexref(handle(id)))
    }

    fn cuTexRefDestroy(reference: CUtexref) {
        let found = texture_reference(reference)?;
        if found.variable.is_some() {
            return fail(CUresult::INVALID_VALUE, "a module's texture reference ends with the module");
        }
        driver()?.texture_references.remove(reference.0);
        Ok(())
    }

    fn cuTexRefSetArray(reference: CUtexref, bound: CUarray, flags: u32) {
        texture_reference(reference)?.bind_array(&array(bound)?, flags)
    }

    fn cuTexRefSetMipmappedArray(reference: CUtexref, bound: CUmipmappedArray, flags: u32) {
        texture_reference(reference)?.bind_mipmap(&array(CUarray(bound.0))?, flags)
    }

    fn cuTexRefSetAddress_v2(offset: Out<usize>, reference: CUtexref, address: CUdeviceptr, bytes: usize) {
        let found = texture_reference(reference)?;
        let distance = found.bind_linear(address, bytes as u64, offset.is_given())?;
        offset.set_if_wanted(distance as usize);
        Ok(())
    }

    fn cuTexRefSetAddress2D_v3(
        reference: CUtexref,
        description: In<CUDA_ARRAY_DESCRIPTOR>,
        address: CUdeviceptr,
        pitch: usize,
    ) {
        let d = description.read()?;
        let format = Format::new(d.Format, d.NumChannels)?;
        texture_reference(reference)?.bind_rows(address, format, [d.Width, d.Height, pitch])
    }

    fn cuTexRefSetFormat(reference: CUtexref, format: CUarray_format, channels: i32) {
        texture_reference(reference)?.set_format(format, channels.max(0).cast_unsigned())
    }

    fn cuTexRefSetAddressMode(reference: CUtexref, dimension: i32, mode: CUaddress_mode) {
        let index = dimension_index(dimension)?;
        texture_reference(reference)?.describe(|d| d.addressMode[index] = mode)
    }

    fn cuTexRefSetFilterMode(reference: CUtexref, mode: CUfilter_mode) {
        texture_reference(reference)?.describe(|d| d.filterMode = mode)
    }

    fn cuTexRefSetFlags(reference: CUtexref, flags: u32) {
        texture_reference(reference)?.describe(|d| d.flags = flags)
    }

    fn cuTexRefSetMipmapFilterMode(reference: CUtexref, mode: CUfilter_mode) {
        texture_reference(reference)?.describe(|d| d.mipmapFilterMode = mode)
    }

    fn cuTexRefSetMipmapLevelBias(reference: CUtexref, bias: f32) {
        texture_reference(reference)?.describe(|d| d.mipmapLevelBias = bias)
    }

    fn cuTexRefSetMipmapLevelClamp(reference: CUtexref, least: f32, greatest: f32) {
        texture_reference(reference)?.describe(|d| {
            d.minMipmapLevelClamp = least;
            d.maxMipmapLevelClamp = greatest;
        })
    }

    fn cuTexRefSetMaxAnisotropy(reference: CUtexref, anisotropy: u32) {
        texture_reference(reference)?.describe(|d| d.maxAnisotropy = anisotropy)
    }

    fn cuTexRefSetBorderColor(reference: CUtexref, color: List<f32>) {
        color.require()?;
        // SAFETY: the manual's array of four, and not null.
        let border = std::array::from_fn(|index| unsafe { color.get(index) });
        texture_reference(reference)?.describe(|d| d.borderColor = border)
    }

    fn cuTexRefGetAddress_v2(address: Out<CUdeviceptr>, reference: CUtexref) {
        match texture_reference(reference)?.address() {
            Some(bound) => address.set(bound),
            None => fail(CUresult::INVALID_VALUE, "the texture reference has no linear memory"),
        }
    }

    fn cuTexRefGetArray(bound: Out<CUarray>, reference: CUtexref) {
        match texture_reference(reference)?.array() {
            Some(array) => bound.set(CUarray(handle(array.id))),
            None => fail(CUresult::INVALID_VALUE, "the texture reference has no array"),
        }
    }

    fn cuTexRefGetAddressMode(mode: Out<CUaddress_mode>, reference: CUtexref, dimension: i32) {
        let index = dimension_index(dimension)?;
        mode.set(texture_reference(reference)?.description().addressMode[index])
    }

    fn cuTexRefGetFilterMode(mode: Out<CUfilter_mode>, reference: CUtexref) {
        mode.set(texture_reference(reference)?.description().filterMode)
    }

    fn cuTexRefGetFormat(format: Out<CUarray_format>, channels: Out<i32>, reference: CUtexref) {
        let known = texture_reference(reference)?.format();
        format.set(known.channel.code())?;
        channels.set_if_wanted(known.channels.cast_signed());
        Ok(())
    }

    fn cuTexRefGetFlags(flags: Out<u32>, reference: CUtexref) {
        flags.set(texture_reference(reference)?.description().flags)
    }

    fn cuSurfRefSetArray(reference: CUsurfref, bound: CUarray, flags: u32) {
        if flags != 0 {
            return fail(CUresult::INVALID_VALUE, format!("flags {flags:#x}: there are none"));
        }
        surface_reference(reference)?.bind(Surface::new(array(bound)?)?);
        Ok(())
    }

    fn cuSurfRefGetArray(bound: Out<CUarray>, reference: CUsurfref) {
        match surface_reference(reference)?.array() {
            Some(array) => bound.set(CUarray(handle(array.id))),
            None => fail(CUresult::INVALID_VALUE, "the surface reference has no array"),
        }
    }
}

fn no_object<T>(what: &str, number: u64) -> Outcome<T> {
    fail(
        CUresult::INVALID_HANDLE,
        format!("{number:#x} is no {what} object of the current context"),
    )
}

/// What a texture object was created from.
fn created(texture: CUtexObject) -> Outcome<Created> {
    let object = current()?.objects.textures.get(texture);
    match object.and_then(|object| object.created.as_deref().copied()) {
        Some(created) => Ok(created),
        None => no_object("texture", texture),
    }
}

fn dimension_index(dimension: i32) -> Outcome<usize> {
    match usize::try_from(dimension) {
        Ok(index) if index < 3 => Ok(index),
        _ => fail(
            CUresult::INVALID_VALUE,
            format!("dimension {dimension}: 0, 1 or 2"),
        ),
    }
}

fn texture_reference(reference: CUtexref) -> Outcome<Arc<TextureReference>> {
    current()?;
    match driver()?.texture_references.get(reference.0) {
        Some(found) => {
            found.context.check()?;
            Ok(found)
        }
        None => fail(
            CUresult::INVALID_HANDLE,
            "the handle is not that of a live texture reference",
        ),
    }
}

fn surface_reference(reference: CUsurfref) -> Outcome<Arc<SurfaceReference>> {
    current()?;
    match driver()?.surface_references.get(reference.0) {
        Some(found) => {
            found.context.check()?;
            Ok(found)
        }
        None => fail(
            CUresult::INVALID_HANDLE,
            "the handle is not that of a live surface reference",
        ),
    }
}

/// The array or memory that a resource names.
fn look_up(resource: &CUDA_RESOURCE_DESC) -> Outcome<Resource> {
    if resource.flags != 0 {
        return fail(
            CUresult::INVALID_VALUE,
            "the flags of a resource must be zero",
        );
    }
    let mine = |found: Arc<Array>| -> Outcome<Arc<Array>> {
        if found.context.id != current()?.id {
            return fail(
                CUresult::INVALID_VALUE,
                "the array belongs to another context",
            );
        }
        Ok(found)
    };
    // SAFETY: the fields of the union are plain numbers, any bits of which are values; the type says which one counts.
    unsafe {
        Ok(match resource.resType {
            CUresourcetype::ARRAY => Resource::Array(mine(array(resource.res.array)?)?),
            CUresourcetype::MIPMAPPED_ARRAY => {
                Resource::Mipmap(mine(array(CUarray(resource.res.mipmap.0))?)?)
            }
            CUresourcetype::LINEAR => {
                let linear = resource.res.linear;
                Resource::Linear {
                    address: linear.devPtr,
                    format: Format::new(linear.format, linear.numChannels)?,
                    bytes: linear.sizeInBytes as u64,
                }
            }
            CUresourcetype::PITCH2D => {
                let rows = resource.res.pitch2D;
                Resource::Pitched {
                    address: rows.devPtr,
                    format: Format::new(rows.format, rows.numChannels)?,
                    width: rows.width,
                    height: rows.height,
                    pitch: rows.pitchInBytes,
                }
            }
            other => {
                return fail(
                    CUresult::INVALID_VALUE,
                    format!("resource type {} has no meaning", other.0),
                );
            }
        })
    }
}
