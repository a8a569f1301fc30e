//! Waiting in a closed loop after a session could not connect.
//!
//! A closed loop starts its next request at once. If connecting fails at once too, it would make nothing but failures,
//! as fast as the machine can. So a worker waits before it takes another slot, until 1 ms after the start of the first
//! call that failed so, twice as long after each one that follows, and at most 1 s. A load with a schedule starts its
//! slots when they are due.

use std::time::Duration;
use tokio::sync::SetOnce;
use tokio::time::timeout;

const FIRST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_secs(1);

/// Counts the failures of a session to connect since it last connected.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failed: u32,
}

impl Backoff {
    /// The time to wait after a call that took `took`: zero if the session connected.
    pub(super) fn after(&mut self, is_connected: bool, took: Duration) -> Duration {
        let doublings = self.failed;
        self.failed = if is_connected { 0 } else { doublings.saturating_add(1) };
        let apart = FIRST.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST);
        if is_connected { Duration::ZERO } else { apart.saturating_sub(took) }
    }
}

/// Waits for `time`, or until the schedule has ended.
pub(super) async fn wait(time: Duration, ended: &SetOnce<()>) {
    if !time.is_zero() {
        // Either is fine.
        let _ = timeout(time, ended.wait()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    #[test]
    fn waits_double_up_to_a_second_until_a_session_connects() {
        let (mut backoff, at_once) = (Backoff::default(), Duration::ZERO);
        assert_eq!(backoff.after(true, at_once), Duration::ZERO);
        for ms in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000, 1_000] {
            assert_eq!(backoff.after(false, at_once), Duration::from_millis(ms));
        }
        assert_eq!(backoff.after(true, at_once), Duration::ZERO);
        assert_eq!(backoff.after(false, at_once), FIRST);
        let mut long = Backoff { failed: u32::MAX };
        assert_eq!([(); 2].map(|()| long.after(false, at_once)), [LONGEST; 2]);
    }

    #[test]
    fn what_a_call_took_is_a_part_of_the_wait() {
        let mut backoff = Backoff { failed: 4 };
        let ms = Duration::from_millis;
        assert_eq!((backoff.after(false, ms(7)), backoff.after(false, ms(40))), (ms(9), ms(0)));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_after_the_end_of_the_schedule() {
        let (ended, begin) = (SetOnce::new(), Instant::now());
        wait(LONGEST, &ended).await;
        assert_eq!(begin.elapsed().as_secs(), 1);
        ended.set(()).unwrap();
        wait(LONGEST, &ended).await;
        assert_eq!(begin.elapsed().as_secs(), 1);
    }
}
