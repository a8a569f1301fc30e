//! Implements the future that completes with one slot or one row of slots.

use crate::sync::HAD;
use crate::wait_queue::{Ticket, WaitQueue, Wish};
use nanopace::{Grant, Nanos, Refused};
use std::hint;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// The number of times in a row that a thread's tasks may try to start slots without waiting. After that, a task yields
/// to its runtime.
const IN_A_ROW: u32 = 64;

const HOLDS_IN_A_ROW: u32 = 4;

/// A task yields after this number of failed tries to start a slot that seemed due.
pub(crate) const TRIES: usize = 8;

/// The future that [`AsyncPacer::acquire`](crate::AsyncPacer::acquire) and its variants return.
///
/// If the future is polled again after it has completed, it returns the same result again.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Acquire<'q>(Waiting<&'q WaitQueue>);

#[derive(Debug)]
pub(crate) struct Waiting<Q: Deref<Target = WaitQueue>> {
    queue: Q,
    slots: u32,
    deadline: Nanos,
    ticket: Option<Ticket>,
    done: Option<Result<Grant, Refused>>,
}

impl<'q> Acquire<'q> {
    #[inline]
    pub(crate) fn new(queue: &'q WaitQueue, n: u32, deadline: Nanos) -> Acquire<'q> {
        Acquire(Waiting::new(queue, n, deadline))
    }
}

impl Future for Acquire<'_> {
    type Output = Result<Grant, Refused>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let n = self.0.slots;
        self.0.poll(context, |queue| queue.pacer.try_acquire_many(n))
    }
}

impl<Q: Deref<Target = WaitQueue>> Waiting<Q> {
    #[inline]
    pub(crate) fn new(queue: Q, slots: u32, deadline: Nanos) -> Waiting<Q> {
        Waiting { queue, slots, deadline, ticket: None, done: None }
    }

    #[inline]
    pub(crate) fn poll(
        &mut self,
        context: &mut Context<'_>,
        mut take: impl FnMut(&WaitQueue) -> Result<Grant, Refused>,
    ) -> Poll<Result<Grant, Refused>> {
        if self.done.is_some() || has_had_enough() {
            return self.pass(context)?.map(Ok);
        }
        match take(&self.queue) {
            Ok(grant) => {
                self.finish(Ok(grant));
                // Builds the result a second time, because a copy of the stored result would cost more than the rest of
                // this method.
                Poll::Ready(Ok(grant))
            }
            Err(refused) => self.wait(refused, context, take)?.map(Ok),
        }
    }

    #[cold]
    fn pass(&self, context: &Context<'_>) -> Poll<Result<Grant, Refused>> {
        if self.done.is_none() {
            context.waker().wake_by_ref();
        }
        self.done.map_or(Poll::Pending, Poll::Ready)
    }

    #[cold]
    fn wait(
        &mut self,
        refused: Refused,
        context: &mut Context<'_>,
        take: impl FnMut(&WaitQueue) -> Result<Grant, Refused>,
    ) -> Poll<Result<Grant, Refused>> {
        self.wait_in_queue(refused, context, take);
        self.done.map_or(Poll::Pending, Poll::Ready)
    }

    fn wait_in_queue(
        &mut self,
        mut refused: Refused,
        context: &mut Context<'_>,
        mut take: impl FnMut(&WaitQueue) -> Result<Grant, Refused>,
    ) {
        for _ in 0..TRIES {
            if self.is_final(refused) {
                return self.finish(Err(refused));
            }
            let wish = Wish { slots: self.slots, deadline: self.deadline };
            let Some(hold) = self.queue.enqueue(&mut self.ticket, wish, context.waker()) else {
                HAD.with(|had| had.set(0));
                return;
            };
            spin(hold);
            match take(&self.queue) {
                Ok(grant) => return self.finish(Ok(grant)),
                Err(again) => refused = again,
            }
        }
        context.waker().wake_by_ref();
    }

    fn is_final(&self, refused: Refused) -> bool {
        match refused {
            Refused::NotUntil(due) => due > self.deadline,
            Refused::Paused => self.queue.pacer.now() >= self.deadline,
            _ => true,
        }
    }

    #[inline]
    fn finish(&mut self, done: Result<Grant, Refused>) {
        if self.ticket.is_some() {
            let started = done.as_ref().ok().map(|grant| grant.actual_start());
            self.queue.leave(&mut self.ticket, started);
        }
        self.done = Some(done);
    }
}

impl<Q: Deref<Target = WaitQueue>> Drop for Waiting<Q> {
    #[inline]
    fn drop(&mut self) {
        if self.ticket.is_some() {
            self.queue.leave(&mut self.ticket, None);
        }
    }
}

#[inline]
pub(crate) fn has_had_enough() -> bool {
    HAD.with(|count| {
        let had = count.get();
        count.set(if had == IN_A_ROW { 0 } else { had + 1 });
        had == IN_A_ROW
    })
}

pub(crate) fn spin(hold: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < hold {
        hint::spin_loop();
    }
    if !hold.is_zero() {
        HAD.with(|had| had.set((had.get() + IN_A_ROW / HOLDS_IN_A_ROW).min(IN_A_ROW)));
    }
}
