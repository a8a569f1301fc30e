//! Computes how far off the real pacer's segment for owed time may be.
//!
//! The segment goes through a slot at a given time. If the time is a reading of the clock, it is exact. If a caller had
//! to wait until that time, the real caller may have returned up to n nanoseconds earlier or later. The error of the
//! segment's count is then r n slots, where r is the rate at that time. The error stays in slots: 1 ns at 100/s is
//! 10^-7 slots, which are 20 ns at 5/s.
//!
//! A segment that begins with a slot that waited on another segment has the error d' = d + r n, where d is the error of
//! the other segment. Between such times, only the rounding of the ratio adds to the error, by a constant for each
//! slot.

use super::segment::{Pace, Segment};
use super::slack::{Q32, Slack, When};

#[derive(Debug)]
pub(super) struct PayBack {
    segment: Segment,
    through: f64,
    /// The maximum error of the segment at the count `through`, in slots.
    off: f64,
}

impl PayBack {
    pub(super) fn through(pace: &Pace, ratio: f64, count: f64, now: When, slack: Slack) -> PayBack {
        PayBack::anchored(Segment::through(pace, ratio, count, now.at), count, now, slack)
    }

    pub(super) fn again(&self, count: f64, now: When, slack: Slack) -> PayBack {
        PayBack::anchored(self.segment.again(count, now.at), count, now, slack)
    }

    fn anchored(segment: Segment, through: f64, now: When, slack: Slack) -> PayBack {
        let moments = if now.is_reading() { now } else { now.blurred(slack.nanos) };
        let made = moments.map(|time| segment.count_at(time));
        PayBack { segment, through, off: (made.at - made.low).max(made.high - made.at) }
    }

    pub(super) fn continued(self, pace: &Pace, ratio: f64, now: f64, slack: &mut Slack) -> PayBack {
        let through = self.segment.count_at(now);
        let segment = Segment::through(pace, ratio, through, now);
        slack.change(&self.segment, &segment, now);
        PayBack { segment, through, off: self.off_by(through) }
    }

    fn off_by(&self, count: f64) -> f64 {
        self.off + (count - self.through).abs() * Q32
    }

    pub(super) fn count_at(&self, time: f64) -> When {
        let count = self.segment.count_at(time);
        When::from(count).blurred(self.off_by(count))
    }

    pub(super) fn time_of(&self, count: f64, off: f64) -> When {
        let counts = When::from(count).blurred(off + self.off_by(count));
        counts.map(|count| self.segment.time_of(count))
    }

    pub(super) fn shift(&mut self, span: f64) {
        self.segment.shift(span);
    }
}
