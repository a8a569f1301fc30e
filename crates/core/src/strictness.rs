//! What happens to time that was missed.

use crate::error::StrictnessError;
use std::fmt;
use std::str::FromStr;

/// What a pacer does when a caller comes later than its slot's intended start.
///
/// One number from 0 to 1000:
///
/// * **0, average (the default)**: nothing. The schedule never bends to the target: whatever was
///   missed is started as fast as callers come, until they are back on schedule. This is the open
///   loop, and the only choice under which the intended starts do not depend on how the target
///   behaves; that is why it is the default.
/// * **between 0 and 1**: each late start closes that fraction of its gap, for good. What is closed
///   is *idle* time.
/// * **1, strict**: a late start closes its whole gap: no two slots are ever closer than the
///   interval, and missed time is never made up.
/// * **above 1, burst**: missed time is *owed* and paid back at a bounded speed: 1.1 runs at up to
///   110 % of the rate while it is behind, and only then. Intended starts stay on the average
///   schedule, so wait times include what is still owed.
///
/// Lateness up to the pacer's tolerance (see
/// [`PacerBuilder::tolerance`](crate::PacerBuilder::tolerance)) is caught up freely, except when
/// strict.
///
/// ```text
/// intended starts   1     2     3     4     5     6     7     8     9
/// stall                   |-----------------|
/// average           1     2                 3456  7     8     9       intended starts unchanged
/// strict            1     2                 3     4     5     6       3 ... are intended later from now on
/// burst 1.5         1     2                 3   4   5   6   7   8   9  intended starts unchanged
/// ```
///
/// The idea is the cycle ratelimiter of `EngineBlock` (nosqlbench), whose strictness and burst
/// ratio are one number too.
///
/// ```
/// use nanopace::Strictness;
///
/// assert_eq!(Strictness::default(), Strictness::AVERAGE);
/// assert_eq!("1.1".parse(), Strictness::new(1.1));
/// assert!(Strictness::new(-0.1).is_err());
/// ```
#[derive(Clone, Copy, PartialEq)]
pub struct Strictness(f64);

impl Strictness {
    /// 0: the average rate holds whatever happens.
    pub const AVERAGE: Strictness = Strictness(0.0);
    /// 1: no two slots closer than the interval.
    pub const STRICT: Strictness = Strictness(1.0);
    const MOST: f64 = 1000.0;

    /// A strictness from 0 to 1000; above 1 it is the burst ratio.
    ///
    /// # Errors
    /// [`StrictnessError`] for anything else, NaN included.
    pub fn new(strictness: f64) -> Result<Strictness, StrictnessError> {
        // Adding zero turns minus zero into plain zero.
        if (0.0..=Self::MOST).contains(&strictness) {
            Ok(Strictness(strictness + 0.0))
        } else {
            Err(StrictnessError)
        }
    }

    /// The number from 0 to 1000.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// The rule it stands for, in the integers the schedule computes with.
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

/// 1 as a fraction of 2^32.
pub(crate) const ONE: u64 = 1 << 32;

/// What to do about a late start; numbers are in units of 2^-32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Average,
    /// Forfeit this fraction of the gap; [`ONE`] is strict.
    Close(u64),
    /// Pay back at this multiple of the rate.
    Burst(u64),
}

impl Default for Strictness {
    /// [`Strictness::AVERAGE`]: an open loop, whose schedule never bends to the target.
    fn default() -> Strictness {
        Strictness::AVERAGE
    }
}

impl FromStr for Strictness {
    type Err = StrictnessError;

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
    fn what_is_no_strictness() {
        for number in [-0.001, 1000.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Strictness::new(number), Err(StrictnessError));
        }
    }
}
