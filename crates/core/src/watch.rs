//! For callers that wait by timers of their own, as tasks of an async runtime do: when the next
//! slot is due, when best to wake for it, and a wake-up when the schedule changes.

use crate::nanos::span_ns;
use crate::sync::unique;
use crate::{Ended, Nanos, Pacer};
use std::task::Waker;
use std::time::{Duration, Instant};

impl Pacer {
    /// When the next slot is due that nobody has taken; [`Nanos::MAX`] while the pacer is paused,
    /// and before the first use of one that [starts with
    /// it](crate::PacerBuilder::start_on_first_use): asking is no use. Nothing is taken: by then
    /// another caller may have it.
    ///
    /// ```
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
    /// [`Ended`].
    pub fn next_due(&self) -> Result<Nanos, Ended> {
        self.due_after(0)
    }

    /// When the slot is due that has `slots` others before it which nobody has taken; otherwise as
    /// [`next_due`](Pacer::next_due). For callers that set a timer ahead of time.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer, Rate};
    /// use std::time::Duration;
    ///
    /// let pacer = Pacer::builder(Rate::per_second(10)?).clock(ManualClock::new()).build();
    /// assert_eq!(pacer.due_after(0)?, pacer.next_due()?);
    /// assert_eq!(pacer.due_after(3)?, pacer.now() + Duration::from_millis(300));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Slots that were given back may come before it.
    ///
    /// # Errors
    /// [`Ended`].
    pub fn due_after(&self, slots: u32) -> Result<Nanos, Ended> {
        self.0.timeline.due_after(slots.into()).map(Nanos::from_signed)
    }

    /// When the next `n` slots in a row are due, as one operation; otherwise as
    /// [`next_due`](Pacer::next_due). Two or more slots are new ones: those that were given back are
    /// left to other callers.
    ///
    /// ```
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
    /// [`Ended::Closed`], or [`Ended::Finished`] when the schedule has fewer slots left.
    pub fn next_due_many(&self, n: u32) -> Result<Nanos, Ended> {
        match n {
            0 | 1 => self.next_due(),
            _ => self.0.timeline.row_due(n.into()).map(Nanos::from_signed),
        }
    }

    /// A watch for changes of the schedule, for one task at a time.
    #[must_use]
    pub fn watch(&self) -> Watch {
        Watch { pacer: self.clone(), number: unique() }
    }

    /// When a caller that pauses by a timer of its own had best wake for a slot that is due at
    /// `due`: then, or later where slots are so close that a wake-up for each would cost more than
    /// the [share](crate::PacerBuilder::sleep_share) of a core. It last woke at `woken`, and waking
    /// takes `cost` of processor time.
    ///
    /// What is due by then starts in one go, so it is never later than the late policy makes up
    /// for, and never later than `due` when strict.
    ///
    /// ```
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
    pub fn wake_at(&self, due: Nanos, woken: Nanos, cost: Duration) -> Nanos {
        let (interval_ns, made_up_for) = self.0.timeline.spacing();
        let stretch_ns = self.0.pausing.stretch_ns(interval_ns, made_up_for);
        let latest = due.signed().saturating_add(stretch_ns);
        let spared = self.0.pausing.wakes_again(woken.signed(), cost);
        Nanos::from_signed(spared.min(latest).max(due.signed()))
    }

    /// The moment `at` of the pacer's clock as an [`Instant`], as far as both clocks run alike. More
    /// than 34 years ahead count as that.
    ///
    /// ```
    /// use nanopace::Pacer;
    /// use std::time::{Duration, Instant};
    ///
    /// let pacer = Pacer::new("1/s".parse()?);
    /// pacer.acquire()?;
    /// let due = pacer.instant(pacer.next_due()?); // for a timer that takes instants
    /// assert!(due <= Instant::now() + Duration::from_secs(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn instant(&self, at: Nanos) -> Instant {
        let (now, here) = (self.now(), Instant::now());
        if at < now {
            return here.checked_sub(now - at).unwrap_or(here);
        }
        // 30 years: farther than timers reach, and within the range of any system's instants.
        here + (at - now).min(Duration::from_secs(1 << 30))
    }

    /// The moment of the pacer's clock at `instant`, as far as both clocks run alike.
    #[must_use]
    pub fn at(&self, instant: Instant) -> Nanos {
        let (now, here) = (self.now(), Instant::now());
        match instant.checked_duration_since(here) {
            Some(ahead) => now + ahead,
            None => Nanos::from_signed(now.signed().saturating_sub(span_ns(here - instant))),
        }
    }
}

/// Wakes a task when the schedule changes: when the rate or the late policy is changed, slots come
/// back, the last slot of a schedule that ends is taken, or the pacer is resumed or closed. A pause
/// wakes nobody, because it only makes slots later.
///
/// A wake-up is only a hint to look again. None is lost: a task that first calls
/// [`set`](Watch::set) and then looks at the schedule is woken by every change that it has not
/// seen. Each wake-up takes one call of `set`.
///
/// ```
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
    /// No other watch has the same.
    number: u64,
}

impl Watch {
    /// The next change wakes `waker`, and no waker that was set before.
    pub fn set(&self, waker: &Waker) {
        self.pacer.0.timeline.sleepers.watch(self.number, waker);
    }

    /// The next change wakes nobody.
    pub fn clear(&self) {
        self.pacer.0.timeline.sleepers.unwatch(self.number);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.clear();
    }
}
