//! Runs a model under every interleaving with a limited number of preemptions, and prints the number of executions.

use loom::thread::JoinHandle;
use nanopace::{Grant, ManualClock, Nanos, Pacer, PacerBuilder, Rate, Shape};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// One microsecond in nanoseconds.
pub const MICRO: u64 = 1_000;
/// One millisecond in nanoseconds.
pub const MILLI: u64 = 1_000_000;
/// One second in nanoseconds.
pub const SECOND: u64 = 1_000_000_000;
/// One hour in nanoseconds.
pub const HOUR: u64 = 3_600 * SECOND;

/// The maximum number of preemptions, unless `LOOM_MAX_PREEMPTIONS` is set.
const PREEMPTIONS: usize = 2;

/// The maximum number of branches in one execution. An execution that reaches this number counts as one that spins
/// forever.
const MOST_BRANCHES: usize = 20_000;

/// Runs `model` once for each interleaving of its threads that has at most `LOOM_MAX_PREEMPTIONS` preemptions (by
/// default two), and for each value that a load may return. Prints the number of executions.
///
/// # Panics
/// Panics if an execution panics, deadlocks or spins forever.
pub fn explore(name: &str, model: impl Fn() + Send + Sync + 'static) {
    explore_less(0, name, model);
}

/// Explores a model like [`explore`], with a maximum number of preemptions that is lower by `less`. Use this function
/// for a model that would take minutes, because of its many loads, with the full number.
///
/// # Panics
/// Panics if an execution panics, deadlocks or spins forever.
pub fn explore_less(less: usize, name: &str, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    let bound = builder.preemption_bound.unwrap_or(PREEMPTIONS).saturating_sub(less);
    builder.preemption_bound = Some(bound);
    builder.max_branches = MOST_BRANCHES;
    // This counter is an atomic of std, because an atomic of loom exists only within one execution.
    let executions = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&executions);
    let started = Instant::now();
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let executions = executions.load(Ordering::Relaxed);
    println!(
        "model {name}: bound {bound}, {executions} executions, {} ms",
        started.elapsed().as_millis()
    );
}

/// Starts a thread of the model.
pub fn spawn<T: 'static>(body: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
    loom::thread::spawn(body)
}

/// Starts a thread of the model with its own clone of `shared`.
pub fn spawn_with<S: Clone + 'static, T: 'static>(
    shared: &S,
    body: impl FnOnce(&S) -> T + 'static,
) -> JoinHandle<T> {
    let shared = shared.clone();
    spawn(move || body(&shared))
}

/// Parses a rate.
///
/// # Panics
/// Panics if the string is not a rate.
#[must_use]
pub fn rate(text: &str) -> Rate {
    text.parse().expect("a rate")
}

/// Parses a shape.
///
/// # Panics
/// Panics if the string is not a shape.
#[must_use]
pub fn shape(text: &str) -> Shape {
    text.parse().expect("a shape")
}

/// Returns a span of `nanos` nanoseconds.
#[must_use]
pub fn span(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

/// Returns the time `nanos` nanoseconds after the clock's origin.
#[must_use]
pub fn at(nanos: u64) -> Nanos {
    Nanos::from_nanos(nanos)
}

/// Returns a clock at zero, and a builder of a pacer with this rate, on that clock and without a tolerance.
pub fn manual(text: &str) -> (ManualClock, PacerBuilder) {
    on_manual_clock(Pacer::builder(rate(text)))
}

/// Returns a clock at zero, and a pacer with this rate, on that clock and without a tolerance.
#[must_use]
pub fn paced(text: &str) -> (ManualClock, Pacer) {
    let (clock, builder) = manual(text);
    (clock, builder.build())
}

/// Returns a clock at zero, and a pacer with this shape, on that clock and without a tolerance.
#[must_use]
pub fn paced_by_shape(text: &str) -> (ManualClock, Pacer) {
    let (clock, builder) = on_manual_clock(Pacer::shaped(shape(text)));
    (clock, builder.build())
}

fn on_manual_clock(builder: PacerBuilder) -> (ManualClock, PacerBuilder) {
    let clock = ManualClock::new();
    (clock.clone(), builder.clock(clock).tolerance(Duration::ZERO))
}

/// Returns the intended start in nanoseconds.
#[must_use]
pub fn intended_ns(grant: impl Into<Grant>) -> u64 {
    grant.into().intended_start().as_nanos()
}

/// Returns the wait time in nanoseconds.
#[must_use]
pub fn wait_ns(grant: impl Into<Grant>) -> u64 {
    grant.into().wait_nanos()
}

/// Returns the intended starts of some grants in nanoseconds, in order.
pub fn slots(grants: impl IntoIterator<Item = Grant>) -> Vec<u64> {
    let mut slots: Vec<u64> = grants.into_iter().map(intended_ns).collect();
    slots.sort_unstable();
    slots
}

/// Starts all slots that are due without moving the clock, and returns their grants.
#[must_use]
pub fn drain(pacer: &Pacer) -> Vec<Grant> {
    std::iter::from_fn(|| pacer.try_acquire().ok()).collect()
}

/// Checks that the four parts of the ledger add up to the elapsed time.
///
/// # Panics
/// Panics if the account does not balance.
pub fn assert_balanced(pacer: &Pacer) {
    let ledger = pacer.ledger();
    let sum = ledger.allocated + ledger.idle + ledger.waiting + ledger.backlog;
    assert_eq!(ledger.elapsed, sum, "{ledger:?}");
}
