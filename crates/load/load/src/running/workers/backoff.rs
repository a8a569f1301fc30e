//! Waiting in a closed loop after a session could not connect.
//!
//! A closed loop starts its next request at once. If connecting fails at once too, it would make nothing but failures,
//! as fast as the machine can. So all sessions together make at most 10 000 such attempts per second. The wait does not
//! grow: the number of failures shows for how long there was no connection. A load with a schedule starts its slots
//! when they are due.

use super::shared::RunShared;
use super::span::RunSpan;
use nanopace::Nanos;
use std::time::Duration;
use tokio::time::timeout;

/// The time between two attempts, over all sessions.
const APART: Duration = Duration::from_micros(100);

/// Waits after a call that began at `began` and could not connect. The end of the schedule ends the wait.
pub(super) async fn wait(shared: &RunShared, span: &RunSpan, began: Nanos) {
    let apart = apart(span.length().is_closed, shared.sessions);
    let left = apart.saturating_sub(shared.pacer.now() - began);
    if left.is_zero() {
        return;
    }
    // Either is fine.
    let _ = timeout(left, shared.ended.wait()).await;
}

/// The time from the beginning of a session's call to that of its next one.
fn apart(is_closed: bool, sessions: u32) -> Duration {
    if is_closed { APART.saturating_mul(sessions) } else { Duration::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sessions_together_make_ten_thousand_attempts_per_second() {
        for sessions in [1, 2, 64, u32::MAX] {
            let second = apart(true, sessions) * 10_000 / sessions;
            assert_eq!(second, Duration::from_secs(1), "{sessions}");
        }
    }

    #[test]
    fn a_load_with_a_schedule_waits_for_nothing() {
        assert_eq!(apart(false, 64), Duration::ZERO);
    }
}
