//! Compares the report about a stalling target with the response times that follow from the schedule.

use serde_json::Value;
use std::ops::Range;
use std::time::Duration;

/// The length of the run, the length of the stall, and the start of the stall, in milliseconds.
const END: u64 = 2_400;
const STALL: u64 = 1_000;
const START: u64 = 600;
const RATE: u64 = 1_000;

fn results(connections: u32, duration: u64) -> Value {
    let line = format!(
        "run --rate {RATE} -c {connections} --duration {duration}ms --timeout 1min \
         --target-stall {STALL}ms@{START}ms"
    );
    crate::running::results(&line)
}

/// Returns the response times in milliseconds, sorted, of a target that responds at once except during the stall.
fn closed_form(end: u64) -> Vec<u64> {
    let answered =
        |due: u64| if (START..START + STALL).contains(&due) { START + STALL } else { due };
    let slots = (0..RATE * end / 1_000).map(|slot| slot * 1_000 / RATE);
    // A request without a response at the end counts with its age.
    let mut times: Vec<u64> = slots.map(|due| answered(due).min(end) - due).collect();
    times.sort_unstable();
    times
}

/// Returns the response time in milliseconds that `per_10_000` of 10 000 slots do not exceed.
fn expected(times: &[u64], per_10_000: usize) -> u64 {
    times[(times.len() * per_10_000).div_ceil(10_000) - 1]
}

#[test]
fn every_slot_of_a_stall_has_its_response_time() {
    for connections in [2, 1_100] {
        let results = results(connections, END);
        let times = closed_form(END);
        assert_eq!(results["due"], RATE * END / 1_000, "{connections}: {results}");
        assert_eq!(results["response_time_ns"]["count"], results["due"], "{results}");
        for (name, per_10_000) in [("p90", 9_000), ("p99", 9_900), ("max", 10_000)] {
            let reported = results["response_time_ns"][name].as_u64().unwrap() / 1_000_000;
            let expected = expected(&times, per_10_000);
            // On a busy machine, sending the backlog delays responses, so only lower bounds are checked.
            assert!(
                reported + 3 >= expected,
                "{connections}: {name} is {reported} ms, not {expected}: {results}"
            );
        }
        // If there is a connection for each slot of the stall, all slots start on time.
        if u64::from(connections) < RATE * STALL / 1_000 {
            assert_ne!(results["verdict"], "on-schedule", "{results}");
        }
    }
}

#[test]
fn a_run_that_ends_in_a_stall_does_not_hide_it() {
    // The lateness of a slot that never starts is its age. The two requests in flight end after the stall.
    let results = results(2, START + 700);
    let times = closed_form(START + 700);
    for (name, per_10_000) in [("p90", 9_000), ("p99", 9_900)] {
        let reported = results["response_time_ns"][name].as_u64().unwrap() / 1_000_000;
        let expected = expected(&times, per_10_000);
        assert!(reported + 3 >= expected, "{name} is {reported} ms, not {expected}: {results}");
    }
    assert!(results["unstarted"].as_u64().unwrap() >= 690, "{results}");
    // A busy machine may add lateness, but less than the stall causes, or the run warns about the machine.
    let by = |who: &str| results["lateness"][who].as_f64().unwrap();
    let is_scarce = results["warnings"] != Value::Array(Vec::new());
    assert!(by("target_seconds") > by("generator_seconds") || is_scarce, "{results}");
}

/// Returns the slots that are due in an interval: one per millisecond, excluding the end of the interval.
fn due(interval: &Value) -> Range<u64> {
    let slot = |name: &str| {
        let moment = Duration::from_secs_f64(interval[name].as_f64().unwrap());
        u64::try_from(moment.as_nanos().div_ceil(1_000_000_000 / u128::from(RATE))).unwrap()
    };
    slot("from_seconds")..slot("to_seconds")
}

#[test]
fn an_interval_counts_the_results_of_its_own_slots() {
    for end in [END, START + 700] {
        let results = results(2, end);
        for interval in results["rate_over_time"].as_array().unwrap() {
            let (due, own) = (due(interval), &interval["by_intended_start"]);
            assert_eq!(own["due"], due.end - due.start, "{interval}");
            // The slots of the stall get their responses after it, or never start.
            let latest = due.end.saturating_sub(1);
            if due.start >= START && latest < START + STALL && !due.is_empty() {
                let at_least = (START + STALL).min(end) - latest;
                let p50 = own["response_time_ns"]["p50"].as_u64().unwrap() / 1_000_000;
                assert!(p50 + 3 + p50 / 64 >= at_least, "{at_least}: {interval}");
            }
        }
        let sum = |name: &str| {
            let intervals = results["rate_over_time"].as_array().unwrap().iter();
            intervals.map(|of| of["by_intended_start"][name].as_u64().unwrap()).sum::<u64>()
        };
        for count in ["due", "completed", "failed", "unfinished", "unstarted"] {
            assert_eq!(sum(count), results[count].as_u64().unwrap(), "{count}");
        }
        assert_eq!(sum("response_times_at_least"), results["response_times_at_least"]);
    }
}
