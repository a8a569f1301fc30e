//! The future of one slot.

use crate::line::{Line, Ticket};
use crate::sync::HAD;
use nanopace::{Grant, Nanos, Refused};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// After so many slots in a row that were due at once a task yields to its runtime.
const IN_A_ROW: u32 = 64;

/// A slot in the making; see [`AsyncPacer::acquire`](crate::AsyncPacer::acquire).
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Acquire {
    waiting: Waiting,
    n: u32,
}

/// A task's way through the line, whatever it takes there.
#[derive(Debug)]
pub(crate) struct Waiting {
    line: Arc<Line>,
    deadline: Nanos,
    ticket: Option<Ticket>,
}

impl Acquire {
    pub(crate) fn new(line: Arc<Line>, n: u32, deadline: Nanos) -> Acquire {
        Acquire { waiting: Waiting::new(line, deadline), n }
    }
}

impl Future for Acquire {
    type Output = Result<Grant, Refused>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let n = self.n;
        self.waiting.poll(context, |line| line.pacer.try_acquire_many(n))
    }
}

impl Waiting {
    pub(crate) fn new(line: Arc<Line>, deadline: Nanos) -> Waiting {
        Waiting { line, deadline, ticket: None }
    }

    /// Tries to take what is due, by `take`; stands in line if it is not.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        context: &mut Context<'_>,
        mut take: impl FnMut(&Line) -> Result<Grant, Refused>,
    ) -> Poll<Result<Grant, Refused>> {
        if self.ticket.is_none() && has_had_enough() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        match take(&self.line) {
            Ok(grant) => Poll::Ready(self.leave(Ok(grant))),
            Err(_) => self.wait(context, take),
        }
    }

    #[cold]
    fn wait(
        &mut self,
        context: &mut Context<'_>,
        mut take: impl FnMut(&Line) -> Result<Grant, Refused>,
    ) -> Poll<Result<Grant, Refused>> {
        HAD.with(|had| had.set(0));
        let leads = self.line.stand(&mut self.ticket, self.deadline, context.waker());
        // Once more: for the leader, because its watch reports only what comes from now on; for the
        // others, because what has been refused may have come from before they stood in line.
        let due = match take(&self.line) {
            Err(Refused::NotUntil(due)) => due,
            Err(Refused::Paused) => Nanos::MAX,
            done => return Poll::Ready(self.leave(done)),
        };
        let refused = if due == Nanos::MAX { Refused::Paused } else { Refused::NotUntil(due) };
        if self.line.pacer.now() >= self.deadline
            || (leads && due != Nanos::MAX && due > self.deadline)
        {
            return Poll::Ready(self.leave(Err(refused)));
        }
        // A task behind the leader has its deadline woken for by the leader.
        if leads || self.deadline != Nanos::MAX {
            self.line.sleep(due);
        }
        Poll::Pending
    }

    fn leave(&mut self, done: Result<Grant, Refused>) -> Result<Grant, Refused> {
        if self.ticket.is_some() {
            let started = done.as_ref().ok().map(|grant| grant.actual_start());
            self.line.leave(&mut self.ticket, started);
        }
        done
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.line.leave(&mut self.ticket, None);
    }
}

fn has_had_enough() -> bool {
    HAD.with(|count| {
        let had = count.get();
        count.set(if had == IN_A_ROW { 0 } else { had + 1 });
        had == IN_A_ROW
    })
}
