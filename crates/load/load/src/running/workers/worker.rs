//! Implements workers: tasks that take a slot, make a call and record it, until there are no more slots.

use super::backoff;
use super::connection_slots::ConnectionSlots;
use super::guarded::Guarded;
use super::held::watched;
use super::shared::RunShared;
use super::span::Admission;
use crate::load::backend::Backend;
use crate::load::details::{Details, SetUp};
use crate::load::kind::FailureKind;
use crate::load::target::{Done, Failure, Slot};
use crate::results::operation::Answer;
use crate::running::measuring::connections::ALL;
use crate::running::measuring::recorder::Recorder;
use nanopace::{Grant, Nanos, Refused};
use nanopace_async::AsyncPacer;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct Worker<T: Backend> {
    target: Arc<T>,
    shared: Arc<RunShared>,
    recorder: Arc<Recorder>,
    line: AsyncPacer,
    index: usize,
    session: Option<T::Session>,
    guarded: Guarded,
}

impl<T: Backend> Worker<T> {
    pub(crate) fn new(
        target: Arc<T>,
        shared: &Arc<RunShared>,
        recorder: &Arc<Recorder>,
        line: &AsyncPacer,
        index: usize,
    ) -> Worker<T> {
        Worker {
            guarded: Guarded::new(shared.timeout, target.keeps_to_timeout()),
            target,
            shared: Arc::clone(shared),
            recorder: Arc::clone(recorder),
            line: line.clone(),
            index,
            session: None,
        }
    }

    /// Opens the session before the load. If this attempt fails, the session is opened for the first call.
    pub(crate) async fn prepare(&mut self) {
        for set_up in self.open().await.unwrap_or_default() {
            self.recorder.set_up(set_up);
        }
    }

    /// Makes calls until there are no more slots. A worker takes one slot at a time, so that a worker with a call in
    /// flight withholds no slots from other workers.
    pub(super) async fn work(&mut self) {
        let (shared, recorder) = (Arc::clone(&self.shared), Arc::clone(&self.recorder));
        let own = shared.connection_slots.as_ref().map(|slots| (slots, self.index));
        let ideal = own.map_or(ALL, |_| recorder.split_connection());
        let span = shared.span.wait().await;
        let mut clock = None;
        while let Ok((grant, now)) = next_slot(&self.line, own, clock).await {
            let intended_start = span.intended_start(grant, now);
            let slot = (grant.slot(), intended_start);
            let is_recorded = match span.admit(slot, now) {
                Admission::Recorded => true,
                Admission::WarmUp => false,
                Admission::Unstarted => {
                    return recorder.unstarted(&[(intended_start, 1)], span.end());
                }
                Admission::Over => return,
            };
            let flight = recorder.start_at(now, slot, is_recorded, ideal);
            let (start, place) = (flight.started(), flight.place());
            let number = shared.source(slot.0);
            let call = Slot { number, intended_start, start, is_recorded, place };
            let answer = self.call(call).await;
            clock = Some(flight.end(answer));
            if !answer.is_connected {
                backoff::wait(&shared, span, now).await;
                clock = None;
            }
        }
        span.end_if_over();
    }

    pub(crate) async fn close(mut self) {
        if let Some(session) = self.session.take() {
            // A failure to close the session is ignored, because it belongs to no operation.
            let _ = self.guarded.run(|| self.target.close(Some(session))).await;
        }
    }

    async fn call(&mut self, slot: Slot) -> Answer {
        let (mut sent, mut set_up) = (slot.start, None);
        if self.session.is_none() {
            // The future is boxed, so that it does not enlarge the future of each call, which is moved as a whole.
            let opened = Box::pin(self.open()).await;
            sent = self.shared.pacer.now();
            match opened {
                Ok(set_ups) => set_up = set_ups.into_iter().next(),
                Err(failure) => return answer(sent, None, Err(failure.unconnected())),
            }
        }
        let Some(session) = &mut self.session else {
            return answer(sent, None, Err(Failure::of(FailureKind::new("no session"))));
        };
        let (pacer, mut held) = (&self.shared.pacer, Duration::ZERO);
        let target = &self.target;
        let called = if target.keeps_to_timeout() {
            target.call(session, slot).await
        } else {
            self.guarded.run(|| watched(target.call(session, slot), pacer, &mut held)).await
        };
        if called.is_err_and(|failure| failure.is_broken) {
            self.session = None;
        }
        Answer { held, ..answer(sent, set_up, called) }
    }

    async fn open(&mut self) -> Result<Vec<SetUp>, Failure> {
        let begin = self.shared.pacer.now();
        let opened = self.guarded.run(|| self.target.connect(self.index)).await;
        let mut session = opened?;
        let set_ups = self
            .target
            .set_ups(&mut session)
            .unwrap_or_else(|| vec![SetUp { connect: self.shared.pacer.now() - begin, tls: None }]);
        self.session = Some(session);
        Ok(set_ups)
    }
}

pub(super) fn answer(sent: Nanos, set_up: Option<SetUp>, called: Result<Done, Failure>) -> Answer {
    let answer = Answer::new(sent, called);
    let details = Details { set_up: answer.details.set_up.or(set_up), ..answer.details };
    Answer { details, ..answer }
}

/// Returns the next slot of the load, or of the worker's own connection, and the time. If slots belong to connections, `own` contains the slots of all connections,
/// and the number of the worker's connection. If there was no wait for the slot, the returned time may be `clock`,
/// which was read just before.
async fn next_slot(
    line: &AsyncPacer,
    own: Option<(&ConnectionSlots, usize)>,
    mut clock: Option<Nanos>,
) -> Result<(Grant, Nanos), Refused> {
    let grant = if let Some((slots, connection)) = own {
        clock = None;
        line.await_claim(slots.claim(connection, line.pacer())?).await?
    } else {
        let mut acquired = pin!(line.acquire());
        let acquired = poll_fn(|cx| {
            let polled = acquired.as_mut().poll(cx);
            clock = clock.filter(|_| polled.is_ready());
            polled
        });
        acquired.await?
    };
    let now = clock.unwrap_or_else(|| line.pacer().now());
    Ok((grant, now.max(grant.actual_start())))
}
