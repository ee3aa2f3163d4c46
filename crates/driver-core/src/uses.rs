//! The last uses of memory that its owner has given up: what a release, or the next owner, must come after.

use smallvec::SmallVec;

use crate::Result;
use crate::context::Context;
use crate::stream::Stream;
use crate::timeline::{Mark, Timeline};

/// The last uses of something that its owner has given up, while the owner's destructor still runs.
///
/// [`LastUses::to_past`] makes it last.
#[derive(Debug)]
pub struct LastUses<'a> {
    /// The stream that holds the memory, if that has used it, with the position of its end.
    pub(crate) home: Option<(&'a Stream, u64)>,
    pub(crate) others: SmallVec<[(Timeline, u64); 1]>,
}

/// The last uses of something that nobody owns: for each stream that used it, how far that one had come.
///
/// It keeps neither streams nor contexts alive, so a pool can hold it as long as it likes.
#[derive(Clone, Debug, Default)]
pub struct PastUses(SmallVec<[(Timeline, u64); 1]>);

impl LastUses<'_> {
    /// Makes later work of `stream` wait for every use. The host does not wait, and nothing is done for uses that
    /// `stream` is ordered after anyway.
    ///
    /// # Errors
    /// What the driver returns.
    pub fn order(&self, stream: &Stream) -> Result<()> {
        if let Some((home, position)) = self.home
            && home != stream
        {
            order(home.timeline(), position, stream)?;
        }
        self.others
            .iter()
            .try_for_each(|(timeline, position)| order(timeline, *position, stream))
    }

    /// The position on `stream`, if only that stream has used the memory.
    #[inline]
    #[must_use]
    pub fn only_on(&self, stream: &Stream) -> Option<u64> {
        match self.home {
            Some((home, position)) if self.others.is_empty() && home == stream => Some(position),
            _ => None,
        }
    }

    /// The same uses, without borrowing anything.
    #[must_use]
    pub fn to_past(&self) -> PastUses {
        let home = self
            .home
            .map(|(stream, position)| (stream.timeline().clone(), position));
        let mut past = PastUses(home.into_iter().collect());
        for (timeline, position) in &self.others {
            past.add(timeline, *position);
        }
        past
    }
}

impl PastUses {
    /// A use by one stream, up to `position` as [`LastUses::only_on`] told it.
    #[must_use]
    pub fn of(timeline: &Timeline, position: u64) -> Self {
        Self(SmallVec::from_iter([(timeline.clone(), position)]))
    }

    /// Adds a use.
    pub fn add(&mut self, timeline: &Timeline, position: u64) {
        match self.0.iter_mut().find(|(known, _)| known == timeline) {
            Some((_, known)) => *known = (*known).max(position),
            None => self.0.push((timeline.clone(), position)),
        }
    }

    /// Adds all uses of `other`: what holds for the union of two pieces of memory.
    pub fn merge(&mut self, other: &Self) {
        for (timeline, position) in &other.0 {
            self.add(timeline, *position);
        }
    }

    /// Forgets the uses that have been seen to be over. Asks nobody.
    pub fn forget_passed(&mut self) {
        self.0
            .retain(|(timeline, position)| timeline.completed() < *position);
    }

    /// Whether there are no uses.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether every use has been seen to be over. Asks nobody: see [`PastUses::poll`].
    #[must_use]
    pub fn have_passed(&self) -> bool {
        self.0
            .iter()
            .all(|(timeline, position)| timeline.completed() >= *position)
    }

    /// Whether whatever `stream` queues next comes after every use without further ado.
    #[must_use]
    pub fn are_before(&self, stream: &Stream) -> bool {
        self.0
            .iter()
            .all(|(timeline, position)| is_before(timeline, *position, stream))
    }

    /// The number of the only stream on record, if there is just one.
    #[must_use]
    pub fn only_stream(&self) -> Option<u32> {
        match self.0.as_slice() {
            [(timeline, _)] => Some(timeline.id()),
            _ => None,
        }
    }

    /// The streams on record.
    pub fn timelines(&self) -> impl Iterator<Item = &Timeline> {
        self.0.iter().map(|(timeline, _)| timeline)
    }

    /// Asks the driver how far the streams have come. Never waits.
    ///
    /// # Errors
    /// What the driver returns.
    pub fn poll(&self, context: &Context) -> Result<()> {
        for (timeline, position) in &self.0 {
            if timeline.completed() < *position {
                context.check(timeline.poll(context.inner()))?;
            }
        }
        Ok(())
    }

    /// Makes later work of `stream` wait for every use, as [`LastUses::order`].
    ///
    /// # Errors
    /// What the driver returns.
    pub fn order(&self, stream: &Stream) -> Result<()> {
        self.0
            .iter()
            .try_for_each(|(timeline, position)| order(timeline, *position, stream))
    }

    /// Waits on the host until every use has passed.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub fn wait(&self, context: &Context) -> Result<()> {
        self.0.iter().try_for_each(|(timeline, position)| {
            context.check(timeline.wait(context.inner(), *position))
        })
    }

    /// What to wait for until all is over. The context must be current.
    pub(crate) fn marks(&self) -> impl Iterator<Item = Mark> {
        self.0
            .iter()
            .filter(|(timeline, position)| timeline.completed() < *position)
            .filter_map(|(timeline, _)| timeline.mark())
    }
}

fn is_before(timeline: &Timeline, position: u64, stream: &Stream) -> bool {
    timeline.id() == stream.id()
        || timeline.completed() >= position
        || stream.inner().has_seen(timeline.id(), position)
}

fn order(timeline: &Timeline, position: u64, stream: &Stream) -> Result<()> {
    if is_before(timeline, position, stream) {
        return Ok(());
    }
    timeline
        .order_before(stream)
        .map_err(|failure| stream.raise(failure))
}
