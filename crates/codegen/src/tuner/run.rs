//! One run of a tuner.

use std::time::Duration;

use cuprum_driver_core::{Context, Device, DeviceAttribute, Stream};

use super::progress::{Bar, Progress};
use super::report::{Measurement, Outcome, Reason, Rejection, TuningReport};
use super::space::Candidate;
use super::store::{Record, Scope, Store};
use super::{Scale, Tunable, Tuner, Verdict};
use crate::cache;
use crate::compile::{Image, compile_for};
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::module::{SourceModule, request_for};
use crate::source::Source;

/// A sample shorter than this is made of several launches: an event's resolution is about half a microsecond.
const SHORTEST_SAMPLE: Duration = Duration::from_micros(200);

/// The most launches of one sample.
const MOST_LAUNCHES: u32 = 100;

/// As many reasons as the error of a tuner without a result shows.
const SHOWN: usize = 8;

/// Why a try did not come to its end.
enum Stop {
    /// The candidate is bad.
    Reject(Rejection),
    /// Tuning cannot go on.
    Abort(Error),
}

impl From<Rejection> for Stop {
    fn from(rejection: Rejection) -> Self {
        Self::Reject(rejection)
    }
}

/// An error that the candidate is to blame for.
fn blame(error: Error) -> Stop {
    Stop::Reject(Rejection::of(&error))
}

pub(super) fn run<T: Tunable>(
    tuner: Tuner<'_>,
    device: &Device,
    tunable: &T,
) -> Result<TuningReport> {
    let candidates = tuner.strategy.first(tuner.space.candidates()?);
    let mut run = Run::new(tuner, device, tunable)?;
    let mut outcomes = run.first_round(&candidates)?;
    fastest_first(&mut outcomes);
    let mut repeats = run.tuner.repeats;
    let mut pool = outcomes.len();
    loop {
        let measured = outcomes[..pool]
            .iter()
            .filter(|one| one.result.is_ok())
            .count();
        let survivors = run.tuner.strategy.survivors(measured);
        // One has nobody left to be compared with.
        if survivors < 2 {
            break;
        }
        repeats = repeats.saturating_mul(2);
        let round = &mut outcomes[..survivors];
        run.another_round(round, repeats)?;
        // Those that went on stay before those that did not: they have been measured more often.
        fastest_first(round);
        pool = survivors;
    }
    run.tell(&Progress::Finished);
    if outcomes.iter().all(|one| one.result.is_err()) {
        return Err(nothing_works(&run.tuner.name, device, &outcomes));
    }
    Ok(TuningReport {
        tuner: run.tuner.name,
        device: device.to_string(),
        outcomes,
    })
}

/// Sorts by the medians; what has none comes last.
fn fastest_first(outcomes: &mut [Outcome]) {
    outcomes.sort_by_key(|one| {
        one.result
            .as_ref()
            .map_or(Duration::MAX, Measurement::median)
    });
}

fn nothing_works(name: &str, device: &Device, outcomes: &[Outcome]) -> Error {
    let mut text = format!(
        "none of the {} candidates of {name} works on {device}",
        outcomes.len()
    );
    for one in outcomes.iter().take(SHOWN) {
        if let Err(rejection) = &one.result {
            text.push_str(&format!("\n{}: {rejection}", one.candidate));
        }
    }
    if outcomes.len() > SHOWN {
        text.push_str(&format!("\n... and {} more", outcomes.len() - SHOWN));
    }
    Error::new(ErrorKind::Tuning, text)
}

struct Run<'t, 'a, T> {
    tuner: Tuner<'a>,
    tunable: &'t T,
    device: Device,
    /// Where small data is tried: the software device, or the device itself if it is one.
    small: Option<Device>,
    store: Option<Store>,
    bar: Bar,
}

impl<'t, 'a, T: Tunable> Run<'t, 'a, T> {
    fn new(tuner: Tuner<'a>, device: &Device, tunable: &'t T) -> Result<Self> {
        let dir = if tuner.remember && cache::enabled() {
            tuner.dir.clone().or_else(cache::directory)
        } else {
            None
        };
        let scope = Scope {
            tuner: tuner.name.clone(),
            problem: tuner.problem.clone(),
            device: identity(device),
            driver: format!("{:?}", device.driver_version()),
        };
        // A directory that cannot be written means tuning without remembering, as it does for the cache.
        let mut store = dir.and_then(|dir| Store::open(&dir, scope).ok());
        if tuner.retry_killed
            && let Some(store) = &mut store
        {
            store.forget_killed()?;
        }
        let small = if !tuner.check_small {
            None
        } else if device.is_software() {
            Some(device.clone())
        } else {
            // Built without a software device, there is none.
            Device::by_name("soft:0").ok()
        };
        Ok(Self {
            bar: Bar::new(&tuner.name),
            tuner,
            tunable,
            device: device.clone(),
            small,
            store,
        })
    }

    fn tell(&mut self, progress: &Progress<'_>) {
        self.bar.follow(progress);
        if let Some(callback) = &mut self.tuner.callback {
            callback(progress);
        }
    }

    /// Checks and measures all candidates, or finds that they are known.
    fn first_round(&mut self, candidates: &[Candidate]) -> Result<Vec<Outcome>> {
        let mut outcomes = Vec::with_capacity(candidates.len());
        for (index, candidate) in candidates.iter().enumerate() {
            self.tell(&Progress::Trying {
                index,
                count: candidates.len(),
                candidate,
            });
            let outcome = self.examine(candidate)?;
            match &outcome.result {
                Ok(time) => self.tell(&Progress::Measured {
                    candidate,
                    median: time.median(),
                    remembered: outcome.remembered,
                }),
                Err(rejection) => self.tell(&Progress::Rejected {
                    candidate,
                    rejection,
                }),
            }
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    /// Measures candidates again that were checked in the first round.
    fn another_round(&mut self, outcomes: &mut [Outcome], repeats: u32) -> Result<()> {
        let count = outcomes.len();
        for (index, outcome) in outcomes.iter_mut().enumerate() {
            let candidate = outcome.candidate.clone();
            self.tell(&Progress::Trying {
                index,
                count,
                candidate: &candidate,
            });
            let Ok(before) = &outcome.result else {
                continue;
            };
            let enough = before.samples().len() >= repeats as usize;
            if outcome.remembered && enough {
                continue;
            }
            let source = self.tunable.source(&candidate)?;
            let known = before.clone();
            let result = self.recorded(&candidate, &source, |run| {
                let image = run.compile(&source)?;
                let mut all = known;
                all.add(run.measure(&candidate, &source, &image, repeats)?);
                Ok((all, image))
            })?;
            outcome.remembered = false;
            match result {
                Ok((time, _)) => {
                    self.tell(&Progress::Measured {
                        candidate: &candidate,
                        median: time.median(),
                        remembered: false,
                    });
                    outcome.result = Ok(time);
                }
                Err(rejection) => {
                    self.tell(&Progress::Rejected {
                        candidate: &candidate,
                        rejection: &rejection,
                    });
                    outcome.result = Err(rejection);
                }
            }
        }
        Ok(())
    }

    /// What becomes of one candidate.
    fn examine(&mut self, candidate: &Candidate) -> Result<Outcome> {
        let mut outcome = Outcome {
            candidate: candidate.clone(),
            result: Err(Rejection::new(Reason::Failed, "")),
            remembered: false,
            compiler: String::new(),
            unchecked: None,
        };
        let source = match self.tunable.source(candidate) {
            Ok(source) => source,
            Err(error) => {
                outcome.result = Err(Rejection::new(Reason::Compile, error.to_string()));
                return Ok(outcome);
            }
        };
        let key = self.key(&source);
        if let Some(killed) = self.store.as_ref().and_then(|store| store.killed(&key)) {
            outcome.result = Err(killed.clone());
            outcome.remembered = true;
            return Ok(outcome);
        }
        let mut unchecked = None;
        let mut remembered = false;
        let result = self.recorded(candidate, &source, |run| {
            let image = run.compile(&source)?;
            if let Some(record) = run
                .store
                .as_ref()
                .and_then(|store| store.known(&key, image.compiler(), &fingerprint(&image)))
            {
                let known = match (&record.measurement, &record.rejection) {
                    (Some(time), _) => Some(Ok(time.clone())),
                    (None, Some(rejection)) => Some(Err(rejection.clone())),
                    (None, None) => None,
                };
                if let Some(known) = known {
                    remembered = true;
                    return known.map(|time| (time, image)).map_err(Stop::Reject);
                }
            }
            unchecked = run.try_small(candidate, &source)?;
            let repeats = run.tuner.repeats;
            let time = run.measure(candidate, &source, &image, repeats)?;
            Ok((time, image))
        })?;
        outcome.unchecked = unchecked;
        outcome.remembered = remembered;
        outcome.result = result.map(|(time, image)| {
            outcome.compiler = image.compiler().to_owned();
            time
        });
        Ok(outcome)
    }

    fn key(&self, source: &Source) -> String {
        source.key(request_for(&self.device)).to_hex()
    }

    /// Does something with a candidate between two lines of the journal, and remembers what came of it.
    fn recorded(
        &mut self,
        candidate: &Candidate,
        source: &Source,
        work: impl FnOnce(&mut Self) -> Result<(Measurement, Image), Stop>,
    ) -> Result<Result<(Measurement, Image), Rejection>> {
        let key = self.key(source);
        let name = candidate.to_string();
        if let Some(store) = &mut self.store {
            store.begin(&name, &key, "compiling or running")?;
        }
        let result = work(self);
        // The image again, also of a candidate that failed later: it is in the cache.
        let image = match &result {
            Ok((_, image)) => Some(image.clone()),
            Err(Stop::Reject(rejection)) if rejection.reason() != Reason::Compile => {
                compile_for(source, request_for(&self.device)).ok()
            }
            Err(_) => None,
        };
        if let Some(store) = &mut self.store {
            let (measurement, rejection) = match &result {
                Ok((time, _)) => (Some(time.clone()), None),
                Err(Stop::Reject(rejection)) => (None, Some(rejection.clone())),
                Err(Stop::Abort(_)) => (None, None),
            };
            if measurement.is_some() || rejection.is_some() {
                store.put(Record {
                    candidate: name.clone(),
                    source: key,
                    compiler: image
                        .as_ref()
                        .map_or_else(String::new, |image| image.compiler().to_owned()),
                    image: image.as_ref().map_or_else(String::new, fingerprint),
                    measurement,
                    rejection,
                })?;
            }
            store.end()?;
        }
        match result {
            Ok(done) => Ok(Ok(done)),
            Err(Stop::Reject(rejection)) => {
                if rejection.reason() == Reason::Fault && !self.device.is_software() {
                    // The fault of a try on the software device is that device's; the GPU's own ends the work of this process.
                    let lost = self
                        .device
                        .context()
                        .map_or(true, |context| context.is_lost());
                    if lost {
                        return Err(Error::new(
                            ErrorKind::Tuning,
                            format!(
                                "candidate {name} took {} from this process; it is remembered as bad, so run again to go on\n{}",
                                self.device.label(),
                                rejection.text()
                            ),
                        ));
                    }
                }
                Ok(Err(rejection))
            }
            Err(Stop::Abort(error)) => Err(error),
        }
    }

    fn compile(&self, source: &Source) -> Result<Image, Stop> {
        compile_for(source, request_for(&self.device)).map_err(blame)
    }

    /// Tries a candidate on small data. Answers why that was not possible, if the software device cannot run it.
    fn try_small(&self, candidate: &Candidate, source: &Source) -> Result<Option<String>, Stop> {
        let Some(device) = &self.small else {
            return Ok(None);
        };
        let built = device
            .context()
            .map_err(Error::from)
            .and_then(|context| Ok((source.build(&context)?, context)));
        let (module, context) = match built {
            Ok(built) => built,
            // What the software device lacks says nothing about a GPU.
            Err(error) if !self.device.is_software() => return Ok(Some(error.to_string())),
            Err(error) => return Err(blame(error)),
        };
        match self.try_once(candidate, &module, &context, Scale::Small) {
            Ok(_) => Ok(None),
            Err(Stop::Reject(rejection))
                if !self.device.is_software() && rejection.reason() == Reason::Failed =>
            {
                Ok(Some(rejection.text().to_owned()))
            }
            Err(Stop::Reject(rejection)) => Err(Rejection::new(
                rejection.reason(),
                format!("on small data on {}: {}", device.label(), rejection.text()),
            )
            .into()),
            Err(abort) => Err(abort),
        }
    }

    /// One launch on fresh data, compared with the reference.
    fn try_once(
        &self,
        candidate: &Candidate,
        module: &SourceModule,
        context: &Context,
        scale: Scale,
    ) -> Result<(Stream, T::Data), Stop> {
        let stream = context
            .new_stream()
            .map_err(|error| Stop::Abort(error.into()))?;
        let mut data = self.tunable.prepare(&stream, scale).map_err(Stop::Abort)?;
        self.tunable
            .launch(candidate, module, &stream, &mut data)
            .map_err(blame)?;
        stream.synchronize().map_err(|error| blame(error.into()))?;
        match self.tunable.verify(&data).map_err(blame)? {
            Verdict::Right => Ok((stream, data)),
            Verdict::Wrong(text) => Err(Rejection::new(Reason::WrongAnswer, text).into()),
        }
    }

    /// Checks a candidate on the full data and measures it.
    fn measure(
        &self,
        candidate: &Candidate,
        source: &Source,
        image: &Image,
        repeats: u32,
    ) -> Result<Measurement, Stop> {
        let context = self
            .device
            .context()
            .map_err(|error| Stop::Abort(error.into()))?;
        let module = SourceModule::load(&context, image.clone(), source.text()).map_err(blame)?;
        let (stream, mut data) = self.try_once(candidate, &module, &context, Scale::Full)?;
        let mut timed = |launches: u32| -> Result<Duration> {
            let begin = stream.record()?;
            for _ in 0..launches {
                self.tunable
                    .launch(candidate, &module, &stream, &mut data)?;
            }
            let end = stream.record()?;
            end.synchronize()?;
            Ok(end.elapsed_since(&begin)?)
        };
        let mut one = Duration::ZERO;
        for _ in 0..self.tuner.warm_up.max(1) {
            one = timed(1).map_err(blame)?;
        }
        let launches = (SHORTEST_SAMPLE.as_secs_f64() / one.as_secs_f64().max(1e-9)).ceil();
        let launches = (launches as u32).clamp(1, MOST_LAUNCHES);
        let samples = (0..repeats)
            .map(|_| Ok(timed(launches).map_err(blame)? / launches))
            .collect::<Result<Vec<_>, Stop>>()?;
        Ok(Measurement::new(launches, samples))
    }
}

/// A hash of the code.
fn fingerprint(image: &Image) -> String {
    let mut bytes = image.ptx().as_bytes().to_vec();
    bytes.extend_from_slice(image.cubin().unwrap_or_default());
    files::hash(&bytes)
}

/// What makes a device another one to tune for.
fn identity(device: &Device) -> String {
    let (major, minor) = device.compute_capability();
    let multiprocessors = device
        .attribute(DeviceAttribute::MULTIPROCESSOR_COUNT)
        .unwrap_or_default();
    let mut text = format!(
        "{}, {major}.{minor}, {multiprocessors} multiprocessors",
        device.name()
    );
    if device.is_software() {
        // Its speed is that of the host.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        text.push_str(&format!(", {threads} host threads"));
    }
    text
}
