//! Builds a pacer: its load, late policy, pauses, clock, start and end.

use crate::engine::Engine;
use crate::nanos::span_ns;
use crate::pause::Pausing;
use crate::schedule::{End, Load, Policy, Schedule, Slots};
use crate::timeline::Timeline;
use crate::{
    Arrivals, Clock, Pacer, Pause, Rate, Shape, ShapeSyntaxError, Shard, Strictness, TscClock,
};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// The default tolerance, which is longer than the usual oversleep of a pause.
const TOLERANCE: Duration = Duration::from_micros(100);

/// Builds a [`Pacer`]. Every setting except the load has a default, and values outside a setting's range are clamped to
/// the range, so `build` can't fail.
///
/// ```
/// use nanopace::{ManualClock, Pacer, Pause, Strictness};
/// use std::time::Duration;
///
/// let pacer = Pacer::builder("5k/s".parse()?)
///     .strictness(Strictness::new(1.1)?) // catch up at 110 % of the rate,
///     .max_backlog(Duration::from_secs(5)) // but never more than 5 s of it
///     .pause(Pause::Hybrid)
///     .clock(ManualClock::new()) // for a test
///     .start_paused() // until resume()
///     .build();
/// assert!(pacer.try_acquire().is_err());
/// pacer.resume();
/// assert!(pacer.try_acquire().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "call build() for the pacer"]
pub struct PacerBuilder {
    load: Load,
    arrivals: Arrivals,
    shard: Shard,
    leased: bool,
    policy: Policy,
    clock: Option<Box<dyn Clock>>,
    pausing: Pausing,
    sleep_threshold_ns: i64,
    start: Start,
    slots: Option<u64>,
    until: Option<Duration>,
}

#[derive(Debug)]
enum Start {
    Now,
    OnResume,
    OnFirstUse,
}

impl Pacer {
    /// Creates a pacer with the default settings. The intended start of slot 0 is the time of this call.
    ///
    /// The defaults include average strictness (an open loop), no maximum backlog, pauses that sleep, and a
    /// [`TscClock`]. The first `TscClock` of a process takes up to 0.2 s to calibrate.
    ///
    /// ```
    /// use nanopace::{Pacer, Rate, Strictness};
    ///
    /// let pacer = Pacer::new(Rate::per_second(5_000)?);
    /// assert!(pacer.try_acquire().is_ok()); // slot 0 is due
    /// assert_eq!(pacer.strictness(), Strictness::AVERAGE);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(rate: Rate) -> Pacer {
        PacerBuilder::new(Load::Rate(rate)).build()
    }

    /// Returns a builder for a pacer with the constant rate `rate`. All other settings have the defaults of
    /// [`PacerBuilder`] until you change them.
    pub fn builder(rate: Rate) -> PacerBuilder {
        PacerBuilder::new(Load::Rate(rate))
    }

    /// Returns a builder for a pacer whose rate follows `shape`. The shape begins when the pacer starts. After the last
    /// slot of the shape, [`acquire`](Pacer::acquire) returns [`Finished`](crate::Ended::Finished). Unless a pause or a
    /// late policy moves them, intended starts differ by at most 1 ns from the exact times of the shape.
    /// [Schedules](crate::_documentation::schedules) describes the shapes and their cost.
    ///
    /// ```
    /// use nanopace::{ManualClock, Nanos, Pacer, Shape};
    ///
    /// let shape: Shape = "ramp 0/s..100/s 10s, hold 5s".parse()?;
    /// let pacer = Pacer::shaped(shape).clock(ManualClock::jumping()).build();
    /// let starts: Vec<Nanos> =
    ///     std::iter::from_fn(|| Some(pacer.acquire().ok()?.intended_start())).collect();
    /// assert_eq!(starts.len(), 500 + 500);
    /// // Slot n of a ramp from zero with slope a starts at sqrt(2n/a).
    /// assert_eq!(starts[5] - starts[0], std::time::Duration::from_secs(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shaped(shape: Shape) -> PacerBuilder {
        PacerBuilder::new(shape.into())
    }
}

impl FromStr for PacerBuilder {
    type Err = ShapeSyntaxError;

    /// Parses a load and returns a builder for a pacer with that load. The string is a [`Rate`] such as `5k/s`, or a
    /// [`Shape`] such as `ramp 100/s..5k/s 30s, hold 60s`. [`Pacer::set_load`] accepts the same grammar.
    ///
    /// # Errors
    /// Returns a [`ShapeSyntaxError`] if the string is neither a rate nor a shape. The error contains the position in
    /// the string, and its message says what to write instead.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{Pacer, PacerBuilder, Rate};
    ///
    /// let pacer = "5k/s".parse::<PacerBuilder>()?.build();
    /// assert_eq!(pacer.rate(), Rate::per_second(5_000)?);
    /// let shaped = "hold 5k/s 10s, ramp ..1k/s 1min".parse::<PacerBuilder>()?.build();
    /// assert!(shaped.shape().is_some());
    ///
    /// let error = "5k/fortnight".parse::<PacerBuilder>().unwrap_err();
    /// assert!(error.to_string().starts_with("column 1: `fortnight` is not a unit"));
    /// let error = "foo".parse::<PacerBuilder>().unwrap_err();
    /// assert_eq!(error.to_string(), "column 1: `foo`: write a rate, such as `5k/s`, or a shape, such as `ramp 100/s..5k/s 30s, hold 60s`");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn from_str(text: &str) -> Result<PacerBuilder, ShapeSyntaxError> {
        text.parse().map(PacerBuilder::new)
    }
}

impl PacerBuilder {
    pub(crate) fn new(load: Load) -> PacerBuilder {
        let policy = Policy {
            strictness: Strictness::default(),
            tolerance: span_ns(TOLERANCE),
            max_backlog: None,
            skip_later_than: None,
        };
        PacerBuilder {
            load,
            arrivals: Arrivals::even(),
            shard: Shard::whole(),
            leased: false,
            policy,
            clock: None,
            pausing: Pausing::new(),
            sleep_threshold_ns: 0,
            start: Start::Now,
            slots: None,
            until: None,
        }
    }

    /// Sets the arrival process: how slots are distributed over the schedule. The default is [even](Arrivals::even)
    /// spacing. Every arrival process works with every rate and every shape, such as a ramp with Poisson arrivals.
    ///
    /// The times of uneven slots are computed under a lock. Without a late policy, up to 64 due slots are computed at
    /// once. While callers keep up with the schedule, each slot is computed separately.
    ///
    /// ```
    /// use nanopace::{Arrivals, ManualClock, Pacer};
    ///
    /// let starts = |seed| {
    ///     let clock = ManualClock::jumping();
    ///     let builder = Pacer::builder("100/s".parse()?).arrivals(Arrivals::poisson(seed));
    ///     let pacer = builder.clock(clock).build();
    ///     let starts: Result<Vec<_>, _> = (0..5).map(|_| pacer.acquire()).collect();
    ///     Ok::<_, Box<dyn std::error::Error>>(starts?)
    /// };
    /// assert_eq!(starts(7)?, starts(7)?);
    /// assert_ne!(starts(7)?, starts(8)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn arrivals(mut self, arrivals: Arrivals) -> PacerBuilder {
        self.arrivals = arrivals;
        self
    }

    /// Sets the slots that belong to this process, if several processes share one load. By default all slots belong to
    /// this process. The rate or shape of the builder is that of the whole load. All processes must have the same rate
    /// or shape, arrivals and seed, and must start at the same time.
    ///
    /// If the processes have different weights, the slots of this process may be unevenly spaced. Unevenly spaced slots
    /// are computed under a lock. Without a late policy, a lane claims up to 64 due ones at once.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer, Shard};
    ///
    /// // The second of three takes the slots 1, 4, 7, ... of 300 per second.
    /// let builder = Pacer::builder("300/s".parse()?).shard(Shard::new(1, 3)?);
    /// let pacer = builder.clock(ManualClock::jumping()).build();
    /// let started = pacer.now();
    /// let wait = pacer.acquire()?.intended_start() - started;
    /// assert_eq!(wait.as_nanos(), 3_333_334); // a 300th of a second, rounded up
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shard(mut self, shard: Shard) -> PacerBuilder {
        self.shard = shard;
        self
    }

    pub(crate) fn leased(mut self) -> PacerBuilder {
        self.leased = true;
        self
    }

    /// Sets how late starts change the schedule. The default is [`Strictness::AVERAGE`]. [`Strictness`] has a diagram
    /// and an example of each policy.
    pub fn strictness(mut self, strictness: Strictness) -> PacerBuilder {
        self.policy.strictness = strictness;
        self
    }

    /// Sets the maximum backlog: the largest lateness that is ever made up for.
    ///
    /// If an operation starts more than `limit` late, and no later slot has started, the time beyond the limit is
    /// forfeited and counts as [`idle`](crate::Ledger::idle). At the time of that start, the slots after it are
    /// therefore at most `limit` late. The late start itself still reports its full wait time. By default the backlog
    /// is limited only by the range of positions, to 2^44 intervals of the current rate.
    ///
    /// Values range from zero to 292 years; longer limits are shortened to 292 years. With a limit, each start
    /// acquires a lock.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?)
    ///     .max_backlog(Duration::from_millis(200))
    ///     .clock(clock.clone())
    ///     .build();
    /// clock.advance(Duration::from_secs(1)); // slots 0 to 10 are due
    ///
    /// assert_eq!(pacer.acquire()?.wait_time(), Duration::from_secs(1)); // slot 0: its full wait time
    /// // Slot 1 was moved from 100 ms to 900 ms.
    /// assert_eq!(pacer.acquire()?.wait_time(), Duration::from_millis(100));
    /// let ledger = pacer.ledger();
    /// assert_eq!(ledger.idle, Duration::from_millis(800)); // forfeited
    /// assert_eq!(ledger.backlog_slots, 1); // slot 2, due now
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn max_backlog(mut self, limit: Duration) -> PacerBuilder {
        self.policy.max_backlog = Some(span_ns(limit));
        self
    }

    /// Sets the lateness beyond which a slot is skipped. A slot that is more than `limit` late when it could start is
    /// counted as skipped, and never starts. By default no slot is skipped.
    ///
    /// The caller gets the next slot that is at most `limit` late. A skipped slot was part of the load, but its
    /// operation is never executed. The time of a skipped slot counts as allocated.
    ///
    /// While time is owed under a burst ratio, a slot can become too late before it may start. The slot is then skipped
    /// at the time that [`Refused::NotUntil`](crate::Refused::NotUntil) contained, and a later slot or none can start.
    ///
    /// Values range from zero to 2^44 intervals. No slot is ever more than 2^44 intervals late, so a longer limit skips
    /// no slot. With a limit, each start acquires a lock.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?)
    ///     .skip_later_than(Duration::from_millis(250))
    ///     .clock(clock.clone())
    ///     .build();
    /// clock.advance(Duration::from_secs(1)); // slots 0 to 10 are due
    ///
    /// assert_eq!(pacer.acquire()?.wait_time(), Duration::from_millis(200)); // slot 8
    /// let ledger = pacer.ledger();
    /// assert_eq!((ledger.skipped, ledger.granted), (8, 1)); // slots 0 to 7, slot 8
    /// assert_eq!(ledger.idle, Duration::ZERO); // nothing was forfeited:
    /// assert_eq!(ledger.allocated, Duration::from_millis(900)); // slots 0 to 8
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn skip_later_than(mut self, limit: Duration) -> PacerBuilder {
        self.policy.skip_later_than = Some(span_ns(limit));
        self
    }

    /// Sets the tolerance: lateness up to `tolerance` is made up for at once under every strictness except 1, unless
    /// the maximum backlog is shorter. The default is 100 us.
    ///
    /// The tolerance is for the oversleep of the pacer's own pauses. Without a tolerance, a partial strictness or a
    /// burst ratio would treat that oversleep as lateness of the caller.
    ///
    /// Under a burst ratio, lateness counts from the moment at which a slot may start. That moment is the intended
    /// start of the slot, or later while time is owed. After a start that is late by more than the tolerance, repayment
    /// of the owed time begins again at that start. Time that was already repaid stays repaid.
    ///
    /// Values range from zero to 292 years; longer times are shortened to 292 years.
    ///
    /// ```
    /// use nanopace::{ManualClock, Nanos, Pacer, Refused, Strictness};
    /// use std::time::Duration;
    ///
    /// let paced = |tolerance| {
    ///     let clock = ManualClock::new();
    ///     let pacer = Pacer::builder("10/s".parse()?)
    ///         .strictness(Strictness::new(2.0)?)
    ///         .tolerance(tolerance)
    ///         .clock(clock.clone())
    ///         .build();
    ///     pacer.acquire()?; // slot 0, at 0 ms
    ///     clock.advance(Duration::from_millis(240));
    ///     pacer.acquire()?; // slot 1, 140 ms late
    ///     Ok::<_, Box<dyn std::error::Error>>(pacer.try_acquire()) // slot 2, intended at 200 ms
    /// };
    /// // Within the tolerance slot 2 starts at once, and beyond it at twice the rate.
    /// assert!(paced(Duration::from_millis(140))?.is_ok());
    /// let at_290_ms = Nanos::from_nanos(290_000_000);
    /// assert_eq!(paced(Duration::from_millis(139))?, Err(Refused::NotUntil(at_290_ms)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tolerance(mut self, tolerance: Duration) -> PacerBuilder {
        self.policy.tolerance = span_ns(tolerance);
        self
    }

    /// Sets how a caller pauses until its slot is due. The default is [`Pause::Sleep`].
    ///
    /// The choice determines how much CPU time a pause costs and how precisely the pause ends. In an open loop, the
    /// choice does not change the schedule.
    pub fn pause(mut self, pause: Pause) -> PacerBuilder {
        self.pausing.strategy = pause;
        self
    }

    /// Sets the share of a core that each thread may spend on going to sleep and waking up, from 0 to 1. The default is
    /// [`Pause::DEFAULT_SLEEP_SHARE`], a tenth. Values outside this range are clamped, and NaN counts as 0. Shares
    /// below 3e-6 are raised to 3e-6, at which a sleep that costs 3 us is stretched to 1 s.
    ///
    /// On Linux, a thread measures the CPU time that a sleep costs it: about 3 us on bare metal, and 26 us on some
    /// virtual machines. On other systems, 3 us is assumed. If the thread would spend more than its share, its sleeps
    /// are stretched: the time from one wake-up to the next becomes cost / share, and all slots that are due at a
    /// wake-up start at once. With a share of a tenth and a cost of 3 us, starts come in clumps of 30 us of schedule.
    ///
    /// By default sleeps are stretched only where slots are less than 30 us apart. Starts at up to 33 k/s are
    /// therefore as evenly spaced as sleeping allows, whatever the sleeps cost. If you set a share, it applies at
    /// every rate. Under strict, sleeps are never stretched, because strict would not make up for the lateness.
    /// Under other policies, they are stretched by at most half of the lateness that is made up for at once. The
    /// [`tolerance`](PacerBuilder::tolerance) limits this lateness under a partial strictness or a burst ratio. The
    /// maximum backlog and the limit for skipping also limit this lateness, if they are set.
    pub fn sleep_share(mut self, share: f64) -> PacerBuilder {
        self.pausing.sleep_share = share.clamp(0.0, 1.0);
        self.pausing.spared_ns = i64::MAX; // sleeps are stretched at every rate
        self
    }

    /// Sets the share of a core that each thread may spend on spinning under [`Pause::Hybrid`], from 0 to 1. The
    /// default is [`Pause::DEFAULT_SPIN_SHARE`], a quarter. Values outside this range are clamped, and NaN counts as 0.
    ///
    /// A thread can save up at most 1 ms of spinning, whatever the share, and starts with 1 ms. When less than 0.5 ms
    /// is left, the thread sleeps for longer, and spins for less after a sleep. When nothing is left, the thread sleeps
    /// until the start.
    pub fn spin_share(mut self, share: f64) -> PacerBuilder {
        self.pausing.spin_share = share.clamp(0.0, 1.0);
        self
    }

    /// Sets the sleep threshold. If a slot is due in less than the threshold, the caller does not pause: its operation
    /// starts early, by less than the threshold. By default the threshold is zero, and no operation starts early.
    ///
    /// Pausing takes time. If the delay is shorter than that time, a pause makes the start late by the difference. The
    /// rate limiter of nosqlbench, on which this design is based, uses a threshold of twice the cost of a sleep. An
    /// early start moves no other slot, so early starts never add up. The wait time of an early start is zero, and
    /// [`Counters::early_starts`](crate::Counters::early_starts) counts early starts.
    ///
    /// Values range from zero to 292 years; longer times are shortened to 292 years.
    ///
    /// ```
    /// use nanopace::{ManualClock, Nanos, Pacer, Refused};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?)
    ///     .sleep_threshold(Duration::from_millis(5))
    ///     .clock(clock.clone())
    ///     .build();
    /// pacer.acquire()?; // slot 0, at 0 ms
    /// clock.advance(Duration::from_millis(96));
    /// let grant = pacer.try_acquire()?; // slot 1, 4 ms early
    /// assert_eq!(grant.actual_start().as_nanos(), 96_000_000);
    /// assert_eq!(grant.intended_start().as_nanos(), 100_000_000);
    /// assert_eq!(grant.wait_time(), Duration::ZERO);
    /// assert_eq!(pacer.counters().early_starts, 1);
    ///
    /// // Slot 2 stays intended at 200 ms, and may start less than 5 ms before that.
    /// let earliest = Nanos::from_nanos(195_000_001);
    /// assert_eq!(pacer.try_acquire(), Err(Refused::NotUntil(earliest)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sleep_threshold(mut self, threshold: Duration) -> PacerBuilder {
        self.sleep_threshold_ns = span_ns(threshold).saturating_sub(1).max(0);
        self
    }

    /// Sets whether sleeping threads request fine timers from the operating system. By default they do.
    ///
    /// On Linux, a fine timer means that the timer slack of the thread is set to 1 ns during each sleep. The system's
    /// default slack lets a sleep end up to 50 us later. On other systems this setting has no effect.
    pub fn fine_timers(mut self, fine: bool) -> PacerBuilder {
        self.pausing.fine_timers = fine;
        self
    }

    /// Sets the clock of the pacer. The default is a [`TscClock`]. Tests use a [`ManualClock`](crate::ManualClock).
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("1/h".parse()?).clock(clock.clone()).build();
    /// pacer.acquire()?; // slot 0
    /// clock.advance(Duration::from_secs(3_600)); // an hour passes in no time
    /// assert_eq!(pacer.acquire()?.wait_time(), Duration::ZERO); // slot 1
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clock(mut self, clock: impl Clock + 'static) -> PacerBuilder {
        self.clock = Some(Box::new(clock));
        self
    }

    /// Starts the schedule at the first [`resume`](Pacer::resume) instead of in `build`, so that workers have time to
    /// get ready.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer, Refused};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).start_paused().build();
    /// clock.advance(Duration::from_secs(3)); // workers get ready
    /// assert_eq!(pacer.try_acquire(), Err(Refused::Paused));
    ///
    /// pacer.resume();
    /// let grant = pacer.try_acquire()?; // slot 0
    /// assert_eq!(grant.intended_start().as_nanos(), 3_000_000_000);
    /// assert_eq!(grant.wait_time(), Duration::ZERO);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_paused(mut self) -> PacerBuilder {
        self.start = Start::OnResume;
        self
    }

    /// Starts the schedule when a caller first tries to claim a slot, instead of in `build`. Use this setting in a tool
    /// that builds the pacer long before its workers are ready. Without this setting, the slots that are due before the
    /// workers are ready become backlog. [`resume`](Pacer::resume) also starts the schedule. [`pause`](Pacer::pause)
    /// cancels this setting.
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

    /// Ends the schedule after `n` slots of this process. After the last slot, callers get
    /// [`Ended::Finished`](crate::Ended). By default the number of slots is not limited.
    ///
    /// The slots are the first `n` of the load, or of this process's [`shard`](PacerBuilder::shard) of the load.
    /// Skipped slots count. A late policy that forfeits time drops none of them, unless another end comes first. The
    /// load's [count](Pacer::asked_before), the backlog and the account of time end with the last slot.
    ///
    /// Slots that are given back are handed out again, even after other callers got `Finished`. A claim of several
    /// slots at once that would go beyond the end is refused as a whole.
    ///
    /// ```
    /// use nanopace::{Ended, ManualClock, Pacer};
    /// use std::thread;
    ///
    /// let clock = ManualClock::jumping();
    /// let pacer = Pacer::builder("1k/s".parse()?).slots(1_000).clock(clock).build();
    /// thread::scope(|scope| {
    ///     for _ in 0..2 {
    ///         scope.spawn(|| while pacer.acquire().is_ok() {});
    ///     }
    /// });
    /// assert_eq!(pacer.acquire(), Err(Ended::Finished));
    /// assert_eq!(pacer.ledger().granted, 1_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slots(mut self, n: u64) -> PacerBuilder {
        self.slots = Some(n);
        self
    }

    /// Ends the schedule after `time`, from 0 to 292 years. The schedule contains the slots that are intended to start
    /// before the end. After the last slot, callers get [`Ended::Finished`](crate::Ended). By default the time is not
    /// limited.
    ///
    /// The time counts from the start of the schedule, and pauses don't count. A late slot may start after the end, if
    /// its intended start is before the end. In an open loop every slot that was due at the end can still start. A
    /// slower rate, or a late policy that forfeits time, can move slots beyond the end; these slots do not start. A
    /// change of the rate after the end does not continue the schedule, and slots that are
    /// [leased](crate::driver::leased) after such a change do not start. If [`slots`](PacerBuilder::slots), a shape or
    /// a recording sets an end too, the earliest end applies.
    ///
    /// ```
    /// use nanopace::{Ended, ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::jumping();
    /// let half_a_minute = Duration::from_secs(30);
    /// let pacer =
    ///     Pacer::builder("10/s".parse()?).until(half_a_minute).clock(clock.clone()).build();
    /// while let Ok(grant) = pacer.acquire() {
    ///     assert!(grant.intended_start().as_nanos() < 30_000_000_000);
    /// }
    /// assert_eq!(pacer.acquire(), Err(Ended::Finished));
    /// clock.advance(Duration::from_secs(3_600)); // the account of time has ended, too
    /// assert_eq!(pacer.ledger().granted, 300);
    /// assert_eq!(pacer.ledger().elapsed, half_a_minute);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn until(mut self, time: Duration) -> PacerBuilder {
        self.until = Some(time);
        self
    }

    /// Builds the pacer. The schedule starts at the time of this call, unless
    /// [`start_paused`](PacerBuilder::start_paused) or [`start_on_first_use`](PacerBuilder::start_on_first_use)
    /// postpones the start. At a constant rate with even arrivals, slot 0 is due at the start of the schedule.
    #[must_use]
    pub fn build(self) -> Pacer {
        let clock = self.clock.unwrap_or_else(|| Box::new(TscClock::new()));
        let now = clock.now().signed();
        let end = End::new(self.slots, self.until.map(|until| now.saturating_add(span_ns(until))));
        let slots = Slots::new(&self.arrivals, self.shard);
        let slots = if self.leased { slots.leased() } else { slots };
        let mut schedule = Schedule::new(self.load, slots, self.policy, end, now);
        match self.start {
            Start::Now => {}
            Start::OnResume => schedule.pause(now),
            Start::OnFirstUse => schedule.pause_until_used(now),
        }
        Pacer(Arc::new(Engine {
            timeline: Timeline::new(schedule, now, self.sleep_threshold_ns),
            clock,
            pausing: self.pausing,
        }))
    }
}
