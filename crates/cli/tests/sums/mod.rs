//! What every report must add up to.

use serde_json::Value;

/// The sums that every report must have.
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
}
