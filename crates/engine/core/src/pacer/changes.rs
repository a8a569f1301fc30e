//! Changes a pacer's load and policies during the run. Pauses, resumes and closes the pacer.

use super::Pacer;
use crate::nanos::span_ns;
use crate::schedule::{Load, Schedule};
use crate::{Rate, RateError, Shape, ShapeSyntaxError, Shard, ShardError, Strictness};
use std::str::FromStr;
use std::time::Duration;

impl FromStr for Load {
    type Err = ShapeSyntaxError;

    fn from_str(text: &str) -> Result<Load, ShapeSyntaxError> {
        match text.parse::<Rate>() {
            Ok(rate) => Ok(Load::Rate(rate)),
            // A shape begins with a word or a parenthesis, so this string is an invalid rate.
            Err(wrong) if text.trim_start().starts_with(|c: char| "+-.0123456789".contains(c)) => {
                Err(ShapeSyntaxError::new(1, RateError::to_string(&wrong)))
            }
            Err(_) => Shape::of_load(text).map(Load::from),
        }
    }
}

impl Pacer {
    /// Sets the rate from this call on, in one atomic step.
    ///
    /// The change causes no burst: the fraction of the current interval that has passed counts as passed at the new
    /// rate, too. Slots that are late keep their intended starts, so their wait times stay correct. Callers that are
    /// asleep and may now start earlier are woken. Setting the same constant rate again changes nothing.
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

    /// Returns the current rate of the whole load, even if this process has a [`Shard`]. On a shape, returns the
    /// shape's current rate, limited to the range of [`Rate`]: the [slowest](Rate::SLOWEST) rate stands for zero, also
    /// after the end of the shape. A pause of the pacer stops the shape.
    #[must_use]
    pub fn rate(&self) -> Rate {
        let now = self.now().signed();
        self.0.timeline.with_schedule(|schedule| schedule.rate(now))
    }

    /// Replaces the load with a shape that begins at the time of this call, in one atomic step. As with
    /// [`set_rate`](Pacer::set_rate), there is no burst, slots that are late keep their intended starts, and callers
    /// that may now start earlier are woken.
    ///
    /// The fraction of the current interval that has passed counts towards the first slot of the new shape: this slot
    /// starts when the shape's count has grown by the remaining fraction. While the pacer is paused, the shape begins
    /// at the end of the pause.
    ///
    /// [`set_rate`](Pacer::set_rate) ends a shape. After the end of a shape, both methods continue the schedule, unless
    /// another end has been reached. The time since the end of the shape is not made up for.
    ///
    /// To begin in the middle of a shape, [`skip`](Shape::skip) its first part before the call.
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

    /// Parses a string and sets the load: a rate, as [`set_rate`](Pacer::set_rate) does, or a shape, as
    /// [`set_shape`](Pacer::set_shape) does. Use this method for strings that users write.
    ///
    /// # Errors
    /// Returns a [`ShapeSyntaxError`], which contains the position of the error in the string and says what to write
    /// instead. The load does not change.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{Pacer, Rate};
    ///
    /// let pacer = Pacer::new("10/s".parse()?);
    /// pacer.set_load("ramp 10/s..20/s 10s")?;
    /// assert!(pacer.shape().is_some());
    /// pacer.set_load("20/s")?;
    /// assert_eq!(pacer.rate(), Rate::per_second(20)?);
    /// assert!(pacer.set_load("twenty").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_load(&self, text: &str) -> Result<(), ShapeSyntaxError> {
        match text.parse()? {
            Load::Rate(rate) => self.set_rate(rate),
            Load::Shape(shape) => self.set_shape(*shape),
        }
        Ok(())
    }

    /// Returns the shape that the load follows, or `None` if the rate is constant and never ends.
    #[must_use]
    pub fn shape(&self) -> Option<Shape> {
        let shape = self.0.timeline.with_schedule(|schedule| schedule.load().shape().cloned())?;
        // A correction makes a shape even of a constant rate.
        match Load::from(shape) {
            Load::Rate(_) => None,
            Load::Shape(shape) => Some(*shape),
        }
    }

    /// Gives this process the slots of `shard`, beginning with the slot with the number `from` in the whole load.
    ///
    /// If all processes of a load change to shards of one division at the same slot number, and no process has reached
    /// that number, every slot belongs to exactly one process. The time of each slot stays the same.
    ///
    /// # Errors
    /// Returns [`ShardError::TooLate`] if this process has claimed a slot with the number `from` or a higher one, or if
    /// such a slot of this process may already start. In that case nothing changes. This process cannot see whether
    /// other processes have reached that number.
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

    /// Sets the [strictness](Strictness) that applies to late starts after this call.
    ///
    /// Slots that have started do not change. If time is owed under a burst ratio and the new strictness is not a burst
    /// ratio, that time becomes backlog. Under average strictness, the slots of the backlog start at once. Under
    /// partial strictness, a part of the backlog is forfeited, and under strict, all of it.
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

    /// Returns the current strictness.
    #[must_use]
    pub fn strictness(&self) -> Strictness {
        self.0.timeline.with_schedule(|schedule| schedule.policy().strictness)
    }

    /// Limits the backlog that is made up for after this call. `None` removes the limit.
    /// [`PacerBuilder::max_backlog`](crate::PacerBuilder::max_backlog) describes the limit and has an example.
    ///
    /// Lateness beyond the limit is forfeited at the next late start, and counts as [`idle`](crate::Ledger::idle)
    /// time.
    pub fn set_max_backlog(&self, limit: Option<Duration>) {
        self.0.change(|schedule, _| schedule.set_max_backlog(limit.map(span_ns)));
    }

    /// Sets the lateness beyond which slots are skipped after this call: a slot that is more than `limit` late when it
    /// could start is counted and skipped. `None` removes the limit.
    /// [`PacerBuilder::skip_later_than`](crate::PacerBuilder::skip_later_than) describes the limit and has an example.
    pub fn set_skip_later_than(&self, limit: Option<Duration>) {
        self.0.change(|schedule, _| schedule.set_skip_later_than(limit.map(span_ns)));
    }

    /// Stops the schedule's time: no slot starts until [`resume`](Pacer::resume).
    ///
    /// Callers that want to start a slot block until the pause ends, or get
    /// [`Refused::Paused`](crate::Refused::Paused). Operations that have started continue. Pausing a paused pacer has
    /// no effect, except that it cancels [`start_on_first_use`](crate::PacerBuilder::start_on_first_use).
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
    /// assert_eq!(pacer.ledger().elapsed, Duration::from_secs(1)); // time has stopped
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pause(&self) {
        self.0.change(Schedule::pause);
    }

    /// Continues the schedule's time after a pause. Also starts the schedule of a pacer that was built with
    /// [`start_paused`](crate::PacerBuilder::start_paused) or
    /// [`start_on_first_use`](crate::PacerBuilder::start_on_first_use) and has not started yet. Resuming a pacer that
    /// is not paused has no effect.
    ///
    /// All slots that have not started move by the length of the pause. A late slot stays exactly as late, a slot that
    /// was due in 50 ms is due 50 ms after the pause, and there is no burst.
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

    /// Returns whether the schedule's time is stopped: by a pause, or because the schedule has not started yet
    /// ([`start_paused`](crate::PacerBuilder::start_paused) or
    /// [`start_on_first_use`](crate::PacerBuilder::start_on_first_use)).
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.0.timeline.with_schedule(Schedule::is_paused)
    }

    /// Closes the pacer permanently. Callers that are asleep wake. They and all later callers get
    /// [`Ended::Closed`](crate::Ended::Closed). A closed pacer cannot be reopened, and closing it again has no effect.
    ///
    /// Operations that have started continue, and the ledger can still be read.
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

    /// Returns whether the pacer is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.timeline.is_closed()
    }
}
