//! Starts and monitors the load threads. Each thread has a runtime of its own, and tasks do not move between threads.

use super::any_backend::{AnyBackend, Work};
use super::blocking;
use super::cores::{self, Core};
use super::shared::RunShared;
use super::thread_cpu;
use crate::results::last_poll::BEAT;
use crate::running::measuring::recorder::Recorder;
use anyhow::Context;
use nanopace_async::AsyncPacer;
use std::convert::Infallible;
use std::io;
use std::panic;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};
use tokio::time;

/// The maximum number of connections that a thread opens at the same time.
const AT_ONCE: usize = 64;

/// With fewer sessions than this, threads sleep most of the time.
const FEW: usize = 8;

/// The interval between two checks of whether threads have ended.
pub(crate) const GLANCE: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(crate) struct Threads(Vec<Thread>);

#[derive(Debug)]
struct Thread {
    handle: JoinHandle<anyhow::Result<()>>,
    /// `None` for the thread that monitors the other threads, because it makes no calls.
    recorder: Option<Arc<Recorder>>,
}

/// Returns the number of sessions of each thread. By default, there is one thread per core, or per two cores if the
/// target also runs on this machine, but no more threads than a load of `hz` calls per second needs. Fewer threads wake
/// up less often for the same calls. A session whose calls block has a thread of its own.
pub(crate) fn sessions(
    target: &Arc<dyn AnyBackend>,
    sessions: u32,
    threads: Option<u16>,
    hz: Option<f64>,
) -> Vec<usize> {
    let sessions = sessions as usize;
    if Arc::clone(target).blocking().is_some() {
        return vec![1; sessions];
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let own = if target.is_local() { beside_target(cores, sessions) } else { cores };
    let needed = hz.zip(target.calls_per_thread()).map_or(own, |(hz, each)| needed(hz, each));
    spread(sessions, threads.map_or(own.min(needed), usize::from).min(sessions))
}

/// Returns the number of threads beside a target on this machine. With few sessions, threads sleep most of the time,
/// and one thread per core keeps the cores awake.
fn beside_target(cores: usize, sessions: usize) -> usize {
    if sessions < FEW { cores } else { (cores / 2).max(1) }
}

/// Returns the number of threads for `hz` calls per second, if one thread makes `each` calls per second.
fn needed(hz: f64, each: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let threads = (hz / each).ceil() as usize;
    threads.max(1)
}

/// Returns the number of connections of each thread.
fn spread(connections: usize, threads: usize) -> Vec<usize> {
    (0..threads).map(|i| (connections + i) / threads).collect()
}

impl Threads {
    /// Starts the threads. A thread is ready when it has tried to open all its connections. For blocking calls, starts
    /// one thread per session and a monitor.
    pub(crate) fn start(
        target: &Arc<dyn AnyBackend>,
        shared: &Arc<RunShared>,
        connections: &[usize],
        cores: &[Core],
    ) -> anyhow::Result<Threads> {
        if let Some(sessions) = Arc::clone(target).blocking() {
            let started = blocking::start(&sessions, shared, cores);
            let handle = started.context("cannot start the load")?;
            return Ok(Threads(vec![Thread { handle, recorder: None }]));
        }
        let mut threads = Threads(Vec::new());
        let mut first = 0;
        for (index, &count) in connections.iter().enumerate() {
            let core = cores.iter().cycle().nth(index).copied();
            let recorder = Some(Arc::clone(&shared.recorders[index]));
            let (target, shared) = (Arc::clone(target), Arc::clone(shared));
            let load = ThreadLoad { target, shared, index, first, count };
            let handle = load.start(core).context("cannot start the load")?;
            threads.0.push(Thread { handle, recorder });
            first += count;
        }
        Ok(threads)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn have_ended(&self) -> bool {
        self.0.iter().any(|thread| thread.handle.is_finished())
    }

    /// Returns whether any thread may have calls in flight: it has not ended, and its sessions are open.
    pub(crate) fn are_at_work(&self) -> bool {
        self.0.iter().any(|thread| !thread.handle.is_finished() && !thread.is_opening())
    }

    /// Returns the number of threads that have been stuck for longer than `timeout` while opening their sessions.
    pub(crate) fn held(&self, timeout: Duration) -> usize {
        self.0.iter().filter(|thread| thread.is_opening() && thread.is_stuck(timeout)).count()
    }

    /// Returns the number of threads that are stuck in a call.
    pub(crate) fn stuck(&self) -> usize {
        self.0.iter().filter(|thread| thread.is_stuck(Duration::ZERO)).count()
    }

    /// Joins the threads that have ended. The other threads keep running. A panic of a joined thread continues in the
    /// caller.
    pub(crate) fn join(self) -> anyhow::Result<()> {
        let handles = self.0.into_iter().map(|thread| thread.handle);
        handles.filter(JoinHandle::is_finished).try_for_each(|thread| {
            thread.join().unwrap_or_else(|payload| panic::resume_unwind(payload))
        })
    }
}

impl Thread {
    fn is_opening(&self) -> bool {
        self.recorder.as_ref().is_some_and(|recorder| recorder.opening() > 0)
    }

    fn is_stuck(&self, allowed: Duration) -> bool {
        let recorder = self.recorder.as_ref();
        !self.handle.is_finished() && recorder.is_some_and(|recorder| recorder.is_stuck(allowed))
    }
}

/// The part of the load that one thread runs.
struct ThreadLoad {
    target: Arc<dyn AnyBackend>,
    shared: Arc<RunShared>,
    index: usize,
    /// The number of the thread's first connection.
    first: usize,
    count: usize,
}

impl ThreadLoad {
    fn start(self, core: Option<Core>) -> io::Result<JoinHandle<anyhow::Result<()>>> {
        let (sleeps, wakes) =
            [(); 2].map(|()| Arc::clone(&self.shared.recorders[self.index])).into();
        let runtime = Builder::new_current_thread()
            .enable_all()
            .on_thread_park(move || sleeps.sleeps(thread_cpu::of_this_thread))
            .on_thread_unpark(move || wakes.wakes(thread_cpu::of_this_thread))
            .build()?;
        thread::Builder::new().name(format!("load-{}", self.index)).spawn(move || {
            core.into_iter().for_each(cores::pin);
            self.run(&runtime)
        })
    }

    /// Works until no slot is left and all responses have arrived or are given up. Requests that are given up are
    /// dropped with the runtime, and count as unfinished. A thread that is stuck in a call does not react.
    fn run(self, runtime: &Runtime) -> anyhow::Result<()> {
        self.shared.threads.add_current();
        let mut give_up = self.shared.give_up.subscribe();
        let worked = runtime.block_on(async {
            tokio::select! {
                worked = self.work() => worked,
                never = self.beat() => match never {},
                _ = give_up.wait_for(|given_up| *given_up) => Ok(()),
            }
        });
        self.shared.threads.end_current();
        worked
    }

    /// Wakes the thread regularly and records each wake-up, so that a stuck thread can be recognised.
    async fn beat(&self) -> Infallible {
        loop {
            self.shared.recorders[self.index].beat(thread_cpu::of_this_thread());
            time::sleep(BEAT).await;
        }
    }

    async fn work(&self) -> anyhow::Result<()> {
        let line = AsyncPacer::new(self.shared.pacer.clone()).context("no timer for the load")?;
        let workers = self.prepare(&line).await;
        self.shared.ready.send_modify(|threads| *threads += 1);
        let mut tasks: JoinSet<()> = workers.into_iter().map(Work::work).collect();
        while let Some(task) = tasks.join_next().await {
            or_panic(task);
        }
        self.shared.recorders[self.index].spun(line.spun());
        Ok(())
    }

    async fn prepare(&self, line: &AsyncPacer) -> Vec<Box<dyn Work>> {
        let openings = Arc::new(Semaphore::new(AT_ONCE));
        let mut tasks = JoinSet::new();
        for index in self.first..self.first + self.count {
            let recorder = &self.shared.recorders[self.index];
            let mut worker = Arc::clone(&self.target).worker(&self.shared, recorder, line, index);
            let (opening, openings) = (recorder.open(), Arc::clone(&openings));
            tasks.spawn(async move {
                // The semaphore is never closed.
                let _turn = openings.acquire().await;
                worker.prepare(opening).await;
                worker
            });
        }
        let mut workers = Vec::new();
        while let Some(worker) = tasks.join_next().await {
            workers.extend(or_panic(worker));
        }
        workers
    }
}

/// Returns the result of a task, or `None` if the task was cancelled. If the task has panicked, the panic continues in
/// the caller.
fn or_panic<T>(task: Result<T, JoinError>) -> Option<T> {
    task.map_err(|error| error.try_into_panic().map(panic::resume_unwind)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_on_this_machine_has_half_of_the_cores() {
        for (cores, sessions, threads) in [(1, 64, 1), (2, 7, 2), (2, 8, 1), (3, 64, 1), (8, 16, 4)]
        {
            assert_eq!(beside_target(cores, sessions), threads, "{cores} {sessions}");
        }
    }

    #[test]
    fn a_small_load_needs_one_thread() {
        for (hz, threads) in [(0.1, 1), (10_000.0, 1), (10_001.0, 2), (95_000.0, 10)] {
            assert_eq!(needed(hz, 10_000.0), threads, "{hz}");
        }
        assert_eq!(needed(f64::INFINITY, 1.0), usize::MAX);
    }

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
