//! Lists the figures that a comparison contains.

use std::fmt::{self, Display, Formatter};

/// The percentiles of times that are compared.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

/// A figure that is compared between two sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Figure {
    /// The number of requests started per second.
    Rate,
    /// The share of started requests that failed.
    Errors,
    /// A percentile of response times, from 0 to 100. The value is in nanoseconds.
    Response(f64),
    Service(f64),
}

/// A figure of one side, with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    pub(crate) low: f64,
    /// The upper end of the interval. Infinite if it lies beyond all measured times.
    pub(crate) high: f64,
    /// Whether there are too few values for a reliable interval.
    pub(crate) is_rough: bool,
}

impl Figure {
    /// Returns all figures that are compared.
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
