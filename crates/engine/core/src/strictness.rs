//! Defines how late starts change the schedule.

use crate::error::StrictnessError;
use std::fmt;
use std::str::FromStr;

/// Determines how a late start changes the schedule. A strictness is a number from 0 to 1000.
///
/// | strictness | name | missed time |
/// |---|---|---|
/// | 0, the default | average | is made up for at once: no intended start moves |
/// | between 0 and 1 | partial | each late start forfeits that fraction of its gap |
/// | 1 | strict | is forfeited: the next slot is due an interval after the late start |
/// | above 1, to 1000 | burst | is made up for at that multiple of the rate |
///
/// The *gap* of a late start is its wait time. Lateness up to the pacer's tolerance, by default 100 us, is made up for
/// at once under every strictness except 1; see [`PacerBuilder::tolerance`](crate::PacerBuilder::tolerance).
///
/// The pacer rounds a strictness down to a multiple of 2^-32. A positive strictness below 2^-32 therefore acts like 0.
///
/// With a strictness other than 0, each start acquires a lock and has its own clock reading. See
/// [`Grant::wait_time`](crate::Grant::wait_time).
///
/// The diagrams below all show the same case. The rate is 10/s, so the interval is 100 ms, which is six characters
/// wide. The operation of slot 0 stalls for 300 ms, and the operations of the other slots take no time. The upper line
/// shows the intended starts, and the lower line the actual starts.
///
/// # Average: 0
///
/// ```text
/// intended starts   0     1     2     3     4     5     6
/// actual starts     0 stalls ---------123   4     5     6
/// ```
///
/// Intended starts do not move. Missed slots start as fast as callers acquire them, until starts are on schedule again.
/// Average is an *open loop*. It is the default because it is the only strictness under which a late start delays no
/// later slot, so response times are those of users who arrive on schedule. The cost is a burst after each stall. You
/// can limit the burst with [`PacerBuilder::max_backlog`](crate::PacerBuilder::max_backlog).
///
/// ```
/// use nanopace::{ManualClock, Nanos, Pacer, Strictness};
/// use std::time::Duration;
///
/// let clock = ManualClock::jumping(); // a pause moves it to the end of the pause
/// let pacer = Pacer::builder("10/s".parse()?)
///     .strictness(Strictness::AVERAGE)
///     .clock(clock.clone())
///     .build();
/// let ms = |moment: Nanos| moment.as_nanos() / 1_000_000;
///
/// pacer.acquire()?; // slot 0 starts at 0 ms
/// clock.advance(Duration::from_millis(300)); // and its operation takes 300 ms
/// for (intended, actual) in [(100, 300), (200, 300), (300, 300), (400, 400)] {
///     let grant = pacer.acquire()?;
///     assert_eq!((ms(grant.intended_start()), ms(grant.actual_start())), (intended, actual));
/// }
/// assert_eq!(pacer.ledger().idle, Duration::ZERO); // nothing was forfeited
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Partial: between 0 and 1
///
/// ```text
/// intended starts   0     1           2     3     4     5          (strictness 0.5)
/// actual starts     0 stalls ---------12    3     4     5
/// ```
///
/// A late start moves the slots after it by the strictness times its gap. Slot 1 is 200 ms late. At 0.5, 100 ms of
/// these 200 ms are forfeited and become *idle* time, so slot 2 is intended at 300 ms instead of 200 ms. The late slot
/// keeps its own intended start, so its wait time still reports how late it was.
///
/// ```
/// # use nanopace::{ManualClock, Nanos, Pacer, Strictness};
/// # use std::time::Duration;
/// # let clock = ManualClock::jumping();
/// let pacer = Pacer::builder("10/s".parse()?)
///     .strictness(Strictness::new(0.5)?)
///     .clock(clock.clone())
///     .build();
/// # let ms = |moment: Nanos| moment.as_nanos() / 1_000_000;
/// pacer.acquire()?;
/// clock.advance(Duration::from_millis(300));
/// for (intended, actual) in [(100, 300), (300, 300), (400, 400), (500, 500)] {
///     let grant = pacer.acquire()?;
///     assert_eq!((ms(grant.intended_start()), ms(grant.actual_start())), (intended, actual));
/// }
/// assert_eq!(pacer.ledger().idle, Duration::from_millis(100)); // half of slot 1's gap
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Strict: 1
///
/// ```text
/// intended starts   0     1                 2     3     4     5
/// actual starts     0 stalls ---------1     2     3     4     5
/// ```
///
/// A late start forfeits its whole gap. Slot 2 is intended one interval after the actual start of slot 1, so slots stay
/// at least an interval apart, and missed time is never made up for. Forfeited time includes the time by which the
/// pacer's own pauses overrun, so the achieved rate is a little below the rate that was set. Strict is the virtual
/// scheduling algorithm of GCRA without a tolerance (ITU-T I.371).
///
/// With evenly spaced slots, only a straggler, or a slot that starts early because of a [sleep
/// threshold](crate::PacerBuilder::sleep_threshold), can start less than an interval from another slot. A straggler is
/// a slot that starts after a later slot has started, for example because the straggler's caller held a claim or
/// overslept. A straggler moves no other slot.
///
/// ```
/// # use nanopace::{ManualClock, Nanos, Pacer, Strictness};
/// # use std::time::Duration;
/// # let clock = ManualClock::jumping();
/// let pacer = Pacer::builder("10/s".parse()?)
///     .strictness(Strictness::STRICT)
///     .clock(clock.clone())
///     .build();
/// # let ms = |moment: Nanos| moment.as_nanos() / 1_000_000;
/// pacer.acquire()?;
/// clock.advance(Duration::from_millis(300));
/// for (intended, actual) in [(100, 300), (400, 400), (500, 500), (600, 600)] {
///     let grant = pacer.acquire()?;
///     assert_eq!((ms(grant.intended_start()), ms(grant.actual_start())), (intended, actual));
/// }
/// assert_eq!(pacer.ledger().idle, Duration::from_millis(200)); // slot 1's whole gap
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Burst: above 1
///
/// ```text
/// intended starts   0     1     2     3     4     5     6          (strictness 2)
/// actual starts     0 stalls ---------1  2  3  4  5     6
/// ```
///
/// Intended starts do not move, as with average. Missed time is *owed*, and is made up for at a limited speed: while
/// slots are late, they start at up to the strictness times the rate, here twice the rate, or 50 ms apart. A ratio of
/// 1.1 catches up at 110 % of the rate. Wait times include the time that is still owed. The sustained rate and the peak
/// rate apply at the same time, as in the dual generic cell rate algorithm (GCRA) of ATM (ITU-T I.371).
///
/// ```
/// # use nanopace::{ManualClock, Nanos, Pacer, Strictness};
/// # use std::time::Duration;
/// # let clock = ManualClock::jumping();
/// let pacer = Pacer::builder("10/s".parse()?)
///     .strictness(Strictness::new(2.0)?)
///     .clock(clock.clone())
///     .build();
/// # let ms = |moment: Nanos| moment.as_nanos() / 1_000_000;
/// pacer.acquire()?;
/// clock.advance(Duration::from_millis(300));
/// let starts = [(100, 300), (200, 350), (300, 400), (400, 450), (500, 500), (600, 600)];
/// for (intended, actual) in starts {
///     let grant = pacer.acquire()?;
///     assert_eq!((ms(grant.intended_start()), ms(grant.actual_start())), (intended, actual));
/// }
/// assert_eq!(pacer.ledger().idle, Duration::ZERO); // all of it was paid back
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
///
/// The idea comes from the cycle rate limiter of `EngineBlock`, now nosqlbench. That limiter also uses one number for
/// both strictness and burst ratio.
#[derive(Clone, Copy, PartialEq)]
pub struct Strictness(f64);

impl Strictness {
    /// The strictness 0: missed slots start at once. See [Average](Strictness#average-0).
    pub const AVERAGE: Strictness = Strictness(0.0);
    /// The strictness 1: missed time is forfeited. See [Strict](Strictness#strict-1).
    pub const STRICT: Strictness = Strictness(1.0);
    const MOST: f64 = 1000.0;

    /// Creates a strictness from a number from 0 to 1000. A number above 1 is a burst ratio.
    ///
    /// # Errors
    /// Returns [`StrictnessError`] for every other number, and for NaN.
    ///
    /// # Examples
    /// ```
    /// use nanopace::Strictness;
    ///
    /// assert_eq!(Strictness::new(1.0)?, Strictness::STRICT);
    /// assert!(Strictness::new(1_000.0).is_ok());
    /// assert!(Strictness::new(1_000.1).is_err());
    /// assert!(Strictness::new(-0.1).is_err());
    /// assert!(Strictness::new(f64::NAN).is_err());
    /// # Ok::<(), nanopace::StrictnessError>(())
    /// ```
    pub fn new(strictness: f64) -> Result<Strictness, StrictnessError> {
        // Adding zero turns minus zero into plain zero.
        if (0.0..=Self::MOST).contains(&strictness) {
            Ok(Strictness(strictness + 0.0))
        } else {
            Err(StrictnessError)
        }
    }

    /// Returns the strictness as a number from 0 to 1000.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 <= strictness <= 1000 by construction"
    )]
    pub(crate) fn rule(self) -> Rule {
        let q32 = (self.0 * 4_294_967_296.0) as u64;
        match q32 {
            0 => Rule::Average,
            1..ONE => Rule::Close(q32),
            ONE => Rule::Close(ONE),
            _ => Rule::Burst(q32),
        }
    }
}

/// The number 1, in units of 2^-32.
pub(crate) const ONE: u64 = 1 << 32;

/// Numbers are in units of 2^-32. `schedule/policy.rs` applies the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Average,
    /// A late start forfeits this fraction of its gap. [`ONE`] is strict.
    Close(u64),
    Burst(u64),
}

impl Default for Strictness {
    /// Returns [`Strictness::AVERAGE`].
    fn default() -> Strictness {
        Strictness::AVERAGE
    }
}

impl FromStr for Strictness {
    type Err = StrictnessError;

    /// Parses a number from 0 to 1000, in the syntax of [`f64`]. Spaces around the number are ignored.
    ///
    /// # Errors
    /// Returns [`StrictnessError`] for every other string.
    fn from_str(text: &str) -> Result<Strictness, StrictnessError> {
        Strictness::new(text.trim().parse().map_err(|_| StrictnessError)?)
    }
}

impl fmt::Display for Strictness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Debug for Strictness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Strictness({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_rules() {
        for (strictness, rule) in [
            (0.0, Rule::Average),
            (-0.0, Rule::Average),
            (0.25, Rule::Close(ONE / 4)),
            (1.0, Rule::Close(ONE)),
            (1.5, Rule::Burst(ONE + ONE / 2)),
            (1000.0, Rule::Burst(1000 * ONE)),
        ] {
            assert_eq!(Strictness::new(strictness).unwrap().rule(), rule);
        }
    }

    #[test]
    fn invalid_strictnesses_are_refused() {
        for number in [-0.001, 1000.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Strictness::new(number), Err(StrictnessError));
        }
    }
}
