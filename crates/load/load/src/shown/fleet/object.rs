//! Writes the results of all nodes of a fleet as a JSON object.

use super::account::AccountObject;
use crate::judged::verdict::Verdict;
use crate::judged::whole::Whole;
use crate::results::confidence::Confidence;
use crate::shown::json::{IntervalObject, OwnTimesObject, ResultsObject};
use serde::Serialize;
use std::time::Duration;

#[derive(Debug, Serialize)]
pub(crate) struct WholeObject {
    run: String,
    has_ended: bool,
    shape: String,
    arrivals: String,
    duration_seconds: f64,
    target_rate: f64,
    achieved_rate: f64,
    rate_over_time: Vec<IntervalObject>,
    verdict: Option<Verdict>,
    account: AccountObject,
    nodes_with_results: usize,
    nodes_with_results_so_far: Vec<SoFarObject>,
    missed: Vec<String>,
    #[serde(flatten)]
    results: Option<ResultsObject>,
    #[serde(flatten)]
    own_times: OwnTimesObject,
}

/// A node that has reported only interim results. The results are complete up to the time `until_seconds` of the load.
#[derive(Debug, Serialize)]
struct SoFarObject {
    number: u16,
    until_seconds: f64,
}

impl WholeObject {
    pub(crate) fn new(whole: &Whole) -> WholeObject {
        let status = &whole.status;
        let [target_rate, achieved_rate] = whole.rates();
        WholeObject {
            run: whole.name.clone(),
            has_ended: status.has_ended,
            shape: status.shape.clone(),
            arrivals: status.arrivals.clone(),
            duration_seconds: status.elapsed.as_secs_f64(),
            target_rate,
            achieved_rate,
            rate_over_time: whole.over_time().intervals().iter().map(IntervalObject::new).collect(),
            verdict: whole.verdict(),
            account: AccountObject::new(&whole.account),
            nodes_with_results: whole.told.given,
            nodes_with_results_so_far: whole.told.so_far.iter().map(SoFarObject::new).collect(),
            missed: whole.missed().cloned().collect(),
            own_times: OwnTimesObject::new(whole.own_times()),
            results: whole
                .stats()
                .map(|stats| ResultsObject::new(&Confidence::new(stats, &whole.over_time()))),
        }
    }
}

impl SoFarObject {
    fn new((number, until): &(u16, Duration)) -> SoFarObject {
        SoFarObject { number: *number, until_seconds: until.as_secs_f64() }
    }
}
