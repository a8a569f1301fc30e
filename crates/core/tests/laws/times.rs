//! What a grant tells of its operation.

use crate::common::{MILLI, SECOND, actual_ns, at, build, intended_ns, span};
use nanopace::ManualClock;

/// Wait time and service time make the response time, for each operation.
#[test]
fn each_time_is_what_it_is_called() {
    let clock = ManualClock::new();
    let pacer = build("10/s", &clock).build();
    // When each slot starts and ends, and its wait, service and response time, in milliseconds.
    for (starts, ends, times) in [
        (0, 30, [0, 30, 30]),
        (104, 110, [4, 6, 10]),
        (206, 450, [6, 244, 250]),
        (450, 451, [150, 1, 151]),
    ] {
        clock.set(at(starts * MILLI));
        let grant = pacer.try_acquire().expect("due");
        let end = at(ends * MILLI);
        let told = [grant.wait_time(), end - grant.actual_start(), grant.response_time(end)];
        assert_eq!(told, times.map(|millis| span(millis * MILLI)));
    }
}

/// A grant that waited in a queue is as late as its operation starts, and never earlier.
#[test]
fn a_grant_that_is_stamped_again_is_later() {
    let clock = ManualClock::new();
    let pacer = build("10/s", &clock).build();
    clock.advance(span(SECOND));
    let grant = pacer.acquire().expect("due");
    for (stamp, starts) in [(0, SECOND), (SECOND, SECOND), (3 * SECOND, 3 * SECOND)] {
        let again = grant.started_at(at(stamp));
        assert_eq!((intended_ns(again), actual_ns(again)), (intended_ns(grant), starts));
    }
}
