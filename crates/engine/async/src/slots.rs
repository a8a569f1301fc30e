//! Provides slots as a stream.

use crate::AsyncPacer;
use crate::acquire::Waiting;
use crate::wait_queue::WaitQueue;
use futures_core::Stream;
use futures_core::stream::FusedStream;
use nanopace::{Grant, Nanos};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The stream of grants that [`AsyncPacer::slots`] returns. Each item is the grant of the next free slot, which starts
/// when it is due, or at once if it is late.
///
/// ```
/// use futures_util::StreamExt;
/// use nanopace::{Pacer, Rate};
/// use nanopace_async::AsyncPacer;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pacer = AsyncPacer::new(Pacer::new(Rate::per_second(10_000)?))?;
/// let mut slots = pacer.slots().take(50);
/// while let Some(grant) = slots.next().await {
///     // ... the operation ...
///     let _wait_time = grant.wait_time();
/// }
/// assert_eq!(pacer.pacer().ledger().granted, 50);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct Slots {
    queue: Arc<WaitQueue>,
    next: Option<Waiting<Arc<WaitQueue>>>,
}

impl AsyncPacer {
    /// Returns a stream that starts the next free slot for each item. The stream ends when the pacer is closed, or when
    /// the schedule has no slot left.
    pub fn slots(&self) -> Slots {
        Slots::new(self.clone())
    }
}

impl Slots {
    pub(crate) fn new(pacer: AsyncPacer) -> Slots {
        Slots { next: Some(waiting(&pacer.0)), queue: pacer.0 }
    }
}

impl Stream for Slots {
    type Item = Grant;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Grant>> {
        let Some(next) = &mut self.next else { return Poll::Ready(None) };
        let grant = ready!(next.poll(context, |queue| queue.pacer.try_acquire())).ok();
        self.next = grant.map(|_| waiting(&self.queue));
        Poll::Ready(grant)
    }
}

fn waiting(queue: &Arc<WaitQueue>) -> Waiting<Arc<WaitQueue>> {
    Waiting::new(Arc::clone(queue), 1, Nanos::MAX)
}

impl FusedStream for Slots {
    fn is_terminated(&self) -> bool {
        self.next.is_none()
    }
}
