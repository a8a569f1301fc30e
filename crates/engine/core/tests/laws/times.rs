//! Tests the wait, service and response times of operations, which are computed from their grants.

use crate::common::{MILLI, at, paced, span};

#[test]
fn wait_service_and_response_times_add_up() {
    let (clock, pacer) = paced("10/s");
    // The start and the end of each operation, and its wait, service and response time, in milliseconds.
    for (starts, ends, times) in [
        (0, 30, [0, 30, 30]),
        (104, 110, [4, 6, 10]),
        (206, 450, [6, 244, 250]),
        (450, 451, [150, 1, 151]),
    ] {
        clock.set(at(starts * MILLI));
        let grant = pacer.try_acquire().expect("due");
        let end = at(ends * MILLI);
        let told = [grant.wait_time(), grant.service_time(end), grant.response_time(end)];
        assert_eq!(told, times.map(|millis| span(millis * MILLI)));
    }
}
