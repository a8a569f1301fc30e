//! A worker: a task that takes a slot, sends a request and records it, until there are no more
//! slots.

use super::shared::RunShared;
use super::span::Admission;
use crate::run::client::session::Session;
use crate::run::recording::recorder::Recorder;
use nanopace::Nanos;
use nanopace_async::AsyncPacer;
use std::sync::Arc;

/// What a worker owns.
pub(crate) struct Worker {
    /// What all workers share.
    pub(crate) shared: Arc<RunShared>,
    /// The record of its thread.
    pub(crate) recorder: Arc<Recorder>,
    /// The line of its thread.
    pub(crate) line: AsyncPacer,
    /// Its connections.
    pub(crate) session: Session,
}

impl Worker {
    /// Opens the connections. If one cannot be opened now, the first request that needs it tries
    /// again.
    pub(crate) async fn prepare(&mut self) {
        for set_up in self.session.open_all().await {
            self.recorder.set_up(set_up);
        }
    }

    /// Works from the schedule's start until there are no more slots. A worker has a slot only
    /// while it sends the request for it: with a request in flight, it keeps none from the others.
    pub(crate) async fn work(mut self) {
        let shared = Arc::clone(&self.shared);
        let span = shared.span.wait().await;
        while let Ok(grant) = self.line.acquire().await {
            let intended_start = grant.intended_start();
            match span.admit(intended_start, shared.pacer.now()) {
                Admission::Recorded => self.request(intended_start, true).await,
                Admission::WarmUp => self.request(intended_start, false).await,
                Admission::Unstarted => {
                    return self.recorder.unstarted(&[(intended_start, 1)], span.end());
                }
                Admission::Over => return,
            }
        }
        span.end_if_over(shared.pacer.now());
    }

    async fn request(&mut self, intended_start: Nanos, is_recorded: bool) {
        let flight = self.recorder.start(intended_start, is_recorded);
        let answer = self.session.send(flight.started()).await;
        self.session.answered(flight.end(answer));
    }
}
