//! Decides how late starts change the schedule.

use crate::Strictness;
use crate::strictness::{ONE, Rule};

/// All spans are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) strictness: Strictness,
    pub(crate) tolerance: i64,
    pub(crate) max_backlog: Option<i64>,
    pub(crate) skip_later_than: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(super) forfeits_ns: i64,
    /// The multiple of the rate at which owed time is made up for, in units of 2^-32. `None` if no time is owed.
    pub(super) owes_at: Option<u64>,
}

impl Policy {
    /// Returns whether the policy never acts on lateness, so that a slot may start without being judged.
    pub(crate) fn is_open_loop(&self) -> bool {
        let limits = self.max_backlog.is_some() || self.skip_later_than.is_some();
        self.strictness.rule() == Rule::Average && !limits
    }

    pub(crate) fn tolerated_ns(&self) -> i64 {
        let by_rule = match self.strictness.rule() {
            Rule::Average => i64::MAX,
            Rule::Close(ONE) => 0,
            Rule::Close(_) | Rule::Burst(_) => self.tolerance,
        };
        let limits = [self.max_backlog, self.skip_later_than];
        limits.into_iter().flatten().fold(by_rule, i64::min)
    }

    /// `late` is the time since the slot's release, and `gap` the time since its intended start.
    pub(super) fn judge(&self, late: i64, gap: i64) -> Verdict {
        let is_late = late > self.tolerance;
        let (closed, owes_at) = match self.strictness.rule() {
            Rule::Close(ONE) => (gap, None),
            Rule::Close(fraction) if is_late => (fraction_of(gap, fraction), None),
            Rule::Burst(ratio) if is_late => (0, Some(ratio)),
            _ => (0, None),
        };
        let beyond = self.max_backlog.map_or(0, |limit| gap.saturating_sub(limit));
        Verdict { forfeits_ns: closed.max(beyond).max(0), owes_at }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a fraction of an i64 is an i64")]
fn fraction_of(span: i64, fraction: u64) -> i64 {
    ((i128::from(span) * i128::from(fraction)) >> 32) as i64
}
