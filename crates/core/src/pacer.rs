//! The pacer: what callers use.

use crate::engine::Engine;
use crate::nanos::span_ns;
use crate::schedule::Schedule;
use crate::timeline::{Attempt, Fast};
use crate::{
    Counters, Ended, Grant, Ledger, Nanos, Rate, Refused, Shape, Shard, ShardError, Strictness,
};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Paces operations: each [`acquire`](Pacer::acquire) blocks until the intended start of the next
/// slot, and says how late it is.
///
/// Clones are handles to the same pacer. Every method takes a shared reference and works from any
/// number of threads. No method panics. A worker that starts many operations is fastest with a
/// [`Lane`](crate::Lane) of its own.
///
/// Most callers need only `acquire`. [`try_acquire`](Pacer::try_acquire) never blocks.
/// [`acquire_timeout`](Pacer::acquire_timeout) and [`acquire_deadline`](Pacer::acquire_deadline)
/// give up after a while. [`acquire_many`](Pacer::acquire_many) takes several slots for one
/// operation. [`claim`](Pacer::claim) takes a slot and leaves the pausing to you.
///
/// The schedule follows the rate and not the target: an *open loop*. Response times are measured
/// from the intended start, which avoids *coordinated omission* (Gil Tene, "How NOT to Measure
/// Latency"). What a late start does to the slots behind it is the choice of a
/// [`Strictness`](crate::Strictness).
///
/// ```
/// use nanopace::{Pacer, Rate};
///
/// let pacer = Pacer::new(Rate::per_second(2_000)?);
/// for _ in 0..10 {
///     let grant = pacer.acquire()?;
///     // ... the operation ...
///     let response_time = grant.response_time(pacer.now());
///     assert!(response_time >= grant.wait_time());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pacer(pub(crate) Arc<Engine>);

impl Pacer {
    /// Takes the next slot, blocks until its intended start, and says how late it is.
    ///
    /// A slot that is known to be due costs one atomic addition and no reading of the clock. If a
    /// late policy is set, each start is judged by a reading of its own, under a lock.
    ///
    /// # Errors
    /// [`Ended`] as soon as the pacer is closed or its schedule has no slot left. Callers that are
    /// asleep wake up and get it too.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::jumping(); // a pause moves it to the end of the pause
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    ///
    /// let on_time = pacer.acquire()?; // slot 0, intended at 0 ms
    /// assert_eq!(on_time.wait_time(), Duration::ZERO);
    ///
    /// clock.advance(Duration::from_millis(130)); // its operation takes 130 ms
    /// let late = pacer.acquire()?; // slot 1, intended at 100 ms
    /// assert_eq!(late.wait_time(), Duration::from_millis(30));
    ///
    /// pacer.acquire()?; // slot 2, intended at 200 ms: held back for 70 ms
    /// assert_eq!(pacer.now().as_nanos(), 200_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn acquire(&self) -> Result<Grant, Ended> {
        match self.0.timeline.claim_fast() {
            Fast::Granted(grant) => Ok(grant),
            Fast::Claimed(claimed) => self.0.acquire(Some(claimed)),
            Fast::Ask => self.0.acquire(None),
        }
    }

    /// Takes the next `n` slots as one operation, for operations that are weighed in bytes, rows or
    /// requests.
    ///
    /// The operation starts at the intended start of the first slot, and the next caller's slot
    /// comes `n` intervals later. Two or more slots are new ones in a row, so slots that were given
    /// back are left to other callers. One is the same as [`acquire`](Pacer::acquire). Zero takes
    /// nothing, and starts now even while the pacer is paused.
    ///
    /// # Errors
    /// [`Refused::Closed`]. [`Refused::Finished`] if the schedule has fewer slots left.
    /// [`Refused::TooFarAhead`] if more than 2^44 slots that are not due yet
    /// have been taken already.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    ///
    /// let clock = ManualClock::jumping();
    /// let pacer = Pacer::builder("1M/s".parse()?).clock(clock).build(); // 1 MB/s: a slot a byte
    ///
    /// let first = pacer.acquire_many(1_500)?; // slots 0 to 1 499
    /// let second = pacer.acquire_many(500)?; // slots 1 500 to 1 999
    /// assert_eq!(first.actual_start().as_nanos(), 0);
    /// assert_eq!(second.actual_start().as_nanos(), 1_500_000); // 1 500 intervals of 1 us later
    /// assert_eq!(pacer.ledger().granted, 2_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn acquire_many(&self, n: u32) -> Result<Grant, Refused> {
        match n {
            0 => Ok(self.start_nothing()?),
            1 => Ok(self.acquire()?),
            _ => self.0.start(Attempt::new(n.into(), i64::MAX)),
        }
    }

    #[cold]
    fn start_nothing(&self) -> Result<Grant, Ended> {
        if self.is_closed() {
            return Err(Ended::Closed);
        }
        Ok(self.0.timeline.start_now(&*self.0.clock))
    }

    /// Takes the next slot if it is due now. Otherwise takes nothing, and says from when on the
    /// slot can be granted. Never blocks.
    ///
    /// # Errors
    /// [`Refused::NotUntil`] with that moment on the pacer's clock, [`Refused::Paused`],
    /// [`Refused::Finished`] or [`Refused::Closed`].
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Nanos, Pacer, Refused};
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    ///
    /// assert!(pacer.try_acquire().is_ok()); // slot 0, due now
    /// let when = Nanos::from_nanos(100_000_000); // slot 1 is due at 100 ms
    /// assert_eq!(pacer.try_acquire(), Err(Refused::NotUntil(when)));
    ///
    /// clock.set(when);
    /// assert!(pacer.try_acquire().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn try_acquire(&self) -> Result<Grant, Refused> {
        match self.0.timeline.try_claim_fast() {
            Some(grant) => Ok(grant),
            // A deadline before any reading of the clock: a slot that is not due is refused.
            None => Ok(self.0.start(Attempt::new(1, i64::MIN))?),
        }
    }

    /// Takes the next `n` slots as one operation if the first of them is due now, as
    /// [`acquire_many`](Pacer::acquire_many) does; otherwise takes nothing.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer, Rate, Refused};
    ///
    /// let pacer = Pacer::builder(Rate::per_second(10)?).clock(ManualClock::new()).build();
    /// assert!(pacer.try_acquire_many(20).is_ok()); // slot 0 is due now
    /// assert!(matches!(pacer.try_acquire_many(1), Err(Refused::NotUntil(_)))); // slot 20 in 2 s
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`try_acquire`](Pacer::try_acquire), and [`Refused::TooFarAhead`] as `acquire_many`.
    #[inline]
    pub fn try_acquire_many(&self, n: u32) -> Result<Grant, Refused> {
        match n {
            0 => Ok(self.start_nothing()?),
            1 => self.try_acquire(),
            _ => self.0.start(Attempt::new(n.into(), i64::MIN)),
        }
    }

    /// Like [`acquire`](Pacer::acquire), but gives up if the slot can't start within `timeout` from
    /// now.
    ///
    /// Zero grants a slot that is due now and refuses everything else.
    ///
    /// # Errors
    /// As [`acquire_deadline`](Pacer::acquire_deadline).
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Nanos, Pacer, Refused};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::jumping();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock).build();
    /// pacer.acquire()?; // slot 0, at 0 ms; slot 1 is due at 100 ms
    ///
    /// let refused = pacer.acquire_timeout(Duration::from_millis(99));
    /// assert_eq!(refused, Err(Refused::NotUntil(Nanos::from_nanos(100_000_000))));
    /// assert_eq!(pacer.now(), Nanos::ZERO); // refused at once, and slot 1 was not taken
    ///
    /// let grant = pacer.acquire_timeout(Duration::from_millis(100))?;
    /// assert_eq!(grant.actual_start().as_nanos(), 100_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn acquire_timeout(&self, timeout: Duration) -> Result<Grant, Refused> {
        self.acquire_deadline(self.now() + timeout)
    }

    /// Like [`acquire`](Pacer::acquire), but gives up if the slot can't start by `deadline`, a
    /// moment on the pacer's clock.
    ///
    /// It gives up as soon as that is known: at once, or when a change of the rate makes it so.
    /// Then it has taken nothing. A slot that is due now is granted, even if the deadline has
    /// passed.
    ///
    /// # Errors
    /// [`Refused::NotUntil`], [`Refused::Finished`], [`Refused::Closed`], or [`Refused::Paused`] if the pacer is still
    /// paused at the deadline.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Nanos, Pacer, Refused};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::jumping();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// clock.advance(Duration::from_millis(50));
    /// assert!(pacer.acquire_deadline(Nanos::ZERO).is_ok()); // slot 0 is due now
    ///
    /// let at = |ms: u64| Nanos::from_nanos(ms * 1_000_000);
    /// assert_eq!(pacer.acquire_deadline(at(99)), Err(Refused::NotUntil(at(100))));
    /// assert_eq!(pacer.acquire_deadline(at(100))?.actual_start(), at(100));
    ///
    /// pacer.pause();
    /// assert_eq!(pacer.acquire_deadline(at(1_000)), Err(Refused::Paused));
    /// assert_eq!(pacer.now(), at(1_000)); // not before: it might have been resumed in time
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn acquire_deadline(&self, deadline: Nanos) -> Result<Grant, Refused> {
        self.0.start(Attempt::new(1, deadline.signed()))
    }

    /// From now on the schedule runs at `rate`, in one atomic step.
    ///
    /// Nothing bursts. The part of the current interval that has passed stays passed. Slots that
    /// are late keep their intended starts, so their wait times stay true. Callers that are asleep
    /// and may now start earlier are woken. Setting the rate that is in force changes nothing.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Nanos, Pacer, Refused};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// pacer.acquire()?; // slot 0, at 0 ms
    ///
    /// clock.advance(Duration::from_millis(250));
    /// pacer.set_rate("100/s".parse()?);
    ///
    /// // Slots 1 and 2 were due at the old rate, and keep their intended starts.
    /// assert_eq!(pacer.acquire()?.wait_time(), Duration::from_millis(150)); // intended at 100 ms
    /// assert_eq!(pacer.acquire()?.wait_time(), Duration::from_millis(50)); // intended at 200 ms
    ///
    /// // Half of the interval before slot 3 had passed. The other half now takes 5 ms, not 50.
    /// assert_eq!(pacer.try_acquire(), Err(Refused::NotUntil(Nanos::from_nanos(255_000_000))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_rate(&self, rate: Rate) {
        self.0.change(|schedule, now| schedule.set_rate(rate, now));
    }

    /// The rate in force, of the whole load if this process has a [`Shard`] of it. On a shape it is
    /// the shape's rate at this moment, or the [slowest](Rate::SLOWEST) if that is lower or zero, as
    /// it is behind the end.
    ///
    /// ```
    /// use nanopace::{Pacer, Rate};
    ///
    /// let pacer = Pacer::new("10/s".parse()?);
    /// pacer.set_rate(Rate::per_second(20)?);
    /// assert_eq!(pacer.rate(), Rate::per_second(20)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn rate(&self) -> Rate {
        let now = self.now().signed();
        self.0.timeline.with_schedule(|schedule| schedule.rate(now))
    }

    /// From now on the rate follows `shape`, from its beginning, in one atomic step, as
    /// [`set_rate`](Pacer::set_rate) does: nothing bursts, slots that are late keep their intended
    /// starts, and callers that may now start earlier are woken.
    ///
    /// The part of the current interval that has passed stays passed, so the first slot of the new
    /// shape comes when the rest of an interval has. While the pacer is paused the shape waits for
    /// the end of the pause.
    ///
    /// [`set_rate`](Pacer::set_rate) ends a shape. A schedule that was over because its shape had
    /// ended goes on, and the time between is not made up for.
    ///
    /// A shape can begin elsewhere: [`skip`](Shape::skip) what is to be left out.
    ///
    /// ```
    /// use nanopace::{Ended, ManualClock, Pacer, Shape};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::jumping();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// pacer.acquire()?; // slot 0, at 0 ms
    /// clock.advance(Duration::from_millis(100));
    /// pacer.set_shape("ramp 10/s..30/s 1s".parse()?);
    /// let started = std::iter::from_fn(|| pacer.acquire().ok()).count();
    /// assert_eq!(started, 20);
    /// assert_eq!(pacer.acquire(), Err(Ended::Finished));
    ///
    /// pacer.set_rate("10/s".parse()?);
    /// assert!(pacer.acquire().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_shape(&self, shape: Shape) {
        self.0.change(|schedule, now| schedule.set_shape(shape, now));
    }

    /// The shape that the rate follows; none while the rate is constant and not zero.
    ///
    /// ```
    /// use nanopace::{Pacer, Shape};
    ///
    /// let pacer = Pacer::shaped("ramp 10/s..20/s 10s".parse()?).build();
    /// assert!(pacer.shape().is_some());
    /// pacer.set_rate("10/s".parse()?);
    /// assert!(pacer.shape().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> Option<Shape> {
        self.0.timeline.with_schedule(|schedule| schedule.load().shape().cloned())
    }

    /// From the slot with the number `from` in the whole load on, this process takes the slots of
    /// `shard`.
    ///
    /// If all processes of a load change at the same number, which none of them has come to, no
    /// slot is lost and none is taken twice. The time of each slot stays the same.
    ///
    /// # Errors
    /// [`ShardError::TooLate`] if a slot with that number or a higher one has been taken, or may
    /// start by now. Nothing is changed.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Pacer, Shard};
    ///
    /// // One of two becomes one of three: 0, 2, 4, then 6, 9, 12.
    /// let builder = Pacer::builder("10/s".parse()?).shard(Shard::new(0, 2)?);
    /// let pacer = builder.clock(ManualClock::jumping()).build();
    /// pacer.set_shard(Shard::new(0, 3)?, 6)?;
    /// let started = pacer.now();
    /// let tenths = |grant: nanopace::Grant| (grant.intended_start() - started).as_millis() / 100;
    /// let starts: Result<Vec<_>, _> = (0..6).map(|_| pacer.acquire().map(tenths)).collect();
    /// assert_eq!(starts?, [0, 2, 4, 6, 9, 12]);
    /// assert!(pacer.set_shard(Shard::new(1, 3)?, 10).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_shard(&self, shard: Shard, from: u64) -> Result<(), ShardError> {
        self.0.set_shard(shard, from)
    }

    /// From now on late starts are treated with this [strictness](Strictness).
    ///
    /// What has started stays as it is. If time is owed under a burst ratio and the new strictness
    /// is not a burst ratio, that time becomes plain backlog: average starts it at once, and strict
    /// gives it up.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Pacer, Strictness};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::jumping();
    /// let pacer = Pacer::builder("10/s".parse()?)
    ///     .strictness(Strictness::new(2.0)?)
    ///     .clock(clock.clone())
    ///     .build();
    /// pacer.acquire()?; // slot 0, at 0 ms
    /// clock.advance(Duration::from_millis(300));
    /// pacer.acquire()?; // slot 1, 200 ms late: from here on starts are 50 ms apart
    /// pacer.acquire()?; // slot 2, intended at 200 ms
    /// assert_eq!(pacer.now().as_nanos(), 350_000_000);
    ///
    /// pacer.set_strictness(Strictness::AVERAGE);
    /// pacer.acquire()?; // slot 3, intended at 300 ms, starts at once
    /// assert_eq!(pacer.now().as_nanos(), 350_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_strictness(&self, strictness: Strictness) {
        self.0.change(|schedule, now| schedule.set_strictness(strictness, now));
    }

    /// The strictness in force.
    ///
    /// ```
    /// use nanopace::{Pacer, Strictness};
    ///
    /// let pacer = Pacer::new("10/s".parse()?);
    /// assert_eq!(pacer.strictness(), Strictness::AVERAGE);
    /// pacer.set_strictness(Strictness::STRICT);
    /// assert_eq!(pacer.strictness(), Strictness::STRICT);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn strictness(&self) -> Strictness {
        self.0.timeline.with_schedule(|schedule| schedule.policy().strictness)
    }

    /// From now on no more than `limit` is made up for; `None` removes the limit. See
    /// [`PacerBuilder::max_backlog`](crate::PacerBuilder::max_backlog).
    ///
    /// What is beyond the limit is given up at the next late start, as [`idle`](Ledger::idle) time.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// pacer.acquire()?; // slot 0, at 0 ms
    /// clock.advance(Duration::from_secs(1));
    /// assert_eq!(pacer.ledger().backlog, Duration::from_millis(900));
    ///
    /// pacer.set_max_backlog(Some(Duration::from_millis(200)));
    /// // Slot 1 says how late it really is. 700 ms of that are given up.
    /// assert_eq!(pacer.acquire()?.wait_time(), Duration::from_millis(900));
    /// assert_eq!(pacer.ledger().idle, Duration::from_millis(700));
    /// // So slot 2 is intended at 900 ms instead of 200 ms.
    /// assert_eq!(pacer.acquire()?.wait_time(), Duration::from_millis(100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_max_backlog(&self, limit: Option<Duration>) {
        self.0.change(|schedule, _| schedule.set_max_backlog(limit.map(span_ns)));
    }

    /// From now on a slot is skipped, and counted, if it is more than `limit` late when it could
    /// start; `None` removes the limit. See
    /// [`PacerBuilder::skip_later_than`](crate::PacerBuilder::skip_later_than).
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// clock.advance(Duration::from_secs(1)); // slots 0 to 10 are due: one every 100 ms
    ///
    /// pacer.set_skip_later_than(Some(Duration::from_millis(250)));
    /// let grant = pacer.acquire()?; // slot 8, intended at 800 ms
    /// assert_eq!(grant.wait_time(), Duration::from_millis(200));
    ///
    /// let ledger = pacer.ledger();
    /// assert_eq!(ledger.skipped, 8); // slots 0 to 7
    /// assert_eq!(ledger.granted, 1); // slot 8
    /// assert_eq!(ledger.backlog_slots, 2); // slots 9 and 10
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_skip_later_than(&self, limit: Option<Duration>) {
        self.0.change(|schedule, _| schedule.set_skip_later_than(limit.map(span_ns)));
    }

    /// Stops the schedule's time: nothing starts until [`resume`](Pacer::resume).
    ///
    /// Callers that come meanwhile are held back, or get [`Refused::Paused`]. What has started goes
    /// on. Pausing a paused pacer does nothing.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Pacer, Refused};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// clock.advance(Duration::from_secs(1));
    ///
    /// pacer.pause();
    /// assert_eq!(pacer.try_acquire(), Err(Refused::Paused)); // although 11 slots are due
    /// clock.advance(Duration::from_secs(60));
    /// assert_eq!(pacer.ledger().elapsed, Duration::from_secs(1)); // time stands still
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pause(&self) {
        self.0.change(Schedule::pause);
    }

    /// Lets the schedule's time go on. Resuming a pacer that is not paused does nothing.
    ///
    /// All slots that have not started move by the length of the pause. So what was late stays
    /// exactly as late, what was early stays as early, and nothing bursts.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Nanos, Pacer, Refused};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// pacer.acquire()?; // slot 0, at 0 s
    /// clock.advance(Duration::from_millis(150)); // slot 1 is 50 ms late, slot 2 is due in 50 ms
    ///
    /// pacer.pause();
    /// clock.advance(Duration::from_secs(60));
    /// pacer.resume();
    ///
    /// assert_eq!(pacer.acquire()?.wait_time(), Duration::from_millis(50)); // slot 1
    /// let in_50_ms = Nanos::from_nanos(60_200_000_000);
    /// assert_eq!(pacer.try_acquire(), Err(Refused::NotUntil(in_50_ms))); // slot 2
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resume(&self) {
        self.0.change(Schedule::resume);
    }

    /// Whether the schedule's time stands still.
    ///
    /// ```
    /// use nanopace::Pacer;
    ///
    /// let pacer = Pacer::builder("10/s".parse()?).start_paused().build();
    /// assert!(pacer.is_paused());
    /// pacer.resume();
    /// assert!(!pacer.is_paused());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.0.timeline.with_schedule(Schedule::is_paused)
    }

    /// Ends the schedule for good. Callers that are asleep wake, and they and all later callers get
    /// [`Ended::Closed`]. There is no way back, and closing again does nothing.
    ///
    /// What has started goes on, and the ledger can still be read.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{Ended, ManualClock, Pacer, Refused};
    ///
    /// let pacer = Pacer::builder("1/d".parse()?).clock(ManualClock::new()).build();
    /// pacer.acquire()?; // slot 0; slot 1 is due tomorrow
    /// std::thread::scope(|scope| {
    ///     let worker = scope.spawn(|| pacer.acquire());
    ///     pacer.close(); // wakes the worker, if it sleeps already
    ///     assert_eq!(worker.join().unwrap(), Err(Ended::Closed));
    /// });
    /// assert_eq!(pacer.try_acquire(), Err(Refused::Closed));
    /// assert_eq!(pacer.ledger().granted, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(&self) {
        self.0.timeline.close(&*self.0.clock);
    }

    /// Whether the pacer is closed.
    ///
    /// ```
    /// use nanopace::Pacer;
    ///
    /// let pacer = Pacer::new("10/s".parse()?);
    /// assert!(!pacer.is_closed());
    /// pacer.close();
    /// assert!(pacer.is_closed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.timeline.is_closed()
    }

    /// Whether the schedule has no slot left: see [`PacerBuilder::slots`](crate::PacerBuilder::slots)
    /// and [`PacerBuilder::until`](crate::PacerBuilder::until). Operations that were started may
    /// still be under way.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    ///
    /// let pacer = Pacer::builder("10/s".parse()?).slots(1).clock(ManualClock::new()).build();
    /// assert!(!pacer.is_finished());
    /// pacer.acquire()?;
    /// assert!(pacer.is_finished());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.0.timeline.is_finished()
    }

    /// Now, on the pacer's clock, in nanoseconds. This is what intended starts are to be compared
    /// with.
    ///
    /// It is never before the actual start of a grant that the caller knows of, even if another
    /// processor made that grant.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{Nanos, Pacer};
    ///
    /// let pacer = Pacer::new("10/s".parse()?);
    /// let grant = pacer.acquire()?;
    /// // ... the operation ...
    /// let end: Nanos = pacer.now();
    /// assert!(end >= grant.actual_start());
    /// let service_time = end - grant.actual_start();
    /// assert_eq!(grant.response_time(end), grant.wait_time() + service_time);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.0.timeline.now(&*self.0.clock)
    }

    /// Where the schedule's time went, and how many slots were granted, skipped, or are due.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// pacer.acquire()?; // slot 0
    /// clock.advance(Duration::from_secs(1));
    ///
    /// let ledger = pacer.ledger();
    /// assert_eq!(ledger.granted, 1);
    /// assert_eq!(ledger.backlog_slots, 10); // slots 1 to 10
    /// assert_eq!(ledger.allocated, Duration::from_millis(100)); // slot 0's interval
    /// assert_eq!(ledger.backlog, Duration::from_millis(900)); // the rest is still to be used
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        Ledger::from(self.0.timeline.totals(&*self.0.clock))
    }

    /// How many slots this process's part of the load has before `moment`, wherever late policies have
    /// moved them: while none has, those that are intended to start before that. Of a
    /// [recording](crate::Arrivals::replay) no more are known than 2^20 ahead of those that are in use.
    ///
    /// The moment may be past or to come, but only the load that is in force is known: of one before
    /// the last change of the load, or the last pause, nothing better is known than what there was
    /// then.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer, Strictness};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let strict = Pacer::builder("10/s".parse()?).strictness(Strictness::STRICT);
    /// let pacer = strict.clock(clock.clone()).build();
    /// pacer.acquire()?; // slot 0, at 0 s
    /// clock.advance(Duration::from_millis(950));
    /// pacer.acquire()?; // slot 1, which was due at 100 ms: strict starts slot 2 at 1.05 s
    ///
    /// assert_eq!(pacer.asked_before(pacer.now()), 10); // nine of them in 0.1 s to 0.9 s
    /// assert_eq!(pacer.asked_before(pacer.now() + Duration::from_secs(1)), 20);
    /// assert_eq!(pacer.ledger().granted, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn asked_before(&self, moment: Nanos) -> u64 {
        self.0.timeline.with_schedule(|schedule| schedule.asked_before(moment.signed()))
    }

    /// As [`asked_before`](Pacer::asked_before), with the part of the next slot that has passed by
    /// then. Of random arrivals it is how many there are on average, and of a
    /// [shard](crate::Shard) its share.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let pacer = Pacer::builder("0.5/s".parse()?).clock(ManualClock::new()).build();
    /// let in_a_second = pacer.now() + Duration::from_secs(1);
    /// assert_eq!(pacer.asked_before(in_a_second), 1); // slot 0
    /// assert_eq!(pacer.asked_count(in_a_second), 0.5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn asked_count(&self, moment: Nanos) -> f64 {
        self.0.timeline.with_schedule(|schedule| schedule.asked_count(moment.signed()))
    }

    /// The slots with an intended start in `span` that nobody has taken, or that were given back: what
    /// is left when the schedule has ended, for instance. They stay in the schedule, as
    /// [backlog](Ledger::backlog_slots); but first those are skipped that are later than
    /// [`skip_later_than`](crate::PacerBuilder::skip_later_than) allows.
    ///
    /// They come in order, and since there may be billions, in batches, each with the intended start of its last slot
    /// and how many it has. The others are due before that by at most a 10 000th of the time from
    /// there to the end of `span`.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// let [begin, end] = [0, 300].map(|ms| pacer.now() + Duration::from_millis(ms));
    /// pacer.acquire()?; // slot 0
    /// clock.advance(Duration::from_secs(1));
    /// pacer.close();
    ///
    /// let due = |ms| begin + Duration::from_millis(ms);
    /// assert_eq!(pacer.unstarted(begin..end), [(due(100), 1), (due(200), 1)]);
    /// assert_eq!(pacer.ledger().backlog_slots, 10); // slots 1 to 10
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn unstarted(&self, span: Range<Nanos>) -> Vec<(Nanos, u64)> {
        let span = span.start.signed()..span.end.signed();
        let unstarted = self.0.timeline.unstarted(&span, &*self.0.clock).into_iter();
        unstarted.map(|(due, slots)| (Nanos::from_signed(due), slots)).collect()
    }

    /// What is counted beside the [ledger](Pacer::ledger); see [`Counters`] for an example.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let Engine { timeline, pausing, .. } = &*self.0;
        Counters { early_starts: timeline.early(), spun: pausing.spun() }
    }
}
