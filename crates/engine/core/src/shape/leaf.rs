//! Defines the leaves of shapes: curves with a formula, whose rate never falls, curves that a user defines, and both
//! kinds of curves backwards in time.

use super::bell::Bell;
use super::custom::{self, Curve};
use super::rise::Rise;
use super::swell::Swell;
use super::trend::Trend;
use crate::count::{Count, Fine, MOST, approximate, div_ceil, hz, slots};
use crate::nanos::whole_ns;
use crate::search;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub(super) struct Leaf {
    form: Form,
    /// The duration in nanoseconds, or `i64::MAX` if the leaf never ends.
    time_ns: i64,
    total: Fine,
    backwards: bool,
    /// The interval between slots in nanoseconds, if the rate is constant and not zero, and otherwise zero.
    slot_ns: f64,
    /// If this leaf is a part of a longer curve, the duration of the forward curve before this part. Otherwise, and for
    /// [`Form::Hold`], zero.
    before_ns: u64,
    /// The count of the forward curve in `before_ns`.
    before: Fine,
}

#[derive(Clone, Debug)]
enum Form {
    Hold(Fine),
    Rise(Rise),
    Swell(Swell),
    Bell(Bell),
    Custom(Arc<dyn Curve>),
}

impl Form {
    fn count_at(&self, time_ns: u64) -> Fine {
        match self {
            Form::Hold(rate) => *rate * Fine::from(time_ns),
            Form::Rise(rise) => rise.count_at(time_ns),
            Form::Swell(swell) => swell.count_at(time_ns),
            Form::Bell(bell) => bell.count_at(time_ns),
            Form::Custom(curve) => custom::count_at(curve.as_ref(), time_ns),
        }
    }

    fn rate_hz(&self, time_ns: u64) -> f64 {
        match self {
            Form::Hold(rate) => hz(*rate),
            Form::Rise(rise) => rise.rate_hz(time_ns),
            Form::Swell(swell) => swell.rate_hz(time_ns),
            Form::Bell(bell) => bell.rate_hz(time_ns),
            Form::Custom(curve) => custom::rate_hz(curve.as_ref(), time_ns),
        }
    }
}

impl Leaf {
    pub(super) fn hold(rate: Fine, time_ns: i64) -> Leaf {
        let slot_ns = if rate > Fine::ZERO { 1e9 / hz(rate) } else { 0.0 };
        Leaf { slot_ns, ..Leaf::new(Form::Hold(rate), time_ns) }
    }

    pub(super) fn rise(low: Fine, high: Fine, time_ns: i64) -> Leaf {
        Leaf::new(Form::Rise(Rise::new(low, high, time_ns)), time_ns)
    }

    pub(super) fn swell(low: Fine, high: Fine, time_ns: i64) -> Leaf {
        Leaf::new(Form::Swell(Swell::new(low, high, time_ns)), time_ns)
    }

    pub(super) fn bell(low: Fine, high: Fine, time_ns: i64) -> Leaf {
        Leaf::new(Form::Bell(Bell::new(low, high, time_ns)), time_ns)
    }

    pub(super) fn custom(curve: Arc<dyn Curve>, time_ns: i64) -> Leaf {
        Leaf::new(Form::Custom(curve), time_ns)
    }

    /// Rounding may raise a count by up to 2 units per nanosecond more than it raises a later count. The total is
    /// raised by the same amount, so that the total minus any count is never below the exact difference.
    fn new(form: Form, time_ns: i64) -> Leaf {
        let time = time_ns.unsigned_abs();
        let count = form.count_at(time);
        let margin = if count == Fine::ZERO { Fine::ZERO } else { Fine::from(time) << 1 };
        let total = if time_ns == i64::MAX { MOST } else { (count + margin).min(MOST) };
        let (before_ns, before) = (0, Fine::ZERO);
        Leaf { form, time_ns, total, backwards: false, slot_ns: 0.0, before_ns, before }
    }

    /// `until_ns` is `i64::MAX` for a part that never ends.
    pub(super) fn part(&self, from_ns: i64, until_ns: i64, total: Fine) -> Leaf {
        let (skipped_ns, skipped) = match self.form {
            Form::Hold(_) => (0, Fine::ZERO),
            _ if self.backwards => (self.time_ns - until_ns, self.total - self.count_at(until_ns)),
            _ => (from_ns, self.count_at(from_ns)),
        };
        Leaf {
            time_ns: time_between(from_ns, until_ns),
            total,
            before_ns: self.before_ns.saturating_add(skipped_ns.unsigned_abs()),
            before: self.before + skipped,
            ..self.clone()
        }
    }

    pub(super) fn reversed(&self) -> Leaf {
        let symmetric = matches!(self.form, Form::Hold(_));
        Leaf { backwards: !self.backwards && !symmetric, ..self.clone() }
    }

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
        } else if time_ns >= self.time_ns && self.time_ns < i64::MAX {
            self.total
        } else if self.backwards {
            self.total - self.made(time_ns)
        } else {
            self.made(time_ns)
        }
    }

    /// Returns the count of the forward curve at the time `time_ns` of this leaf, without the count before this leaf.
    fn made(&self, time_ns: i64) -> Fine {
        self.form.count_at(self.forward(time_ns)).saturating_sub(self.before).min(self.total)
    }

    pub(super) fn time_of(&self, count: Fine) -> i64 {
        if let Form::Hold(rate) = self.form {
            return if rate == Fine::ZERO { i64::MAX } else { self.hold_time_of(count, rate) };
        }
        let about = self.about_time_of(count);
        self.certain_time(about).unwrap_or_else(|| {
            let guess = self.moment(whole_ns(about)).clamp(0, self.time_ns);
            search::first(self.time_ns, guess, |time_ns| self.count_at(time_ns) >= count)
        })
    }

    /// Returns `None` if this leaf is not a constant rate that never ends, or if the nanosecond is uncertain. The
    /// relative error of the computed time is less than 2^-50, from six roundings of 2^-53.
    #[inline]
    pub(super) fn steady_time_of(&self, count: Count) -> Option<i64> {
        const ERROR: f64 = 8.0 * (f64::EPSILON / 2.0);
        let whole = certain_whole_ns(slots(count) * self.slot_ns, ERROR)?;
        (self.time_ns == i64::MAX).then_some(whole + 1)
    }

    fn hold_time_of(&self, count: Fine, rate: Fine) -> i64 {
        i64::try_from(div_ceil(count, rate)).map_or(self.time_ns, |time| time.min(self.time_ns))
    }

    /// Returns the approximate time of the forward curve at which the count of this leaf is `count`.
    fn about_time_of(&self, count: Fine) -> f64 {
        let made = if self.backwards { self.total - count } else { count };
        let count = approximate(self.before + made);
        match &self.form {
            Form::Rise(rise) => rise.time_of(count),
            Form::Swell(swell) => swell.time_of(count),
            Form::Bell(bell) => bell.time_of(count),
            Form::Hold(_) | Form::Custom(_) => 0.0,
        }
    }

    /// Returns `None` if the nanosecond is uncertain: the error of `about` is too large or has no known bound, or the
    /// result lies outside the leaf.
    fn certain_time(&self, about: f64) -> Option<i64> {
        let Form::Rise(_) = self.form else { return None };
        let whole = certain_whole_ns(about, Rise::ERROR)?;
        let time_ns = self.moment(whole + i64::from(!self.backwards));
        (1..=self.time_ns).contains(&time_ns).then_some(time_ns)
    }

    fn moment(&self, forward_ns: i64) -> i64 {
        let since_ns = forward_ns.saturating_sub_unsigned(self.before_ns);
        if self.backwards { self.time_ns.saturating_sub(since_ns) } else { since_ns }
    }

    fn forward(&self, time_ns: i64) -> u64 {
        let time_ns = if self.backwards { self.time_ns.saturating_sub(time_ns) } else { time_ns };
        self.before_ns.saturating_add(time_ns.max(0).unsigned_abs())
    }

    pub(super) fn rate_hz(&self, time_ns: i64) -> f64 {
        self.form.rate_hz(self.forward(time_ns))
    }

    pub(super) fn peak_hz(&self, from_ns: i64, until_ns: i64) -> f64 {
        let (first_ns, last_ns) =
            if self.backwards { (until_ns, from_ns) } else { (from_ns, until_ns) };
        match &self.form {
            Form::Custom(curve) => {
                let time_ns = time_between(from_ns, until_ns);
                custom::peak_hz(curve.as_ref(), self.forward(first_ns), time_ns)
            }
            form => form.rate_hz(self.forward(last_ns)),
        }
    }

    /// The rate of a reversed leaf falls, unless the rate is constant or a user defined the curve.
    pub(super) fn falls(&self) -> bool {
        self.backwards && !matches!(self.form, Form::Hold(_))
    }

    pub(super) fn straight_for(&self, time_ns: i64) -> i64 {
        let rest = self.time_ns.saturating_sub(time_ns);
        let straight = match &self.form {
            Form::Hold(_) => return rest,
            Form::Rise(rise) => rise.straight_for(self.forward(time_ns), self.backwards),
            Form::Swell(swell) => swell.trend(self.forward(time_ns)).straight_ns(),
            Form::Bell(bell) => bell.trend(self.forward(time_ns)).straight_ns(),
            Form::Custom(_) => 1.0,
        };
        whole_ns(straight).clamp(1, rest)
    }

    /// Returns zero at the beginning of the leaf, where a slot may belong to the leaf before.
    pub(super) fn bent_for(&self, time_ns: i64) -> i64 {
        let trend: Option<Trend> = match &self.form {
            _ if time_ns == 0 => None,
            Form::Rise(rise) => Some(rise.trend(self.forward(time_ns))),
            Form::Swell(swell) => Some(swell.trend(self.forward(time_ns))),
            Form::Bell(bell) => Some(bell.trend(self.forward(time_ns))),
            Form::Hold(_) | Form::Custom(_) => None,
        };
        trend.map_or(0, |trend| whole_ns(trend.bent_ns()))
    }
}

/// Returns `None` if the number is uncertain: the time differs from `about` by up to the fraction `error`.
#[expect(clippy::cast_precision_loss, reason = "a time above 2^53 ns has no fraction")]
#[inline]
fn certain_whole_ns(about: f64, error: f64) -> Option<i64> {
    let (whole, error) = (whole_ns(about), about * error);
    let part = about - whole as f64;
    (part > error && part < 1.0 - error).then_some(whole)
}

pub(super) fn time_between(from_ns: i64, until_ns: i64) -> i64 {
    if until_ns == i64::MAX { until_ns } else { until_ns - from_ns }
}
