//! Tests callers that make a request some time after they have read the clock. A limiter keeps its bound for the
//! moments at which it counts requests, and nearly keeps the bound for the callers' timestamps.

use crate::laws::{Arrival, MILLI, SECOND, at, span};
use nanopace_limits::{
    AggregatedWindow, FixedWindow, Gcra, Quota, Rule, SlidingCounter, SlidingLog, SlottedRing,
    TokenBucket,
};
use nanopace_nanos::Nanos;
use proptest::prelude::*;
use std::num::NonZeroU16;

const COUNT: u64 = 5;

fn quota() -> Quota {
    Quota::new(COUNT, span(SECOND)).unwrap()
}

/// Generates requests in the order of their decisions. No timestamp is later than its decision.
fn requests() -> impl Strategy<Value = Vec<Arrival>> {
    let late_ns = prop_oneof![0..50 * MILLI, 0..2 * SECOND];
    let request = late_ns.prop_flat_map(|late_ns| {
        let gap_ns = prop_oneof![Just(0), 0..200 * MILLI, 0..SECOND];
        prop::collection::vec((gap_ns, 0..=late_ns, 1..=2_u64), 1..80)
    });
    request.prop_map(|requests| {
        let mut decided = 0_u64;
        let mut stamp = |(gap, late, n)| {
            decided += gap;
            Arrival { now: at(decided.saturating_sub(late)), n }
        };
        requests.into_iter().map(&mut stamp).collect()
    })
}

/// Returns the admissions twice: with their callers' timestamps, and with the latest timestamp at each decision.
fn let_in(rule: &impl Rule, requests: &[Arrival]) -> (Vec<Arrival>, Vec<Arrival>) {
    let mut latest = Nanos::ZERO;
    let mut state = rule.fresh();
    let decide = |request: &Arrival| {
        latest = latest.max(request.now);
        let answer = rule.try_acquire(&mut state, request.now, request.n);
        answer.is_ok().then_some((*request, Arrival { now: latest, ..*request }))
    };
    requests.iter().filter_map(decide).unzip()
}

fn stamps_show_no_more_than_their_lateness_allows(
    (stamped, decided): &(Vec<Arrival>, Vec<Arrival>),
    bound: impl Fn(u64) -> u64,
) -> Result<(), TestCaseError> {
    let late = stamped.iter().zip(decided).map(|(stamp, latest)| latest.now - stamp.now).max();
    let late_ns = late.map_or(0, |late| u64::try_from(late.as_nanos()).unwrap());
    crate::laws::let_in_is_bounded(stamped, |length_ns| u128::from(bound(length_ns + late_ns)))
}

fn count_in_any_period(length_ns: u64) -> u64 {
    (length_ns / SECOND + 1) * COUNT
}

fn count_in_each_window(length_ns: u64) -> u64 {
    (length_ns / SECOND + 2) * COUNT
}

fn bucket(length_ns: u64) -> u64 {
    COUNT + length_ns * COUNT / SECOND
}

fn any_seven_slots(length_ns: u64) -> u64 {
    length_ns.div_ceil(SECOND * 7 / 8).max(1) * COUNT
}

proptest! {
    #[test]
    fn logs_and_rings_keep_their_bound_in_the_order_of_decisions(requests in requests()) {
        for rule in [SlidingLog::new(quota()), SlidingLog::counting_rejected(quota())] {
            let let_in = let_in(&rule, &requests);
            crate::laws::let_in_is_bounded(&let_in.1, |length_ns| u128::from(count_in_any_period(length_ns)))?;
            stamps_show_no_more_than_their_lateness_allows(&let_in, count_in_any_period)?;
        }
        let let_in_ring = let_in(&SlottedRing::<8>::new(quota()), &requests);
        crate::laws::let_in_is_bounded(&let_in_ring.1, |length_ns| u128::from(any_seven_slots(length_ns)))?;
        stamps_show_no_more_than_their_lateness_allows(&let_in_ring, any_seven_slots)?;
    }

    #[test]
    fn windows_show_no_more_than_lateness_allows(requests in requests()) {
        let slots = NonZeroU16::new(8).unwrap();
        let aggregated = let_in(&AggregatedWindow::new(quota(), slots), &requests);
        stamps_show_no_more_than_their_lateness_allows(&aggregated, count_in_any_period)?;
        let fixed = let_in(&FixedWindow::new(quota()), &requests);
        stamps_show_no_more_than_their_lateness_allows(&fixed, count_in_each_window)?;
        let counter = let_in(&SlidingCounter::new(quota()), &requests);
        stamps_show_no_more_than_their_lateness_allows(&counter, count_in_each_window)?;
    }

    #[test]
    fn buckets_keep_their_bound_by_the_stamps(requests in requests()) {
        fn keeps(rule: &impl Rule, requests: &[Arrival]) -> Result<(), TestCaseError> {
            crate::laws::let_in_is_bounded(&let_in(rule, requests).0, |length_ns| u128::from(bucket(length_ns)))
        }
        keeps(&Gcra::cooldown(quota()), &requests)?;
        keeps(&TokenBucket::new(quota(), COUNT).unwrap(), &requests)?;
        keeps(&TokenBucket::leaky_meter(quota(), COUNT).unwrap(), &requests)?;
    }
}
