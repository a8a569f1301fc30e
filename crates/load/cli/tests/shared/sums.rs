//! Checks the sums that hold in every report.

use serde_json::Value;

pub(crate) fn assert_adds_up(results: &Value) {
    let count = |name: &str| results[name].as_u64().unwrap_or_else(|| panic!("{name}: {results}"));
    assert_eq!(count("due"), count("started") + count("skipped") + count("unstarted"), "{results}");
    assert_eq!(
        count("started"),
        count("completed") + count("failed") + count("unfinished"),
        "{results}"
    );
    assert_eq!(results["wait_time_ns"]["count"], results["started"], "{results}");
    assert_eq!(results["service_time_ns"]["count"], results["completed"], "{results}");
    assert_eq!(results["response_time_ns"]["count"], results["due"], "{results}");
    assert_eq!(count("response_times_at_least"), count("due") - count("completed"), "{results}");
    assert_known(results);
    let number = |name: &str| results[name].as_f64().unwrap();
    assert_near(in_intervals(results, "target_rate"), asked(results), results);
    assert_near(in_intervals(results, "achieved_rate"), number("started"), results);
}

/// Checks percentiles: all are null if there are no times, and otherwise every percentile has a value.
fn assert_known(value: &Value) {
    if let (Some(count), Some(fields)) = (value["count"].as_u64(), value.as_object()) {
        let mut times = fields.iter().filter(|(name, _)| !["count", "unknown"].contains(&&***name));
        assert!(times.all(|(_, time)| time.is_null() == (count == 0)), "{value}");
    }
    value.as_object().into_iter().flatten().for_each(|(_, value)| assert_known(value));
    value.as_array().into_iter().flatten().for_each(assert_known);
}

/// Returns the number of slots that the intervals must have requested, which is the whole load if its size is fixed.
fn asked(results: &Value) -> f64 {
    if let Some(loads) = results["loads"].as_object() {
        return loads.values().map(asked).sum();
    }
    let number = |name: &str| results[name].as_f64().unwrap();
    let settings = &results["settings"];
    let is_recorded = settings["arrivals"].as_str().is_some_and(|it| it.starts_with("replay:"));
    let is_counted = is_recorded || settings["requests"] == results["due"];
    let by_number = settings["requests"].as_f64().unwrap_or(f64::INFINITY);
    let by_time = by_number.min(number("target_rate") * number("duration_seconds"));
    if is_counted { number("due") } else { by_time }
}

fn assert_near(sum: f64, expected: f64, results: &Value) {
    assert!((sum - expected).abs() < 1e-6 * expected.max(1.0), "{sum} {expected} {results}");
}

fn in_intervals(results: &Value, rate: &str) -> f64 {
    let intervals = results["rate_over_time"].as_array().unwrap();
    let number = |interval: &Value, name: &str| interval[name].as_f64().unwrap();
    let length = |of: &Value| number(of, "to_seconds") - number(of, "from_seconds");
    intervals.iter().map(|interval| number(interval, rate) * length(interval)).sum()
}
