//! The last launches of a stream, for the list of those that can be guilty of a fault.

use std::collections::HashSet;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::context::lock;
use crate::error::LaunchRecord;

/// How many launches are remembered; a power of two.
const LEN: usize = 8;

/// A kernel's name that lives as long as the process, so that a record can point at it without counting.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct KernelName(pub(crate) String);

/// The one copy of `name`. Names are few: one for each distinct kernel of the program.
pub(crate) fn intern(name: &str) -> &'static KernelName {
    static NAMES: OnceLock<Mutex<HashSet<&'static KernelName>>> = OnceLock::new();
    let mut names = lock(NAMES.get_or_init(Mutex::default));
    let wanted = KernelName(name.to_owned());
    if let Some(known) = names.get(&wanted) {
        return known;
    }
    let leaked: &'static KernelName = Box::leak(Box::new(wanted));
    names.insert(leaked);
    leaked
}

/// A ring of launches, written without a lock. A reader may miss an entry that is being overwritten, which a list of
/// suspects can bear.
#[derive(Debug)]
pub(crate) struct Recent([Slot; LEN]);

#[derive(Debug)]
struct Slot {
    /// The position of the launch in its stream; 0 while the slot is empty or being written.
    position: AtomicU64,
    name: AtomicPtr<KernelName>,
    /// Three extents: 32, 16 and 16 bits.
    grid: AtomicU64,
    block: AtomicU64,
}

impl Recent {
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| Slot {
            position: AtomicU64::new(0),
            name: AtomicPtr::new(ptr::null_mut()),
            grid: AtomicU64::new(0),
            block: AtomicU64::new(0),
        }))
    }

    #[inline]
    pub(crate) fn push(
        &self,
        position: u64,
        name: &'static KernelName,
        grid: (u32, u32, u32),
        block: (u32, u32, u32),
    ) {
        let slot = &self.0[position as usize % LEN];
        slot.position.store(0, Ordering::Relaxed);
        slot.name
            .store(ptr::from_ref(name).cast_mut(), Ordering::Relaxed);
        slot.grid.store(pack(grid), Ordering::Relaxed);
        slot.block.store(pack(block), Ordering::Relaxed);
        slot.position.store(position, Ordering::Release);
    }

    /// The remembered launches after `completed`, oldest first.
    pub(crate) fn after(&self, completed: u64, stream: &str) -> Vec<LaunchRecord> {
        let mut found: Vec<_> = self.0.iter().filter_map(|slot| slot.read(stream)).collect();
        found.retain(|(position, _)| *position > completed);
        found.sort_by_key(|(position, _)| *position);
        found.into_iter().map(|(_, launch)| launch).collect()
    }
}

impl Slot {
    fn read(&self, stream: &str) -> Option<(u64, LaunchRecord)> {
        let position = self.position.load(Ordering::Acquire);
        let name = self.name.load(Ordering::Relaxed);
        if position == 0 || name.is_null() {
            return None;
        }
        // SAFETY: the pointer was stored from a `&'static KernelName`, and only such are ever stored.
        let name = unsafe { &*name };
        let (grid, block) = (
            unpack(self.grid.load(Ordering::Relaxed)),
            unpack(self.block.load(Ordering::Relaxed)),
        );
        let launch = LaunchRecord {
            kernel: name.0.clone(),
            stream: stream.to_owned(),
            grid,
            block,
        };
        Some((position, launch))
    }
}

/// Packs extents that passed the check against the device's limits: 2^31, 2^16 and 2^16 at most.
fn pack((x, y, z): (u32, u32, u32)) -> u64 {
    u64::from(x) | u64::from(y & 0xffff) << 32 | u64::from(z & 0xffff) << 48
}

fn unpack(packed: u64) -> [u32; 3] {
    [
        packed as u32,
        (packed >> 32) as u32 & 0xffff,
        (packed >> 48) as u32,
    ]
}
