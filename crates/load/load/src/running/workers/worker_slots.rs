//! Defines the slots that a worker starts: the next one that is due, or only those of its own connection.

use super::shared::RunShared;
use crate::results::lateness::IdealConnections;
use crate::running::measuring::recorder::Recorder;
use nanopace::{Grant, Nanos, Refused};
use nanopace_async::AsyncPacer;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;

pub(super) trait WorkerSlots: Send {
    /// Takes the next slot. Returns the slot and the current time. If there was no wait for the slot, the returned time
    /// may be `clock`, which was read just before.
    fn next(
        &mut self,
        line: &AsyncPacer,
        clock: Option<Nanos>,
    ) -> impl Future<Output = Result<(Grant, Nanos), Refused>> + Send;

    /// Exchanges the thread's simulated connections with those of the worker, if the worker's slots can use only one
    /// connection. Called before and after a call is recorded.
    fn swap_ideal(&mut self, _recorder: &Recorder) {}
}

/// The slots of a load whose workers each start the next slot that is due.
#[derive(Debug)]
pub(super) struct AnySlot;

impl WorkerSlots for AnySlot {
    #[inline]
    fn next(
        &mut self,
        line: &AsyncPacer,
        clock: Option<Nanos>,
    ) -> impl Future<Output = Result<(Grant, Nanos), Refused>> + Send {
        acquire(line, clock)
    }
}

async fn acquire(line: &AsyncPacer, mut clock: Option<Nanos>) -> Result<(Grant, Nanos), Refused> {
    let mut acquired = pin!(line.acquire());
    let acquired = poll_fn(|cx| {
        let polled = acquired.as_mut().poll(cx);
        clock = clock.filter(|_| polled.is_ready());
        polled
    });
    let grant = acquired.await?;
    let now = clock.unwrap_or_else(|| line.pacer().now());
    Ok((grant, now.max(grant.actual_start())))
}

#[derive(Debug)]
pub(super) struct OwnSlots {
    shared: Arc<RunShared>,
    index: usize,
    /// The simulated connections of these slots: one to the target, and one to a target that responds at once.
    ideal: [IdealConnections; 2],
}

impl OwnSlots {
    /// Returns the slots of the connection with this index, whose thread has this recorder. Returns `None` if slots do
    /// not belong to connections.
    pub(super) fn new(
        shared: &Arc<RunShared>,
        recorder: &Recorder,
        index: usize,
    ) -> Option<OwnSlots> {
        shared.turns.as_ref()?;
        Some(OwnSlots { shared: Arc::clone(shared), index, ideal: recorder.split_ideal() })
    }
}

impl WorkerSlots for OwnSlots {
    async fn next(
        &mut self,
        line: &AsyncPacer,
        _clock: Option<Nanos>,
    ) -> Result<(Grant, Nanos), Refused> {
        let turns = self.shared.turns.as_ref().ok_or(Refused::Closed)?;
        let claim = turns.claim(self.index, line.pacer())?;
        let grant = line.await_claim(claim).await?;
        Ok((grant, line.pacer().now().max(grant.actual_start())))
    }

    fn swap_ideal(&mut self, recorder: &Recorder) {
        recorder.swap_ideal(&mut self.ideal);
    }
}
