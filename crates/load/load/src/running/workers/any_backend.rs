//! Erases the type of a target, so that only its workers are compiled once for each type of target.

use super::shared::RunShared;
use super::worker::Worker;
use crate::load::backend::Backend;
use crate::load::target::{Done, Failure, Slot};
use crate::running::measuring::recorder::Recorder;
use nanopace_async::AsyncPacer;
use std::pin::Pin;
use std::sync::Arc;

/// A future of any type. No call of a load allocates one.
type Boxed<'a, R> = Pin<Box<dyn Future<Output = R> + Send + 'a>>;

pub(crate) trait AnyBackend: Backend {
    fn set_up_boxed(&self) -> Boxed<'_, Result<(), Failure>>;

    fn tear_down_boxed(&self) -> Boxed<'_, Result<(), Failure>>;

    fn probe_boxed(&self) -> Boxed<'_, Result<(), Failure>>;

    fn call_alone(&self) -> Boxed<'_, Result<Done, Failure>>;

    fn worker(
        self: Arc<Self>,
        shared: &Arc<RunShared>,
        recorder: &Arc<Recorder>,
        line: &AsyncPacer,
        index: usize,
    ) -> Box<dyn Work>;
}

pub(crate) trait Work: Send {
    fn prepare(&mut self) -> Boxed<'_, ()>;

    fn work(self: Box<Self>) -> Boxed<'static, ()>;
}

impl<T: Backend> AnyBackend for T {
    fn set_up_boxed(&self) -> Boxed<'_, Result<(), Failure>> {
        Box::pin(self.set_up())
    }

    fn tear_down_boxed(&self) -> Boxed<'_, Result<(), Failure>> {
        Box::pin(self.close(None))
    }

    fn probe_boxed(&self) -> Boxed<'_, Result<(), Failure>> {
        Box::pin(self.probe())
    }

    fn call_alone(&self) -> Boxed<'_, Result<Done, Failure>> {
        Box::pin(async {
            let mut session = self.connect(0).await?;
            self.call(&mut session, Slot::ALONE).await
        })
    }

    fn worker(
        self: Arc<Self>,
        shared: &Arc<RunShared>,
        recorder: &Arc<Recorder>,
        line: &AsyncPacer,
        index: usize,
    ) -> Box<dyn Work> {
        Box::new(Worker::new(self, shared, recorder, line, index))
    }
}

impl<T: Backend> Work for Worker<T> {
    fn prepare(&mut self) -> Boxed<'_, ()> {
        Box::pin(Worker::prepare(self))
    }

    fn work(mut self: Box<Self>) -> Boxed<'static, ()> {
        Box::pin(async move {
            Worker::work(&mut self).await;
            self.close().await;
        })
    }
}
