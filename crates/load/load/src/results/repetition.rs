//! Judges why requests were slow in an earlier run: because of the request, or because of the moment at which it was
//! sent. The run that is judged has repeated these requests at other moments, among other requests.
//!
//! A request counts as slow if it failed, or if its service time is above the p95 of the completed requests of this run
//! that are not repeated. The server may therefore be faster or slower than in the earlier run. If the moment was the
//! cause, about 5 % of the repeated requests are slow.
//!
//! If the earlier run had only a few slow requests, most repeated requests are ordinary ones, and the share of slow
//! requests is small although the request was the cause. The moment is therefore not the cause if the slowest requests
//! are slow again.

use super::confidence::wilson;
use super::slot_record::{Group, SlotRecord};
use crate::console::human::float;
use serde::Serialize;

/// The request is the cause only if the difference between the shares of slow requests is at least this, and the
/// confidence interval of the difference is above zero.
const LEAST_MORE: f64 = 0.08;
/// The moment is the cause only if the confidence interval of the difference does not begin above zero and ends below
/// this.
const MOST_MORE: f64 = 0.2;
/// The moment is the cause only if at most this share of the five slowest requests are slow again. By chance, a larger
/// share is slow in 0.1 % of runs.
const MOST_SLOWEST: f64 = 0.4;

/// If a larger share of the other requests counts as slow, which is possible only if requests failed, the cause is
/// unknown.
const MOST_SLOW: f64 = 0.2;
/// If fewer requests than this were repeated, the cause is unknown.
const LEAST_REPEATED: u64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cause {
    Request,
    Moment,
    Unknown,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct GroupResult {
    pub(crate) requests: u64,
    pub(crate) slow: u64,
    pub(crate) service_p50_ns: Option<u64>,
    pub(crate) service_p95_ns: Option<u64>,
}

impl GroupResult {
    fn new(Group { service, failed }: &Group, limit: u64) -> GroupResult {
        let at = |quantile| (!service.is_empty()).then(|| service.value_at_quantile(quantile));
        GroupResult {
            requests: service.len() + failed,
            slow: service.len() - service.count_between(0, limit) + failed,
            service_p50_ns: at(0.5),
            service_p95_ns: at(0.95),
        }
    }

    pub(crate) fn share(self) -> f64 {
        float(self.slow) / float(self.requests.max(1))
    }

    fn range(self) -> (f64, f64) {
        if self.requests == 0 { (0.0, 1.0) } else { wilson(self.share(), float(self.requests)) }
    }
}

/// The field names are those of the JSON object.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Repetition {
    pub(crate) cause: Cause,
    pub(crate) repeated: GroupResult,
    /// The part of `repeated` that was among the five slowest of the earlier run.
    pub(crate) slowest: GroupResult,
    pub(crate) others: GroupResult,
    /// The share of slow requests among the repeated requests, minus their share among the others.
    pub(crate) difference: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Repetition {
    pub(crate) fn new(slots: &SlotRecord) -> Option<Repetition> {
        slots.repeats.as_ref()?;
        let limit = slots.others.service.value_at_quantile(0.95);
        let groups = [&slots.repeated, &slots.slowest_repeated, &slots.others];
        let [repeated, slowest, others] = groups.map(|group| GroupResult::new(group, limit));
        let difference = repeated.share() - others.share();
        let (low, high) = range(repeated, others);
        let cause = match () {
            () if repeated.requests < LEAST_REPEATED => Cause::Unknown,
            () if others.share() > MOST_SLOW => Cause::Unknown,
            () if low > 0.0 && difference >= LEAST_MORE => Cause::Request,
            () if slowest.share() > MOST_SLOWEST => Cause::Unknown,
            () if low <= 0.0 && high < MOST_MORE => Cause::Moment,
            () => Cause::Unknown,
        };
        Some(Repetition { cause, repeated, slowest, others, difference, low, high })
    }
}

/// Returns the confidence interval of the difference of two shares (Newcombe, *Interval estimation for the difference
/// between independent proportions*, 1998, method 10).
fn range(one: GroupResult, two: GroupResult) -> (f64, f64) {
    let [(low, high), (other_low, other_high)] = [one.range(), two.range()];
    let (share, other) = (one.share(), two.share());
    let difference = share - other;
    let below = (share - low).hypot(other_high - other);
    let above = (high - share).hypot(other - other_low);
    (difference - below, difference + above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::data::order::mixed;
    use crate::load::repeats::Repeats;
    use crate::results::confidence::simulated::Random;
    use crate::results::slot_record::tests::took;
    use nanopace::Nanos;
    use std::sync::Arc;
    use std::time::Duration;

    const REQUESTS: u64 = 3_000;

    /// Returns a service time in milliseconds. If a stall is in progress, it ends `stalled` slots later. Otherwise,
    /// `stalled` is 0.
    type Server = fn(row: u64, stalled: u32, random: f64) -> f64;

    /// One of 100 rows takes ten times as long.
    const SLOW_ROWS: Server = |row, _, random| if row % 100 == 37 { random * 10.0 } else { random };
    /// One of 500 rows (0.2 %) takes longer than all others.
    const RARE_ROWS: Server = |row, _, random| if row % 500 == 37 { random + 50.0 } else { random };
    /// About 1 % of the requests wait for the end of a stall.
    const STALLS: Server = |_, stalled, random| random + f64::from(stalled);

    fn run(server: Server, seed: u64, repeats: Option<Arc<Repeats>>) -> SlotRecord {
        let (mut random, mut stalled) = (Random(mixed(seed)), 0_u32);
        let mut slots = SlotRecord::new(100, repeats);
        for slot in 0..REQUESTS {
            let source = slots.repeats.as_ref().map_or(slot, |repeats| repeats.source(slot));
            let begins = mixed(random.0).is_multiple_of(2_000);
            stalled = if begins { 20 } else { stalled.saturating_sub(1) };
            let service = server(source, stalled, random.exponential());
            slots.add(slot, Nanos::ZERO, &took(Duration::from_secs_f64(service * 1e-3)));
        }
        slots
    }

    /// Simulates pairs of runs with 1000 seeds. Returns the share of the pairs whose second run finds this cause.
    fn share(server: Server, cause: Cause) -> f64 {
        let is_found = |seed: &u64| {
            let first = run(server, 2 * seed, None);
            let slow = first.slowest().map(|(slot, ..)| slot).collect();
            let repeats = Arc::new(Repeats::new(slow, REQUESTS, *seed));
            let second = run(server, 2 * seed + 1, Some(repeats));
            Repetition::new(&second).is_some_and(|found| found.cause == cause)
        };
        float((0..1_000).filter(is_found).count() as u64) / 1e3
    }

    #[test]
    fn slow_rows_and_stalls_are_told_apart() {
        let shares = [share(SLOW_ROWS, Cause::Request), share(STALLS, Cause::Moment)];
        assert!(shares.iter().all(|share| *share >= 0.95), "{shares:?}");
    }

    /// Most of the repeated requests are ordinary ones.
    #[test]
    fn the_moment_is_not_the_cause_if_few_rows_are_slow() {
        let share = share(RARE_ROWS, Cause::Moment);
        assert!(share <= 0.05, "{share}");
    }

    /// The values are those of Newcombe's example, 56 of 70 and 48 of 80.
    #[test]
    fn the_interval_is_newcombes() {
        let group = |requests, slow| {
            let (service_p50_ns, service_p95_ns) = (None, None);
            GroupResult { requests, slow, service_p50_ns, service_p95_ns }
        };
        let (low, high) = range(group(70, 56), group(80, 48));
        assert!((low - 0.0524).abs() < 5e-5 && (high - 0.3339).abs() < 5e-5, "{low} {high}");
    }

    #[test]
    fn the_cause_is_named_if_the_requests_suffice() {
        for (repeated, others, cause) in [
            ([0, 0], [960, 40], Cause::Unknown),
            ([0, 20], [0, 0], Cause::Unknown),
            ([9, 1], [960, 40], Cause::Unknown),
            ([0, 4], [960, 40], Cause::Unknown),
            ([2, 8], [960, 40], Cause::Request),
            ([190, 10], [960, 40], Cause::Moment),
            ([9_000, 1_000], [95_500, 4_500], Cause::Unknown),
        ] {
            let mut slots = SlotRecord::new(0, Some(Arc::new(Repeats::new(vec![0], 10, 0))));
            for (times, [fast, slow]) in
                [(&mut slots.repeated, repeated), (&mut slots.others, others)]
            {
                times.service.record_n(1_000, fast).unwrap();
                times.service.record_n(9_000, slow).unwrap();
            }
            let found = Repetition::new(&slots).unwrap();
            assert_eq!(found.cause, cause, "{found:?}");
        }
    }

    #[test]
    fn failed_requests_are_slow() {
        for (failed, cause) in [([20, 0], Cause::Request), ([20, 1_000], Cause::Unknown)] {
            let mut slots = SlotRecord::new(0, Some(Arc::new(Repeats::new(vec![0], 10, 0))));
            slots.others.service.record_n(1_000, 1_000).unwrap();
            [slots.repeated.failed, slots.others.failed] = failed;
            let found = Repetition::new(&slots).unwrap();
            assert_eq!((found.cause, found.repeated.slow), (cause, 20), "{found:?}");
        }
    }
}
