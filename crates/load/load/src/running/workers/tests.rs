//! Tests runs against misbehaving targets: every slot is counted, and the verdict names the side that caused the
//! lateness.

mod blocking;
mod closed;
mod connection_slots;
mod growing;
mod held;
mod until;

use crate::judged::advice::advice;
use crate::judged::summary::Summary;
use crate::judged::verdict::Verdict;
use crate::load::about::About;
use crate::load::backend::Backend;
use crate::load::blocking::BlockingTarget;
use crate::load::target::{Done, Failure, Slot, Target};
use crate::results::stats::OperationStats;
use crate::running::args::RunArgs;
use crate::running::message::Message;
use crate::running::outputs::Outputs;
use crate::running::run::perform;
use crate::running::setup::Setup;
use crate::running::workers::any_backend::AnyBackend;
use crate::shown::live::Live;
use crate::shown::report::{Detail, RunReport};
use clap::Parser;
use nanopace_services::{assert_unless_busy, watched};
use std::collections::BTreeSet;
use std::fmt::{self, Debug, Formatter};
use std::future::{pending, ready};
use std::ops::{Deref, Range};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use tokio::time::sleep;

const LOAD: &str = "--rate 200/s --duration 500ms --threads 1";

/// Options that make all 100 slots start, even if they are late.
const WHOLE: &str = "--duration 1h --requests 100";

#[derive(Debug, Parser)]
#[command(args_override_self = true)]
struct CommandLine {
    #[command(flatten)]
    run: RunArgs,
}

struct Loaded<T> {
    setup: Setup,
    target: Arc<T>,
}

impl<T> Deref for Loaded<T> {
    type Target = Setup;

    fn deref(&self) -> &Setup {
        &self.setup
    }
}

impl<T> Debug for Loaded<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.setup.fmt(f)
    }
}

fn set_up<T: Backend>(target: T, options: &str) -> anyhow::Result<Loaded<T>> {
    let words = ["test"].into_iter().chain(LOAD.split(' ')).chain(options.split_whitespace());
    let (args, target) = (CommandLine::try_parse_from(words)?.run, Arc::new(target));
    let any: Arc<dyn AnyBackend> = Arc::<T>::clone(&target);
    let setup = Setup::of_any(args, &[], Box::new(|_| Ok(any)))?;
    Ok(Loaded { setup, target })
}

fn run_with(setup: &Setup, sender: &Sender<Message>, messages: &Receiver<Message>) -> Summary {
    let ran = perform(setup, None, Outputs::only(Live::Nowhere), sender, messages);
    ran.unwrap().summary
}

fn run(setup: &Setup) -> Summary {
    let (sender, messages) = mpsc::channel();
    let summary = run_with(setup, &sender, &messages);
    assert_eq!(summary.stats.due(), 100, "{summary:?}");
    balance(&summary.stats);
    summary
}

fn run_until_hung(setup: &Setup, begun: Receiver<()>) {
    let (sender, messages) = mpsc::channel();
    let stop = sender.clone();
    let stops = thread::spawn(move || {
        begun.iter().take(4).for_each(drop);
        (0..2).for_each(|_| stop.send(Message::Stop).unwrap());
    });
    let summary = run_with(setup, &sender, &messages);
    stops.join().unwrap();
    balance(&summary.stats);
    assert_eq!((summary.stats.started(), summary.stats.unfinished), (4, 4));
}

fn balance(stats: &OperationStats) {
    let ended = stats.completed() + stats.failed() + stats.unfinished;
    assert_eq!((stats.started(), stats.response.len()), (ended, stats.due()), "{stats:?}");
}

fn failures(summary: &Summary) -> Vec<(String, u64)> {
    summary.stats.failures.iter().map(|(kind, count)| (kind.to_string(), *count)).collect()
}

/// Returns the failures of one kind as a list. The list is empty if the count is zero, as it can be on a machine that
/// stalls for the whole load.
fn of_kind(kind: &str, count: u64) -> Vec<(String, u64)> {
    if count == 0 { Vec::new() } else { vec![(kind.to_owned(), count)] }
}

type Called = Pin<Box<dyn Future<Output = Result<Done, Failure>> + Send>>;

type Becomes<T> = Box<dyn Fn(u64) -> T + Send + Sync>;

/// A target whose openings and calls are functions of their number. Most tests share one asynchronous and one blocking
/// type, because workers are compiled for each type.
struct Told<C> {
    /// Openings are counted from 0. Opening 0 checks that the target is available.
    open: Becomes<Result<(), Failure>>,
    call: Becomes<C>,
    opened: AtomicU64,
    /// The slot, the session and the thread of each call.
    calls: Mutex<Vec<(u64, usize, ThreadId)>>,
}

impl Target for Told<Called> {
    type Session = usize;

    async fn connect(&self, index: usize) -> Result<usize, Failure> {
        self.opens(index)
    }

    async fn call(&self, session: &mut usize, slot: Slot) -> Result<Done, Failure> {
        self.calls(*session, slot).await
    }

    fn about(&self) -> About<'_> {
        About::new().name("test")
    }
}

impl BlockingTarget for Told<Result<Done, Failure>> {
    type Session = usize;

    fn connect(&self, index: usize) -> Result<usize, Failure> {
        self.opens(index)
    }

    fn call(&self, session: &mut usize, slot: Slot) -> Result<Done, Failure> {
        self.calls(*session, slot)
    }

    fn about(&self) -> About<'_> {
        About::new().name("test")
    }
}

impl<C> Told<C> {
    fn new(
        open: impl Fn(u64) -> Result<(), Failure> + Send + Sync + 'static,
        call: impl Fn(u64) -> C + Send + Sync + 'static,
    ) -> Told<C> {
        let (open, call) = (Box::new(open), Box::new(call));
        Told { open, call, opened: AtomicU64::new(0), calls: Mutex::default() }
    }

    fn opens(&self, index: usize) -> Result<usize, Failure> {
        // Relaxed: only the increments must be unique. No loom model: it is a single atomic.
        (self.open)(self.opened.fetch_add(1, Ordering::Relaxed)).map(|()| index)
    }

    fn calls(&self, session: usize, slot: Slot) -> C {
        let thread = thread::current().id();
        self.calls.lock().unwrap().push((slot.number(), session, thread));
        (self.call)(slot.number())
    }

    fn seen(&self) -> (u64, u64) {
        let calls = self.calls.lock().unwrap();
        let slots: BTreeSet<_> = calls.iter().map(|(slot, ..)| slot).collect();
        assert_eq!(slots.len(), calls.len(), "{calls:?}");
        // Relaxed: the threads have ended, so the counter no longer changes.
        (self.opened.load(Ordering::Relaxed), calls.len() as u64)
    }
}

fn refuses(which: Range<u64>) -> impl Fn(u64) -> Result<(), Failure> {
    move |n| if which.contains(&n) { Err(Failure::new("refused")) } else { Ok(()) }
}

/// Returns an opening that blocks its thread until the other end of the channel is dropped.
fn hangs_until(ends: Receiver<()>) -> impl Fn() -> Result<(), Failure> + Send + Sync {
    let ends = Mutex::new(ends);
    move || {
        let _ = ends.lock().map(|ends| ends.recv());
        Ok(())
    }
}

/// Returns an opening that hangs until the call for slot 0 is made, and a call. The call for slot 0 waits for a second
/// call, so both succeed only if different threads make them.
fn that_need_each_other() -> (
    impl Fn() -> Result<(), Failure> + Send + Sync,
    impl Fn(u64) -> Result<Done, Failure> + Send + Sync,
) {
    let (first, begins) = mpsc::channel();
    let (second, ends) = mpsc::channel();
    let (hangs, waits) = (hangs_until(begins), hangs_until(ends));
    let held = [first, second].map(|sender: Sender<()>| Mutex::new(Some(sender)));
    let calls = move |slot| {
        held[usize::from(slot > 0)].lock().unwrap().take();
        if slot == 0 {
            waits()?;
        }
        Ok(Done::new())
    };
    (hangs, calls)
}

fn done() -> Called {
    Box::pin(ready(Ok(Done::new())))
}

fn fails(failure: Failure) -> Called {
    Box::pin(ready(Err(failure)))
}

const TAKES: Duration = Duration::from_millis(20);

fn slow(_: u64) -> Called {
    Box::pin(async {
        sleep(TAKES).await;
        Ok(Done::new())
    })
}

/// Returns a call that takes longer than the load. The slots after it therefore wait only for this call, even on a fast
/// machine.
fn outlasts(_: u64) -> Called {
    Box::pin(async {
        sleep(Duration::from_secs(1)).await;
        Ok(Done::new())
    })
}

fn run_with_target_behind(setup: &Setup) -> Summary {
    let (summary, machine) = watched(|| run(setup));
    let is_behind = summary.verdict == Verdict::TargetBehind;
    assert_unless_busy(is_behind, machine, &summary.stats.lateness);
    summary
}

#[test]
fn a_target_that_hangs_or_panics_before_the_load_is_not_there() {
    struct Never;
    impl Target for Never {
        type Session = ();

        async fn connect(&self, _index: usize) -> Result<(), Failure> {
            pending().await
        }

        async fn call(&self, _session: &mut (), _slot: Slot) -> Result<Done, Failure> {
            Ok(Done::new())
        }
    }
    let told = |error: anyhow::Error| error.to_string();
    let hangs = set_up(Never, "--timeout 50ms").unwrap_err();
    assert_eq!(told(hangs), "no response from Never: timeout");
    let panics = |n| if n == 0 { panic!("no door") } else { Ok(()) };
    let panics = set_up(Told::new(panics, |_| done()), "").unwrap_err();
    assert_eq!(told(panics), "no response from test: panic: no door");
}

#[test]
fn a_run_that_is_stopped_before_it_begins_starts_nothing_and_says_so() {
    for options in ["", "--warmup 100ms"] {
        let setup = set_up(Told::new(refuses(0..0), |_| done()), options).unwrap();
        let (sender, messages) = mpsc::channel();
        sender.send(Message::Stop).unwrap();
        let summary = run_with(&setup, &sender, &messages);
        assert_eq!((summary.stats.due(), setup.target.seen().1), (0, 0));
        assert_eq!(summary.verdict, Verdict::NotStarted);
        assert_eq!(summary.incomplete.as_deref(), Some("ended before its schedule began"));
        assert_eq!(advice(&summary), None);
        let report = RunReport { summary: &summary, detail: Detail::All }.to_string();
        assert!(report.contains("requested over 0ns"), "{report}");
    }
}

#[test]
fn a_slow_target_is_behind() {
    let setup = set_up(Told::new(refuses(0..0), outlasts), "-c 2").unwrap();
    let summary = run_with_target_behind(&setup);
    assert_eq!((setup.target.seen(), summary.stats.completed()), ((3, 2), 2));
}

#[test]
fn slots_that_a_slow_target_makes_too_late_are_skipped_and_counted() {
    let setup = set_up(Told::new(refuses(0..0), outlasts), "-c 2 --skip-later-than 250ms").unwrap();
    let summary = run_with_target_behind(&setup);
    assert!(summary.stats.skipped > 0, "{summary:?}");
    assert_eq!(setup.target.seen(), (3, summary.stats.completed()));
}

#[test]
fn a_call_that_hangs_ends_with_the_timeout_and_its_session() {
    let hangs = |_| -> Called { Box::pin(pending()) };
    let setup = set_up(Told::new(refuses(0..0), hangs), "-c 4 --timeout 50ms").unwrap();
    let summary = run(&setup);
    let started = summary.stats.started();
    assert_eq!(failures(&summary), of_kind("timeout", started));
    // One opening checks that the target is available, and each call needs one more opening.
    assert_eq!(setup.target.seen(), (1 + started, started));
    assert_eq!(summary.verdict, Verdict::TargetFailing);
}

#[test]
fn calls_that_hang_when_the_run_is_given_up_are_unfinished() {
    let (hung, begun) = mpsc::channel();
    let hangs = move |_| -> Called {
        hung.send(()).unwrap();
        Box::pin(pending())
    };
    let setup = set_up(Told::new(refuses(0..0), hangs), "-c 4 --duration 1h --timeout 1h").unwrap();
    run_until_hung(&setup, begun);
    assert_eq!(setup.target.seen(), (5, 4));
}

/// With one thread, only the last of four calls blocks the thread. With four threads, each call blocks its own thread.
#[test]
fn calls_that_never_yield_when_the_run_is_given_up_are_unfinished() {
    for threads in [1, 4] {
        let (hung, begun) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let ends = Arc::new(Mutex::new(ends));
        let hangs = move |slot| -> Called {
            let (hung, ends) = (hung.clone(), Arc::clone(&ends));
            Box::pin(async move {
                hung.send(()).unwrap();
                if slot < 3 && threads == 1 {
                    pending::<()>().await;
                }
                let _ = ends.lock().map(|ends| ends.recv());
                Ok(Done::new())
            })
        };
        let options = format!("-c 4 --threads {threads} --duration 1h --timeout 1h");
        let setup = set_up(Told::new(refuses(0..0), hangs), &options).unwrap();
        run_until_hung(&setup, begun);
        assert_eq!(setup.target.seen(), (5, 4));
        drop(end);
    }
}

#[test]
fn a_panic_in_a_call_is_a_failure_of_the_target() {
    let panics = |slot| if slot % 10 == 3 { panic!("slot of the {}rd kind", 3) } else { done() };
    let setup = set_up(Told::new(refuses(0..0), panics), "-c 4").unwrap();
    let summary = run(&setup);
    let calls = setup.target.calls.lock().unwrap().clone();
    let panicked = u64::try_from(calls.iter().filter(|(slot, ..)| slot % 10 == 3).count()).unwrap();
    assert_eq!(failures(&summary), of_kind("panic: slot of the 3rd kind", panicked));
    let (opened, called) = setup.target.seen();
    assert_eq!(called, summary.stats.started());
    // Each panic makes its session open again, except a panic in the last call of one of the four sessions.
    assert!((1 + panicked.max(4)..=5 + panicked).contains(&opened), "{opened}");
    assert_eq!(summary.verdict, Verdict::TargetFailing);
}

#[test]
fn a_panic_between_two_polls_is_one_too() {
    let panics = |_| -> Called {
        Box::pin(async {
            sleep(Duration::from_millis(1)).await;
            panic!("late")
        })
    };
    let setup = set_up(Told::new(refuses(0..0), panics), "-c 4").unwrap();
    let summary = run(&setup);
    assert_eq!(failures(&summary), of_kind("panic: late", summary.stats.started()));
}

#[test]
fn a_panic_in_connect_is_a_failure_of_the_call_that_needs_the_session() {
    let panics = |n| if n > 0 { panic!("no door") } else { Ok(()) };
    let setup = set_up(Told::new(panics, |_| done()), "-c 4").unwrap();
    let summary = run(&setup);
    let started = summary.stats.started();
    assert_eq!(failures(&summary), of_kind("panic: no door", started));
    assert_eq!(setup.target.seen(), (1 + 4 + started, 0));
    assert_eq!(summary.verdict, Verdict::TargetFailing);
}

#[test]
fn sessions_that_are_refused_at_first_are_opened_by_calls() {
    let setup = set_up(Told::new(refuses(1..7), |_| done()), &format!("{WHOLE} -c 4")).unwrap();
    let summary = run(&setup);
    // Four of the six refusals came before the schedule began, so the report contains only two.
    assert_eq!(failures(&summary), of_kind("refused", 2));
    assert_eq!(setup.target.seen(), (7 + 4, summary.stats.completed()));
}

#[test]
fn a_session_that_breaks_is_opened_again_until_that_succeeds() {
    let breaks = |slot| if slot == 20 { fails(Failure::new("gone").broken()) } else { done() };
    let setup = set_up(Told::new(refuses(2..5), breaks), &format!("{WHOLE} -c 1")).unwrap();
    let summary = run(&setup);
    assert_eq!(failures(&summary), [of_kind("gone", 1), of_kind("refused", 3)].concat());
    assert_eq!(setup.target.seen(), (6, summary.stats.started() - 3));
    assert_eq!(summary.stats.set_ups.all.len(), 2);
    assert_eq!(summary.verdict, Verdict::TargetFailing);
}

#[test]
fn a_failure_keeps_its_session() {
    let setup = set_up(Told::new(refuses(0..0), |_| fails(Failure::new("no"))), "-c 4").unwrap();
    let summary = run(&setup);
    let started = summary.stats.started();
    assert_eq!(failures(&summary), of_kind("no", started));
    assert_eq!(setup.target.seen(), (5, started));
    assert_eq!(summary.verdict, Verdict::TargetFailing);
}

/// The other sessions of the thread wait for the thread, so the generator is late. No timeout can end the call.
#[test]
fn a_call_that_blocks_its_thread_makes_the_generator_late() {
    let blocks = |_| -> Called {
        Box::pin(async {
            thread::sleep(TAKES);
            Ok(Done::new())
        })
    };
    let setup = set_up(Told::new(refuses(0..0), blocks), "-c 4 --timeout 10ms").unwrap();
    let summary = run(&setup);
    assert_eq!(setup.target.seen(), (5, summary.stats.completed()));
    assert_eq!(summary.verdict, Verdict::GeneratorBehind, "{:?}", summary.stats.lateness);
    assert_eq!(summary.stats.held.0, summary.stats.started());
    assert!(
        summary.warnings.iter().any(|told| told.contains(" held a thread for up to ")),
        "{summary:?}"
    );
}

#[test]
fn a_call_that_never_yields_makes_the_generator_late() {
    let spins = |_| -> Called {
        Box::pin(async {
            let begin = Instant::now();
            while begin.elapsed() < TAKES {
                ready(()).await;
            }
            Ok(Done::new())
        })
    };
    let setup = set_up(Told::new(refuses(0..0), spins), "-c 4 --timeout 10ms").unwrap();
    let summary = run(&setup);
    assert_eq!(setup.target.seen(), (5, summary.stats.completed()));
    assert_eq!(summary.verdict, Verdict::GeneratorBehind, "{:?}", summary.stats.lateness);
}
