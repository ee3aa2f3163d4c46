//! The memory of the process: one reserved range that holds every allocation of every device.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use cuprum_driver_sys::{CUresult, flags::CU_MEM_ATTACH_HOST};

use super::arena::{Arena, GRANULE};
use super::block::{Block, Graveyard, Kind, Registered, Registrations};
use super::managed::{Attached, Managed, Said};
use super::os::{PAGE, Reservation, Untouched};
use super::view::View;
use crate::config::MIN_ADDRESS_SPACE;
use crate::error::{Outcome, fail, lock};

/// Bytes of the range made usable at once.
const CHUNK: u64 = 2 << 20;

/// Never valid, between any two blocks, so that a small overrun does not reach a neighbour. Not charged.
const GUARD: u64 = GRANULE;

/// All memory: the reserved range, the table of its blocks, and the registered host memory.
#[derive(Debug)]
pub(crate) struct Space {
    range: Reservation,
    table: Mutex<Table>,
    registered: RwLock<Registrations>,
    poison: Option<u8>,
}

#[derive(Debug)]
struct Table {
    arena: Arena,
    /// Blocks by their offset in the range.
    blocks: BTreeMap<u64, Block>,
    /// What the program has said of managed blocks, by their offset; nothing yet of those that are not here.
    managed: BTreeMap<u64, Managed>,
    /// The streams to which managed memory was ever attached.
    attaching: BTreeSet<u64>,
    graveyard: Graveyard,
    /// Memory size of each device and bytes charged to it.
    devices: Vec<(u64, u64)>,
    /// The views of all live contexts.
    views: Vec<(u64, Weak<View>)>,
    last_id: u64,
}

/// What to allocate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// Bytes, not zero.
    pub(crate) size: u64,
    /// What for.
    pub(crate) kind: Kind,
    /// The ordinal of the device.
    pub(crate) device: usize,
    /// The number of the owning context.
    pub(crate) context: u64,
    /// Flags to remember.
    pub(crate) flags: u32,
}

impl Space {
    /// Reserves about `wanted` bytes: halved until the system grants them.
    pub(crate) fn new(
        wanted: u64,
        device_memory: &[u64],
        poison: Option<u8>,
    ) -> Outcome<Arc<Self>> {
        let mut len = wanted
            .checked_next_power_of_two()
            .unwrap_or(1 << 63)
            .max(MIN_ADDRESS_SPACE);
        let range = loop {
            if let Some(range) = Reservation::new(len, CHUNK, Untouched::Forbidden) {
                break range;
            }
            if len <= MIN_ADDRESS_SPACE {
                return fail(
                    CUresult::OUT_OF_MEMORY,
                    format!("the system has no {len} bytes of address space"),
                );
            }
            len /= 2;
        };
        let table = Table {
            arena: Arena::new(len),
            blocks: BTreeMap::new(),
            managed: BTreeMap::new(),
            attaching: BTreeSet::new(),
            graveyard: Graveyard::default(),
            devices: device_memory
                .iter()
                .map(|&bytes| (bytes / GRANULE * GRANULE, 0))
                .collect(),
            views: Vec::new(),
            last_id: 0,
        };
        Ok(Arc::new(Self {
            range,
            table: Mutex::new(table),
            registered: RwLock::default(),
            poison,
        }))
    }

    /// First address of the range.
    pub(crate) fn base(&self) -> u64 {
        self.range.base()
    }

    /// Length of the range, a power of two.
    pub(crate) fn len(&self) -> u64 {
        self.range.len()
    }

    /// Whether `address` lies in the range.
    pub(crate) fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.base()) < self.len()
    }

    /// Free and total memory of a device in bytes.
    pub(crate) fn device_memory(&self, device: usize) -> (u64, u64) {
        let (total, used) = lock(&self.table).devices[device];
        (total - used, total)
    }

    /// Allocates, and lets the contexts that may use the memory use it (stream-ordered memory is exposed in stream
    /// order, see [`expose`](Self::expose)).
    pub(crate) fn allocate(&self, request: Request) -> Outcome<Block> {
        let Request {
            size,
            kind,
            device,
            context,
            flags,
        } = request;
        let mut table = lock(&self.table);
        if !table.views.iter().any(|&(id, _)| id == context) {
            return fail(
                CUresult::CONTEXT_IS_DESTROYED,
                "the context was destroyed during the call",
            );
        }
        let (total, used) = table.devices[device];
        let capacity = size.checked_next_multiple_of(GRANULE).unwrap_or(u64::MAX);
        if kind.is_charged() && capacity > total - used {
            return fail(
                CUresult::OUT_OF_MEMORY,
                format!(
                    "{size} bytes requested, {used} of {total} bytes of device {device} in use"
                ),
            );
        }
        let Some(offset) = capacity
            .checked_add(GUARD)
            .and_then(|taken| table.arena.take(taken))
        else {
            return fail(
                CUresult::OUT_OF_MEMORY,
                format!("{size} bytes requested: the address space is used up"),
            );
        };
        if !self.range.commit(offset, capacity) {
            table.arena.give(offset, capacity + GUARD);
            return fail(
                CUresult::OUT_OF_MEMORY,
                format!("{size} bytes requested: the host is out of memory"),
            );
        }
        table.last_id += 1;
        let id = table.last_id;
        let block = Block {
            address: self.base() + offset,
            size,
            capacity,
            kind,
            device,
            context,
            flags,
            id,
            is_for_host: kind == Kind::Managed && flags == CU_MEM_ATTACH_HOST,
        };
        if kind != Kind::Pooled && !self.mark(&table, &block) {
            table.arena.give(offset, capacity + GUARD);
            return fail(
                CUresult::OUT_OF_MEMORY,
                format!("{size} bytes requested: the host is out of memory"),
            );
        }
        if kind.is_charged() {
            table.devices[device].1 += capacity;
        }
        table.blocks.insert(offset, block);
        drop(table);
        if let Some(byte) = self
            .poison
            .filter(|_| !matches!(kind, Kind::Variable | Kind::Constant))
        {
            self.fill(block.address, byte, size);
        }
        Ok(block)
    }

    /// Frees the block that starts at `address` and is of one of `kinds`. The caller has waited for work that uses it.
    pub(crate) fn free(&self, address: u64, kinds: &[Kind]) -> Outcome<Block> {
        let mut table = lock(&self.table);
        let offset = address.wrapping_sub(self.base());
        match table.blocks.get(&offset) {
            Some(block) if kinds.contains(&block.kind) => Ok(self.remove(&mut table, offset)),
            Some(block) => fail(
                CUresult::INVALID_VALUE,
                format!("{address:#x} is a {}", block.kind.noun()),
            ),
            None => {
                let told = self.describe_in(&table, address);
                fail(
                    CUresult::INVALID_VALUE,
                    format!("{address:#x} is not the start of an allocation: {told}"),
                )
            }
        }
    }

    /// Frees a block that may have been freed with its context, when its place may be another's by now.
    pub(crate) fn release(&self, block: &Block) {
        let mut table = lock(&self.table);
        let offset = block.address - self.base();
        if table
            .blocks
            .get(&offset)
            .is_some_and(|now| now.id == block.id)
        {
            self.remove(&mut table, offset);
        }
    }

    /// Takes a block out of the table, hides it, clears it and gives its pages back.
    fn remove(&self, table: &mut Table, offset: u64) -> Block {
        let block = table
            .blocks
            .remove(&offset)
            .expect("the caller found the block");
        self.unmark(table, &block);
        table.managed.remove(&offset);
        if block.kind.is_charged() {
            table.devices[block.device].1 -= block.capacity;
        }
        let (start, len) = table.arena.give(offset, block.capacity + GUARD);
        self.scrub(offset, block.capacity, start, start + len);
        table.graveyard.bury(block);
        block
    }

    /// Makes `len` bytes from `offset`, now free, read as zero: pages that are free as a whole (the free range is
    /// `from .. to`) go back to the system, the rest is overwritten.
    fn scrub(&self, offset: u64, len: u64, from: u64, to: u64) {
        let end = offset + len;
        let first = (offset / PAGE * PAGE).max(from.next_multiple_of(PAGE));
        let last = end.next_multiple_of(PAGE).min(to / PAGE * PAGE);
        let (first, last) = if first < last {
            (first, last)
        } else {
            (end, end)
        };
        self.zero(offset, first.min(end));
        if first < last {
            self.range.discard(first, last - first);
            self.zero(last, end);
        }
    }

    /// Overwrites the committed bytes `from .. to` (offsets) with zero; nothing if the range is empty.
    fn zero(&self, from: u64, to: u64) {
        if from < to {
            self.fill(self.base() + from, 0, to - from);
        }
    }

    /// Frees every block of a context and forgets its registered memory; later allocations for it fail. Answers the
    /// blocks.
    pub(crate) fn release_context(&self, context: u64) -> Vec<Block> {
        let mut table = lock(&self.table);
        table.views.retain(|&(id, _)| id != context);
        let owned: Vec<u64> = table
            .blocks
            .iter()
            .filter(|(_, b)| b.context == context)
            .map(|(&o, _)| o)
            .collect();
        let released = owned
            .into_iter()
            .map(|offset| self.remove(&mut table, offset))
            .collect();
        drop(table);
        self.registered_mut()
            .retain(|range| range.context != context);
        released
    }

    /// The addressable block that holds `address`.
    pub(crate) fn find(&self, address: u64) -> Option<Block> {
        let table = lock(&self.table);
        let offset = address.checked_sub(self.base())?;
        let (_, block) = table.blocks.range(..=offset).next_back()?;
        (block.kind.is_addressable() && address < block.end()).then_some(*block)
    }

    /// The block that holds `address`, if the view may read it now, or write it: its first address and the one after its last.
    pub(super) fn extent(&self, view: &View, address: u64, write: bool) -> Option<(u64, u64)> {
        let table = lock(&self.table);
        let offset = address.checked_sub(self.base())?;
        let (&first, block) = table.blocks.range(..=offset).next_back()?;
        // The shadows have the last word: they change under the table's lock, a block at a time.
        let inside = |at: u64| {
            let (readable, writable) = view.valid(at);
            at % GRANULE < u64::from(if write { writable } else { readable })
        };
        let last = first + block.size.checked_sub(1)?;
        (offset <= last && inside(first) && inside(offset) && inside(last))
            .then(|| (block.address, block.end()))
    }

    /// The block that holds `len` bytes from `address`, or why there is none. `what` names the range in the message.
    pub(crate) fn check(&self, what: &str, address: u64, len: u64) -> Outcome<Block> {
        let Some(block) = self.find(address) else {
            let told = self.describe(address);
            return fail(
                CUresult::INVALID_VALUE,
                format!("{what} {address:#x} is not device memory: {told}"),
            );
        };
        if len > block.end() - address {
            let (noun, at, size) = (block.kind.noun(), address - block.address, block.size);
            return fail(
                CUresult::INVALID_VALUE,
                format!(
                    "{what}: {len} bytes from offset {at} leave the {noun} of {size} bytes at {:#x}",
                    block.address
                ),
            );
        }
        Ok(block)
    }

    /// The managed block that holds `len` bytes from `address`, more than zero.
    fn managed_block(&self, table: &Table, address: u64, len: u64) -> Outcome<Block> {
        let found = address
            .checked_sub(self.base())
            .and_then(|offset| table.blocks.range(..=offset).next_back())
            .map(|(_, block)| *block)
            .filter(|block| block.kind == Kind::Managed && address < block.end());
        match found {
            Some(block) if (1..=block.end() - address).contains(&len) => Ok(block),
            Some(_) => fail(
                CUresult::INVALID_VALUE,
                format!(
                    "{len} bytes from {address:#x}, which is {}",
                    self.describe_in(table, address)
                ),
            ),
            None => fail(
                CUresult::INVALID_VALUE,
                format!(
                    "{address:#x} is no managed memory, but {}",
                    self.describe_in(table, address)
                ),
            ),
        }
    }

    /// Changes what is said of the pages of `len` bytes of managed memory from `address`.
    pub(crate) fn say(&self, address: u64, len: u64, change: impl Fn(&mut Said)) -> Outcome {
        let mut table = lock(&self.table);
        let block = self.managed_block(&table, address, len)?;
        let managed = table
            .managed
            .entry(block.address - self.base())
            .or_default();
        managed.say(&block, address, len, change);
        Ok(())
    }

    /// What `read` finds said of the pages of `len` bytes of managed memory from `address`: each value that some page
    /// has, in the order of the pages.
    pub(crate) fn said<R>(
        &self,
        address: u64,
        len: u64,
        read: impl Fn(&Said) -> R,
    ) -> Outcome<Vec<R>> {
        let table = lock(&self.table);
        let block = self.managed_block(&table, address, len)?;
        Ok(match table.managed.get(&(block.address - self.base())) {
            Some(managed) => managed.said(&block, address, len).map(read).collect(),
            None => vec![read(&Said::default())],
        })
    }

    /// The managed block that starts at `address`, for an attachment that is about to be queued: of the whole, so
    /// `len` is zero or its size.
    pub(crate) fn to_attach(&self, address: u64, len: u64, to: Attached) -> Outcome<Block> {
        let mut table = lock(&self.table);
        let block = self.managed_block(&table, address, 1)?;
        if address != block.address || len != 0 && len != block.size {
            return fail(
                CUresult::INVALID_VALUE,
                format!(
                    "{len} bytes of {}: only the whole of an allocation can be attached",
                    self.describe_in(&table, address)
                ),
            );
        }
        if let Attached::Stream(stream) = to {
            table.attaching.insert(stream);
        }
        Ok(block)
    }

    /// Attaches a managed block, unless it was freed meanwhile.
    pub(crate) fn attach(&self, block: &Block, to: Attached) -> Outcome {
        let mut table = lock(&self.table);
        self.attach_in(&mut table, block.address - self.base(), block.id, to)
    }

    /// Whether managed memory was attached to `stream`, which is about to end. If so,
    /// [`detach_all`](Self::detach_all) must follow its work.
    pub(crate) fn is_attaching(&self, stream: u64) -> bool {
        lock(&self.table).attaching.contains(&stream)
    }

    /// Gives the managed blocks that are attached to `stream`, which has ended, the attachment they were allocated
    /// with.
    pub(crate) fn detach_all(&self, stream: u64) {
        let mut table = lock(&self.table);
        if !table.attaching.remove(&stream) {
            return;
        }
        let attached: Vec<(u64, u64, u32)> = table
            .managed
            .iter()
            .filter(|(_, managed)| managed.attached == Some(Attached::Stream(stream)))
            .filter_map(|(offset, _)| table.blocks.get_key_value(offset))
            .map(|(&offset, block)| (offset, block.id, block.flags))
            .collect();
        for (offset, id, flags) in attached {
            let to = if flags == CU_MEM_ATTACH_HOST {
                Attached::Host
            } else {
                Attached::Global
            };
            // Only the host's memory can be short, for the shadow of a block that was hidden; then it stays hidden.
            let _ = self.attach_in(&mut table, offset, id, to);
        }
    }

    fn attach_in(&self, table: &mut Table, offset: u64, id: u64, to: Attached) -> Outcome {
        let Some(block) = table.blocks.get_mut(&offset).filter(|block| block.id == id) else {
            return Ok(());
        };
        let for_host = to == Attached::Host;
        let (before, changed) = (*block, block.is_for_host != for_host);
        block.is_for_host = for_host;
        let after = *block;
        table.managed.entry(offset).or_default().attached = Some(to);
        if !changed {
            return Ok(());
        }
        // What may use it from now on are other contexts than before; the rest stay as they are.
        for view in table.views.iter().filter_map(|(_, view)| view.upgrade()) {
            match (view.sees(&before), view.sees(&after)) {
                (true, false) => view.clear(offset, &after),
                (false, true) if !view.mark(offset, &after) => {
                    return fail(CUresult::OUT_OF_MEMORY, "the host is out of memory");
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Turns a block in use by a pool into one that the pool keeps; `None` if the address is not that of such a block.
    /// Nobody owns it then, so that it survives the context.
    pub(crate) fn retire(&self, address: u64) -> Option<Block> {
        let mut table = lock(&self.table);
        let block = table.blocks.get_mut(&address.wrapping_sub(self.base()))?;
        if block.kind != Kind::Pooled {
            return None;
        }
        (block.kind, block.context) = (Kind::Cached, 0);
        Some(*block)
    }

    /// Turns a block that a pool keeps into one of `size` bytes that `context` uses; false if there is none.
    pub(crate) fn reuse(&self, address: u64, size: u64, context: u64) -> bool {
        let mut table = lock(&self.table);
        let known = table.views.iter().any(|&(id, _)| id == context);
        match table.blocks.get_mut(&address.wrapping_sub(self.base())) {
            Some(block) if known && block.kind == Kind::Cached && size <= block.capacity => {
                (block.kind, block.size, block.context) = (Kind::Pooled, size, context);
                true
            }
            _ => false,
        }
    }

    /// Lets the contexts of its device use a block of stream-ordered memory: `size` bytes from `address`. The block may
    /// be gone by now (its context was destroyed); then nothing happens.
    pub(crate) fn expose(&self, address: u64, size: u64) -> Outcome {
        let table = lock(&self.table);
        let Some(block) = table.blocks.get(&address.wrapping_sub(self.base())) else {
            return Ok(());
        };
        if self.mark(&table, &Block { size, ..*block }) {
            Ok(())
        } else {
            fail(CUresult::OUT_OF_MEMORY, "the host is out of memory")
        }
    }

    /// Ends what [`expose`](Self::expose) began.
    pub(crate) fn hide(&self, address: u64, size: u64) {
        let table = lock(&self.table);
        if let Some(block) = table.blocks.get(&address.wrapping_sub(self.base())) {
            self.unmark(&table, &Block { size, ..*block });
        }
    }

    /// Makes `view` known: it sees the memory that all contexts share, and its own from now on.
    pub(crate) fn add_view(&self, view: &Arc<View>) -> Outcome {
        let mut table = lock(&self.table);
        self.refresh(&table, view, |block| view.sees(block))?;
        table.views.push((view.context(), Arc::downgrade(view)));
        Ok(())
    }

    /// Marks the existing blocks that `which` chooses as valid in `view`.
    fn refresh(&self, table: &Table, view: &View, which: impl Fn(&Block) -> bool) -> Outcome {
        let chosen = table
            .blocks
            .values()
            .filter(|block| block.kind != Kind::Cached && which(block));
        for block in chosen {
            if !view.mark(block.address - self.base(), block) {
                return fail(CUresult::OUT_OF_MEMORY, "the host is out of memory");
            }
        }
        Ok(())
    }

    /// Lets `view` use the memory of the context `peer`, or ends that. Answers whether anything changed.
    pub(crate) fn set_peer(&self, view: &View, peer: u64, enabled: bool) -> Outcome<bool> {
        let table = lock(&self.table);
        if !view.set_peer(peer, enabled) {
            return Ok(false);
        }
        if enabled {
            self.refresh(&table, view, |block| block.context == peer)?;
        } else {
            for block in table
                .blocks
                .values()
                .filter(|b| b.context == peer && !view.sees(b))
            {
                view.clear(block.address - self.base(), block);
            }
        }
        Ok(true)
    }

    fn mark(&self, table: &Table, block: &Block) -> bool {
        let offset = block.address - self.base();
        let views = table.views.iter().filter_map(|(_, view)| view.upgrade());
        views
            .filter(|view| view.sees(block))
            .all(|view| view.mark(offset, block))
    }

    fn unmark(&self, table: &Table, block: &Block) {
        let offset = block.address - self.base();
        for view in table.views.iter().filter_map(|(_, view)| view.upgrade()) {
            if view.sees(block) {
                view.clear(offset, block);
            }
        }
    }

    /// Where `address` is, for people.
    pub(crate) fn describe(&self, address: u64) -> String {
        if let Some(range) = self.registered().find(address) {
            let at = address - range.address;
            return format!(
                "offset {at} in the registered host memory of {} bytes at {:#x}",
                range.len, range.address
            );
        }
        self.describe_in(&lock(&self.table), address)
    }

    fn describe_in(&self, table: &Table, address: u64) -> String {
        if address < PAGE {
            return "a null pointer".into();
        }
        if !self.contains(address) {
            return "no memory of the device; an address of the host that is not registered, or garbage".into();
        }
        let offset = address - self.base();
        let before = table
            .blocks
            .range(..=offset)
            .next_back()
            .map(|(_, b)| b)
            .filter(|b| b.kind != Kind::Cached);
        if let Some(block) = before.filter(|b| address < b.end()) {
            let (noun, at) = (block.kind.noun(), address - block.address);
            let attached = if block.is_for_host {
                ", which is attached to the host"
            } else {
                ""
            };
            return format!(
                "offset {at} in the {noun} of {} bytes at {:#x}{attached}",
                block.size, block.address
            );
        }
        if let Some(freed) = table.graveyard.find(address) {
            let (noun, at) = (freed.kind.noun(), address - freed.address);
            return format!(
                "offset {at} in freed memory: a {noun} of {} bytes at {:#x}",
                freed.size, freed.address
            );
        }
        let after = table
            .blocks
            .range(offset..)
            .next()
            .map(|(_, b)| b)
            .filter(|b| b.kind != Kind::Cached);
        let past = before.map(|b| (address - b.end(), b));
        let ahead = after.map(|b| (b.address - address, b));
        match (past, ahead) {
            (Some((gap, b)), other) if other.is_none_or(|(ahead, _)| gap <= ahead) => {
                format!(
                    "{gap} bytes past the end of the {} of {} bytes at {:#x}",
                    b.kind.noun(),
                    b.size,
                    b.address
                )
            }
            (_, Some((gap, b))) => {
                format!(
                    "{gap} bytes before the {} of {} bytes at {:#x}",
                    b.kind.noun(),
                    b.size,
                    b.address
                )
            }
            _ => "no allocation is near".into(),
        }
    }

    /// The registered host memory, to read.
    pub(crate) fn registered(&self) -> RwLockReadGuard<'_, Registrations> {
        self.registered
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn registered_mut(&self) -> RwLockWriteGuard<'_, Registrations> {
        self.registered
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets kernels use host memory that the program owns.
    pub(crate) fn register(&self, range: Registered) -> Outcome {
        if range.address.checked_add(range.len).is_none() {
            return fail(
                CUresult::INVALID_VALUE,
                "the range wraps around the address space",
            );
        }
        if range.address < self.base() + self.len() && range.address + range.len > self.base() {
            return match self.find(range.address).map(|block| block.kind) {
                Some(Kind::Pinned | Kind::Managed) => fail(
                    CUresult::HOST_MEMORY_ALREADY_REGISTERED,
                    "the memory is page-locked by its allocation",
                ),
                _ => fail(CUresult::INVALID_VALUE, "the range is device memory"),
            };
        }
        let mut all = self.registered_mut();
        if all.overlaps(range.address, range.len) {
            return fail(
                CUresult::HOST_MEMORY_ALREADY_REGISTERED,
                "part of the range is registered already",
            );
        }
        all.insert(range);
        Ok(())
    }

    /// Ends a registration. The caller has waited for work that uses it.
    pub(crate) fn unregister(&self, address: u64) -> Outcome<Registered> {
        match self.registered_mut().remove(address) {
            Some(range) => Ok(range),
            None => fail(
                CUresult::HOST_MEMORY_NOT_REGISTERED,
                format!("no registration starts at {address:#x}"),
            ),
        }
    }

    /// Whether `len` bytes from `address` are host memory that the device can reach without staging.
    pub(crate) fn is_page_locked(&self, address: u64, len: u64) -> bool {
        if let Some(block) = self.find(address) {
            return block.kind.is_shared() && len <= block.end() - address;
        }
        self.registered()
            .find(address)
            .is_some_and(|r| len <= r.address + r.len - address)
    }

    /// Writes bytes into a block that nothing uses yet.
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) {
        let offset = address - self.base();
        assert!(
            offset
                .checked_add(bytes.len() as u64)
                .is_some_and(|end| end <= self.len()),
            "write inside the range"
        );
        // SAFETY: the bytes lie inside the range (asserted), in a committed block that the caller has just allocated.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.range.at(offset), bytes.len());
        }
    }

    /// Fills `len` committed bytes of the range with `byte`.
    pub(crate) fn fill(&self, address: u64, byte: u8, len: u64) {
        let offset = address - self.base();
        assert!(
            offset.checked_add(len).is_some_and(|end| end <= self.len()),
            "fill inside the range"
        );
        // SAFETY: the bytes lie inside the range (asserted) and are committed, as the caller promises; a kernel or the
        // host program may race with this on the same bytes only by breaking CUDA's own rules.
        unsafe { self.range.at(offset).write_bytes(byte, len as usize) };
    }

    /// Numbers for leak tests: blocks in use, bytes charged to all devices, bytes page-locked, registrations.
    pub(crate) fn usage(&self) -> (usize, u64, u64, usize) {
        let table = lock(&self.table);
        let used = table
            .blocks
            .values()
            .filter(|b| b.kind != Kind::Cached)
            .count();
        let charged = table.devices.iter().map(|&(_, used)| used).sum();
        let pinned = table
            .blocks
            .values()
            .filter(|b| b.kind == Kind::Pinned)
            .map(|b| b.size)
            .sum();
        drop(table);
        (used, charged, pinned, self.registered().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(memory: u64) -> (Arc<Space>, Arc<View>) {
        let space = Space::new(1 << 26, &[memory], None).expect("64 MiB of address space");
        let view = View::new(&space, 1, 0, true).expect("a shadow map");
        (space, view)
    }

    fn request(size: u64) -> Request {
        Request {
            size,
            kind: Kind::Device,
            device: 0,
            context: 1,
            flags: 0,
        }
    }

    #[test]
    fn memory_ends_exactly_at_its_size() {
        let (space, _view) = space(1 << 20);
        let half = space.allocate(request(1 << 19)).expect("half fits");
        let rest = space
            .allocate(request((1 << 19) - 255))
            .expect("granules round up to the rest");
        assert_eq!(space.device_memory(0), (0, 1 << 20));
        let error = space.allocate(request(1)).expect_err("full");
        assert_eq!(error.code, CUresult::OUT_OF_MEMORY);
        assert!(error.text.contains("1048576 of 1048576"), "{error}");
        space
            .free(rest.address, &[Kind::Device])
            .expect("it is an allocation");
        space
            .free(half.address, &[Kind::Device])
            .expect("it is an allocation");
        space
            .allocate(request(1 << 20))
            .expect("all of it fits again");
    }

    #[test]
    fn freed_memory_reads_as_zero() {
        let (space, _view) = space(1 << 24);
        for size in [1, 100, 4096, 5000, 70_000, 3 << 20] {
            let blocks: Vec<Block> = (0..4)
                .map(|_| space.allocate(request(size)).expect("room"))
                .collect();
            for block in &blocks {
                space.fill(block.address, 0xee, block.capacity);
            }
            space
                .free(blocks[1].address, &[Kind::Device])
                .expect("it is an allocation");
            let byte = |address: u64| -> u8 {
                // SAFETY: the address lies in a chunk that the allocations above committed.
                unsafe { space.range.at(address - space.base()).read() }
            };
            assert!(
                (blocks[1].address..blocks[1].end()).all(|a| byte(a) == 0),
                "{size}"
            );
            for kept in [0, 2, 3] {
                assert!(
                    (blocks[kept].address..blocks[kept].end()).all(|a| byte(a) == 0xee),
                    "{size}"
                );
                space
                    .free(blocks[kept].address, &[Kind::Device])
                    .expect("it is an allocation");
            }
        }
        assert_eq!(space.usage(), (0, 0, 0, 0));
    }

    #[test]
    fn descriptions_name_the_nearest_allocation() {
        let (space, _view) = space(1 << 24);
        let a = space.allocate(request(1000)).expect("room");
        let b = space.allocate(request(1000)).expect("room");
        assert!(
            space
                .describe(a.address + 5)
                .starts_with("offset 5 in the device allocation of 1000 bytes")
        );
        assert!(
            space
                .describe(a.end() + 3)
                .starts_with("3 bytes past the end")
        );
        assert!(space.describe(b.address - 1).starts_with("1 bytes before"));
        assert_eq!(space.describe(8), "a null pointer");
        space
            .free(a.address, &[Kind::Device])
            .expect("it is an allocation");
        assert!(
            space
                .describe(a.address + 7)
                .contains("offset 7 in freed memory")
        );
    }

    #[test]
    fn kernels_read_constants_and_do_not_write_them() {
        let (space, view) = space(1 << 24);
        let constant = space
            .allocate(Request {
                kind: Kind::Constant,
                ..request(300)
            })
            .expect("room");
        let offset = constant.address - space.base();
        assert_eq!(view.valid(offset), (256, 0));
        assert_eq!(view.valid(offset + 256), (44, 0));
        space
            .free(constant.address, &[Kind::Constant])
            .expect("allocated above");
        assert_eq!(view.valid(offset), (0, 0));
    }

    #[test]
    fn other_contexts_see_shared_memory_and_peers_only() {
        let (space, first) = space(1 << 24);
        let second = View::new(&space, 2, 0, true).expect("a shadow map");
        let own = space.allocate(request(300)).expect("room");
        let shared = space
            .allocate(Request {
                kind: Kind::Pinned,
                ..request(300)
            })
            .expect("room");
        let valid = |view: &View, block: &Block| {
            let (read, write) = view.valid(block.address - space.base());
            assert_eq!(read, write, "none of these is constant");
            read
        };
        assert_eq!((valid(&first, &own), valid(&second, &own)), (256, 0));
        assert_eq!(
            (valid(&first, &shared), valid(&second, &shared)),
            (256, 256)
        );
        assert_eq!(space.set_peer(&second, 1, true), Ok(true));
        assert_eq!(space.set_peer(&second, 1, true), Ok(false));
        assert_eq!(valid(&second, &own), 256);
        let later = space.allocate(request(10)).expect("room");
        assert_eq!(valid(&second, &later), 10);
        assert_eq!(space.set_peer(&second, 1, false), Ok(true));
        assert_eq!((valid(&second, &own), valid(&second, &shared)), (0, 256));
        let third = View::new(&space, 3, 0, true).expect("a shadow map");
        assert_eq!((valid(&third, &shared), valid(&third, &later)), (256, 0));
        space.release_context(1);
        assert_eq!(valid(&third, &shared), 0);
        assert_eq!(space.usage(), (0, 0, 0, 0));
    }
}
