//! The rare knobs, checked by their types.

use crate::clock::{Clock, TscClock};
use crate::engine::Engine;
use crate::nanos::span_ns;
use crate::pause::Pausing;
use crate::schedule::{Policy, Schedule};
use crate::stats::Statistics;
use crate::timeline::Timeline;
use crate::{Pacer, Pause, Rate, Strictness};
use std::sync::Arc;
use std::time::Duration;

/// Lateness that every policy but the strict one lets callers catch up freely; more than sleeping
/// usually overruns.
const TOLERANCE: Duration = Duration::from_micros(100);

/// Builds a [`Pacer`]. Every knob has a default, so `build` can't fail.
///
/// ```
/// use nanopace::{Pacer, Pause, Strictness};
/// use std::time::Duration;
///
/// let pacer = Pacer::builder("5k/s".parse()?)
///     .strictness(Strictness::new(1.1)?) // catch up at 110 %
///     .max_backlog(Duration::from_secs(5)) // but never more than 5 s of it
///     .pause(Pause::Hybrid)
///     .start_paused() // until resume()
///     .build();
/// pacer.resume();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "call build() for the pacer"]
pub struct PacerBuilder {
    rate: Rate,
    policy: Policy,
    clock: Option<Box<dyn Clock>>,
    pausing: Pausing,
    lead_ns: i64,
    start: Start,
}

/// When slot 0 is intended to start.
#[derive(Debug)]
enum Start {
    Now,
    OnResume,
    OnFirstUse,
}

impl Pacer {
    /// A pacer with the defaults, whose slot 0 starts now: average strictness (an open loop),
    /// sleeping pauses, the time-stamp counter for a clock, no limit on the backlog.
    #[must_use]
    pub fn new(rate: Rate) -> Pacer {
        PacerBuilder::new(rate).build()
    }

    /// For everything that is not default.
    pub fn builder(rate: Rate) -> PacerBuilder {
        PacerBuilder::new(rate)
    }
}

impl PacerBuilder {
    pub(crate) fn new(rate: Rate) -> PacerBuilder {
        let policy = Policy {
            strictness: Strictness::default(),
            tolerance: span_ns(TOLERANCE),
            max_backlog: None,
            skip_later_than: None,
        };
        PacerBuilder {
            rate,
            policy,
            clock: None,
            pausing: Pausing::new(),
            lead_ns: 0,
            start: Start::Now,
        }
    }

    /// What happens to time that was missed; [`Strictness::AVERAGE`] by default.
    pub fn strictness(mut self, strictness: Strictness) -> PacerBuilder {
        self.policy.strictness = strictness;
        self
    }

    /// The most that is ever made up for: when a start is later than this, what is beyond is
    /// forfeited, as idle time, and the slots behind it are at most this late. The start itself
    /// says how late it really was. By default only the range of positions limits the backlog, to
    /// 2^44 slots.
    pub fn max_backlog(mut self, limit: Duration) -> PacerBuilder {
        self.policy.max_backlog = Some(span_ns(limit));
        self
    }

    /// Slots that are later than this when they could start are skipped, and counted. By default
    /// none are.
    pub fn skip_later_than(mut self, limit: Duration) -> PacerBuilder {
        self.policy.skip_later_than = Some(span_ns(limit));
        self
    }

    /// Lateness up to this is caught up freely, whatever the strictness, except when strict; 100 us
    /// by default.
    ///
    /// It is there for what the pacer's own pauses overrun: without it a burst ratio or a partial
    /// strictness would hold the caller responsible for the operating system's timers.
    pub fn tolerance(mut self, tolerance: Duration) -> PacerBuilder {
        self.policy.tolerance = span_ns(tolerance);
        self
    }

    /// How callers that are early are held back; [`Pause::Sleep`] by default.
    pub fn pause(mut self, pause: Pause) -> PacerBuilder {
        self.pausing.strategy = pause;
        self
    }

    /// Of a core, how much each thread may spend on going to sleep and waking up; 0 to 1, a tenth
    /// by default.
    ///
    /// A thread measures what a sleep costs it: about 3 us on bare metal, ten times as much on some
    /// virtual machines. Where it would spend more than its share, its sleeps are stretched, to
    /// cost / share from one waking to the next, and what is due by then starts in one go: at a
    /// tenth and 3 us, in clumps of 30 us of schedule.
    ///
    /// By default that is done only where slots are less than 30 us apart, so that up to 33 k/s
    /// starts are as even as sleeping allows, whatever it costs. Setting a share makes it hold at
    /// every rate. Never when strict, which would not make up for it, and by at most half of the
    /// [`tolerance`](PacerBuilder::tolerance) where only that is made up for.
    pub fn sleep_share(mut self, share: f64) -> PacerBuilder {
        self.pausing.sleep_share = share.clamp(0.0, 1.0);
        self.pausing.spared_ns = i64::MAX;
        self
    }

    /// Of a core, how much each thread may spend on spinning under [`Pause::Hybrid`]; 0 to 1, a
    /// quarter by default.
    pub fn spin_share(mut self, share: f64) -> PacerBuilder {
        self.pausing.spin_share = share.clamp(0.0, 1.0);
        self
    }

    /// A delay that is shorter than this is not paused for: the operation starts early, by less
    /// than this. Zero by default: nothing ever starts early.
    ///
    /// Pausing for less than a pause costs makes a start late by the difference; the design that
    /// this one descends from (the rate limiter of nosqlbench) uses twice what a sleep costs. Early
    /// starts move nothing: each is early against its own intended start, so they never add up, and
    /// the rate stays exact. Their wait time is zero, and
    /// [`Stats::early_starts`](crate::Stats::early_starts) counts them.
    pub fn sleep_threshold(mut self, threshold: Duration) -> PacerBuilder {
        self.lead_ns = span_ns(threshold).saturating_sub(1).max(0);
        self
    }

    /// Whether sleeping threads ask the operating system for fine timers; they do by default.
    ///
    /// On Linux a thread has 1 ns of timer slack for the length of a pause, then again what it had
    /// before. Elsewhere this does nothing.
    pub fn fine_timers(mut self, fine: bool) -> PacerBuilder {
        self.pausing.fine_timers = fine;
        self
    }

    /// The clock; a [`TscClock`] by default.
    pub fn clock(mut self, clock: impl Clock + 'static) -> PacerBuilder {
        self.clock = Some(Box::new(clock));
        self
    }

    /// The schedule starts at the first [`resume`](Pacer::resume) instead of now, so that workers
    /// can get ready.
    pub fn start_paused(mut self) -> PacerBuilder {
        self.start = Start::OnResume;
        self
    }

    /// The schedule starts when a caller first wants a slot, instead of now. For tools that build
    /// the pacer long before their workers are ready: otherwise the time between would be backlog.
    /// [`resume`](Pacer::resume) starts it too; [`pause`](Pacer::pause) takes this back.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer =
    ///     Pacer::builder("10/s".parse()?).start_on_first_use().clock(clock.clone()).build();
    /// clock.advance(Duration::from_secs(60)); // workers get ready
    /// assert_eq!(pacer.acquire()?.wait_time(), Duration::ZERO);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_on_first_use(mut self) -> PacerBuilder {
        self.start = Start::OnFirstUse;
        self
    }

    /// The pacer; its slot 0 starts now, or with the first `resume`.
    #[must_use]
    pub fn build(self) -> Pacer {
        let clock = self.clock.unwrap_or_else(|| Box::new(TscClock::new()));
        let now = clock.now().signed();
        let mut schedule = Schedule::new(self.rate, self.policy, now);
        match self.start {
            Start::Now => {}
            Start::OnResume => schedule.pause(now),
            Start::OnFirstUse => schedule.pause_until_used(now),
        }
        Pacer(Arc::new(Engine {
            timeline: Timeline::new(schedule, now, self.lead_ns),
            clock,
            pausing: self.pausing,
            statistics: Statistics::default(),
        }))
    }
}
