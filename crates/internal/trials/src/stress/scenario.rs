//! Draws the scenario of a round from its seed.

use crate::stress::policy::Policy;
use fastrand::Rng;
use nanopace::{Clock, Pacer, PacerBuilder, Pause, Rate, StdClock, TscClock};
use std::sync::Arc;
use std::time::Duration;

pub(crate) const TOP_RATE: u64 = 10_000_000;

#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
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
    pub(crate) weights: [u8; 8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    AtOnce,
    Paused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockKind {
    Tsc,
    Std,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// No work, so that calls coincide as often as possible.
    None,
    /// No work for more than half of the calls. For the others, the work usually takes less than 40 us, and sometimes
    /// several milliseconds.
    Mixed,
    /// More than 10 us each time, so that each start has its own clock reading.
    Long,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changes {
    None,
    Schedule,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    AtRest,
    Closed,
}

impl Scenario {
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

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        match self.clock {
            ClockKind::Tsc => Arc::new(TscClock::new()),
            ClockKind::Std => Arc::new(StdClock::new()),
        }
    }

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

    /// Returns whether workers may make blocking calls. They may if each worker gets a slot soon, or if the pacer is
    /// closed while workers wait.
    pub(crate) fn may_block(&self) -> bool {
        self.ends == Ends::Closed || self.rate >= 1_000
    }

    pub(crate) fn longest_row(&self) -> u32 {
        u32::try_from(self.rate / 1_000).unwrap_or(u32::MAX).clamp(2, 3_000)
    }

    pub(crate) fn is_judged_throughout(&self) -> bool {
        self.policy.is_late() && self.changes != Changes::All
    }

    pub(crate) fn never_forfeits(&self) -> bool {
        !self.policy.forfeits() && self.changes != Changes::All
    }
}

pub(crate) fn rate(per_second: u64) -> Rate {
    Rate::per_second(per_second).expect("a rate from 1 to 10 M per second")
}

pub(crate) fn draw_rate(rng: &mut Rng) -> u64 {
    let decade = 10_u64.pow(rng.u32(0..7));
    rng.u64(decade..=10 * decade).min(TOP_RATE)
}

fn draw_threshold(seed: u64) -> u64 {
    Rng::with_seed(!seed).u64(1_000..1_000_000)
}

pub(crate) fn pick<T: Copy, const N: usize>(rng: &mut Rng, of: [T; N]) -> T {
    of[rng.usize(0..N)]
}
