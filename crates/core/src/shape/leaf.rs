//! The parts that shapes are made of: curves whose rate never falls, and the same backwards.

use super::custom::{self, Curve};
use super::rise::Rise;
use super::search;
use super::swell::Swell;
use crate::count::{Fine, MOST, approximate, div_ceil, hz};
use crate::nanos::whole_ns;
use std::sync::Arc;

/// A part with one formula.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    form: Form,
    /// `i64::MAX`: for ever.
    time_ns: i64,
    total: Fine,
    backwards: bool,
}

#[derive(Clone, Debug)]
enum Form {
    /// The rate per nanosecond.
    Hold(Fine),
    Rise(Rise),
    Swell(Swell),
    Custom(Arc<dyn Curve>),
}

impl Form {
    fn count_at(&self, time_ns: u64) -> Fine {
        match self {
            Form::Hold(rate) => *rate * Fine::from(time_ns),
            Form::Rise(rise) => rise.count_at(time_ns),
            Form::Swell(swell) => swell.count_at(time_ns),
            Form::Custom(curve) => custom::count_at(curve.as_ref(), time_ns),
        }
    }

    fn rate_hz(&self, time_ns: u64) -> f64 {
        match self {
            Form::Hold(rate) => hz(*rate),
            Form::Rise(rise) => rise.rate_hz(time_ns),
            Form::Swell(swell) => swell.rate_hz(time_ns),
            Form::Custom(curve) => custom::rate_hz(curve.as_ref(), time_ns),
        }
    }
}

impl Leaf {
    pub(super) fn hold(rate: Fine, time_ns: i64) -> Leaf {
        Leaf::new(Form::Hold(rate), time_ns)
    }

    /// `low` is below `high`.
    pub(super) fn rise(low: Fine, high: Fine, time_ns: i64) -> Leaf {
        Leaf::new(Form::Rise(Rise::new(low, high, time_ns)), time_ns)
    }

    /// `low` is below `high`.
    pub(super) fn swell(low: Fine, high: Fine, time_ns: i64) -> Leaf {
        Leaf::new(Form::Swell(Swell::new(low, high, time_ns)), time_ns)
    }

    pub(super) fn custom(curve: Arc<dyn Curve>, time_ns: i64) -> Leaf {
        Leaf::new(Form::Custom(curve), time_ns)
    }

    /// Rounding may put 2 units per nanosecond on a count, and fewer on a later one. With so many
    /// more, the total less any of them is never below the exact difference.
    fn new(form: Form, time_ns: i64) -> Leaf {
        let time = time_ns.unsigned_abs();
        let count = form.count_at(time);
        let margin = if count == Fine::ZERO { Fine::ZERO } else { Fine::from(time) << 1 };
        Leaf { form, time_ns, total: (count + margin).min(MOST), backwards: false }
    }

    /// Backwards in time.
    pub(super) fn reversed(&self) -> Leaf {
        let symmetric = matches!(self.form, Form::Hold(_));
        Leaf { backwards: !self.backwards && !symmetric, ..self.clone() }
    }

    /// Whether its rate is zero.
    pub(super) fn is_flat(&self) -> bool {
        matches!(self.form, Form::Hold(Fine::ZERO))
    }

    pub(super) fn time_ns(&self) -> i64 {
        self.time_ns
    }

    pub(super) fn total(&self) -> Fine {
        self.total
    }

    pub(super) fn count_at(&self, time_ns: i64) -> Fine {
        if time_ns <= 0 {
            Fine::ZERO
        } else if time_ns >= self.time_ns {
            self.total
        } else if self.backwards {
            self.total - self.form.count_at(self.forward(time_ns)).min(self.total)
        } else {
            self.form.count_at(time_ns.unsigned_abs()).min(self.total)
        }
    }

    /// The first nanosecond at which there are `count` slots, which are not more than all.
    pub(super) fn time_of(&self, count: Fine) -> i64 {
        if let Form::Hold(rate) = self.form {
            return self.hold_time_of(count, rate);
        }
        search::first(self.time_ns, self.guess(count), |time_ns| self.count_at(time_ns) >= count)
    }

    fn hold_time_of(&self, count: Fine, rate: Fine) -> i64 {
        i64::try_from(div_ceil(count, rate)).map_or(self.time_ns, |time| time.min(self.time_ns))
    }

    fn guess(&self, count: Fine) -> i64 {
        let count = if self.backwards { self.total - count } else { count };
        let guess = match &self.form {
            Form::Rise(rise) => rise.time_of(approximate(count)),
            Form::Swell(swell) => swell.time_of(approximate(count)),
            Form::Hold(_) | Form::Custom(_) => 0.0,
        };
        let guess = whole_ns(guess);
        if self.backwards { self.time_ns - guess.min(self.time_ns) } else { guess }
    }

    /// The moment of the curve forwards that is `time_ns` from the beginning of this leaf.
    fn forward(&self, time_ns: i64) -> u64 {
        let time_ns = if self.backwards { self.time_ns.saturating_sub(time_ns) } else { time_ns };
        time_ns.max(0).unsigned_abs()
    }

    pub(super) fn rate_hz(&self, time_ns: i64) -> f64 {
        self.form.rate_hz(self.forward(time_ns))
    }

    /// The highest rate.
    pub(super) fn peak_hz(&self) -> f64 {
        match &self.form {
            Form::Custom(curve) => custom::peak_hz(curve.as_ref(), self.time_ns),
            form => form.rate_hz(self.time_ns.unsigned_abs()),
        }
    }

    pub(super) fn straight_for(&self, time_ns: i64) -> i64 {
        let rest = self.time_ns.saturating_sub(time_ns);
        let straight = match &self.form {
            Form::Hold(_) => return rest,
            Form::Rise(rise) => rise.straight_for(self.forward(time_ns), self.backwards),
            Form::Swell(swell) => swell.straight_for(self.forward(time_ns), self.backwards),
            Form::Custom(_) => 1.0,
        };
        whole_ns(straight).clamp(1, rest)
    }
}
