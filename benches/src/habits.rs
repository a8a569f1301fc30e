//! Measures the cost of calls under `nanopace-load` that use labels, timeouts, tasks or locks, await twice, fail, or
//! block.

use crate::float;
use crate::library::{Calls, Nothing, ROUND, endless, ours};
use crate::rounds::{Samples, alternate};
use nanopace_load::{BlockingTarget, Done, Failure, Load, Slot, Target};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

const SESSIONS: u32 = 64;
const WAIT: Duration = Duration::from_millis(10);

struct Does<F>(F);

impl<F, R> Target for Does<F>
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output = Result<Done, Failure>> + Send,
{
    type Session = ();

    async fn connect(&self, _index: usize) -> Result<(), Failure> {
        Ok(())
    }

    async fn call(&self, (): &mut (), _slot: Slot) -> Result<Done, Failure> {
        self.0().await
    }
}

/// Measures calls of six kinds (with a label, a second await, a timeout, a spawned task, a lock, and a failure), on one
/// thread with 64 sessions, compared with a call that only awaits once.
#[must_use]
pub fn all() -> [(&'static str, Calls); 6] {
    let lock = Arc::new(Mutex::new(()));
    [
        (
            "has a label",
            beside_plain(async || {
                yield_now().await;
                Ok(Done::new().label("read"))
            }),
        ),
        (
            "awaits once more, as by a second attempt",
            beside_plain(async || {
                yield_now().await;
                yield_now().await;
                Ok(Done::new())
            }),
        ),
        (
            "has a timeout of its own",
            beside_plain(async || {
                timeout(ROUND, yield_now()).await?;
                Ok(Done::new())
            }),
        ),
        (
            "spawns a task and awaits it",
            beside_plain(async || {
                tokio::spawn(yield_now()).await?;
                Ok(Done::new())
            }),
        ),
        (
            "shares a lock with the other sessions",
            beside_plain(move || {
                let lock = Arc::clone(&lock);
                async move {
                    let _locked = lock.lock().await;
                    yield_now().await;
                    Ok(Done::new())
                }
            }),
        ),
        (
            "fails",
            beside_plain(async || {
                yield_now().await;
                Err(Failure::new("refused"))
            }),
        ),
    ]
}

fn beside_plain<F, R>(call: F) -> Calls
where
    F: Fn() -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Result<Done, Failure>> + Send,
{
    let load = || Load::new(endless()).sessions(SESSIONS).threads(1);
    Calls::measure(move || ours(load(), Does(call.clone())), move || ours(load(), Nothing))
}

struct Blocks;

impl BlockingTarget for Blocks {
    type Session = ();

    fn connect(&self, _index: usize) -> Result<(), Failure> {
        Ok(())
    }

    fn call(&self, (): &mut (), _slot: Slot) -> Result<Done, Failure> {
        thread::sleep(WAIT);
        Ok(Done::new())
    }
}

/// Measures the calls per second of 64 sessions whose calls wait for 10 ms, in alternating rounds. A blocking target
/// has a thread per session. The sessions of the other targets share 2 threads.
///
/// # Panics
/// Panics if a load cannot be run.
#[must_use]
pub fn waits() -> [(&'static str, Samples); 3] {
    let awaits = async || {
        sleep(WAIT).await;
        Ok(Done::new())
    };
    let blocks = async || {
        thread::sleep(WAIT);
        Ok(Done::new())
    };
    let samples = alternate(
        3,
        &mut [&mut || rate(Does(awaits)), &mut || rate(Does(blocks)), &mut || rate(Blocks)],
    );
    let [awaits, blocks, thread] = samples.try_into().expect("three candidates");
    [("await it", awaits), ("block their thread", blocks), ("block in a `BlockingTarget`", thread)]
}

fn rate(target: impl Target) -> f64 {
    let load = Load::new(endless()).sessions(SESSIONS).threads(2).duration(ROUND);
    let completed = load.run_blocking(target).expect("a load that can be run").completed();
    float(completed) / ROUND.as_secs_f64()
}
