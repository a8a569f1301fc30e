//! The load threads: a runtime of its own for each, and no work that moves between them.

use super::blocking;
use super::guarded::Guarded;
use super::processor;
use super::shared::RunShared;
use super::worker::Worker;
use crate::load::target::Target;
use crate::recorded::attention::BEAT;
use crate::running::message::Message;
use crate::running::recording::recorder::Recorder;
use anyhow::Context;
use core_affinity::CoreId;
use nanopace_async::AsyncPacer;
use std::convert::Infallible;
use std::io;
use std::panic;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};
use tokio::time;

/// How many connections a thread opens at the same time.
const AT_ONCE: usize = 64;

/// How often to look whether threads have ended.
pub(crate) const GLANCE: Duration = Duration::from_millis(10);

/// Threads that are at work, or ready for it.
#[derive(Debug)]
pub(crate) struct Threads(Vec<JoinHandle<anyhow::Result<()>>>);

/// `connections`, spread over `threads`.
pub(crate) fn spread(connections: usize, threads: usize) -> Vec<usize> {
    (0..threads).map(|i| (connections + i) / threads).collect()
}

impl Threads {
    /// Starts a thread for each number of `connections`, or one that looks after them all if calls block.
    /// Each sends [`Message::Ready`] when its connections are open.
    pub(crate) fn start<T: Target>(
        target: &Arc<T>,
        shared: &Arc<RunShared>,
        connections: &[usize],
        cores: &[CoreId],
        messages: &Sender<Message>,
    ) -> anyhow::Result<Threads> {
        if let Some(sessions) = Arc::clone(target).blocking() {
            let started = blocking::start(&sessions, shared, cores, messages);
            return Ok(Threads(vec![started.context("cannot start the load")?]));
        }
        let mut threads = Threads(Vec::new());
        let mut first = 0;
        for (index, &count) in connections.iter().enumerate() {
            let core = cores.iter().cycle().nth(index).copied();
            let (target, shared) = (Arc::clone(target), Arc::clone(shared));
            let load = Load { target, shared, index, first, count };
            let thread = load.start(core, messages.clone()).context("cannot start the load")?;
            threads.0.push(thread);
            first += count;
        }
        Ok(threads)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// How many have ended.
    pub(crate) fn ended(&self) -> usize {
        self.0.iter().filter(|thread| thread.is_finished()).count()
    }

    /// How many are stuck in a call, of those with these recorders.
    pub(crate) fn stuck(&self, recorders: &[Arc<Recorder>]) -> usize {
        let all = self.0.iter().zip(recorders);
        all.filter(|(thread, recorder)| !thread.is_finished() && recorder.is_stuck()).count()
    }

    /// What came of them. Those that have not ended are left behind. A thread's panic continues here.
    pub(crate) fn join(self) -> anyhow::Result<()> {
        self.0.into_iter().filter(JoinHandle::is_finished).try_for_each(|thread| {
            thread.join().unwrap_or_else(|payload| panic::resume_unwind(payload))
        })
    }
}

/// What one thread does.
struct Load<T> {
    target: Arc<T>,
    shared: Arc<RunShared>,
    index: usize,
    /// The number of its first connection.
    first: usize,
    /// How many connections it has.
    count: usize,
}

impl<T: Target> Load<T> {
    fn start(
        self,
        core: Option<CoreId>,
        messages: Sender<Message>,
    ) -> io::Result<JoinHandle<anyhow::Result<()>>> {
        let (sleeps, wakes) =
            [(); 2].map(|()| Arc::clone(&self.shared.recorders[self.index])).into();
        let runtime = Builder::new_current_thread()
            .enable_all()
            .on_thread_park(move || sleeps.sleeps(processor::of_this_thread))
            .on_thread_unpark(move || wakes.wakes(processor::of_this_thread))
            .build()?;
        thread::Builder::new().name(format!("load-{}", self.index)).spawn(move || {
            if let Some(core) = core {
                // If it cannot be pinned, the thread runs where the scheduler puts it. Its starts
                // may be less even, but they are not wrong.
                core_affinity::set_for_current(core);
            }
            self.run(&runtime, &messages)
        })
    }

    /// Sends requests until there are no more slots and all answers are there, or until they are
    /// given up. What is in flight then is dropped with the runtime, and counts as unfinished. A
    /// thread that is stuck in a call does not notice, and is left behind.
    fn run(self, runtime: &Runtime, messages: &Sender<Message>) -> anyhow::Result<()> {
        self.shared.threads.add_current();
        let mut give_up = self.shared.give_up.subscribe();
        let worked = runtime.block_on(async {
            tokio::select! {
                worked = self.work(messages) => worked,
                never = self.beat() => match never {},
                _ = give_up.wait_for(|given_up| *given_up) => Ok(()),
            }
        });
        self.shared.threads.end_current();
        worked
    }

    /// Wakes the thread, so that it is noticed if it can't be woken.
    async fn beat(&self) -> Infallible {
        loop {
            self.shared.recorders[self.index].beat(processor::of_this_thread());
            time::sleep(BEAT).await;
        }
    }

    async fn work(&self, messages: &Sender<Message>) -> anyhow::Result<()> {
        let line = AsyncPacer::new(self.shared.pacer.clone()).context("no timer for the load")?;
        let workers = self.prepare(&line).await;
        // The receiver is gone only when the run has ended.
        let _ = messages.send(Message::Ready);
        let mut tasks: JoinSet<()> = workers.into_iter().map(Worker::work).collect();
        while let Some(task) = tasks.join_next().await {
            or_panic(task);
        }
        self.shared.recorders[self.index].spun(line.spun());
        Ok(())
    }

    /// Makes the workers, and opens their connections.
    async fn prepare(&self, line: &AsyncPacer) -> Vec<Worker<T>> {
        let openings = Arc::new(Semaphore::new(AT_ONCE));
        let mut tasks = JoinSet::new();
        for index in self.first..self.first + self.count {
            let (mut worker, openings) = (self.worker(line, index), Arc::clone(&openings));
            tasks.spawn(async move {
                // It is never closed.
                let _turn = openings.acquire().await;
                worker.prepare().await;
                worker
            });
        }
        let mut workers = Vec::new();
        while let Some(worker) = tasks.join_next().await {
            workers.extend(or_panic(worker));
        }
        workers
    }

    fn worker(&self, line: &AsyncPacer, index: usize) -> Worker<T> {
        let shared = Arc::clone(&self.shared);
        Worker {
            recorder: Arc::clone(&shared.recorders[self.index]),
            target: Arc::clone(&self.target),
            guarded: Guarded::new(shared.timeout, self.target.keeps_to_timeout()),
            index,
            session: None,
            line: line.clone(),
            shared,
        }
    }
}

/// What a task returned, unless it was cancelled. Its panic continues here.
fn or_panic<T>(task: Result<T, JoinError>) -> Option<T> {
    task.map_err(|error| error.try_into_panic().map(panic::resume_unwind)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_has_a_thread() {
        for (connections, threads) in [(1, 1), (2, 2), (7, 3), (1_000, 7)] {
            let counts = spread(connections, threads);
            assert_eq!((counts.len(), counts.iter().sum()), (threads, connections));
            let (least, most) = (counts.iter().min(), counts.iter().max());
            assert!(most.unwrap() - least.unwrap() <= 1, "{counts:?}");
        }
    }
}
