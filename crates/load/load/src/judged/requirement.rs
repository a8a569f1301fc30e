//! What `--fail-if` of a run is given: a requirement on a figure, or a change from a baseline that must not be.

use super::comparison::demand::Demand;
use super::criteria::Criterion;
use std::str::FromStr;

/// One of the two.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Requirement {
    /// `p99 response < 50ms`
    Figure(Criterion),
    /// `p99 response slower by 5%`
    Change(Demand),
}

impl FromStr for Requirement {
    type Err = String;

    fn from_str(text: &str) -> Result<Requirement, String> {
        if text.contains(" by ") {
            return text.parse().map(Requirement::Change);
        }
        let criterion = text.parse::<Criterion>().map_err(|error| error.to_string());
        criterion.map(Requirement::Figure)
    }
}
