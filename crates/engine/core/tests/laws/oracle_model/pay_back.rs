//! The segment on which owed time is paid back, and how far off the real pacer's segment may be.
//!
//! The segment goes through a slot at a moment. If that moment is a reading of the clock, the real pacer has the same
//! one. If a caller was held back until then, the real caller returned at another moment, because it returns in a whole
//! nanosecond, and because the segment before was off already. The slots that the segment makes between both moments
//! are the error of its count, and the error stays. At another rate these slots take another time: 1 ns at 100/s is
//! 10^-7 slots, which are 20 ns at 5/s.
//!
//! So a segment may begin with a slot that was held back on another segment, for example when slots that are too late
//! are skipped. Its error is d' = d + r n: the error d before, in slots, and the slots of the nanoseconds n by which
//! the moment may be off, at the rate r of that moment. Between such moments, only the rounding of the ratio adds to
//! it, by a constant for each slot.

use super::segment::{Pace, Segment};
use super::slack::{Q32, Slack, When};

#[derive(Debug)]
pub(super) struct PayBack {
    segment: Segment,
    /// The count that the segment goes through.
    through: f64,
    /// How far off the segment may be at that count, in slots.
    off: f64,
}

impl PayBack {
    /// Reaches `count` at `now`. Later slots come at a multiple of the pace.
    pub(super) fn through(pace: &Pace, ratio: f64, count: f64, now: When, slack: Slack) -> PayBack {
        PayBack::anchored(Segment::through(pace, ratio, count, now.at), count, now, slack)
    }

    /// The same pace from here on.
    pub(super) fn again(&self, count: f64, now: When, slack: Slack) -> PayBack {
        PayBack::anchored(self.segment.again(count, now.at), count, now, slack)
    }

    fn anchored(segment: Segment, through: f64, now: When, slack: Slack) -> PayBack {
        let moments = if now.is_reading() { now } else { now.blurred(slack.nanos) };
        let made = moments.map(|time| segment.count_at(time));
        PayBack { segment, through, off: (made.at - made.low).max(made.high - made.at) }
    }

    /// Continues from the count at `now`, at another pace and multiple.
    pub(super) fn continued(self, pace: &Pace, ratio: f64, now: f64, slack: &mut Slack) -> PayBack {
        let through = self.segment.count_at(now);
        let segment = Segment::through(pace, ratio, through, now);
        slack.change(&self.segment, &segment, now);
        PayBack { segment, through, off: self.off_by(through) }
    }

    fn off_by(&self, count: f64) -> f64 {
        self.off + (count - self.through).abs() * Q32
    }

    /// The count that the segment has reached: at least, about, and at most.
    pub(super) fn count_at(&self, time: f64) -> When {
        let count = self.segment.count_at(time);
        When::from(count).blurred(self.off_by(count))
    }

    /// When the segment reaches a count that may additionally be off by `off`.
    pub(super) fn time_of(&self, count: f64, off: f64) -> When {
        let counts = When::from(count).blurred(off + self.off_by(count));
        counts.map(|count| self.segment.time_of(count))
    }

    pub(super) fn shift(&mut self, span: f64) {
        self.segment.shift(span);
    }
}
