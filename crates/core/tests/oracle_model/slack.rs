//! The rounding that the real pacer is allowed, as it adds up.

/// How far the real pacer's rounding may have taken it from here: in nanoseconds, and in slots of
/// the longest interval so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slack {
    nanos: f64,
    slots: f64,
    longest: f64,
    by_policy: bool,
}

/// Two roundings to whole nanoseconds, in every amount.
const TWICE_NS: f64 = 2.0;

/// Fractions and ratios are kept as multiples of 2^-32.
const Q32: f64 = 1.0 / 4_294_967_296.0;

impl Slack {
    pub(super) fn new(interval: f64) -> Slack {
        Slack { nanos: TWICE_NS, slots: 0.0, longest: interval, by_policy: false }
    }

    pub(super) fn get(&self) -> f64 {
        self.nanos + self.slots * self.longest
    }

    /// Whether some of it comes from a policy.
    pub(super) fn by_policy(&self) -> bool {
        self.by_policy
    }

    /// A change splits an interval with a resolution of 2^-16, and rounds to nanoseconds at either
    /// rate.
    pub(super) fn change(&mut self, old: f64, new: f64) {
        self.slots += self.nanos / old + 1.0 / 65_536.0 + TWICE_NS / old.min(new);
        self.nanos = TWICE_NS;
        self.longest = self.longest.max(new);
    }

    /// Time was forfeited.
    pub(super) fn forfeit(&mut self, closed: f64) {
        self.nanos += TWICE_NS + closed * Q32;
        self.by_policy = true;
    }

    /// Time is paid back, for less than a minute.
    pub(super) fn pay_back(&mut self) {
        self.nanos += 60e9 * Q32;
        self.by_policy = true;
    }
}
