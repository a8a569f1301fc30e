//! Defines the pause strategies.

use crate::error::{errors_by_text, shown};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The way in which an early caller waits for its slot. The strategies differ in how much CPU time a pause costs and in
/// how precisely the pause ends.
///
/// No operation starts before its slot may start, whatever the strategy. While the pacer itself is paused, its callers
/// sleep under every strategy.
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
    /// Sleeps until the slot may start. This is the default. Operations start some microseconds late, or tens of
    /// microseconds on some virtual machines. The late policy determines how much oversleep is made up for: in an open
    /// loop all of it, so that the rate stays exact, and under strict none. By default, each start at up to 33 k/s has
    /// its own sleep. At higher rates, each thread stretches its sleeps to keep their cost within a tenth of a core,
    /// and starts come in clumps, except under strict: see
    /// [`PacerBuilder::sleep_share`](crate::PacerBuilder::sleep_share).
    #[default]
    Sleep,
    /// Sleeps until shortly before the slot may start, then spins. While a core is free, most operations start less
    /// than a microsecond late. A thread spins for at most a share of the time
    /// ([`PacerBuilder::spin_share`](crate::PacerBuilder::spin_share)), a quarter by default. When this share is used
    /// up, or when spinning keeps other threads from running, the thread sleeps.
    Hybrid,
    /// Yields the processor to other threads repeatedly. Use this strategy if sleeping is not precise enough and there
    /// are more threads than cores. It uses all the CPU time that no other thread uses.
    Yield,
    /// Spins until the slot may start. This is the most precise strategy, for a thread that has a core to itself. It
    /// uses all of that core.
    Spin,
}

impl Pause {
    /// The interval between slots below which starts may come in clumps, unless
    /// [`PacerBuilder::sleep_share`](crate::PacerBuilder::sleep_share) is set. At this interval and above, each sleep
    /// is for one start.
    ///
    /// The value is the cost of a sleep on bare metal, 3 us, divided by the default share of a tenth of a core.
    pub const CLUMPED_BELOW: Duration = Duration::from_micros(30);

    /// The default of [`PacerBuilder::sleep_share`](crate::PacerBuilder::sleep_share), as a fraction of a core.
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

    /// The default of [`PacerBuilder::spin_share`](crate::PacerBuilder::spin_share), as a fraction of a core.
    pub const DEFAULT_SPIN_SHARE: f64 = 0.25;
}

/// The reason why a string is not a valid [`Pause`]. The message says what to write instead.
#[derive(Clone, PartialEq, Eq)]
pub struct PauseError(String);

errors_by_text!(PauseError);

impl fmt::Display for PauseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a way to pause: write sleep, hybrid, yield or spin", self.0)
    }
}

impl FromStr for Pause {
    type Err = PauseError;

    /// Parses `sleep`, `hybrid`, `yield` or `spin`.
    ///
    /// # Errors
    /// Returns a [`PauseError`] for every other string.
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
            .ok_or_else(|| PauseError(shown(text)))
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
