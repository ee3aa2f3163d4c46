//! Handles: numbers that the program holds for objects of the driver.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// A new number, never given out before in this process.
pub(crate) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The handle that shows the number `id`: never null, never one of the small values with a meaning of their own, and
/// never an address, so that a program that looks into a handle fails at once.
pub(crate) fn handle(id: u64) -> *mut c_void {
    std::ptr::without_provenance_mut((id as usize + 0xff) << 4)
}

/// The number that a handle shows, whatever the program passes.
fn id(handle: *mut c_void) -> Option<u64> {
    let value = handle.addr();
    let number = value.is_multiple_of(16).then_some((value >> 4) as u64)?;
    number.checked_sub(0xff)
}

/// The objects of one kind by their number. A handle that was destroyed, or never made, finds nothing.
#[derive(Debug)]
pub(crate) struct Registry<T> {
    objects: RwLock<HashMap<u64, Arc<T>>>,
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self {
            objects: RwLock::default(),
        }
    }
}

impl<T> Registry<T> {
    /// Adds an object under its number.
    pub(crate) fn insert(&self, id: u64, object: Arc<T>) {
        self.objects
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id, object);
    }

    /// The object behind a handle.
    pub(crate) fn get(&self, handle: *mut c_void) -> Option<Arc<T>> {
        self.objects
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&id(handle)?)
            .cloned()
    }

    /// Takes the object behind a handle.
    pub(crate) fn remove(&self, handle: *mut c_void) -> Option<Arc<T>> {
        self.objects
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&id(handle)?)
    }

    /// Takes all objects that `which` chooses.
    pub(crate) fn extract(&self, which: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects
            .extract_if(|_, object| which(object))
            .map(|(_, object)| object)
            .collect()
    }

    /// All objects.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.objects
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .cloned()
            .collect()
    }

    /// How many objects there are.
    pub(crate) fn len(&self) -> usize {
        self.objects
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_live_handles_find_their_object() {
        let registry = Registry::default();
        let number = next_id();
        registry.insert(number, Arc::new("it"));
        let it = handle(number);
        assert_eq!(registry.get(it).as_deref(), Some(&"it"));
        for wrong in [
            0usize,
            1,
            2,
            0xff0,
            it.addr() + 1,
            it.addr() + 16,
            usize::MAX,
        ] {
            assert!(
                registry
                    .get(std::ptr::without_provenance_mut(wrong))
                    .is_none(),
                "{wrong:#x}"
            );
        }
        assert!(registry.remove(it).is_some());
        assert!(registry.get(it).is_none() && registry.remove(it).is_none());
    }
}
