//! Measures how long a call blocks its thread: the longest time between two points at which the call yields.

use nanopace::Pacer;
use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

pub(super) async fn watched<F: Future>(
    call: F,
    pacer: &Pacer,
    longest: &mut Duration,
) -> F::Output {
    let mut call = pin!(call);
    poll_fn(|cx| {
        let begin = pacer.now();
        let polled = call.as_mut().poll(cx);
        *longest = (pacer.now() - begin).max(*longest);
        polled
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace::{ManualClock, Rate};
    use tokio::task::yield_now;

    #[tokio::test]
    async fn a_call_that_awaits_does_not_hold_its_thread() {
        let clock = ManualClock::new();
        let pacer = Pacer::builder(Rate::per_second(1).unwrap()).clock(clock.clone()).build();
        let ms = Duration::from_millis;
        let call = async {
            clock.advance(ms(2));
            yield_now().await;
            clock.advance(ms(3));
            clock.advance(ms(4));
            yield_now().await;
            clock.advance(ms(5));
            "done"
        };
        let mut longest = Duration::ZERO;
        assert_eq!(watched(call, &pacer, &mut longest).await, "done");
        assert_eq!((pacer.now().as_nanos(), longest), (14_000_000, ms(7)));
    }
}
