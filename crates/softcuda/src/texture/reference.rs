//! Texture and surface references of old PTX (`.texref`, `.surfref`).
//!
//! A reference is a module variable that the host binds. A launch sees its references as they are bound when it is queued,
//! each as an object that goes by the variable's address.

use std::sync::{Arc, Mutex};

use cuprum_driver_sys::{
    CUDA_TEXTURE_DESC, CUaddress_mode, CUarray_format, CUfilter_mode, CUresult, flags,
};

use super::object::{ALIGNMENT, Resource};
use super::{Array, Format, Surface, Texture};
use crate::context::Context;
use crate::error::{Outcome, fail, lock};
use crate::registry::next_id;

/// Flags by which the program binds an array: the only one there is, and it must be set.
fn check_flags(given: u32) -> Outcome {
    if given != flags::CU_TRSA_OVERRIDE_FORMAT {
        return fail(
            CUresult::INVALID_VALUE,
            format!("flags {given:#x}: an array is bound with CU_TRSA_OVERRIDE_FORMAT"),
        );
    }
    Ok(())
}

/// What a texture reference reads.
#[derive(Clone, Debug)]
enum Bound {
    Array(Arc<Array>),
    Mipmap(Arc<Array>),
    Linear {
        address: u64,
        bytes: u64,
    },
    Rows {
        address: u64,
        width: usize,
        height: usize,
        pitch: usize,
    },
}

/// What a texture reference has been told.
#[derive(Debug)]
struct State {
    bound: Option<Bound>,
    description: CUDA_TEXTURE_DESC,
    format: Format,
    /// The object that stands for it, until something changes.
    object: Option<Arc<Texture>>,
}

/// A texture reference.
#[derive(Debug)]
pub(crate) struct TextureReference {
    /// A number unique in the process.
    pub(crate) id: u64,
    pub(crate) context: Arc<Context>,
    /// The address of its module variable; `None` for one that the program created.
    pub(crate) variable: Option<u64>,
    state: Mutex<State>,
}

impl TextureReference {
    /// An unbound reference: points, clamped, by texels, integers as fractions, one float channel.
    pub(crate) fn new(context: &Arc<Context>, variable: Option<u64>) -> Self {
        Self {
            id: next_id(),
            context: Arc::clone(context),
            variable,
            state: Mutex::new(State {
                bound: None,
                description: CUDA_TEXTURE_DESC {
                    addressMode: [CUaddress_mode::CLAMP; 3],
                    filterMode: CUfilter_mode::POINT,
                    flags: 0,
                    maxAnisotropy: 1,
                    mipmapFilterMode: CUfilter_mode::POINT,
                    mipmapLevelBias: 0.0,
                    minMipmapLevelClamp: 0.0,
                    maxMipmapLevelClamp: f32::MAX,
                    borderColor: [0.0; 4],
                    reserved: [0; 12],
                },
                format: Format {
                    channel: super::Channel::F32,
                    channels: 1,
                },
                object: None,
            }),
        }
    }

    fn change<T>(&self, with: impl FnOnce(&mut State) -> Outcome<T>) -> Outcome<T> {
        let mut state = lock(&self.state);
        let result = with(&mut state)?;
        state.object = None;
        Ok(result)
    }

    /// Changes how it reads.
    pub(crate) fn describe(&self, with: impl FnOnce(&mut CUDA_TEXTURE_DESC)) -> Outcome {
        self.change(|state| {
            let mut description = state.description;
            with(&mut description);
            super::Sampler::new(&description)?;
            state.description = description;
            Ok(())
        })
    }

    /// How it reads.
    pub(crate) fn description(&self) -> CUDA_TEXTURE_DESC {
        lock(&self.state).description
    }

    pub(crate) fn bind_array(&self, array: &Arc<Array>, given: u32) -> Outcome {
        check_flags(given)?;
        self.change(|state| {
            state.format = array.shape.format;
            state.bound = Some(Bound::Array(Arc::clone(array)));
            Ok(())
        })
    }

    pub(crate) fn bind_mipmap(&self, array: &Arc<Array>, given: u32) -> Outcome {
        check_flags(given)?;
        self.change(|state| {
            state.format = array.shape.format;
            state.bound = Some(Bound::Mipmap(Arc::clone(array)));
            Ok(())
        })
    }

    /// Binds linear memory and answers how far it begins behind an aligned address.
    pub(crate) fn bind_linear(&self, address: u64, bytes: u64, may_offset: bool) -> Outcome<u64> {
        let offset = address % ALIGNMENT;
        if offset != 0 && !may_offset {
            return fail(
                CUresult::INVALID_VALUE,
                format!(
                    "texture memory at {address:#x} is no multiple of {ALIGNMENT} bytes, and nobody asks for the offset"
                ),
            );
        }
        self.change(|state| {
            state.bound = Some(Bound::Linear {
                address: address - offset,
                bytes: bytes + offset,
            });
            Ok(offset)
        })
    }

    pub(crate) fn bind_rows(
        &self,
        address: u64,
        format: Format,
        [width, height, pitch]: [usize; 3],
    ) -> Outcome {
        self.change(|state| {
            state.format = format;
            state.bound = Some(Bound::Rows {
                address,
                width,
                height,
                pitch,
            });
            Ok(())
        })
    }

    pub(crate) fn set_format(&self, code: CUarray_format, channels: u32) -> Outcome {
        let format = Format::new(code, channels)?;
        self.change(|state| {
            state.format = format;
            Ok(())
        })
    }

    pub(crate) fn format(&self) -> Format {
        lock(&self.state).format
    }

    /// The bound array.
    pub(crate) fn array(&self) -> Option<Arc<Array>> {
        match &lock(&self.state).bound {
            Some(Bound::Array(array)) => Some(Arc::clone(array)),
            _ => None,
        }
    }

    /// The bound linear memory.
    pub(crate) fn address(&self) -> Option<u64> {
        match lock(&self.state).bound {
            Some(Bound::Linear { address, .. } | Bound::Rows { address, .. }) => Some(address),
            _ => None,
        }
    }

    /// The object that stands for it now; `None` if nothing is bound.
    fn object(&self) -> Outcome<Option<Arc<Texture>>> {
        let mut state = lock(&self.state);
        if let Some(object) = &state.object {
            return Ok(Some(Arc::clone(object)));
        }
        let Some(bound) = state.bound.clone() else {
            return Ok(None);
        };
        let format = state.format;
        let resource = match bound {
            Bound::Array(array) => Resource::Array(array),
            Bound::Mipmap(array) => Resource::Mipmap(array),
            Bound::Linear { address, bytes } => Resource::Linear {
                address,
                format,
                bytes,
            },
            Bound::Rows {
                address,
                width,
                height,
                pitch,
            } => Resource::Pitched {
                address,
                format,
                width,
                height,
                pitch,
            },
        };
        let object = Arc::new(Texture::new(resource, &state.description, None)?);
        state.object = Some(Arc::clone(&object));
        Ok(Some(object))
    }
}

/// A surface reference.
#[derive(Debug)]
pub(crate) struct SurfaceReference {
    /// A number unique in the process.
    pub(crate) id: u64,
    pub(crate) context: Arc<Context>,
    /// The address of its module variable.
    pub(crate) variable: u64,
    surface: Mutex<Option<Arc<Surface>>>,
}

impl SurfaceReference {
    /// An unbound reference.
    pub(crate) fn new(context: &Arc<Context>, variable: u64) -> Self {
        Self {
            id: next_id(),
            context: Arc::clone(context),
            variable,
            surface: Mutex::default(),
        }
    }

    pub(crate) fn bind(&self, surface: Surface) {
        *lock(&self.surface) = Some(Arc::new(surface));
    }

    /// The bound array.
    pub(crate) fn array(&self) -> Option<Arc<Array>> {
        let surface = lock(&self.surface);
        surface.as_ref().map(|surface| Arc::clone(&surface.array))
    }
}

/// The references of a context's modules.
#[derive(Debug, Default)]
pub(crate) struct References {
    textures: Mutex<Vec<Arc<TextureReference>>>,
    surfaces: Mutex<Vec<Arc<SurfaceReference>>>,
}

/// References as objects, by the addresses of their variables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bindings {
    pub(super) textures: Vec<(u64, Arc<Texture>)>,
    pub(super) surfaces: Vec<(u64, Arc<Surface>)>,
}

impl References {
    /// The texture reference at this variable; a new one is made known.
    pub(crate) fn texture(
        &self,
        context: &Arc<Context>,
        variable: u64,
    ) -> (Arc<TextureReference>, bool) {
        let mut list = lock(&self.textures);
        if let Some(known) = list.iter().find(|known| known.variable == Some(variable)) {
            return (Arc::clone(known), false);
        }
        let reference = Arc::new(TextureReference::new(context, Some(variable)));
        list.push(Arc::clone(&reference));
        (reference, true)
    }

    /// The surface reference at this variable; a new one is made known.
    pub(crate) fn surface(
        &self,
        context: &Arc<Context>,
        variable: u64,
    ) -> (Arc<SurfaceReference>, bool) {
        let mut list = lock(&self.surfaces);
        if let Some(known) = list.iter().find(|known| known.variable == variable) {
            return (Arc::clone(known), false);
        }
        let reference = Arc::new(SurfaceReference::new(context, variable));
        list.push(Arc::clone(&reference));
        (reference, true)
    }

    /// Forgets the references of variables that `gone` chooses; answers their numbers.
    pub(crate) fn forget(&self, gone: impl Fn(u64) -> bool) -> (Vec<u64>, Vec<u64>) {
        let textures = lock(&self.textures)
            .extract_if(.., |reference| reference.variable.is_some_and(&gone))
            .map(|reference| reference.id)
            .collect();
        let surfaces = lock(&self.surfaces)
            .extract_if(.., |reference| gone(reference.variable))
            .map(|reference| reference.id)
            .collect();
        (textures, surfaces)
    }

    /// All that are bound, as objects.
    ///
    /// # Errors
    /// If a reference is bound and set in a way that no object can be.
    pub(super) fn bindings(&self) -> Outcome<Bindings> {
        let mut bindings = Bindings::default();
        for reference in lock(&self.textures).iter() {
            if let (Some(variable), Some(object)) = (reference.variable, reference.object()?) {
                bindings.textures.push((variable, object));
            }
        }
        for reference in lock(&self.surfaces).iter() {
            if let Some(surface) = &*lock(&reference.surface) {
                bindings
                    .surfaces
                    .push((reference.variable, Arc::clone(surface)));
            }
        }
        Ok(bindings)
    }
}
