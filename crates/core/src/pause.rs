//! How a caller that is early is held back.
//!
//! Each strategy is a file: [`sleep`], [`hybrid`], [`yielding`], [`spin`]. All of them hold a
//! caller until its moment comes or the plan changes, and answer to nothing else; only they give up
//! the processor. What a thread learns of its own pauses is in [`estimates`] and [`forecast`], the
//! timers' precision in [`slack`], what a pause takes of the processor in [`processor`], how many
//! may spin at once in [`permits`].

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

/// How a caller that is early is held back: what it costs against how exactly it starts.
///
/// A pacer that is itself paused always lets its callers sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pause {
    /// Sleep until the intended start; the default. Starts some microseconds late. What is
    /// overslept is caught up, so the rate stays exact. Up to 33 k/s each start has a sleep of its
    /// own; above, sleeps are stretched to keep what they cost within a tenth of a core, and starts
    /// come in clumps: see [`PacerBuilder::sleep_share`](crate::PacerBuilder::sleep_share).
    #[default]
    Sleep,
    /// Sleep until shortly before, then spin. Starts within some tenths of a microsecond while a
    /// core is free; spins for at most a quarter of the time
    /// ([`PacerBuilder::spin_share`](crate::PacerBuilder::spin_share)), and sleeps where that is
    /// used up or where spinning turns out to be in somebody's way.
    Hybrid,
    /// Give the processor to whoever wants it, again and again. For a machine with more threads
    /// than cores where sleeping is too coarse; takes all the processor time nobody else wants.
    Yield,
    /// Spin. The most exact; for a thread that has a core to itself, and burns it.
    Spin,
}

impl Pause {
    /// Slots that are closer than this are started in clumps, unless
    /// [`PacerBuilder::sleep_share`](crate::PacerBuilder::sleep_share) is set; slots further apart
    /// have a sleep of their own each.
    ///
    /// It is what a tenth of a core allows where a sleep costs 3 us, as on bare metal.
    ///
    /// ```
    /// use nanopace::Pause;
    ///
    /// let rate = 1.0 / Pause::CLUMPED_BELOW.as_secs_f64();
    /// assert_eq!(rate.round(), 33_333.0); // per second
    /// ```
    pub const CLUMPED_BELOW: Duration = Duration::from_micros(30);

    /// The default of [`PacerBuilder::sleep_share`](crate::PacerBuilder::sleep_share), of a core.
    ///
    /// ```
    /// use nanopace::Pause;
    /// use std::time::Duration;
    ///
    /// // Where a sleep costs 26 us, clumps span 260 us: 26 starts at 100 k/s.
    /// let clump = Duration::from_micros(26).div_f64(Pause::DEFAULT_SLEEP_SHARE);
    /// assert_eq!(clump, Duration::from_micros(260));
    /// ```
    pub const DEFAULT_SLEEP_SHARE: f64 = 0.1;

    /// The default of [`PacerBuilder::spin_share`](crate::PacerBuilder::spin_share), of a core.
    ///
    /// ```
    /// use nanopace::{Pacer, Pause};
    ///
    /// // Half as much as by default.
    /// let pacer = Pacer::builder("10k/s".parse()?).pause(Pause::Hybrid).spin_share(Pause::DEFAULT_SPIN_SHARE / 2.0).build();
    /// # Ok::<(), nanopace::RateError>(())
    /// ```
    pub const DEFAULT_SPIN_SHARE: f64 = 0.25;
}

/// Why a text is not a [`Pause`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a way to pause: write sleep, hybrid, yield or spin")]
pub struct PauseError(String);

impl FromStr for Pause {
    type Err = PauseError;

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
    /// No other pacer of the process has the same.
    pacer: u64,
    pub(crate) strategy: Pause,
    /// Of each second, how much a thread may spend on going to sleep, and on spinning in the hybrid
    /// strategy; from 0 to 1.
    pub(crate) sleep_share: f64,
    pub(crate) spin_share: f64,
    /// Where starts are at least so far apart, each has a sleep of its own, whatever it costs.
    pub(crate) spared_ns: i64,
    /// Whether sleeping threads ask for fine timers.
    pub(crate) fine_timers: bool,
    /// Time spent spinning by all threads, in nanoseconds.
    spun: AtomicU64,
    /// Of the threads that spin in the hybrid strategy.
    permits: SpinPermits,
}

/// A share smaller than this would stretch sleeps beyond a second.
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

    /// The time between two wake-ups that keeps sleeping within its share, when a sleep costs
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

    /// So long has been spun, or will be; less than nothing corrects that.
    fn add_spun(&self, nanos: i64) {
        // Relaxed: a count, read by itself. Nobody acts on it, so no model.
        self.spun.fetch_add(nanos.cast_unsigned(), Relaxed);
    }

    pub(crate) fn spun(&self) -> Duration {
        // Relaxed: as in `add_spun`.
        Duration::from_nanos(self.spun.load(Relaxed))
    }
}

/// One caller to be held back until its slot may start or its deadline comes, as long as its plan
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
    /// When it ended: at its moment or later, unless a change of plan ended it.
    pub(crate) fn run(&self) -> Nanos {
        match self.pausing.strategy {
            // Nobody spins for a pacer that is paused.
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

    /// Enters the caller among those who sleep; false when its plan is outdated.
    fn enter(&self, unparker: Unparker) -> bool {
        let (release, deadline) = (self.plan.release, self.deadline);
        let sleeper = Sleeper { release, deadline, takes_others: !self.claimed.is_fixed, unparker };
        self.sleepers.enter(self.claimed.position, sleeper, &self.is_current)
    }

    fn leave(&self) {
        self.sleepers.leave(self.claimed.position);
    }
}
