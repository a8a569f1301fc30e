//! Whether the machine let a run do its work.

use serde_json::Value;

/// Whether the load threads had less than half of the processor time that they wanted. Then the
/// verdict is that the generator was behind, whatever the target did.
pub(crate) fn lacked_processor(results: &Value) -> bool {
    let times = &results["processor"];
    let [had, wanted] = ["had_ns", "wanted_ns"].map(|name| times[name].as_f64().unwrap_or(0.0));
    // What is less than a tenth of the time does not count.
    wanted >= results["duration_seconds"].as_f64().unwrap() * 1e8 && had * 2.0 < wanted
}
