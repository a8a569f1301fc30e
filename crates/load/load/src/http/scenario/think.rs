//! Waits for think times as accurately as slots start. Tokio's timers are accurate only to 1 ms.

use nanopace::{Nanos, Pacer};
use nanopace_async::timer::{Alarms, best};
use std::cell::OnceCell;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;
use tokio::time::sleep;

thread_local! {
    /// The alarms for the sessions on this thread, or `None` if the system cannot create another timer.
    static ALARMS: OnceCell<Option<Alarms>> = const { OnceCell::new() };
}

/// Waits until the time `moment` of `clock`. Never returns before that time.
pub(super) async fn until(moment: Nanos, clock: Pacer) {
    let alarms = ALARMS.with(|alarms| alarms.get_or_init(|| best().ok().map(Alarms::new)).clone());
    let Some(alarms) = alarms else { return sleep(moment - clock.now()).await };
    let mut alarm = alarms.alarm();
    poll_fn(|cx| match moment - clock.now() {
        Duration::ZERO => Poll::Ready(()),
        left => {
            alarm.set(left, cx.waker());
            Poll::Pending
        }
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace::{ManualClock, Rate};
    use tokio::task::yield_now;

    #[tokio::test]
    async fn a_think_time_ends_at_its_moment() {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(1).unwrap()).clock(clock.clone()).build();
        let moment = Nanos::ZERO + Duration::from_micros(100);
        let moves = async {
            for _ in 0..100 {
                yield_now().await;
                clock.advance(Duration::from_micros(1));
            }
        };
        let waits = async {
            until(moment, pacer.clone()).await;
            pacer.now()
        };
        let (at, ()) = tokio::join!(waits, moves);
        assert_eq!(at, moment);
    }
}
