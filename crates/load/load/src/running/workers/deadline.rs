//! The timeout of requests that follow each other, at next to no cost for each.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::coop::has_budget_remaining;
use tokio::time::{Instant, Sleep, sleep_until};

/// A thread that notices the end of a timeout later than this could not look for the answer. It gets as
/// long again for that.
const LATE: Duration = Duration::from_millis(10);

/// The moment at which the current request is given up.
///
/// The runtime's timer is moved only when it rings, which is once in a timeout, and not for each request. Until then it
/// is polled only by a task that it does not know yet.
#[derive(Debug)]
pub(crate) struct Deadline {
    at: Instant,
    /// Whether it was noticed late already, and put off.
    is_put_off: bool,
    timer: Pin<Box<Sleep>>,
    /// The task that the timer wakes.
    waker: Option<Waker>,
}

impl Deadline {
    /// A deadline that is `timeout` away. To be made inside a runtime.
    pub(crate) fn new(timeout: Duration) -> Deadline {
        let at = after(timeout);
        Deadline { at, is_put_off: false, timer: Box::pin(sleep_until(at)), waker: None }
    }

    /// A request starts, and has `timeout`.
    pub(crate) fn set(&mut self, timeout: Duration) {
        self.at = after(timeout);
        self.is_put_off = false;
    }

    /// Ready when the current request is to be given up.
    pub(crate) fn poll_passed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // The timer never fires for a task whose budget is used up, and a server that never stops sending uses up each
        // budget.
        if !has_budget_remaining() && Instant::now() >= self.at && !self.put_off() {
            return Poll::Ready(());
        }
        let is_known = self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        if is_known && !self.timer.is_elapsed() {
            return Poll::Pending;
        }
        while self.timer.as_mut().poll(cx).is_ready() {
            if self.timer.deadline() >= self.at && !self.put_off() {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(self.at);
        }
        // With an empty budget, the timer was not reached.
        self.waker = has_budget_remaining().then(|| cx.waker().clone());
        Poll::Pending
    }

    /// Once for each request, if its thread was stopped or had no CPU time when it passed: the response may have been
    /// there in time.
    fn put_off(&mut self) -> bool {
        let now = Instant::now();
        let is_first = !self.is_put_off && now.saturating_duration_since(self.at) > LATE;
        if is_first {
            (self.at, self.is_put_off) = (now + LATE, true);
        }
        is_first
    }
}

fn after(timeout: Duration) -> Instant {
    let now = Instant::now();
    // As far away as a timer can be set: 30 years.
    now.checked_add(timeout).unwrap_or_else(|| now + Duration::from_secs(1_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    #[tokio::test(start_paused = true)]
    async fn a_thread_that_could_not_poll_in_time_polls_once_more() {
        let second = Duration::from_secs(1);
        let mut deadline = Deadline::new(second);
        for _ in 0..2 {
            deadline.set(second);
            tokio::time::advance(second * 2).await;
            let begin = Instant::now();
            let passed = poll_fn(|cx| Poll::Ready(deadline.poll_passed(cx).is_ready())).await;
            assert!(!passed);
            poll_fn(|cx| deadline.poll_passed(cx)).await;
            assert!(begin.elapsed() < LATE * 2, "{:?}", begin.elapsed());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_current_request_is_given_up() {
        let second = Duration::from_secs(1);
        let begin = Instant::now();
        let mut deadline = Deadline::new(second);
        for _ in 0..3 {
            // Answered in time.
            tokio::time::sleep(second / 2).await;
            deadline.set(second);
        }
        poll_fn(|cx| deadline.poll_passed(cx)).await;
        let passed = begin.elapsed();
        assert!((second * 5 / 2..second * 13 / 5).contains(&passed), "{passed:?}");
    }
}
