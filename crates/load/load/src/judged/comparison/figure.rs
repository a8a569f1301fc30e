//! Lists the figures that a comparison contains.

use serde::Serialize;
use std::fmt::{self, Display, Formatter};

pub(super) const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Figure {
    Rate,
    /// The number of failed requests as a share of the started requests.
    Errors,
    /// A percentile, from 0 to 100, of the response times in nanoseconds.
    Response(f64),
    Service(f64),
}

/// An estimate of a figure. `low` and `high` are the ends of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    pub(crate) low: f64,
    /// Infinite (in JSON, null) if the end of the interval lies above all measured times.
    pub(crate) high: f64,
    #[serde(rename = "too_few")]
    pub(crate) is_rough: bool,
    /// Whether the value is a lower bound, because the percentile is the time of a slot that did not complete.
    #[serde(skip)]
    pub(crate) is_bound: bool,
}

impl Figure {
    pub(crate) fn all() -> impl Iterator<Item = Figure> {
        let times = [Figure::Response, Figure::Service];
        let times = times.into_iter().flat_map(|of| PERCENTILES.map(of));
        [Figure::Rate, Figure::Errors].into_iter().chain(times)
    }

    pub(crate) fn is_time(self) -> bool {
        matches!(self, Figure::Response(_) | Figure::Service(_))
    }
}

impl Display for Figure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Figure::Rate => f.write_str("rate"),
            Figure::Errors => f.write_str("errors"),
            Figure::Response(percent) => write!(f, "p{percent} response"),
            Figure::Service(percent) => write!(f, "p{percent} service"),
        }
    }
}
