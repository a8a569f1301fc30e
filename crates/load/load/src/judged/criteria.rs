//! Criteria: what `--fail-if` requires of a run.
//!
//! A criterion is a requirement that must hold: `p99 response < 50ms`. It is a figure, an operator
//! and a limit. Blanks are free, and the names of figures may be in capitals.
//!
//! - `p99`, `p99.9`, any percentile from `p0` to `p100`, `mean`, `min` or `max`, of `wait`,
//!   `service`, `response` or `setup` times (those of connections), in this order or the other.
//!   The limit is a time: `50ms`, `1.5s`.
//! - the same of `first-byte`, `first-item`, `first-item-response` and `item-gap` times, if the parts of answers are
//!   timed, and of `sending` and `reading` times, if the kernel stamps.
//! - `count`, of all these times. The limit is a count.
//! - `due`, `started`, `completed`, `failed`, `skipped`, `retried`, `unfinished`, `unstarted`: counts.
//! - `errors` (failed per started), `ratio` (achieved rate per asked), `gaps` (the share of them within
//!   25 % of nominal). The limit is a share: `0.1%`, `0.001`.
//! - `achieved`: started per second. The limit is a rate: `4.9k/s`.
//! - `lateness target`, `lateness generator`: times.
//! - `confidence p99`, `confidence p99.9 service`: how far the 95 % confidence interval reaches from a percentile of
//!   `response`, `service` or `wait` times, on its wider side. The limit is a share of the percentile.
//!
//! - service and response times, `errors`, `completed` and `failed` may be those of one label:
//!   `p99 response of "order"`.
//!
//! Times are as exact as the histograms they come from, in which every value is the largest of its bucket (the smallest
//! for `min`). A message about a miss shows as many digits as are needed to see it.
//!
//! The operators are `<`, `<=`, `>`, `>=` and `=`, also written `==`.
//!
//! A request without a response has a lower bound of its response time: the time until it was given up. The bound
//! counts as infinite for `<` and `<=`, and as that time for `>` and `>=`.
//!
//! A figure that a run doesn't have misses every criterion. A limit on the p99 of response times must fail if no
//! request was answered.

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

use crate::load::own_times::Part;
use figure::{Better, Figure, Single, Value};
use operator::Operator;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::time::Duration;
use unit::{Limit, Unit};
use words::Parts;

const A_FIGURE_OF_A_LABEL: &str =
    "of a label there are service and response times, errors, completed and failed";

/// A requirement on a figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Criterion {
    figure: Figure,
    /// The label whose figure it is, if it is not that of all requests.
    label: Option<String>,
    operator: Operator,
    limit: Limit,
}

/// A requirement, the value of its figure, and a sentence if it was missed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Required {
    pub(crate) text: String,
    pub(crate) value: String,
    pub(crate) missed: Option<String>,
}

/// A criterion that did not hold, and the figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Missed<'run> {
    criterion: &'run Criterion,
    actual: Option<Value>,
}

impl Criterion {
    /// At least this share of the requested rate is achieved.
    pub(crate) fn at_least_ratio(share: f64) -> Criterion {
        let limit = Limit { value: share, text: share.to_string() };
        let figure = Figure::Single(Single::Ratio);
        Criterion { figure, label: None, operator: Operator::AtLeast, limit }
    }

    /// The requirement of a search if no criterion [names errors](Criterion::names_errors): at most 1 % of requests
    /// fail.
    pub(crate) fn default_errors() -> Criterion {
        let limit = Limit { value: 0.01, text: "1%".to_owned() };
        let figure = Figure::Single(Single::Errors);
        Criterion { figure, label: None, operator: Operator::AtMost, limit }
    }

    /// Whether the criterion is about `errors` or `failed` of all requests.
    pub(crate) fn names_errors(&self) -> bool {
        self.label.is_none()
            && matches!(self.figure, Figure::Single(Single::Errors | Single::Failed))
    }

    /// Whether it is about how much of the load was started.
    pub(crate) fn names_load(&self) -> bool {
        self.figure.is_about_load()
    }

    /// Whether it is about the ratio.
    pub(crate) fn names_ratio(&self) -> bool {
        matches!(self.figure, Figure::Single(Single::Ratio))
    }

    /// The part of answers that it is about the times of, if it is.
    pub(crate) fn part(&self) -> Option<Part> {
        self.figure.part()
    }

    /// Whether a higher rate can only break it: then there is a highest rate at which it holds.
    pub(crate) fn breaks_above_a_rate(&self) -> bool {
        match self.figure.better() {
            Some(Better::Less) => matches!(self.operator, Operator::Below | Operator::AtMost),
            Some(Better::More) => matches!(self.operator, Operator::Above | Operator::AtLeast),
            None => false,
        }
    }

    /// Whether it would hold, had no request waited for its start.
    pub(crate) fn holds_without_waiting(&self, figures: &Figures<'_>) -> bool {
        let without = Criterion { figure: self.figure.without_waiting(), ..self.clone() };
        self.figure.is_about_waiting() || without.check(figures).is_none()
    }

    /// The share of the requests that it is decided by: of a 99th percentile, a hundredth. None if
    /// all of them count.
    pub(crate) fn deciding_share(&self) -> Option<f64> {
        let is_errors = matches!(self.figure, Figure::Single(Single::Errors));
        let share = if is_errors { Some(self.limit.value) } else { self.figure.tail() };
        share.filter(|share| *share > 0.0 && self.label.is_none())
    }

    /// Its figure, by name.
    pub(crate) fn name(&self) -> String {
        let label = self.label.as_ref().map(|label| format!(" of \"{label}\""));
        format!("{}{}", self.figure, label.unwrap_or_default())
    }

    fn actual(&self, figures: &Figures<'_>) -> Option<Value> {
        match &self.label {
            None => self.figure.value(figures),
            Some(label) => self.figure.value(&figures.of_label(label)?),
        }
    }

    /// Its figure in a run, in its unit: nanoseconds, if it is a time. At least, if that is all that is
    /// known.
    pub(crate) fn value(&self, figures: &Figures<'_>) -> Option<f64> {
        self.actual(figures).map(|value| value.least)
    }

    /// Its limit, if it is a time.
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        let is_time = self.figure.unit() == Unit::Time;
        let limit = Duration::try_from_secs_f64(self.limit.value * 1e-9);
        limit.ok().filter(|_| is_time)
    }

    /// Its figure in a run, for people. Rounding keeps it on its side of the limit.
    pub(crate) fn shown(&self, figures: &Figures<'_>) -> String {
        self.actual(figures).map_or_else(|| "unknown".to_owned(), |value| self.text(value))
    }

    /// Formats a value so that rounding keeps it on its side of the limit; with a sign, if it is not known exactly.
    fn text(&self, Value { least, most, .. }: Value) -> String {
        let (sign, value) = match () {
            () if most.is_infinite() => (">=", least),
            () if least < most => ("<=", most),
            () => ("", most),
        };
        let is_same_side = |shown| self.holds(shown) == self.holds(value);
        sign.to_owned() + &self.figure.unit().show(value, &self.limit, is_same_side)
    }

    /// Nothing if the criterion holds.
    pub(crate) fn check(&self, figures: &Figures<'_>) -> Option<Missed<'_>> {
        let actual = self.actual(figures);
        // Both ends of its range must hold.
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

/// Describes each criterion that does not hold.
pub(crate) fn missed(criteria: &[Criterion], figures: &Figures<'_>) -> Vec<String> {
    judged(criteria, figures).into_iter().filter_map(|required| required.missed).collect()
}

/// Judges each criterion.
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

/// The criterion in normal form; its limit as it was written.
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
                    write!(f, " ({bounds} of {times} times are lower bounds)")?;
                }
            }
            None => write!(f, "{name} {} unknown ({})", figure.verb(), figure.absence())?,
        }
        write!(f, ", wanted {operator} {}", limit.text)
    }
}
