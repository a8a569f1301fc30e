//! Draws the scenario of a round from its seed.

use crate::stress::policy::Policy;
use fastrand::Rng;
use nanopace::{Clock, Pacer, PacerBuilder, Pause, Rate, StdClock, TscClock};
use std::sync::Arc;
use std::time::Duration;

/// The highest rate of a round, per second.
pub(crate) const TOP_RATE: u64 = 10_000_000;

/// The settings of a round. The order in which its threads call the pacer also depends on the machine.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    /// The rate at the beginning, per second.
    pub(crate) rate: u64,
    pub(crate) pause: Pause,
    pub(crate) policy: Policy,
    pub(crate) tolerance: Option<Duration>,
    pub(crate) sleep_threshold: Duration,
    pub(crate) begins: Begins,
    pub(crate) clock: ClockKind,
    pub(crate) workers: u64,
    pub(crate) lasts: Duration,
    pub(crate) work: Work,
    pub(crate) changes: Changes,
    pub(crate) ends: Ends,
    /// The weight of each kind of call, which decides how often a worker makes it.
    pub(crate) weights: [u8; 8],
}

/// Whether the schedule starts when the pacer is created, or later when it is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    AtOnce,
    Paused,
}

/// The clock of the pacer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockKind {
    Tsc,
    Std,
}

/// The time for which a worker is busy between two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// No work, so that calls coincide as often as possible.
    None,
    /// Usually up to some tens of microseconds, and sometimes some milliseconds.
    Mixed,
    /// More than 10 us each time, so that each start has its own reading of the clock.
    Long,
}

/// The changes that are made while the workers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changes {
    None,
    /// Changes of the rate, and pauses.
    Schedule,
    /// Changes of the rate and of the late policy, and pauses.
    All,
}

/// The way in which a round ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// The pacer is closed after the workers have finished.
    AtRest,
    /// The pacer is closed while the workers make calls.
    Closed,
}

impl Scenario {
    /// Draws the scenario of a seed. Equal seeds have equal scenarios.
    pub(crate) fn draw(seed: u64) -> Scenario {
        let rng = &mut Rng::with_seed(seed);
        Scenario {
            seed,
            rate: draw_rate(rng),
            pause: pick(rng, [Pause::Sleep, Pause::Hybrid, Pause::Yield, Pause::Spin]),
            policy: Policy::draw(rng),
            tolerance: (rng.u8(0..4) == 0).then(|| Duration::from_micros(rng.u64(0..1_000))),
            sleep_threshold: Duration::from_nanos(pick(rng, [0, 0, 0, draw_threshold(seed)])),
            begins: pick(rng, [Begins::AtOnce, Begins::AtOnce, Begins::Paused]),
            clock: pick(rng, [ClockKind::Tsc, ClockKind::Std]),
            workers: rng.u64(3..=12),
            lasts: Duration::from_millis(rng.u64(60..150)),
            work: pick(rng, [Work::None, Work::None, Work::Mixed, Work::Mixed, Work::Long]),
            changes: pick(
                rng,
                [Changes::None, Changes::None, Changes::None, Changes::Schedule, Changes::All],
            ),
            ends: pick(rng, [Ends::AtRest, Ends::AtRest, Ends::Closed]),
            weights: std::array::from_fn(|_| rng.u8(0..4)),
        }
    }

    /// Creates the clock of the scenario.
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        match self.clock {
            ClockKind::Tsc => Arc::new(TscClock::new()),
            ClockKind::Std => Arc::new(StdClock::new()),
        }
    }

    /// Returns the builder of the scenario's pacer, which uses this clock.
    pub(crate) fn builder(&self, clock: Arc<dyn Clock>) -> PacerBuilder {
        let policy = self.policy;
        let mut builder = Pacer::builder(rate(self.rate)).clock(clock);
        builder = builder.pause(self.pause).strictness(policy.strictness);
        builder = policy.max_backlog.into_iter().fold(builder, PacerBuilder::max_backlog);
        builder = policy.skip_later_than.into_iter().fold(builder, PacerBuilder::skip_later_than);
        builder = self.tolerance.into_iter().fold(builder, PacerBuilder::tolerance);
        builder = builder.sleep_threshold(self.sleep_threshold);
        if self.begins == Begins::Paused { builder.start_paused() } else { builder }
    }

    /// Returns whether workers may make calls that block: either each worker gets a slot soon, or the pacer is closed
    /// while the workers wait.
    pub(crate) fn may_block(&self) -> bool {
        self.ends == Ends::Closed || self.rate >= 1_000
    }

    /// Returns the maximum number of slots of one call, which are due in about a millisecond.
    pub(crate) fn longest_row(&self) -> u32 {
        u32::try_from(self.rate / 1_000).unwrap_or(u32::MAX).clamp(2, 3_000)
    }

    /// Returns whether the pacer reads the clock for each start during the whole round.
    pub(crate) fn is_judged_throughout(&self) -> bool {
        self.policy.is_late() && self.changes != Changes::All
    }

    /// Returns whether no schedule time is ever forfeited.
    pub(crate) fn never_forfeits(&self) -> bool {
        !self.policy.forfeits() && self.changes != Changes::All
    }
}

/// Returns the rate with this number of slots per second.
pub(crate) fn rate(per_second: u64) -> Rate {
    Rate::per_second(per_second).expect("a rate from 1 to 10 M per second")
}

/// Draws a rate from 1/s to 10 M/s. Each power of ten is equally likely.
pub(crate) fn draw_rate(rng: &mut Rng) -> u64 {
    let decade = 10_u64.pow(rng.u32(0..7));
    rng.u64(decade..=10 * decade).min(TOP_RATE)
}

/// Draws a threshold from a microsecond to a millisecond, in nanoseconds.
fn draw_threshold(seed: u64) -> u64 {
    Rng::with_seed(!seed).u64(1_000..1_000_000)
}

/// Draws one of the values.
pub(crate) fn pick<T: Copy, const N: usize>(rng: &mut Rng, of: [T; N]) -> T {
    of[rng.usize(0..N)]
}
