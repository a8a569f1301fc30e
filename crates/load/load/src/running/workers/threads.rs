//! Starts and monitors the load threads. Except for blocking sessions, each thread has its own runtime, and tasks do
//! not move between threads.

use super::any_backend::{AnyBackend, Work};
use super::blocking;
use super::cores::{self, Core};
use super::growth::Growth;
use super::realtime::Realtime;
use super::shared::RunShared;
use super::thread_cpu;
use crate::results::last_poll::BEAT;
use crate::running::measuring::recorder::Recorder;
use anyhow::Context;
use nanopace_async::AsyncPacer;
use std::convert::Infallible;
use std::io;
use std::panic;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::sync::{Notify, Semaphore};
use tokio::task::{JoinError, JoinSet};
use tokio::time;

/// The maximum number of connections of a load that a thread opens at the same time before the schedule starts.
const AT_ONCE: usize = 64;

/// The interval between two checks of whether threads are ready or have ended.
pub(crate) const GLANCE: Duration = Duration::from_millis(10);

/// The time that an idle thread is given to end. A thread that still resolves a name takes longer.
const FAREWELL: Duration = Duration::from_secs(1);

pub(crate) struct LoadPart {
    pub(crate) target: Arc<dyn AnyBackend>,
    pub(crate) shared: Arc<RunShared>,
    pub(crate) connections: Vec<usize>,
}

#[derive(Debug)]
pub(crate) struct Threads(Vec<Thread>);

#[derive(Debug)]
struct Thread {
    handle: JoinHandle<anyhow::Result<()>>,
    /// A weak pointer for each load that the thread runs. It expires when the thread has ended its part of that load.
    working: Vec<Weak<()>>,
}

#[derive(Debug)]
pub(crate) struct PartThreads(Vec<PartThread>);

#[derive(Debug)]
struct PartThread {
    working: Weak<()>,
    /// `None` for the thread that monitors the other threads, because it makes no calls.
    recorder: Option<Arc<Recorder>>,
}

/// Distributes sessions among threads. By default, the number of threads is the one that [`suitable`] returns. There is
/// at most one thread per session. A blocking session has its own thread.
pub(crate) fn sessions(
    target: &Arc<dyn AnyBackend>,
    sessions: u32,
    threads: Option<u16>,
    hz: Option<f64>,
) -> Vec<usize> {
    if Arc::clone(target).blocking().is_some() {
        return vec![1; sessions as usize];
    }
    let threads = threads.map_or_else(|| suitable(target, hz), usize::from);
    spread(sessions as usize, threads.min(sessions as usize))
}

/// Returns the number of threads for a load: one thread per core. If the target runs on this machine too, half of the
/// cores are left to the target. There are no more threads than a load of `hz` calls per second needs, because with
/// fewer threads there are fewer wake-ups for the same calls.
pub(crate) fn suitable(target: &Arc<dyn AnyBackend>, hz: Option<f64>) -> usize {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let own = if target.is_local() { beside_target(cores) } else { cores };
    let needed = hz.zip(target.calls_per_thread()).map_or(own, |(hz, each)| needed(hz, each));
    own.min(needed)
}

fn beside_target(cores: usize) -> usize {
    (cores / 2).max(1)
}

fn needed(hz: f64, each: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let threads = (hz / each).ceil() as usize;
    threads.max(1)
}

pub(crate) fn spread(connections: usize, threads: usize) -> Vec<usize> {
    (0..threads).map(|i| (connections + i) / threads).collect()
}

impl Threads {
    /// Starts up to `count` threads for all parts whose calls do not block. For each other part, starts one thread per
    /// session, and a thread that monitors them. Also returns the threads of each part, without the threads of blocking
    /// sessions. A thread is counted as ready for a part when its attempts to open connections have ended.
    pub(crate) fn start(
        parts: &[LoadPart],
        count: usize,
        cores: &[Core],
    ) -> anyhow::Result<(Threads, Vec<PartThreads>)> {
        let (mut threads, mut by_part) = (Threads(Vec::new()), Vec::new());
        let mut works: Vec<Vec<ThreadPart>> = (0..count).map(|_| Vec::new()).collect();
        // The first thread of each part is the one after the last thread of the previous part, so that small parts are
        // distributed among the threads.
        let mut next = (0..count).cycle();
        for part in parts {
            if let Some(sessions) = Arc::clone(&part.target).blocking() {
                let token = Arc::new(());
                let working = Arc::downgrade(&token);
                let handle = blocking::start(&sessions, &part.shared, cores, token);
                let handle = handle.context("cannot start the load")?;
                threads.0.push(Thread { handle, working: vec![working.clone()] });
                by_part.push(PartThreads(vec![PartThread { working, recorder: None }]));
                continue;
            }
            let spread = part.spread();
            by_part.push(PartThreads(spread.iter().map(PartThread::of).collect()));
            spread.into_iter().zip(&mut next).for_each(|(work, thread)| works[thread].push(work));
        }
        for (index, parts) in works.into_iter().enumerate().filter(|(_, parts)| !parts.is_empty()) {
            let working = parts.iter().map(|part| Arc::downgrade(&part.token)).collect();
            let core = cores.iter().cycle().nth(index).copied();
            let handle = start(parts, index, core).context("cannot start the load")?;
            threads.0.push(Thread { handle, working });
        }
        Ok((threads, by_part))
    }

    /// Joins the threads whose work has ended. The other threads are left running. A panic of a joined thread continues
    /// in the caller.
    pub(crate) fn join(self) -> anyhow::Result<()> {
        let ended = self.0.into_iter().filter(Thread::has_ended).map(|thread| thread.handle);
        ended.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|payload| panic::resume_unwind(payload))
        })
    }
}

impl Thread {
    /// Returns whether the thread has ended. If the thread's work has ended, waits up to [`FAREWELL`] for the thread to
    /// end.
    fn has_ended(&self) -> bool {
        let begin = Instant::now();
        let is_working = || self.working.iter().any(|working| working.strong_count() > 0);
        while !self.handle.is_finished() && !is_working() && begin.elapsed() < FAREWELL {
            thread::sleep(GLANCE / 10);
        }
        self.handle.is_finished()
    }
}

impl PartThreads {
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn have_ended(&self) -> bool {
        self.0.iter().any(PartThread::has_ended)
    }

    /// Returns whether any thread may have calls in flight: it has not ended, and it is not opening sessions.
    pub(crate) fn are_at_work(&self) -> bool {
        self.0.iter().any(|thread| !thread.has_ended() && !thread.is_opening())
    }

    /// Returns the number of threads that have been stuck for longer than `timeout` while opening their sessions.
    pub(crate) fn held(&self, timeout: Duration) -> usize {
        self.0.iter().filter(|thread| thread.is_opening() && thread.is_stuck(timeout)).count()
    }

    pub(crate) fn stuck(&self) -> usize {
        self.0.iter().filter(|thread| thread.is_stuck(Duration::ZERO)).count()
    }
}

impl PartThread {
    fn of(part: &ThreadPart) -> PartThread {
        let recorder = Some(Arc::clone(part.recorder()));
        PartThread { working: Arc::downgrade(&part.token), recorder }
    }

    fn has_ended(&self) -> bool {
        self.working.strong_count() == 0
    }

    fn is_opening(&self) -> bool {
        self.recorder.as_ref().is_some_and(|recorder| recorder.opening() > 0)
    }

    fn is_stuck(&self, allowed: Duration) -> bool {
        let recorder = self.recorder.as_ref();
        !self.has_ended() && recorder.is_some_and(|recorder| recorder.is_stuck(allowed))
    }
}

impl LoadPart {
    fn spread(&self) -> Vec<ThreadPart> {
        let mut first = 0;
        let parts = self.connections.iter().enumerate().map(|(index, &count)| {
            let (target, shared) = (Arc::clone(&self.target), Arc::clone(&self.shared));
            first += count;
            ThreadPart { target, shared, index, first: first - count, count, token: Arc::new(()) }
        });
        parts.collect()
    }
}

struct ThreadPart {
    target: Arc<dyn AnyBackend>,
    shared: Arc<RunShared>,
    index: usize,
    first: usize,
    /// The number of the thread's connections, including those that are opened later.
    count: usize,
    token: Arc<()>,
}

fn start(
    parts: Vec<ThreadPart>,
    number: usize,
    core: Option<Core>,
) -> io::Result<JoinHandle<anyhow::Result<()>>> {
    let recorders: Vec<_> = parts.iter().map(|part| Arc::clone(part.recorder())).collect();
    let poll = Arc::new(Notify::new());
    let runtime = observed(recorders, Arc::clone(&poll)).enable_all().build()?;
    thread::Builder::new().name(format!("load-{number}")).spawn(move || {
        core.into_iter().for_each(cores::pin);
        runtime.spawn(async move {
            loop {
                poll.notified().await;
            }
        });
        runtime.block_on(run(parts))
    })
}

/// Creates a runtime that reports to the recorders when its thread sleeps and wakes. If a recorder wants to poll,
/// `poll` wakes a task, because the thread then polls for events without sleeping.
fn observed(recorders: Vec<Arc<Recorder>>, poll: Arc<Notify>) -> Builder {
    let (processor, mut runtime) = (thread_cpu::of_this_thread, Builder::new_current_thread());
    match <[Arc<Recorder>; 1]>::try_from(recorders) {
        // A single recorder is called without a loop, because a thread may sleep after each request.
        Ok([sleeps]) => {
            let wakes = Arc::clone(&sleeps);
            runtime.on_thread_park(move || {
                if sleeps.sleeps(processor) {
                    poll.notify_one();
                }
            });
            runtime.on_thread_unpark(move || wakes.wakes(processor));
        }
        Err(sleep) => {
            let wake = sleep.clone();
            runtime.on_thread_park(move || {
                if sleep.iter().fold(false, |polls, it| it.sleeps(processor) | polls) {
                    poll.notify_one();
                }
            });
            runtime.on_thread_unpark(move || wake.iter().for_each(|it| it.wakes(processor)));
        }
    }
    runtime
}

async fn run(parts: Vec<ThreadPart>) -> anyhow::Result<()> {
    let mut parts: JoinSet<_> = parts.into_iter().map(ThreadPart::run).collect();
    while let Some(part) = parts.join_next().await {
        or_panic(part).transpose()?;
    }
    Ok(())
}

impl ThreadPart {
    fn recorder(&self) -> &Arc<Recorder> {
        &self.shared.recorders[self.index]
    }

    /// Runs the workers of the thread. When missing responses are given up, their requests are dropped and count as
    /// unfinished. A thread that is stuck in a call does not react, and is left running.
    async fn run(self) -> anyhow::Result<()> {
        self.shared.threads.add_current();
        let (mut give_up, mut tasks) = (self.shared.give_up.subscribe(), JoinSet::new());
        let worked = tokio::select! {
            worked = self.work(&mut tasks) => worked,
            never = self.beat() => match never {},
            _ = give_up.wait_for(|given_up| *given_up) => Ok(()),
        };
        tasks.shutdown().await;
        self.shared.threads.end_current();
        worked
    }

    async fn beat(&self) -> Infallible {
        let mut raised = self.shared.realtime.as_ref().map(Realtime::raise);
        loop {
            let used = thread_cpu::of_this_thread();
            self.recorder().beat(used);
            if let Some(thread) = &mut raised {
                thread.check(self.shared.pacer.now(), used.had);
            }
            time::sleep(BEAT).await;
        }
    }

    async fn work(&self, tasks: &mut JoinSet<()>) -> anyhow::Result<()> {
        let line = AsyncPacer::new(self.shared.pacer.clone()).context("no timer for the load")?;
        let workers = self.prepare(&line).await;
        self.shared.ready.send_modify(|threads| *threads += 1);
        for worker in workers {
            tasks.spawn(worker.work());
        }
        let left = self.first + self.recorder().connections()..self.first + self.count;
        let mut growth = Growth { shared: Arc::clone(&self.shared), left };
        loop {
            tokio::select! {
                Some(more) = growth.more() => {
                    more.for_each(|index| drop(tasks.spawn(self.open_later(&line, index))));
                }
                Some(task) = tasks.join_next() => drop(or_panic(task)),
                else => break,
            }
        }
        self.recorder().spun(line.spun());
        Ok(())
    }

    async fn prepare(&self, line: &AsyncPacer) -> Vec<Box<dyn Work>> {
        let openings = Arc::new(Semaphore::new(AT_ONCE));
        let mut tasks = JoinSet::new();
        let recorder = self.recorder();
        for index in self.first..self.first + recorder.connections() {
            let mut worker = Arc::clone(&self.target).worker(&self.shared, recorder, line, index);
            let (opening, openings) = (recorder.open(), Arc::clone(&openings));
            let recorder = Arc::clone(recorder);
            tasks.spawn(async move {
                // The semaphore is never closed, so this cannot fail.
                let _turn = openings.acquire().await;
                worker.prepare().await;
                recorder.opened(opening);
                worker
            });
        }
        let mut workers = Vec::new();
        while let Some(worker) = tasks.join_next().await {
            workers.extend(or_panic(worker));
        }
        workers
    }

    fn open_later(&self, line: &AsyncPacer, index: usize) -> impl Future<Output = ()> + use<> {
        let (recorder, shared) = (Arc::clone(self.recorder()), Arc::clone(&self.shared));
        let mut worker = Arc::clone(&self.target).worker(&shared, &recorder, line, index);
        let opening = recorder.add();
        async move {
            worker.prepare().await;
            recorder.added(opening);
            shared.pool.opened(shared.pacer.now());
            worker.work().await;
        }
    }
}

/// Returns the result of a task, or `None` if the task was cancelled. A panic of the task continues in the caller.
fn or_panic<T>(task: Result<T, JoinError>) -> Option<T> {
    task.map_err(|error| error.try_into_panic().map(panic::resume_unwind)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_on_this_machine_has_half_of_the_cores() {
        for (cores, threads) in [(1, 1), (2, 1), (3, 1), (8, 4)] {
            assert_eq!(beside_target(cores), threads, "{cores}");
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
