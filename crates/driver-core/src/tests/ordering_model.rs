//! Order across streams against a model: whatever is launched where, every two uses that conflict are ordered.

use std::ops::Range;

use proptest::prelude::*;

use super::mock::{self, ORDERED, PENDING};
use crate::{DeviceBuffer, LaunchConfig, Module};

const STREAMS: usize = 4;
const BUFFERS: usize = 2;
const LEN: usize = 12;

#[derive(Clone, Debug)]
enum Step {
    Use {
        stream: usize,
        buffer: usize,
        bytes: Range<usize>,
        write: bool,
    },
    Synchronize {
        stream: usize,
    },
    /// One stream waits by hand for an event of another.
    Wait {
        stream: usize,
        other: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let range = (0..LEN, 1..=LEN).prop_map(|(start, len)| start..(start + len).min(LEN));
    prop_oneof![
        12 => (0..STREAMS, 0..BUFFERS, range, any::<bool>())
            .prop_map(|(stream, buffer, bytes, write)| Step::Use { stream, buffer, bytes, write }),
        1 => (0..STREAMS).prop_map(|stream| Step::Synchronize { stream }),
        1 => (0..STREAMS, 0..STREAMS).prop_map(|(stream, other)| Step::Wait { stream, other }),
    ]
}

/// For each stream, how far it is ordered after each stream: vector clocks, advanced by the calls that the driver saw.
struct Clocks {
    handles: Vec<usize>,
    after: [[usize; STREAMS]; STREAMS],
    /// What the host has waited for.
    host: [usize; STREAMS],
    /// How much was queued on each stream.
    queued: [usize; STREAMS],
}

impl Clocks {
    /// Takes in the waits that the driver saw since the last time.
    fn observe(&mut self) {
        for (from, to) in ORDERED.take() {
            let index = |handle| {
                self.handles
                    .iter()
                    .position(|&known| known == handle)
                    .unwrap()
            };
            let (from, to) = (index(from), index(to));
            for stream in 0..STREAMS {
                self.after[to][stream] = self.after[to][stream].max(self.after[from][stream]);
            }
            self.after[to][from] = self.after[to][from].max(self.queued[from]);
        }
    }

    /// The host has waited for `stream`, and so for all that it comes after.
    fn wait_on_host(&mut self, stream: usize) {
        for other in 0..STREAMS {
            self.host[other] = self.host[other].max(self.after[stream][other]);
        }
        self.host[stream] = self.queued[stream];
    }

    /// Whether what `stream` queues now runs after operation `position` of `other`.
    fn is_after(&self, stream: usize, other: usize, position: usize) -> bool {
        stream == other || self.after[stream][other] >= position || self.host[other] >= position
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn conflicting_uses_are_ordered(steps in prop::collection::vec(step(), 1..60)) {
        // No stream is ever found idle, so that order comes from waits alone.
        PENDING.set(true);
        let context = mock::context();
        let kernel = Module::from_ptx(&context, "//").unwrap().function("k:8").unwrap();
        let streams: Vec<_> = (0..STREAMS).map(|_| context.new_stream().unwrap()).collect();
        let mut buffers: Vec<_> =
            (0..BUFFERS).map(|_| DeviceBuffer::<u8>::zeros(&streams[0], LEN).unwrap()).collect();
        ORDERED.take();
        let mut clocks = Clocks {
            handles: streams.iter().map(|stream| stream.raw().0.addr()).collect(),
            after: [[0; STREAMS]; STREAMS],
            host: [0; STREAMS],
            queued: [0; STREAMS],
        };
        clocks.queued[0] = BUFFERS;
        // Every use so far: buffer, bytes, whether it wrote, stream, position there.
        let mut uses: Vec<_> = (0..BUFFERS).map(|buffer| (buffer, 0..LEN, true, 0, buffer + 1)).collect();
        for step in steps {
            match step {
                Step::Synchronize { stream } => {
                    streams[stream].synchronize().unwrap();
                    clocks.wait_on_host(stream);
                }
                Step::Wait { stream, other } => {
                    streams[stream].wait_for(&streams[other]).unwrap();
                    clocks.observe();
                }
                Step::Use { stream, buffer, bytes, write } => {
                    let config = LaunchConfig::grid_1d(1, 1);
                    let target = &mut buffers[buffer];
                    if write {
                        mock::launch(&kernel, &streams[stream], config, (target.slice_mut(bytes.clone()),)).unwrap();
                    } else {
                        mock::launch(&kernel, &streams[stream], config, (target.slice(bytes.clone()),)).unwrap();
                    }
                    clocks.observe();
                    for (its_buffer, its_bytes, it_wrote, other, position) in &uses {
                        let overlap = its_bytes.start < bytes.end && bytes.start < its_bytes.end;
                        if *its_buffer == buffer && overlap && (write || *it_wrote) {
                            prop_assert!(
                                clocks.is_after(stream, *other, *position),
                                "stream {stream} does not wait for operation {position} of stream {other}"
                            );
                        }
                    }
                    clocks.queued[stream] += 1;
                    uses.push((buffer, bytes, write, stream, clocks.queued[stream]));
                }
            }
        }
    }
}
