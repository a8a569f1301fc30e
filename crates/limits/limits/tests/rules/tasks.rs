//! Tasks that wait, in virtual time: each of them is polled at every step of a clock.

use nanopace_limits::{AsyncLimiter, CostsRejected, Limiter, Wait, WaitError};
use nanopace_nanos::ManualClock;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

type Waiting<'l> = Pin<Box<dyn Future<Output = Waited> + 'l>>;
type Waited = Result<Duration, WaitError<CostsRejected>>;

fn limiter(limits: &str) -> (ManualClock, AsyncLimiter) {
    let clock = ManualClock::new();
    let limiter = Limiter::with_clock(limits.parse().unwrap(), clock.clone());
    (clock, AsyncLimiter::new(limiter).unwrap())
}

fn poll(waiting: &mut Waiting<'_>) -> Option<Waited> {
    match waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(waited) => Some(waited),
        Poll::Pending => None,
    }
}

/// A thousand times, a request comes in between that does not wait.
fn gets_in_beside(cost: u64, every: Duration) -> bool {
    let (clock, limiter) = limiter("100/s burst 10");
    limiter.limiter().try_acquire_costs(10).unwrap();
    let mut waiting: Waiting<'_> = Box::pin(limiter.wait(Wait::new(cost)));
    (0..1_000).any(|_| {
        let _ = limiter.limiter().try_acquire();
        clock.advance(every);
        let _ = limiter.limiter().try_acquire();
        poll(&mut waiting).is_some()
    })
}

#[test]
fn who_waits_has_a_place() {
    assert!(gets_in_beside(5, Duration::from_millis(5)), "200 checks a second");
    assert!(gets_in_beside(1, Duration::from_micros(100)), "checks that spin");
}

#[test]
fn a_hopeless_timeout_behind_others_is_told_at_once() {
    let (_clock, limiter) = limiter("10/s burst 1");
    limiter.limiter().try_acquire().unwrap();
    let mut others: Vec<Waiting<'_>> =
        (0..5).map(|_| -> Waiting { Box::pin(limiter.until_ready()) }).collect();
    assert!(others.iter_mut().all(|other| poll(other).is_none()));
    let ms = Duration::from_millis;
    let mut hopeless: Waiting<'_> = Box::pin(limiter.wait(Wait::new(1).timeout(ms(599))));
    let too_late = WaitError::TooLate { retry: ms(600) };
    assert_eq!(poll(&mut hopeless), Some(Err(too_late)));
    let mut just_in_time: Waiting<'_> = Box::pin(limiter.wait(Wait::new(1).timeout(ms(600))));
    assert_eq!(poll(&mut just_in_time), None);
}

#[test]
fn a_future_dropped_while_its_jitter_passes_has_taken_nothing() {
    let (clock, limiter) = limiter("1/s");
    limiter.limiter().try_acquire().unwrap();
    let wait = Wait::new(1).jitter(Duration::from_secs(3_600));
    let mut waiting: Waiting<'_> = Box::pin(limiter.wait(wait));
    assert_eq!(poll(&mut waiting), None);
    clock.advance(Duration::from_secs(1));
    assert_eq!(poll(&mut waiting), None);
    assert!(limiter.limiter().try_acquire().is_err(), "it has taken one");
    drop(waiting);
    assert!(limiter.limiter().try_acquire().is_ok());
}
