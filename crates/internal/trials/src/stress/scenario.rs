//! Draws the scenario of a round from its seed.

use crate::stress::policy::Policy;
use fastrand::Rng;
use nanopace::{Clock, Pacer, PacerBuilder, Pause, Rate, StdClock, TscClock};
use std::sync::Arc;
use std::time::Duration;

/// The highest rate of a round, per second.
pub(crate) const TOP_RATE: u64 = 10_000_000;

/// A scenario. The order in which its threads meet is not part of it.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    /// Per second.
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
    /// How likely a worker is to make each of its calls: one weight per call.
    pub(crate) weights: [u8; 8],
}

/// Whether the schedule starts when the pacer is made, or when it is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    AtOnce,
    Paused,
}

/// The real clock of the pacer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockKind {
    Tsc,
    Std,
}

/// How long workers are busy between two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Not at all, so that calls meet as often as they can.
    None,
    /// Up to some tens of microseconds, and sometimes some milliseconds.
    Mixed,
    /// Always more than 10 us: then each start has a reading of its own.
    Long,
}

/// The changes made while the workers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changes {
    None,
    /// The rate, and pauses.
    Schedule,
    /// The rate, pauses and the late policy.
    All,
}

/// How a round ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// The workers finish; then the pacer is closed.
    AtRest,
    /// The pacer is closed while the workers are at work.
    Closed,
}

impl Scenario {
    /// The scenario of a seed. It is always the same.
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

    /// The clock of the scenario.
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        match self.clock {
            ClockKind::Tsc => Arc::new(TscClock::new()),
            ClockKind::Std => Arc::new(StdClock::new()),
        }
    }

    /// The pacer of the scenario, on that clock.
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

    /// Whether workers may block. They may if slots are so close that each worker gets one soon, or
    /// if the pacer is closed while they wait.
    pub(crate) fn may_block(&self) -> bool {
        self.ends == Ends::Closed || self.rate >= 1_000
    }

    /// The most slots that are taken at once: about a millisecond of schedule.
    pub(crate) fn longest_row(&self) -> u32 {
        u32::try_from(self.rate / 1_000).unwrap_or(u32::MAX).clamp(2, 3_000)
    }

    /// Whether each start is judged on a reading of its own, from the first to the last.
    pub(crate) fn is_judged_throughout(&self) -> bool {
        self.policy.is_late() && self.changes != Changes::All
    }

    /// Whether no schedule time is ever forfeited.
    pub(crate) fn never_forfeits(&self) -> bool {
        !self.policy.forfeits() && self.changes != Changes::All
    }
}

/// A rate per second.
pub(crate) fn rate(per_second: u64) -> Rate {
    Rate::per_second(per_second).expect("a rate from 1 to 10 M per second")
}

/// A rate from 1 to 10 M per second. Each power of ten is equally likely.
pub(crate) fn draw_rate(rng: &mut Rng) -> u64 {
    let decade = 10_u64.pow(rng.u32(0..7));
    rng.u64(decade..=10 * decade).min(TOP_RATE)
}

/// From a microsecond to a millisecond.
fn draw_threshold(seed: u64) -> u64 {
    Rng::with_seed(!seed).u64(1_000..1_000_000)
}

/// One of the values.
pub(crate) fn pick<T: Copy, const N: usize>(rng: &mut Rng, of: [T; N]) -> T {
    of[rng.usize(0..N)]
}
