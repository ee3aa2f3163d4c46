//! Handles of texture and surface objects, and the table in which a launch finds them.

use std::sync::{Arc, Mutex};

use super::reference::{Bindings, References};
use super::{Surface, Texture};
use crate::error::{Outcome, lock};

/// Objects by their handles. A launch takes the table as it is when it is queued: objects that are destroyed later live until
/// the launch has ended, and looking one up takes no lock.
#[derive(Debug)]
pub(crate) struct Handles<T> {
    /// What the handles of this table have in common, so that a texture is not taken for a surface.
    tag: u64,
    slots: Mutex<Arc<Vec<Slot<T>>>>,
}

/// A place in the table: its object, and how many it has had.
#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    object: Option<Arc<T>>,
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Self {
            generation: self.generation,
            object: self.object.clone(),
        }
    }
}

/// Bits of a handle that name the place; the generation is above them, the tag on top.
const PLACE_BITS: u32 = 20;
const GENERATION_BITS: u32 = 32;

impl<T> Handles<T> {
    /// A table whose handles carry `tag`, which is not zero.
    pub(crate) fn new(tag: u8) -> Self {
        Self {
            tag: u64::from(tag) << (PLACE_BITS + GENERATION_BITS),
            slots: Mutex::default(),
        }
    }

    /// Adds an object; `None` if there are 2^20 already.
    pub(crate) fn insert(&self, object: Arc<T>) -> Option<u64> {
        let mut slots = lock(&self.slots);
        let slots = Arc::make_mut(&mut *slots);
        let place = match slots.iter().position(|slot| slot.object.is_none()) {
            Some(place) => place,
            None if slots.len() < 1 << PLACE_BITS => {
                slots.push(Slot {
                    generation: 0,
                    object: None,
                });
                slots.len() - 1
            }
            None => return None,
        };
        let slot = &mut slots[place];
        slot.generation = slot.generation.wrapping_add(1);
        slot.object = Some(object);
        Some(self.tag | u64::from(slot.generation) << PLACE_BITS | place as u64)
    }

    /// Takes an object out.
    pub(crate) fn remove(&self, handle: u64) -> Option<Arc<T>> {
        let mut slots = lock(&self.slots);
        find(&slots, self.tag, handle)?;
        let place = (handle & ((1 << PLACE_BITS) - 1)) as usize;
        Arc::make_mut(&mut *slots)[place].object.take()
    }

    /// The object of a handle.
    pub(crate) fn get(&self, handle: u64) -> Option<Arc<T>> {
        find(&lock(&self.slots), self.tag, handle).cloned()
    }

    /// Takes all objects out.
    fn clear(&self) {
        let mut slots = lock(&self.slots);
        for slot in Arc::make_mut(&mut *slots) {
            slot.object = None;
        }
    }

    /// The objects as they are now.
    fn snapshot(&self) -> Snapshot<T> {
        Snapshot {
            tag: self.tag,
            slots: Arc::clone(&lock(&self.slots)),
        }
    }
}

fn find<T>(slots: &[Slot<T>], tag: u64, handle: u64) -> Option<&Arc<T>> {
    let slot = slots.get((handle & ((1 << PLACE_BITS) - 1)) as usize)?;
    let expected = tag | u64::from(slot.generation) << PLACE_BITS;
    (handle >> PLACE_BITS == expected >> PLACE_BITS)
        .then_some(slot.object.as_ref())
        .flatten()
}

/// The objects of a table at one moment.
#[derive(Debug)]
struct Snapshot<T> {
    tag: u64,
    slots: Arc<Vec<Slot<T>>>,
}

impl<T> Clone for Snapshot<T> {
    fn clone(&self) -> Self {
        Self {
            tag: self.tag,
            slots: Arc::clone(&self.slots),
        }
    }
}

/// The texture and surface objects of a context.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) textures: Handles<Texture>,
    pub(crate) surfaces: Handles<Surface>,
    pub(crate) references: References,
}

impl Default for Objects {
    fn default() -> Self {
        Self {
            textures: Handles::new(1),
            surfaces: Handles::new(2),
            references: References::default(),
        }
    }
}

impl Objects {
    /// Lets go of all objects; answers the numbers of the references.
    pub(crate) fn clear(&self) -> (Vec<u64>, Vec<u64>) {
        self.textures.clear();
        self.surfaces.clear();
        self.references.forget(|_| true)
    }

    /// The objects as they are now, for a launch.
    ///
    /// # Errors
    /// If a reference is bound and set in a way that no object can be.
    pub(crate) fn images(&self) -> Outcome<Images> {
        Ok(Images {
            textures: self.textures.snapshot(),
            surfaces: self.surfaces.snapshot(),
            bindings: self.references.bindings()?,
        })
    }
}

/// The texture and surface objects that a launch can use.
#[derive(Clone, Debug)]
pub(crate) struct Images {
    textures: Snapshot<Texture>,
    surfaces: Snapshot<Surface>,
    bindings: Bindings,
}

impl Images {
    /// The texture with this handle, or bound to the reference at this address.
    pub(crate) fn texture(&self, handle: u64) -> Option<&Texture> {
        let texture = find(&self.textures.slots, self.textures.tag, handle);
        texture
            .or_else(|| bound(&self.bindings.textures, handle))
            .map(|texture| &**texture)
    }

    /// The surface with this handle, or bound to the reference at this address.
    pub(crate) fn surface(&self, handle: u64) -> Option<&Surface> {
        let surface = find(&self.surfaces.slots, self.surfaces.tag, handle);
        surface
            .or_else(|| bound(&self.bindings.surfaces, handle))
            .map(|surface| &**surface)
    }
}

fn bound<T>(bindings: &[(u64, Arc<T>)], variable: u64) -> Option<&Arc<T>> {
    let found = bindings.iter().find(|binding| binding.0 == variable);
    found.map(|binding| &binding.1)
}
