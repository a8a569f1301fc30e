//! Pacers in the state that a benchmark asks about.

use nanopace::{Clock, Nanos, Pacer, Rate, Strictness, TscClock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The default clock, except that it can leap forwards: so a pacer is behind at once, and each reading costs what it
/// costs in earnest.
#[derive(Clone, Debug)]
pub struct LeapClock(Arc<(TscClock, AtomicU64)>);

impl LeapClock {
    /// A clock that has not leapt yet.
    #[must_use]
    pub fn new() -> LeapClock {
        LeapClock(Arc::new((TscClock::new(), AtomicU64::new(0))))
    }

    /// From now on the clock is ahead by `span` more.
    ///
    /// # Panics
    /// When the span is longer than five centuries.
    pub fn leap(&self, span: Duration) {
        let nanos = u64::try_from(span.as_nanos()).expect("a span of less than 500 years");
        self.0.1.fetch_add(nanos, Relaxed);
    }
}

impl Default for LeapClock {
    fn default() -> LeapClock {
        LeapClock::new()
    }
}

impl Clock for LeapClock {
    fn now(&self) -> Nanos {
        self.0.0.now() + Duration::from_nanos(self.0.1.load(Relaxed))
    }
}

/// A rate that is written down in a benchmark.
///
/// # Panics
/// On a text that is no rate.
#[must_use]
pub fn rate(text: &str) -> Rate {
    text.parse().expect("a rate")
}

/// A strictness that is written down in a benchmark.
///
/// # Panics
/// On a number that is no strictness.
#[must_use]
pub fn strictness(number: f64) -> Strictness {
    Strictness::new(number).expect("a strictness")
}

/// A pacer an hour behind its schedule of 1 G/s, with the tolerance so wide that no policy has to act: every slot is due.
#[must_use]
pub fn behind(number: f64) -> Pacer {
    let clock = LeapClock::new();
    let builder = Pacer::builder(rate("1G/s")).strictness(strictness(number)).clock(clock.clone());
    let pacer = builder.tolerance(Duration::from_secs(1 << 20)).build();
    clock.leap(Duration::from_secs(3600));
    pacer
}

/// A pacer whose slots are due faster than anybody can take them, without any tolerance: the policy acts on each late claim.
#[must_use]
pub fn overrun(number: f64) -> Pacer {
    Pacer::builder(rate("10G/s")).strictness(strictness(number)).tolerance(Duration::ZERO).build()
}

/// A pacer far behind, of which lanes take blocks of 10 us of schedule at `rate`, however late it is.
#[must_use]
pub fn in_blocks(rate: Rate) -> Pacer {
    let clock = LeapClock::new();
    // With a limit on the backlog a block's size no longer follows the lateness.
    let limit = Duration::from_secs(1 << 16);
    let pacer = Pacer::builder(rate).max_backlog(limit).clock(clock.clone()).build();
    clock.leap(limit / 2);
    pacer
}
