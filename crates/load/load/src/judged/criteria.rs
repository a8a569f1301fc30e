//! Parses criteria, which are the requirements of `--fail-if` on a run, and checks them.
//!
//! A criterion such as `p99 response < 50ms` consists of a figure, an operator and a limit. Additional spaces do not
//! matter, and figures may be written in capitals. The figures are:
//!
//! - A percentile from `p0` to `p100` (such as `p99` or `p99.9`), `mean`, `min` or `max`, of `wait`, `service`,
//!   `response` or `setup` (connection setup) times. The two words may be in either order. The limit is a time, such as
//!   `50ms` or `1.5s`.
//! - The same statistics of `first-byte`, `first-item`, `first-item-response` and `item-gap` times, if the items of
//!   responses are timed, and of `sending` and `reading` times, if kernel timestamps are enabled.
//! - The number of recorded times of one of these kinds, written with `count` instead of a percentile: `count
//!   response`. The limit is a number.
//! - `due`, `started`, `completed`, `failed`, `skipped`, `retried`, `unfinished` or `unstarted`, which are numbers of
//!   requests.
//! - `errors` (the failed share of the started requests), `ratio` (the started share of the scheduled requests) or
//!   `gaps` (the share of gaps within 25 % of nominal). The limit is a share, such as `0.1%` or `0.001`.
//! - `achieved`, which is the number of requests started per second. The limit is a rate, such as `4.9k/s`.
//! - `lateness target` or `lateness generator`: the total lateness that this side caused. The limit is a time.
//! - `confidence p99`, `confidence p99.9 service`: the distance from a percentile of `response`, `service` or `wait`
//!   times to the farther end of its 95 % confidence interval. The limit is a share of the percentile.
//!
//! `p99 response of "order"` limits a figure to one label. This is possible for figures of service and response times,
//! and for `errors`, `completed` and `failed`.
//!
//! Times are as exact as the histograms that store them. A percentile and `max` are the largest time in their bucket of
//! the histogram, `p0` and `min` the smallest. `mean` counts each time as the middle of its bucket. A message about a
//! missed criterion prints enough digits to distinguish the value from the limit.
//!
//! The operators are `<`, `<=`, `>`, `>=` and `=`, also written `==`.
//!
//! If a request did not complete, only a lower bound of its response time is known. For `<` and `<=`, the response time
//! counts as infinite. For `>` and `>=`, it counts as the lower bound. For `=`, the criterion is missed unless the
//! figure has the same value in both cases.
//!
//! If a run has no value for a figure, every criterion with this figure is missed. For example, a limit on the p99 of
//! service times must fail if no request was completed.

mod certainty;
mod figure;
mod goal;
mod misnamed;
mod operator;
mod percentile;
#[cfg(test)]
mod tests;
mod times;
mod unit;
mod words;

pub(crate) use figure::Figures;
pub(crate) use goal::Goal;
pub(crate) use percentile::Percentile;
pub(crate) use words::CriterionError;

use crate::console::human;
use crate::load::own_times::Part;
use figure::{Better, Figure, Single, Value};
use operator::Operator;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::time::Duration;
use unit::{Limit, Unit};
use words::Parts;

const A_FIGURE_OF_A_LABEL: &str =
    "a label has only service and response times, errors, completed and failed";

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Criterion {
    figure: Figure,
    label: Option<String>,
    operator: Operator,
    limit: Limit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Required {
    pub(crate) text: String,
    pub(crate) value: String,
    pub(crate) missed: Option<String>,
}

impl Required {
    /// Returns whether the requirement is about the percentile with this name, such as `p99`.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.text.split(' ').any(|word| word == name)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Missed<'run> {
    criterion: &'run Criterion,
    actual: Option<Value>,
}

impl Criterion {
    pub(crate) fn at_least_ratio(share: f64) -> Criterion {
        let limit = Limit { value: share, text: share.to_string() };
        let figure = Figure::Single(Single::Ratio);
        Criterion { figure, label: None, operator: Operator::AtLeast, limit }
    }

    pub(crate) fn default_errors() -> Criterion {
        let limit = Limit { value: 0.01, text: "1%".to_owned() };
        let figure = Figure::Single(Single::Errors);
        Criterion { figure, label: None, operator: Operator::AtMost, limit }
    }

    pub(crate) fn names_errors(&self) -> bool {
        self.label.is_none()
            && matches!(self.figure, Figure::Single(Single::Errors | Single::Failed))
    }

    pub(crate) fn names_load(&self) -> bool {
        self.figure.is_about_load()
    }

    pub(crate) fn names_ratio(&self) -> bool {
        matches!(self.figure, Figure::Single(Single::Ratio))
    }

    pub(crate) fn names_gaps(&self) -> bool {
        self.figure == Figure::Single(Single::Gaps)
    }

    pub(crate) fn is_about_waiting(&self) -> bool {
        self.figure.is_about_waiting()
    }

    pub(crate) fn part(&self) -> Option<Part> {
        self.figure.part()
    }

    /// Returns whether a higher rate can make the criterion fail, but never make it hold.
    pub(crate) fn breaks_above_a_rate(&self) -> bool {
        match self.figure.better() {
            Some(Better::Less) => matches!(self.operator, Operator::Below | Operator::AtMost),
            Some(Better::More) => matches!(self.operator, Operator::Above | Operator::AtLeast),
            None => false,
        }
    }

    pub(crate) fn holds_without_waiting(&self, figures: &Figures<'_>) -> bool {
        let without = Criterion { figure: self.figure.without_waiting(), ..self.clone() };
        let depends_only_on_starts = self.figure.is_about_waiting() || self.names_gaps();
        depends_only_on_starts || without.check(figures).is_none()
    }

    /// Returns the share of requests that decides whether the criterion holds: 0.01 for a 99th percentile, and the
    /// limit itself for errors. Returns `None` for other figures, for p0, p100 and an error limit of 0, and for a
    /// criterion about one label.
    pub(crate) fn deciding_share(&self) -> Option<f64> {
        let is_errors = matches!(self.figure, Figure::Single(Single::Errors));
        let share = if is_errors { Some(self.limit.value) } else { self.figure.tail() };
        share.filter(|share| *share > 0.0 && self.label.is_none())
    }

    pub(crate) fn name(&self) -> String {
        let label = self.label.as_ref().map(|label| format!(" of \"{label}\""));
        format!("{}{}", self.figure, label.unwrap_or_default())
    }

    pub(crate) fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    fn actual(&self, figures: &Figures<'_>) -> Option<Value> {
        match &self.label {
            None => self.figure.value(figures),
            Some(label) => self.figure.value(&figures.of_label(label)?),
        }
    }

    /// Returns the value of the figure. If only a lower bound of the value is known, returns that bound.
    pub(crate) fn value(&self, figures: &Figures<'_>) -> Option<f64> {
        self.actual(figures).map(|value| value.least)
    }

    pub(crate) fn time_limit(&self) -> Option<Duration> {
        let is_time = self.figure.unit() == Unit::Time;
        let limit = Duration::try_from_secs_f64(self.limit.value * 1e-9);
        limit.ok().filter(|_| is_time)
    }

    pub(crate) fn shown(&self, figures: &Figures<'_>) -> String {
        self.actual(figures).map_or_else(|| "unknown".to_owned(), |value| self.text(value))
    }

    /// Formats the value of the figure. The value is rounded so that it stays on its side of the limit. An inexact
    /// value is printed as a range.
    fn text(&self, Value { least, most, .. }: Value) -> String {
        let show = |value| {
            let is_same_side = |shown| self.holds(shown) == self.holds(value);
            self.figure.unit().show(value, &self.limit, is_same_side)
        };
        match () {
            () if most.is_infinite() => format!(">={}", show(least)),
            () if least < most => format!("between {} and {}", show(least), show(most)),
            () => show(most),
        }
    }

    pub(crate) fn check(&self, figures: &Figures<'_>) -> Option<Missed<'_>> {
        let actual = self.actual(figures);
        let holds = |value: Value| self.holds(value.least) && self.holds(value.most);
        (!actual.is_some_and(holds)).then_some(Missed { criterion: self, actual })
    }

    fn judged(&self, figures: &Figures<'_>) -> Required {
        let missed = self.check(figures).map(|missed| missed.to_string());
        Required { text: self.to_string(), value: self.shown(figures), missed }
    }

    fn holds(&self, value: f64) -> bool {
        self.operator.holds(value, self.limit.value)
    }
}

pub(crate) fn judged(criteria: &[Criterion], figures: &Figures<'_>) -> Vec<Required> {
    criteria.iter().map(|criterion| criterion.judged(figures)).collect()
}

impl FromStr for Criterion {
    type Err = CriterionError;

    fn from_str(text: &str) -> Result<Criterion, CriterionError> {
        let Parts { figure: words, label, operator, limit } = Parts::split(text)?;
        let names: Vec<_> = words.iter().map(|word| word.text.to_ascii_lowercase()).collect();
        let figure = Figure::named(&names.join(" ")).ok_or_else(|| misnamed::misnamed(&words))?;
        if let Some(label) = label.as_ref().filter(|_| !figure.is_by_label()) {
            return Err(CriterionError::at(label, A_FIGURE_OF_A_LABEL));
        }
        let operator = Operator::read(&operator)?;
        let label = label.map(|label| label.text);
        Ok(Criterion { figure, label, operator, limit: figure.unit().limit(&limit)? })
    }
}

impl Display for Criterion {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.name(), self.operator, self.limit.text)
    }
}

impl Display for Missed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Criterion { figure, operator, limit, .. } = self.criterion;
        let name = self.criterion.name();
        match self.actual {
            Some(actual) => {
                write!(f, "{name} {} {}", figure.verb(), self.criterion.text(actual))?;
                let Value { least, most, bounds: (bounds, times) } = actual;
                if least < most {
                    let are = if bounds == 1 { "is a lower bound" } else { "are lower bounds" };
                    write!(f, " ({bounds} of {} {are})", human::count(times, "time"))?;
                }
            }
            None => write!(f, "{name} {} unknown ({})", figure.verb(), figure.absence())?,
        }
        write!(f, ", wanted {operator} {}", limit.text)
    }
}
