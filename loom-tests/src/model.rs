//! The harness: explores a model, counts its executions, and prints the count.

use loom::thread::JoinHandle;
use nanopace::{Grant, ManualClock, Nanos, Pacer, PacerBuilder, Rate, Shape};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Nanoseconds in a microsecond.
pub const MICRO: u64 = 1_000;
/// Nanoseconds in a millisecond.
pub const MILLI: u64 = 1_000_000;
/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;
/// Nanoseconds in an hour.
pub const HOUR: u64 = 3_600 * SECOND;

/// The default bound, if `LOOM_MAX_PREEMPTIONS` is not set.
const PREEMPTIONS: usize = 2;

/// The maximum number of branches. No execution here needs as many: a model that reaches this number spins for ever.
const MOST_BRANCHES: usize = 20_000;

/// Runs `model` under every interleaving, and with every value that a load may return, with at most
/// `LOOM_MAX_PREEMPTIONS` preemptions; two by default. Prints the number of executions.
///
/// # Panics
/// When an execution panics or gets stuck.
pub fn explore(name: &str, model: impl Fn() + Send + Sync + 'static) {
    explore_less(0, name, model);
}

/// Like [`explore`], with `less` fewer preemptions: for a model that would take minutes because of its many loads.
///
/// # Panics
/// Like [`explore`].
pub fn explore_less(less: usize, name: &str, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    let bound = builder.preemption_bound.unwrap_or(PREEMPTIONS).saturating_sub(less);
    builder.preemption_bound = Some(bound);
    builder.max_branches = MOST_BRANCHES;
    // An atomic of std, not of loom, because it outlives an execution.
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

/// A thread of the model.
pub fn spawn<T: 'static>(body: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
    loom::thread::spawn(body)
}

/// A rate, from a string.
///
/// # Panics
/// When the string is not a rate.
#[must_use]
pub fn rate(text: &str) -> Rate {
    text.parse().expect("a rate")
}

/// A shape, from a string.
///
/// # Panics
/// When the string is not a shape.
#[must_use]
pub fn shape(text: &str) -> Shape {
    text.parse().expect("a shape")
}

/// A span of `nanos` nanoseconds.
#[must_use]
pub fn span(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

/// The moment `nanos` nanoseconds after the clock's origin.
#[must_use]
pub fn at(nanos: u64) -> Nanos {
    Nanos::from_nanos(nanos)
}

/// A clock at zero, and a builder of a pacer that runs on it, without tolerance.
pub fn manual(text: &str) -> (ManualClock, PacerBuilder) {
    on_manual_clock(Pacer::builder(rate(text)))
}

/// A clock at zero, and a builder of a pacer that follows this shape on it, without tolerance.
pub fn shaped(text: &str) -> (ManualClock, PacerBuilder) {
    on_manual_clock(Pacer::shaped(shape(text)))
}

fn on_manual_clock(builder: PacerBuilder) -> (ManualClock, PacerBuilder) {
    let clock = ManualClock::new();
    (clock.clone(), builder.clock(clock).tolerance(Duration::ZERO))
}

/// The intended start, in nanoseconds.
#[must_use]
pub fn intended_ns(grant: impl Into<Grant>) -> u64 {
    grant.into().intended_start().as_nanos()
}

/// The wait time, in nanoseconds.
#[must_use]
pub fn wait_ns(grant: impl Into<Grant>) -> u64 {
    grant.into().wait_nanos()
}

/// The intended starts of some grants, in order.
pub fn slots(grants: impl IntoIterator<Item = Grant>) -> Vec<u64> {
    let mut slots: Vec<u64> = grants.into_iter().map(intended_ns).collect();
    slots.sort_unstable();
    slots
}

/// All slots that can be taken without moving the clock.
#[must_use]
pub fn drain(pacer: &Pacer) -> Vec<Grant> {
    std::iter::from_fn(|| pacer.try_acquire().ok()).collect()
}

/// Every nanosecond is accounted for.
///
/// # Panics
/// When the account does not balance.
pub fn assert_balanced(pacer: &Pacer) {
    let ledger = pacer.ledger();
    let sum = ledger.allocated + ledger.idle + ledger.waiting + ledger.backlog;
    assert_eq!(ledger.elapsed, sum, "{ledger:?}");
}
