//! How a caller that is early is held back.
//!
//! Each strategy is a file: [`sleep`], [`hybrid`], [`yielding`], [`spin`]. All of them hold a
//! caller until its moment comes or the plan changes. Only they give up the processor.
//! [`estimates`] and [`forecast`] have what a thread learns from its own pauses, [`slack`] sets the
//! precision of timers, [`processor`] measures how much processor time a pause takes, and
//! [`permits`] limits how many threads spin at once.

mod estimates;
mod forecast;
mod hybrid;
mod permits;
mod processor;
mod slack;
mod sleep;
mod spin;
mod yielding;

use crate::Nanos;
use crate::clock::Clock;
use crate::nanos::span_ns;
use crate::sleepers::{Sleeper, Sleepers};
use crate::sync::{AtomicU64, Relaxed, Unparker, unique};
use crate::timeline::{Claimed, Plan};
use permits::SpinPermits;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;

/// How a caller that is early is held back: a choice between what a pause costs and how exactly it
/// ends.
///
/// Whichever is chosen, no pause ends too early. A pacer that is itself paused always lets its
/// callers sleep.
///
/// ```
/// use nanopace::{ManualClock, Pacer, Pause};
///
/// let pause: Pause = "hybrid".parse()?;
/// let pacer = Pacer::builder("10/s".parse()?).pause(pause).clock(ManualClock::jumping()).build();
/// pacer.acquire()?; // slot 0, at 0 ms
/// assert_eq!(pacer.acquire()?.actual_start().as_nanos(), 100_000_000); // slot 1
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pause {
    /// Sleep until the intended start; the default. Operations start some microseconds late. What
    /// is overslept is made up for, so the rate stays exact, unless strictness is 1. Up to 33 k/s
    /// each start has a sleep of its own. Above that, sleeps are stretched to keep their cost
    /// within a tenth of a core, and starts come in clumps: see
    /// [`PacerBuilder::sleep_share`](crate::PacerBuilder::sleep_share).
    #[default]
    Sleep,
    /// Sleep until shortly before the intended start, then spin. Operations start within some
    /// tenths of a microsecond while a core is free. A thread spins for at most a quarter of the
    /// time ([`PacerBuilder::spin_share`](crate::PacerBuilder::spin_share)). It sleeps instead when
    /// that is used up, or when spinning turns out to keep other threads from running.
    Hybrid,
    /// Yield the processor to other threads, again and again. For a machine with more threads than
    /// cores where sleeping is too coarse. It takes all the processor time that no other thread
    /// wants.
    Yield,
    /// Spin until the intended start. The most exact, for a thread that has a core to itself; it
    /// takes all of that core.
    Spin,
}

impl Pause {
    /// Slots that are closer together than this are started in clumps, unless
    /// [`PacerBuilder::sleep_share`](crate::PacerBuilder::sleep_share) is set. Slots that are
    /// further apart have a sleep of their own each.
    ///
    /// It is what a tenth of a core allows if a sleep costs 3 us, as on bare metal.
    ///
    /// ```
    /// use nanopace::Pause;
    ///
    /// let rate = 1.0 / Pause::CLUMPED_BELOW.as_secs_f64();
    /// assert_eq!(rate.round(), 33_333.0); // per second
    /// ```
    pub const CLUMPED_BELOW: Duration = Duration::from_micros(30);

    /// The default of [`PacerBuilder::sleep_share`](crate::PacerBuilder::sleep_share), as a
    /// fraction of a core.
    ///
    /// ```
    /// use nanopace::Pause;
    /// use std::time::Duration;
    ///
    /// // If a sleep costs 26 us, clumps span 260 us: 26 starts at 100 k/s.
    /// let clump = Duration::from_micros(26).div_f64(Pause::DEFAULT_SLEEP_SHARE);
    /// assert_eq!(clump, Duration::from_micros(260));
    /// ```
    pub const DEFAULT_SLEEP_SHARE: f64 = 0.1;

    /// The default of [`PacerBuilder::spin_share`](crate::PacerBuilder::spin_share), as a fraction
    /// of a core.
    ///
    /// ```
    /// use nanopace::{Pacer, Pause};
    ///
    /// let half = Pause::DEFAULT_SPIN_SHARE / 2.0;
    /// let pacer = Pacer::builder("10k/s".parse()?).pause(Pause::Hybrid).spin_share(half).build();
    /// assert!(pacer.acquire().is_ok());
    /// # Ok::<(), nanopace::RateError>(())
    /// ```
    pub const DEFAULT_SPIN_SHARE: f64 = 0.25;
}

/// Why a text is not a [`Pause`]. The message says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a way to pause: write sleep, hybrid, yield or spin")]
pub struct PauseError(String);

impl FromStr for Pause {
    type Err = PauseError;

    /// Reads `sleep`, `hybrid`, `yield` or `spin`.
    ///
    /// # Errors
    /// [`PauseError`] for every other text.
    ///
    /// # Examples
    /// ```
    /// use nanopace::Pause;
    ///
    /// assert_eq!("spin".parse(), Ok(Pause::Spin));
    /// assert_eq!(Pause::Spin.to_string(), "spin");
    /// assert!("nap".parse::<Pause>().is_err());
    /// ```
    fn from_str(text: &str) -> Result<Pause, PauseError> {
        [Pause::Sleep, Pause::Hybrid, Pause::Yield, Pause::Spin]
            .into_iter()
            .find(|pause| pause.to_string() == text)
            .ok_or_else(|| PauseError(text.to_owned()))
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Pause::Sleep => "sleep",
            Pause::Hybrid => "hybrid",
            Pause::Yield => "yield",
            Pause::Spin => "spin",
        })
    }
}

/// How one pacer's callers pause.
#[derive(Debug)]
pub(crate) struct Pausing {
    /// A number that no other pacer of the process has.
    pacer: u64,
    pub(crate) strategy: Pause,
    /// How much of each second a thread may spend on going to sleep, and on spinning in the hybrid
    /// strategy; from 0 to 1.
    pub(crate) sleep_share: f64,
    pub(crate) spin_share: f64,
    /// If slots are at least this far apart, each start has a sleep of its own, whatever that
    /// costs.
    pub(crate) spared_ns: i64,
    /// Whether sleeping threads ask for fine timers.
    pub(crate) fine_timers: bool,
    /// Time spent spinning by all threads, in nanoseconds.
    spun: AtomicU64,
    /// For threads that spin in the hybrid strategy.
    permits: SpinPermits,
}

/// A smaller share would stretch sleeps beyond a second.
const LEAST_SHARE: f64 = 3e-6;

impl Pausing {
    pub(crate) fn new() -> Pausing {
        let spun = AtomicU64::new(0);
        Pausing {
            pacer: unique(),
            strategy: Pause::default(),
            sleep_share: Pause::DEFAULT_SLEEP_SHARE,
            spin_share: Pause::DEFAULT_SPIN_SHARE,
            spared_ns: span_ns(Pause::CLUMPED_BELOW),
            fine_timers: true,
            spun,
            permits: SpinPermits::new(),
        }
    }

    /// The time from one wake-up to the next that keeps sleeping within its share, if a sleep costs
    /// `cost_ns`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "about a second in nanoseconds"
    )]
    fn sleep_period_ns(&self, cost_ns: i64) -> i64 {
        (cost_ns as f64 / self.sleep_share.max(LEAST_SHARE)) as i64
    }

    /// How far a pause may be stretched beyond its end, where slots are `interval_ns` apart and so
    /// close that it is: half of the lateness that is freely made up for. The other half is for
    /// what pauses overrun unasked.
    pub(crate) fn stretch_ns(&self, interval_ns: i64, made_up_for: i64) -> i64 {
        if interval_ns < self.spared_ns { made_up_for / 2 } else { 0 }
    }

    /// When a caller that has woken at `woken` may wake again, where that costs `cost`.
    pub(crate) fn wakes_again(&self, woken: i64, cost: Duration) -> i64 {
        woken.saturating_add(self.sleep_period_ns(span_ns(cost)))
    }

    /// Adds time that has been spent spinning, or will be. A negative number corrects an earlier
    /// one.
    fn add_spun(&self, nanos: i64) {
        // Relaxed: a count, read by itself. Nothing acts on it, so no model.
        self.spun.fetch_add(nanos.cast_unsigned(), Relaxed);
    }

    pub(crate) fn spun(&self) -> Duration {
        // Relaxed: as in `add_spun`.
        Duration::from_nanos(self.spun.load(Relaxed))
    }
}

/// One caller that is held back until its slot may start or its deadline comes, as long as its plan
/// is the current one.
pub(crate) struct Hold<'a, F: Fn() -> bool> {
    pub(crate) pausing: &'a Pausing,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) sleepers: &'a Sleepers,
    pub(crate) claimed: &'a Claimed,
    pub(crate) plan: &'a Plan,
    pub(crate) deadline: i64,
    pub(crate) is_current: F,
}

impl<F: Fn() -> bool> Hold<'_, F> {
    /// Returns the moment at which the hold ended: the caller's moment or later, unless a change of
    /// plan ended it.
    pub(crate) fn run(&self) -> Nanos {
        match self.pausing.strategy {
            // No caller spins while the pacer is paused.
            _ if self.plan.is_paused => sleep::until(self, self.until()),
            Pause::Sleep => sleep::hold(self),
            Pause::Hybrid => hybrid::hold(self),
            Pause::Yield => yielding::hold(self),
            Pause::Spin => spin::hold(self),
        }
    }

    fn until(&self) -> Nanos {
        Nanos::from_signed(self.plan.release.min(self.deadline))
    }

    fn stretch_ns(&self) -> i64 {
        self.pausing.stretch_ns(self.plan.interval_ns, self.plan.made_up_for)
    }

    fn goes_on(&self, now: Nanos) -> bool {
        now < self.until() && (self.is_current)()
    }

    /// Enters the caller among the sleepers; false if its plan is outdated.
    fn enter(&self, unparker: Unparker) -> bool {
        let (release, deadline) = (self.plan.release, self.deadline);
        let sleeper = Sleeper { release, deadline, takes_others: !self.claimed.is_fixed, unparker };
        self.sleepers.enter(self.claimed.position, sleeper, &self.is_current)
    }

    fn leave(&self) {
        self.sleepers.leave(self.claimed.position);
    }
}
