//! Use tracking: which streams have used which bytes of an allocation, so that a use on another stream waits for
//! exactly what it must.
//!
//! # How it costs nothing on one stream
//!
//! While a single stream has used an allocation, stream order is order enough, and the tracker holds just that
//! stream's number: a use compares one number before it is queued and once more after. Only when a second stream
//! comes do ranges enter: the first stream is then taken to have written everything up to its present end.
//!
//! # Why checking before and noting after is sound
//!
//! A launch or copy borrows its views for the whole call, so while it runs no *conflicting* use of the same bytes can
//! be queued by another thread; concurrent calls either both read or touch disjoint bytes. So a call orders itself
//! after the uses on record, is queued, counts itself on its stream, and only then goes on record, still under
//! its borrow: whoever conflicts comes later and finds it.
//!
//! One race remains, between a call that finds itself alone on record and another thread that brings in a second
//! stream at that moment. The call counts itself, then reads the owner; the other thread writes the owner, then
//! reads the count; all four are sequentially consistent, so either the call sees that it must go on record, or its
//! position is covered by what the other thread puts there.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use smallvec::SmallVec;

use crate::Result;
use crate::context::lock;
use crate::stream::Stream;
use crate::timeline::Timeline;
use crate::uses::LastUses;

/// Nobody has used the allocation.
const NOBODY: u32 = 0;
/// More than one stream has; the list tells which.
const MANY: u32 = u32::MAX;
/// Records to keep before finished ones are looked for.
const CROWDED: usize = 16;

/// The uses of one allocation.
#[derive(Debug)]
pub(crate) struct Tracker {
    /// The stream that holds the memory, if one does.
    home: Option<Stream>,
    /// The number of the only stream on record, or [`NOBODY`], or [`MANY`]. Written under the lock.
    owner: AtomicU32,
    record: Mutex<Record>,
}

#[derive(Debug, Default)]
struct Record {
    /// The only stream, while there is one and it is not the home stream.
    owner: Option<Stream>,
    /// The uses by several streams.
    uses: Vec<Use>,
}

#[derive(Debug)]
struct Use {
    bytes: Range<usize>,
    stream: Stream,
    position: u64,
    write: bool,
}

/// Whether a use reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Streams that an operation must be ordered after, each once.
#[derive(Debug, Default)]
pub(crate) struct Waits(SmallVec<[Stream; 2]>);

impl Waits {
    fn add(&mut self, stream: &Stream) {
        if !self.0.contains(stream) {
            self.0.push(stream.clone());
        }
    }

    /// Makes `stream` wait for each.
    #[inline]
    pub(crate) fn apply(&self, stream: &Stream) -> Result<()> {
        self.0.iter().try_for_each(|other| stream.wait_for(other))
    }
}

impl Tracker {
    /// A tracker of memory that `stream` has just allocated, in its order.
    #[inline]
    pub(crate) fn owned_by(stream: &Stream) -> Self {
        Self {
            home: Some(stream.clone()),
            owner: AtomicU32::new(stream.id()),
            record: Mutex::new(Record::default()),
        }
    }

    /// A tracker of something nobody has used.
    pub(crate) fn unused() -> Self {
        Self {
            home: None,
            owner: AtomicU32::new(NOBODY),
            record: Mutex::new(Record::default()),
        }
    }

    /// The stream that holds the memory.
    #[inline]
    pub(crate) fn home(&self) -> Option<&Stream> {
        self.home.as_ref()
    }

    /// Before an operation is queued: adds to `waits` what it must be ordered after. Whether it is alone on record,
    /// and so needs nothing, is the answer.
    #[inline]
    pub(crate) fn order(
        &self,
        stream: &Stream,
        bytes: Range<usize>,
        access: Access,
        waits: &mut Waits,
    ) -> bool {
        let alone = self.owner.load(Ordering::Acquire) == stream.id();
        if !alone {
            self.order_slowly(stream, bytes, access, waits);
        }
        alone
    }

    /// After an operation was queued and counted: puts it on record.
    #[inline]
    pub(crate) fn note(&self, stream: &Stream, bytes: Range<usize>, access: Access, whole: usize) {
        if self.owner.load(Ordering::SeqCst) != stream.id() {
            self.note_slowly(stream, bytes, access, whole);
        }
    }

    #[cold]
    fn order_slowly(
        &self,
        stream: &Stream,
        bytes: Range<usize>,
        access: Access,
        waits: &mut Waits,
    ) {
        let mut record = lock(&self.record);
        if self.owner.load(Ordering::SeqCst) == stream.id() {
            return;
        }
        self.open(&mut record);
        for earlier in &record.uses {
            let conflicts = earlier.write || access == Access::Write;
            if conflicts && overlap(&earlier.bytes, &bytes) && !earlier.is_before(stream) {
                waits.add(&earlier.stream);
            }
        }
    }

    #[cold]
    fn note_slowly(&self, stream: &Stream, bytes: Range<usize>, access: Access, whole: usize) {
        let mut record = lock(&self.record);
        if self.owner.load(Ordering::SeqCst) == stream.id() {
            return;
        }
        self.open(&mut record);
        let position = stream.inner().submitted();
        if access == Access::Write {
            // This write is ordered after all that it overlaps, so waiting for it is enough for whoever comes next.
            cut(&mut record.uses, &bytes);
        }
        add(
            &mut record.uses,
            Use {
                bytes,
                stream: stream.clone(),
                position,
                write: access == Access::Write,
            },
        );
        if record.uses.len() > CROWDED {
            shrink(&mut record.uses, whole);
        }
        if record.uses.iter().all(|earlier| earlier.stream == *stream) {
            record.uses.clear();
            record.owner = (self.home.as_ref() != Some(stream)).then(|| stream.clone());
            self.owner.store(stream.id(), Ordering::SeqCst);
        }
    }

    /// Turns "one stream has it all" into a list of uses.
    fn open(&self, record: &mut Record) {
        let alone = self.owner.load(Ordering::SeqCst);
        if alone == NOBODY || alone == MANY {
            return;
        }
        let owner = record.owner.take().or_else(|| self.home.clone());
        let owner = owner.expect("the only stream is the home stream where no other is on record");
        self.owner.store(MANY, Ordering::SeqCst);
        // Read after the store above: see the module's last paragraph.
        let position = owner.inner().submitted();
        record.uses.push(Use {
            bytes: 0..usize::MAX,
            stream: owner,
            position,
            write: true,
        });
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        lock(&self.record).uses.len()
    }

    /// Every stream that has used the memory, with the position of its last use. Nobody else knows the memory any
    /// more.
    #[inline]
    pub(crate) fn last_uses(&self) -> LastUses<'_> {
        let alone = self.owner.load(Ordering::SeqCst);
        if let Some(home) = &self.home
            && home.id() == alone
        {
            return LastUses {
                home: Some((home, home.inner().submitted())),
                others: SmallVec::new(),
            };
        }
        self.many_uses()
    }

    #[cold]
    fn many_uses(&self) -> LastUses<'_> {
        let record = lock(&self.record);
        let mut others: SmallVec<[(Timeline, u64); 1]> = SmallVec::new();
        if let Some(owner) = &record.owner {
            others.push((owner.timeline().clone(), owner.inner().submitted()));
        }
        for earlier in &record.uses {
            let timeline = earlier.stream.timeline();
            match others.iter_mut().find(|(known, _)| known == timeline) {
                Some((_, position)) => *position = (*position).max(earlier.position),
                None => others.push((timeline.clone(), earlier.position)),
            }
        }
        LastUses { home: None, others }
    }
}

impl Use {
    /// Whether whatever `stream` queues next runs after this use without further ado.
    fn is_before(&self, stream: &Stream) -> bool {
        self.stream == *stream
            || self.stream.inner().completed() >= self.position
            || stream.inner().has_seen(self.stream.id(), self.position)
    }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Takes `bytes` out of every use.
fn cut(uses: &mut Vec<Use>, bytes: &Range<usize>) {
    let mut right = Vec::new();
    uses.retain_mut(|earlier| {
        if !overlap(&earlier.bytes, bytes) {
            return true;
        }
        if bytes.end < earlier.bytes.end {
            right.push(Use {
                bytes: bytes.end..earlier.bytes.end,
                stream: earlier.stream.clone(),
                position: earlier.position,
                write: earlier.write,
            });
        }
        earlier.bytes.end = bytes.start;
        earlier.bytes.start < earlier.bytes.end
    });
    uses.append(&mut right);
}

/// Adds a use, joined with one of the same stream and kind that it overlaps or touches exactly.
fn add(uses: &mut Vec<Use>, new: Use) {
    let same = |old: &&mut Use| {
        old.stream == new.stream
            && old.write == new.write
            && (old.bytes == new.bytes || overlap(&old.bytes, &new.bytes))
    };
    match uses.iter_mut().find(same) {
        Some(old) => {
            old.bytes = old.bytes.start.min(new.bytes.start)..old.bytes.end.max(new.bytes.end);
            old.position = old.position.max(new.position);
        }
        None => uses.push(new),
    }
}

/// Forgets finished uses; if too many are left, joins those of one stream and kind into their hull.
fn shrink(uses: &mut Vec<Use>, whole: usize) {
    uses.retain(|earlier| earlier.stream.inner().completed() < earlier.position);
    if uses.len() <= CROWDED {
        return;
    }
    // The streams' ends may have passed without anybody having asked. Asking does not wait.
    let mut asked: Vec<Stream> = Vec::new();
    for earlier in uses.iter() {
        if !asked.contains(&earlier.stream) {
            asked.push(earlier.stream.clone());
            let _ = earlier.stream.is_done();
        }
    }
    uses.retain(|earlier| earlier.stream.inner().completed() < earlier.position);
    if uses.len() <= CROWDED {
        return;
    }
    let mut hulls: Vec<Use> = Vec::new();
    for earlier in uses.drain(..) {
        match hulls
            .iter_mut()
            .find(|hull| hull.stream == earlier.stream && hull.write == earlier.write)
        {
            Some(hull) => {
                hull.bytes = hull.bytes.start.min(earlier.bytes.start)
                    ..hull.bytes.end.max(earlier.bytes.end).min(whole);
                hull.position = hull.position.max(earlier.position);
            }
            None => hulls.push(earlier),
        }
    }
    *uses = hulls;
}
