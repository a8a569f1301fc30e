//! Chooses the percentile that reports show.

use super::Criterion;
use super::figure::{Figure, Statistic};
use super::times::Times;
use crate::results::percentiles::quantile;
use std::fmt::{self, Display, Formatter};

/// A percentile from 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Percentile(pub(crate) f64);

impl Percentile {
    pub(crate) fn reported(criteria: &[Criterion]) -> Percentile {
        let named = criteria.iter().filter_map(|criterion| match criterion.figure {
            Figure::Of(Statistic::Percentile(percent), Times::Response)
            | Figure::Confidence(percent, Times::Response) => Some(percent),
            _ => None,
        });
        Percentile(named.reduce(f64::max).unwrap_or(99.0))
    }

    pub(crate) fn quantile(self) -> f64 {
        quantile(self.0)
    }

    /// Returns the share of times above the percentile. It is never zero.
    pub(crate) fn beyond(self) -> f64 {
        (1.0 - self.quantile()).max(f64::EPSILON)
    }
}

impl Display for Percentile {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_highest_of_response_times_that_is_required_or_else_the_p99() {
        for (required, reported) in [
            (&[][..], "p99"),
            (&["errors < 1%", "p99.9 service < 1s", "max response < 1s"], "p99"),
            (&["p50 response < 1s"], "p50"),
            (&["p99.9 response < 1s", "p95 response of \"order\" < 1s"], "p99.9"),
            (&["confidence p90 < 5%"], "p90"),
        ] {
            let criteria: Vec<_> = required.iter().map(|text| text.parse().unwrap()).collect();
            assert_eq!(Percentile::reported(&criteria).to_string(), reported, "{required:?}");
        }
    }
}
