//! Delays the next call of a closed loop after a session could not connect.
//!
//! Without a delay, a closed loop that fails to connect would produce failures as fast as the machine allows.
//! Therefore all sessions together make at most 10 000 attempts per second after failed ones. The delay does not grow,
//! so the number of failures shows how long the target was unreachable. A load with a schedule is not delayed.

use super::shared::RunShared;
use super::span::RunSpan;
use nanopace::Nanos;
use std::time::Duration;
use tokio::time::timeout;

/// The minimum time per failed attempt, averaged over all sessions.
const APART: Duration = Duration::from_micros(100);

pub(super) async fn wait(shared: &RunShared, span: &RunSpan, began: Nanos) {
    let apart = apart(span.length().is_closed, shared.sessions);
    let left = apart.saturating_sub(shared.pacer.now() - began);
    if left.is_zero() {
        return;
    }
    // The wait ends with the timeout or with the run, so its result does not matter.
    let _ = timeout(left, shared.ended.wait()).await;
}

/// Returns the minimum time from the beginning of a session's failed call to the beginning of its next call.
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
