//! Implements the timeout of consecutive requests, at little cost per request.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::coop::has_budget_remaining;
use tokio::time::{Instant, Sleep, sleep_until};

/// If a check comes more than this time after the deadline, the deadline is extended once, to this time after the
/// check.
const LATE: Duration = Duration::from_millis(10);

/// The deadline of the current request. The runtime's timer is reset only when it fires, which is about once per
/// timeout and not for each request. Before the timer fires, it is polled only if it has not stored the task's current
/// waker.
#[derive(Debug)]
pub(crate) struct Deadline {
    at: Instant,
    is_put_off: bool,
    timer: Pin<Box<Sleep>>,
    waker: Option<Waker>,
}

impl Deadline {
    /// Creates a deadline. Panics outside of a tokio runtime.
    pub(crate) fn new(timeout: Duration) -> Deadline {
        let at = after(timeout);
        Deadline { at, is_put_off: false, timer: Box::pin(sleep_until(at)), waker: None }
    }

    pub(crate) fn set(&mut self, timeout: Duration) {
        self.at = after(timeout);
        self.is_put_off = false;
    }

    pub(crate) fn poll_passed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // The timer never fires for a task that has used up its coop budget. A server that never stops sending uses up
        // each budget.
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
        // If the budget is used up, the timer has not stored the waker.
        self.waker = has_budget_remaining().then(|| cx.waker().clone());
        Poll::Pending
    }

    /// Extends the deadline if the check is late, because the thread may not have checked for a response that arrived
    /// in time. Returns whether the deadline was extended.
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
    // If the sum overflows, the deadline is about 32 years from now.
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
            tokio::time::sleep(second / 2).await;
            deadline.set(second);
        }
        poll_fn(|cx| deadline.poll_passed(cx)).await;
        let passed = begin.elapsed();
        assert!((second * 5 / 2..second * 13 / 5).contains(&passed), "{passed:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_timer_that_fires_before_the_first_poll_is_noticed() {
        let second = Duration::from_secs(1);
        let mut deadline = Deadline::new(second);
        // The timer knows the task, as after an earlier request.
        poll_fn(|cx| Poll::Ready(deadline.poll_passed(cx).is_ready())).await;
        tokio::time::sleep(second / 2).await;
        let begin = Instant::now();
        deadline.set(second);
        // The request waits for a connection, until after the timer has fired.
        tokio::time::sleep(second * 3 / 4).await;
        let passed = tokio::time::timeout(second * 9, poll_fn(|cx| deadline.poll_passed(cx))).await;
        let passed = passed.map(|()| begin.elapsed());
        assert!(passed.as_ref().is_ok_and(|passed| *passed < second * 11 / 10), "{passed:?}");
    }
}
