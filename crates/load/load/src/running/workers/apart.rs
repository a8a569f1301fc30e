//! Runs a call outside of a load, on a thread of its own, which the call may block.

use super::any_backend::AnyBackend;
use super::guarded::timed_out;
use crate::load::kind::FailureKind;
use crate::load::target::Failure;
use crate::results::last_poll::STUCK;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::select;
use tokio::time::sleep;

/// The interval at which the thread signals that it is not blocked.
const BEAT: Duration = Duration::from_millis(100);

/// Returns the result of `call`. Returns `None`, and leaves the thread running, if the call blocks its thread for
/// longer than `timeout` plus [`STUCK`], or if `is_wanted` returns false.
pub(crate) fn apart<F: Future<Output: Send>>(
    timeout: Duration,
    is_wanted: impl Fn() -> bool,
    call: impl FnOnce() -> F + Send + 'static,
) -> io::Result<Option<F::Output>>
where
    F::Output: 'static,
{
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (sender, told) = mpsc::channel();
    thread::Builder::new().name("alone".to_owned()).spawn(move || {
        let done = runtime.block_on(async {
            select! {
                done = call() => done,
                never = beat(&sender) => match never {},
            }
        });
        // If the caller has given up, the receiver no longer exists, and the result is not needed.
        let _ = sender.send(Some(done));
    })?;
    let mut heard = Instant::now();
    while is_wanted() && heard.elapsed() < timeout.saturating_add(STUCK) {
        match told.recv_timeout(BEAT) {
            Ok(None) => heard = Instant::now(),
            Ok(done) => return Ok(done),
            Err(_) => {}
        }
    }
    Ok(None)
}

async fn beat<R>(sender: &Sender<Option<R>>) -> Infallible {
    loop {
        let _ = sender.send(None);
        sleep(BEAT).await;
    }
}

pub(crate) fn held(target: &Arc<dyn AnyBackend>) -> Failure {
    if Arc::clone(target).blocking().is_some() {
        return timed_out();
    }
    Failure::of(FailureKind::of_group("timeout", "timeout: it holds its thread"))
}
