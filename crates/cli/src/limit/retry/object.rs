//! The outcomes as one JSON object. Its names are a promise to the programs that read it.

use crate::limit::chosen::Chosen;
use crate::limit::json::{Limit, NotTried};
use crate::limit::retry::caller::{Caller, End, Outcome};
use serde::Serialize;

/// The whole object.
#[derive(Debug, Serialize)]
pub(crate) struct Object {
    limit: Limit,
    cost: u64,
    complete: bool,
    requests: u64,
    retry_ns: u64,
    start_ns: u64,
    limiters: Vec<Limiter>,
    not_tried: Vec<NotTried>,
}

#[derive(Debug, Serialize)]
struct Limiter {
    name: String,
    end: Ended,
    let_in: u64,
    /// Null unless all were let in.
    took_ns: Option<u128>,
    /// Null where there is no end to them.
    tries: Option<u64>,
    rejected: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Ended {
    AllLetIn,
    NeverTooLarge,
    NeverKeptOut,
    Interrupted,
}

impl Object {
    /// The object for these outcomes.
    pub(crate) fn new(caller: &Caller, chosen: &Chosen, outcomes: &[Outcome]) -> Object {
        let limiters: Vec<_> = outcomes.iter().map(Limiter::new).collect();
        Object {
            limit: Limit::new(chosen.settings.limit),
            cost: caller.cost,
            complete: limiters.iter().all(|limiter| limiter.end != Ended::Interrupted),
            requests: caller.requests,
            retry_ns: caller.retry_ns,
            start_ns: caller.start.as_nanos(),
            limiters,
            not_tried: NotTried::all(&chosen.dropped),
        }
    }
}

impl Limiter {
    fn new(outcome: &Outcome) -> Limiter {
        let (end, took) = match outcome.end {
            End::After(took) => (Ended::AllLetIn, Some(took)),
            End::TooLarge { .. } => (Ended::NeverTooLarge, None),
            End::KeptOut => (Ended::NeverKeptOut, None),
            End::Interrupted => (Ended::Interrupted, None),
        };
        let is_finite = matches!(end, Ended::AllLetIn | Ended::Interrupted);
        Limiter {
            name: outcome.kind.to_string(),
            end,
            let_in: outcome.let_in,
            took_ns: took.map(|took| took.as_nanos()),
            tries: is_finite.then_some(outcome.tries),
            rejected: is_finite.then(|| outcome.rejected()),
        }
    }
}
