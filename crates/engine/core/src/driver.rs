//! Drives a pacer from outside, for authors of async runtimes and of programs that distribute one load over many
//! machines. Other callers do not need this module.
//!
//! This module is not covered by [semantic versioning](https://semver.org): any version may change it. Several crates
//! of this project use it, such as `nanopace-async` and `nanopace-fleet`.
//!
//! * A runtime waits with its own timers. It [watches](Drive::watch) the schedule for changes, and requests the time at
//!   which a slot is [due](Drive::next_due) and the best time to [wake](Drive::wake_at) for that slot. It then claims
//!   and starts the slot with [`Pacer::try_acquire`].
//! * A program with several loads [resumes](Drive::resume_at) their pacers at one moment.
//! * A fleet [leases](Drive::lease) slots of the load to each process, a range of slots at a time. If a change of the
//!   load reaches a process late, the fleet [corrects](Drive::correct_shape) the load of that process.

pub use crate::lease::Lease;
use crate::sync::unique;
use crate::timeline::Spacing;
use crate::{Ended, Nanos, Pacer, PacerBuilder, Rate, Shape, ShardError};
use std::task::Waker;
use std::time::Duration;

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::Pacer {}
}

/// Changes `builder` so that its pacer has no slots until slots are [leased](Drive::lease) to the pacer. Callers wait
/// until slots are leased. Without this call, the pacer has the slots of its [`shard`](PacerBuilder::shard).
pub fn leased(builder: PacerBuilder) -> PacerBuilder {
    builder.leased()
}

/// Drives a [`Pacer`] from outside. The [module](crate::driver) describes the uses of these methods.
pub trait Drive: sealed::Sealed {
    /// Replaces the shape as if the load had followed `shape` from the beginning of the load: each slot n that is not
    /// yet due is intended to start at the time at which slot n is due on `shape`. Use this method in a process that
    /// receives a change of a load late, if other processes follow the same load. Do not use this method if the current
    /// load began later than the pacer, for example after [`Pacer::set_shape`].
    ///
    /// Slots that were due by the old shape keep their times. Time that a late policy had forfeited no longer counts as
    /// [`idle`](crate::Ledger::idle). Slots whose new times have passed count as due at the time of this call: a span
    /// of [`Pacer::unstarted`] that ends at or before this call contains none of them, and a span that begins before
    /// this call and ends after it contains all of them. After the end that [`until`](crate::PacerBuilder::until) sets,
    /// this method changes nothing.
    ///
    /// ```
    /// use nanopace::driver::Drive;
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::jumping();
    /// let pacer = Pacer::shaped("hold 10/s 2s".parse()?).clock(clock.clone()).build();
    /// let began = pacer.now();
    /// for _ in 0..10 {
    ///     pacer.acquire()?; // slots 0 to 9
    /// }
    /// clock.advance(Duration::from_millis(50)); // since 500 ms it is 20/s
    /// pacer.correct_shape("hold 10/s 500ms, hold 20/s 2s".parse()?);
    /// let grant = pacer.acquire()?; // slot 10, which was due at 750 ms
    /// assert_eq!((grant.intended_start() - began).as_millis(), 750);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn correct_shape(&self, shape: Shape);

    /// Ends a pause like [`Pacer::resume`], as of `moment`, or as of now if `moment` is later. Use this method to start
    /// several schedules on one clock at the same moment.
    ///
    /// ```
    /// use nanopace::driver::Drive;
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).start_paused().build();
    /// let moment = pacer.now() + Duration::from_secs(3);
    /// clock.advance(Duration::from_secs(4));
    /// pacer.resume_at(moment);
    /// assert_eq!(pacer.try_acquire()?.intended_start(), moment);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn resume_at(&self, moment: Nanos);

    /// Leases slots to this process, beginning with the slot with the number `from` in the whole load. Each [`Lease`]
    /// begins where the previous one ends. After the last lease this process has no slots, and callers that claim a
    /// later slot wait until that slot is leased. A last lease until `u64::MAX` means that no more leases will follow.
    ///
    /// The new leases replace all earlier leases of slot `from` and later slots. If a caller holds such a slot and the
    /// slot may not start yet, the slot moves as it would after a change of the rate. Use this method in programs that
    /// distribute the slots of one load over many machines during the run; see [`leased`]. Claim the slots of such a
    /// pacer one at a time: several slots that are claimed together start with the first one, and the later slots could
    /// still be leased to other processes.
    ///
    /// ```
    /// use nanopace::driver::{Drive, Lease, leased};
    /// use nanopace::{ManualClock, Pacer, Shard};
    ///
    /// let builder = leased(Pacer::builder("10/s".parse()?)).clock(ManualClock::jumping());
    /// let pacer = builder.build();
    /// pacer.lease(0, &[Lease::of(Shard::new(1, 2)?, 8)])?; // slots 1, 3, 5 and 7
    /// let claim = pacer.claim()?;
    /// assert_eq!(claim.delay()?.as_millis(), 100);
    /// pacer.lease(0, &[Lease::of(Shard::new(0, 1)?, 4)])?; // slots 0 to 3 instead
    /// assert_eq!(claim.delay()?.as_millis(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ShardError::TooLate`] if a slot of this process with the number `from` or a higher one may have
    /// started, and [`ShardError::Order`] if a lease ends before the previous one. In both cases nothing changes.
    fn lease(&self, from: u64, leases: &[Lease]) -> Result<(), ShardError>;

    /// Leases slots, beginning with the first possible slot, but not before the slot with the number `from` in the
    /// whole load. The first possible slot is this process's first slot that has certainly not started. If the process
    /// has no such slot, the new leases begin at the end of its leases. Returns the number of the slot at which the new
    /// leases begin.
    ///
    /// The slots before the returned number do not change, even if `from` is lower. ([`lease`](Drive::lease) returns an
    /// error in that case.) A lease that ends before the previous lease ends is empty.
    ///
    /// ```
    /// use nanopace::driver::{Drive, Lease, leased};
    /// use nanopace::{ManualClock, Pacer, Shard};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::jumping();
    /// let pacer = leased(Pacer::builder("10/s".parse()?)).clock(clock.clone()).build();
    /// pacer.lease(0, &[Lease::of(Shard::new(0, 1)?, 8)])?;
    /// clock.advance(Duration::from_millis(250)); // slots 0 to 2 are due
    /// assert!(pacer.lease(1, &[Lease::nothing(u64::MAX)]).is_err());
    /// assert_eq!(pacer.lease_rest(1, &[Lease::nothing(u64::MAX)]), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "slots before the returned number keep their old leases"]
    fn lease_rest(&self, from: u64, leases: &[Lease]) -> u64;

    /// Returns the current rate in slots per second. A shape's rate of at most one per day counts as 0, and so does the
    /// rate after the end of a shape; [`Pacer::rate`] returns [`Rate::SLOWEST`] in these cases. A pause does not change
    /// the rate.
    fn rate_hz(&self) -> f64;

    /// Returns the time at which the next free slot is due. The time is [`Nanos::MAX`] while the pacer is paused,
    /// before the first use of a pacer that [starts on first use](crate::PacerBuilder::start_on_first_use), and while
    /// the rate stays zero or the slot is not [leased] yet. This call does not count as a use, and claims no slot:
    /// another caller may claim the slot first.
    ///
    /// ```
    /// use nanopace::driver::Drive;
    /// use nanopace::{ManualClock, Nanos, Pacer, Rate};
    /// use std::time::Duration;
    ///
    /// let pacer = Pacer::builder(Rate::per_second(10)?).clock(ManualClock::new()).build();
    /// pacer.acquire()?;
    /// assert_eq!(pacer.next_due()?, pacer.now() + Duration::from_millis(100));
    /// pacer.pause();
    /// assert_eq!(pacer.next_due()?, Nanos::MAX);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Ended`] if the pacer is closed or its schedule has no slot left.
    fn next_due(&self) -> Result<Nanos, Ended>;

    /// Returns the due time of the free slot that has `slots` other free slots before it. Use this method to set a
    /// timer ahead of time. In other respects the method works like [`next_due`](Drive::next_due).
    ///
    /// Slots that are given back after this call may also be handed out before that slot.
    ///
    /// # Errors
    /// Returns [`Ended`] if the pacer is closed or its schedule has no such slot left.
    fn due_after(&self, slots: u32) -> Result<Nanos, Ended>;

    /// Returns the time at which the next `n` slots in a row are due as one operation. In other respects this method
    /// works like [`next_due`](Drive::next_due). A row of two or more slots begins after the last claimed slot. Earlier
    /// slots that were given back are left to callers of single slots.
    ///
    /// ```
    /// use nanopace::driver::Drive;
    /// use nanopace::{ManualClock, Pacer, Rate};
    /// use std::time::Duration;
    ///
    /// let pacer = Pacer::builder(Rate::per_second(10)?).clock(ManualClock::new()).build();
    /// let (first, _second) = (pacer.claim()?, pacer.claim()?);
    /// drop(first); // slot 0 goes back
    /// assert_eq!(pacer.next_due_many(1)?, pacer.now());
    /// assert_eq!(pacer.next_due_many(2)?, pacer.now() + Duration::from_millis(200));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Ended::Closed`], or [`Ended::Finished`] if the schedule has fewer than `n` slots left.
    fn next_due_many(&self, n: u32) -> Result<Nanos, Ended>;

    /// Returns a watch, which wakes a task when the schedule changes.
    #[must_use]
    fn watch(&self) -> Watch;

    /// Returns the time at which a caller with its own timer should wake for a slot that is due at `due`. The caller
    /// last woke at `woken`, and each wake-up costs `cost` of CPU time. The result is `due`, unless slots are so close
    /// together that a wake-up for each slot would take more of a core than the [sleep
    /// share](crate::PacerBuilder::sleep_share). In that case the result is later, but by default only if slots are less
    /// than 30 us apart.
    ///
    /// All slots that are due at the wake-up start at once. The wake-up is late by at most half of the lateness that
    /// the late policy makes up for at once. Under strict the result is never later than `due`.
    ///
    /// ```
    /// use nanopace::driver::Drive;
    /// use nanopace::{ManualClock, Pacer, Rate};
    /// use std::time::Duration;
    ///
    /// let cost = Duration::from_micros(10);
    /// let wakes = |rate| -> Result<_, Box<dyn std::error::Error>> {
    ///     let pacer = Pacer::builder(Rate::per_second(rate)?).clock(ManualClock::new()).build();
    ///     pacer.acquire()?;
    ///     let (now, due) = (pacer.now(), pacer.next_due()?);
    ///     Ok(pacer.wake_at(due, now, cost) - now)
    /// };
    /// assert_eq!(wakes(1_000)?, Duration::from_millis(1)); // for each slot
    /// assert_eq!(wakes(100_000)?, Duration::from_micros(100)); // a tenth of a core: for ten
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    fn wake_at(&self, due: Nanos, woken: Nanos, cost: Duration) -> Nanos;
}

impl Drive for Pacer {
    fn correct_shape(&self, shape: Shape) {
        self.0.change(|schedule, now| schedule.correct_shape(shape, now));
    }

    fn resume_at(&self, moment: Nanos) {
        self.0.change(|schedule, now| schedule.resume(now.min(moment.signed())));
    }

    fn lease(&self, from: u64, leases: &[Lease]) -> Result<(), ShardError> {
        self.0.lease(from, leases)
    }

    fn lease_rest(&self, from: u64, leases: &[Lease]) -> u64 {
        self.0.lease_rest(from, leases)
    }

    fn rate_hz(&self) -> f64 {
        let rate = self.rate();
        if rate == Rate::SLOWEST && self.shape().is_some() { 0.0 } else { rate.as_hz() }
    }

    fn next_due(&self) -> Result<Nanos, Ended> {
        self.due_after(0)
    }

    fn due_after(&self, slots: u32) -> Result<Nanos, Ended> {
        self.0.timeline.due_after(slots.into()).map(Nanos::from_signed)
    }

    fn next_due_many(&self, n: u32) -> Result<Nanos, Ended> {
        match n {
            0 | 1 => self.next_due(),
            _ => self.0.timeline.row_due(n.into()).map(Nanos::from_signed),
        }
    }

    fn watch(&self) -> Watch {
        Watch::new(self)
    }

    fn wake_at(&self, due: Nanos, woken: Nanos, cost: Duration) -> Nanos {
        let Spacing { interval_ns, tolerated_ns } = self.0.timeline.spacing();
        let stretch_ns = self.0.pausing.stretch_ns(interval_ns, tolerated_ns);
        let latest = due.signed().saturating_add(stretch_ns);
        let spared = self.0.pausing.wakes_again(woken.signed(), cost);
        Nanos::from_signed(spared.min(latest).max(due.signed()))
    }
}

/// Wakes a task when the schedule changes: when the load, the shard, the leases or the late policy is changed, when
/// slots are given back, when the last slot of a schedule is claimed, or when the pacer is resumed, first used or
/// closed. A pause need not wake a task, because it only makes slots later. While the pacer is paused, a change of the
/// load or the policy need not wake a task either.
///
/// A wake-up is only a hint to check the schedule again. No wake-up is lost: a task that first calls
/// [`set`](Watch::set) and then reads the schedule is woken by each of these changes that the read did not show. After
/// each wake-up, the task has to call `set` again.
///
/// ```
/// use nanopace::driver::Drive;
/// use nanopace::{ManualClock, Pacer, Rate, Refused};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use std::task::{Wake, Waker};
///
/// struct Count(AtomicUsize);
/// impl Wake for Count {
///     fn wake(self: Arc<Self>) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
/// }
///
/// let pacer = Pacer::builder("1/h".parse()?).clock(ManualClock::new()).build();
/// pacer.acquire()?;
/// let (watch, wakes) = (pacer.watch(), Arc::new(Count(AtomicUsize::new(0))));
/// watch.set(&Waker::from(wakes.clone()));
/// assert!(matches!(pacer.try_acquire(), Err(Refused::NotUntil(_)))); // in an hour
/// pacer.set_rate(Rate::per_second(10)?);
/// assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Watch {
    pacer: Pacer,
    number: u64,
}

impl Watch {
    fn new(pacer: &Pacer) -> Watch {
        Watch { pacer: pacer.clone(), number: unique() }
    }

    /// Sets the waker that the next change wakes. The new waker replaces any earlier waker of this watch.
    pub fn set(&self, waker: &Waker) {
        self.pacer.0.timeline.sleepers.watch(self.number, waker);
    }

    /// Removes the waker of this watch.
    pub fn clear(&self) {
        self.pacer.0.timeline.sleepers.unwatch(self.number);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.clear();
    }
}
