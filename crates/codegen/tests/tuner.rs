//! The tuner on the software device: what it finds, what it leaves out and why, what it remembers.
//!
//! A candidate that ends the process is tried in a process of its own: [`child`].

use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuprum_codegen::tuner::{
    Candidate, Progress, Reason, Scale, Space, Strategy, Tunable, Tuner, Verdict,
};
use cuprum_codegen::{ErrorKind, Result, Source, SourceModule};
use cuprum_driver_core::{Device, DeviceBuffer, LaunchConfig, Stream};

/// The software device, for one test at a time: the fault of a candidate takes the context that they share, and times are better
/// taken alone.
fn device() -> (Device, MutexGuard<'static, ()>) {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    (
        Device::by_name("soft:0").expect("the software device"),
        alone,
    )
}

/// Adds 1 to each element, with a loop of `WORK` turns before it, so that more work takes longer; `BAD` says what is wrong.
struct AddOne {
    /// How often each candidate was launched.
    launches: RefCell<Vec<String>>,
}

impl AddOne {
    fn new() -> Self {
        Self {
            launches: RefCell::default(),
        }
    }
}

const SOURCE: &str = r#"
__global__ void add(int *x, int n, int turns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if BAD == 1
    undeclared();
#elif BAD == 2
    __shared__ int large[16000];
    large[threadIdx.x] = i;
    __syncthreads();
    i = large[threadIdx.x];
#elif BAD == 3
    if (i == n - 1) return;
#elif BAD == 4
    i = i < n ? i + 1000000000 : i;
#elif BAD == 6
    // Right for little data only.
    if (i >= 100) return;
#endif
    int y = i < n ? x[i] : 0;
    for (int k = 0; k < turns * WORK; ++k) y = y * 5 + 1;
    // Undone again, so that the answer is the same: 3435973837 is the inverse of 5.
    for (int k = 0; k < turns * WORK; ++k) y = (int)((unsigned)(y - 1) * 3435973837u);
#if BAD == 4
    x[i] = y + 1;
#else
    if (i < n) x[i] = y + 1;
#endif
}
"#;

impl Tunable for AddOne {
    type Data = (Vec<i32>, DeviceBuffer<i32>);

    fn source(&self, candidate: &Candidate) -> Result<Source> {
        Ok(candidate.define(Source::new(SOURCE)))
    }

    fn prepare(&self, stream: &Stream, scale: Scale) -> Result<Self::Data> {
        let n = match scale {
            Scale::Small => 77,
            Scale::Full => 5000,
        };
        let x: Vec<i32> = (0..n).map(|i| i * i).collect();
        let device = DeviceBuffer::from_slice(stream, &x)?;
        Ok((x, device))
    }

    fn launch(
        &self,
        candidate: &Candidate,
        module: &SourceModule,
        stream: &Stream,
        (host, x): &mut Self::Data,
    ) -> Result<()> {
        if candidate.number("BAD") == 5 && std::env::var_os("CUPRUM_TEST_KILL").is_some() {
            std::process::abort();
        }
        self.launches.borrow_mut().push(candidate.to_string());
        let block = if candidate.number("BAD") == 7 {
            2000
        } else {
            128
        };
        let n = host.len();
        let add = module.function("add")?;
        // SAFETY: the kernel accesses x below n, its length; the bad candidates that do not are found by the software
        // device.
        unsafe {
            add.launch(
                stream,
                LaunchConfig::for_elements_in(n, block),
                (x, n as i32, 20_i32),
            )
        }
        .map_err(Into::into)
    }

    fn verify(&self, (host, x): &Self::Data) -> Result<Verdict> {
        let want: Vec<i32> = host.iter().map(|x| x + 1).collect();
        Ok(Verdict::compare(&x.to_vec()?, &want))
    }
}

fn space(bad: impl IntoIterator<Item = i32>) -> Space {
    Space::new().axis("BAD", bad).axis("WORK", [0, 1, 100])
}

fn tuner(dir: &Path, space: Space) -> Tuner<'static> {
    Tuner::new("add one", space).dir(dir).repeats(3).warm_up(1)
}

#[test]
fn the_fastest_of_the_right_ones_wins_and_the_others_are_named() {
    let (device, _alone) = device();
    let dir = tempfile::tempdir().expect("a directory");
    let tunable = AddOne::new();
    let report = tuner(dir.path(), space([0, 1, 2, 3, 4, 6, 7]))
        .run(&device, &tunable)
        .expect("some work");
    let (best, time) = report.best();
    assert_eq!(best.number("BAD"), 0);
    assert_ne!(best.number("WORK"), 100);
    assert_eq!(time.samples().len(), 3);
    assert!(time.median() > std::time::Duration::ZERO);
    let measured: Vec<i64> = report
        .measured()
        .map(|(one, _)| one.number("WORK"))
        .collect();
    assert_eq!(measured.len(), 3);
    assert_eq!(measured[2], 100, "2000 turns take longer than 20");
    assert_eq!(report.rejected().count(), 18);
    for (candidate, rejection) in report.rejected() {
        let (reason, text) = match candidate.number("BAD") {
            1 => (Reason::Compile, "undeclared"),
            2 => (Reason::Resources, ""),
            3 => (
                Reason::WrongAnswer,
                "on small data on soft:0: element 76 is 5776, want 5777",
            ),
            4 => (Reason::Fault, "add"),
            6 => (Reason::WrongAnswer, "element 100 is 10000, want 10001"),
            7 => (Reason::Resources, "2000"),
            other => panic!("candidate {other} is none"),
        };
        assert_eq!(rejection.reason(), reason, "{candidate}: {rejection}");
        assert!(rejection.text().contains(text), "{candidate}: {rejection}");
    }
}

#[test]
fn a_second_run_measures_nothing_again() {
    let (device, _alone) = device();
    let dir = tempfile::tempdir().expect("a directory");
    let first = AddOne::new();
    let space = || space([0, 3]);
    let report = tuner(dir.path(), space())
        .run(&device, &first)
        .expect("some work");
    assert!(!first.launches.borrow().is_empty());
    let second = AddOne::new();
    let again = tuner(dir.path(), space())
        .run(&device, &second)
        .expect("some work");
    assert!(second.launches.borrow().is_empty(), "all is known");
    assert!(again.outcomes().iter().all(|one| one.is_remembered()));
    for (a, b) in report.outcomes().iter().zip(again.outcomes()) {
        assert_eq!(a.candidate(), b.candidate());
        assert_eq!(a.result(), b.result(), "with every sample");
    }
    // Another problem is measured anew, and so is a candidate that is new.
    let third = AddOne::new();
    tuner(dir.path(), space())
        .problem("another")
        .run(&device, &third)
        .expect("some work");
    assert!(!third.launches.borrow().is_empty());
    let fourth = AddOne::new();
    tuner(
        dir.path(),
        Space::new().axis("BAD", [0]).axis("WORK", [1, 2]),
    )
    .run(&device, &fourth)
    .expect("some work");
    assert!(
        fourth
            .launches
            .borrow()
            .iter()
            .all(|one| one == "BAD=0 WORK=2"),
        "{:?}",
        fourth.launches
    );
    // Nothing is remembered where nothing is to be.
    let fifth = AddOne::new();
    tuner(dir.path(), space())
        .remember(false)
        .run(&device, &fifth)
        .expect("some work");
    assert!(!fifth.launches.borrow().is_empty());
}

#[test]
fn strategies_try_as_many_as_they_say() {
    let (device, _alone) = device();
    let dir = tempfile::tempdir().expect("a directory");
    let space = || Space::new().axis("BAD", [0]).axis("WORK", 0..40);
    let report = tuner(dir.path(), space())
        .strategy(Strategy::Random { count: 5, seed: 3 })
        .run(&device, &AddOne::new())
        .expect("some work");
    assert_eq!(report.outcomes().len(), 5);

    let tunable = AddOne::new();
    let report = tuner(dir.path(), space())
        .problem("halving")
        .strategy(Strategy::SuccessiveHalving { count: 8, seed: 1 })
        .repeats(2)
        .run(&device, &tunable)
        .expect("some work");
    let mut samples: Vec<usize> = report
        .measured()
        .map(|(_, time)| time.samples().len())
        .collect();
    samples.sort_unstable();
    // Eight have the 2 of the first round; four of them 4 more, two of those 8 more.
    assert_eq!(samples, [2, 2, 2, 2, 6, 6, 14, 14]);
}

#[test]
fn the_callback_hears_of_everything() {
    let (device, _alone) = device();
    let dir = tempfile::tempdir().expect("a directory");
    let mut heard = Vec::new();
    Tuner::new("heard", space([0, 1]))
        .dir(dir.path())
        .repeats(1)
        .on_progress(|progress| {
            heard.push(match progress {
                Progress::Trying {
                    index, candidate, ..
                } => format!("trying {index} {candidate}"),
                Progress::Measured { candidate, .. } => format!("measured {candidate}"),
                Progress::Rejected {
                    candidate,
                    rejection,
                } => format!("{} {candidate}", rejection.reason()),
                Progress::Finished => "finished".to_owned(),
                other => format!("{other:?}"),
            });
        })
        .run(&device, &AddOne::new())
        .expect("some work");
    assert_eq!(
        heard,
        [
            "trying 0 BAD=0 WORK=0",
            "measured BAD=0 WORK=0",
            "trying 1 BAD=0 WORK=1",
            "measured BAD=0 WORK=1",
            "trying 2 BAD=0 WORK=100",
            "measured BAD=0 WORK=100",
            "trying 3 BAD=1 WORK=0",
            "does not compile BAD=1 WORK=0",
            "trying 4 BAD=1 WORK=1",
            "does not compile BAD=1 WORK=1",
            "trying 5 BAD=1 WORK=100",
            "does not compile BAD=1 WORK=100",
            "finished",
        ]
    );
}

#[test]
fn no_candidate_that_works_is_an_error_with_the_reasons() {
    let (device, _alone) = device();
    let dir = tempfile::tempdir().expect("a directory");
    let error = tuner(dir.path(), space([3]))
        .run(&device, &AddOne::new())
        .expect_err("all are wrong");
    assert_eq!(error.kind(), ErrorKind::Tuning);
    let text = error.to_string();
    assert!(
        text.starts_with("none of the 3 candidates of add one works on "),
        "{text}"
    );
    assert!(text.contains("BAD=3 WORK=100: wrong answer: "), "{text}");
}

#[test]
#[ignore = "run by the test below, in a process of its own"]
fn child() {
    let (device, _alone) = device();
    let dir = std::env::var_os("CUPRUM_TEST_DIR").expect("the directory");
    let space = Space::new().axis("BAD", [0, 5, 3]).axis("WORK", [0]);
    let report = tuner(Path::new(&dir), space)
        .run(&device, &AddOne::new())
        .expect("some work");
    for (candidate, rejection) in report.rejected() {
        println!("<{candidate}: {}>", rejection.reason());
    }
    println!("<best {}>", report.best().0);
}

/// Need 28: a candidate that takes the process with it is named by the next one, and skipped.
#[test]
fn a_candidate_that_kills_the_process_is_skipped_next_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = || {
        Command::new(std::env::current_exe().expect("this program"))
            .args(["child", "--exact", "--ignored", "--nocapture"])
            .env("CUPRUM_TEST_DIR", dir.path())
            .env("CUPRUM_TEST_KILL", "1")
            .output()
            .expect("the process starts")
    };
    let first = run();
    assert!(!first.status.success(), "{first:?}");
    let second = run();
    assert!(second.status.success(), "{second:?}");
    let text = String::from_utf8_lossy(&second.stdout);
    let words: Vec<&str> = text
        .split('<')
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('>')?.0))
        .collect();
    assert_eq!(
        words,
        [
            "BAD=5 WORK=0: killed the process",
            "BAD=3 WORK=0: wrong answer",
            "best BAD=0 WORK=0"
        ]
    );
}
