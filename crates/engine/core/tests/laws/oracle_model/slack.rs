//! Computes the accumulated rounding that the real pacer is allowed.

use super::segment::Segment;
use std::ops::Sub;

#[derive(Clone, Copy, Debug)]
pub(super) struct Slack {
    pub(super) nanos: f64,
    pub(super) slots: f64,
    pub(super) by_policy: bool,
}

const TWICE_NS: f64 = 2.0;

pub(super) const CHORD_NS: f64 = 1.0;

/// The resolution of fractions and ratios, which are stored as multiples of 2^-32.
pub(super) const Q32: f64 = 1.0 / 4_294_967_296.0;

/// The maximum error of a position in the table of slots. The table reads positions from starts at 1/s, which are whole
/// nanoseconds.
const TABLE: f64 = 2e-9;

pub(super) const TICK: f64 = 1.0 / 65_536.0;

impl Slack {
    pub(super) fn new(is_plain: bool) -> Slack {
        let slots = if is_plain { 0.0 } else { TABLE };
        Slack { nanos: TWICE_NS + CHORD_NS, slots, by_policy: false }
    }

    /// A change to or from a constant rate is rounded to a tick, and to nanoseconds at both rates. A change from shape
    /// to shape is not rounded.
    pub(super) fn change(&mut self, old: &Segment, new: &Segment, time: f64) {
        let lines = [old, new].map(|segment| !segment.pace.is_shape());
        if lines[0] || lines[1] {
            self.slots += old.blur(time, self.nanos) + TICK + new.blur(time, TWICE_NS);
        }
    }

    pub(super) fn forfeit(&mut self, new: &Segment, time: f64, closed: f64, off: f64) {
        let blur = new.blur(time, off + TWICE_NS + closed * Q32);
        self.slots = self.slots.max(blur);
        self.by_policy = true;
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct When {
    pub(crate) low: f64,
    pub(crate) at: f64,
    pub(crate) high: f64,
}

impl When {
    pub(super) fn off(self) -> f64 {
        if self.low.total_cmp(&self.high).is_eq() { 0.0 } else { self.high - self.low }
    }

    /// Returns whether this time may be a reading of the clock. Readings are whole nanoseconds.
    pub(super) fn is_reading(self) -> bool {
        self.off() + self.at.fract() == 0.0
    }

    pub(super) fn map(self, rises: impl Fn(f64) -> f64) -> When {
        When { low: rises(self.low), at: rises(self.at), high: rises(self.high) }
    }

    pub(crate) fn later(self, other: When) -> When {
        When {
            low: self.low.max(other.low),
            at: self.at.max(other.at),
            high: self.high.max(other.high),
        }
    }

    pub(super) fn earlier(self, other: When) -> When {
        When {
            low: self.low.min(other.low),
            at: self.at.min(other.at),
            high: self.high.min(other.high),
        }
    }

    pub(super) fn blurred(self, nanos: f64) -> When {
        When { low: self.low - nanos, high: self.high + nanos, ..self }
    }
}

impl From<f64> for When {
    fn from(at: f64) -> When {
        When { low: at, at, high: at }
    }
}

impl Sub<f64> for When {
    type Output = When;

    fn sub(self, span: f64) -> When {
        self.map(|time| time - span)
    }
}
