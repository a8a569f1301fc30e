//! Checks whether the target responds to a single request, which is the lowest possible load.

use crate::load::kind::FailureKind;
use crate::running::workers::any_backend::AnyBackend;
use crate::running::workers::apart::{apart, held};
use crate::running::workers::guarded::Guarded;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The time for which failed requests are repeated, because the target may recover.
const PATIENCE: Duration = Duration::from_secs(3);

const RESPITE: Duration = Duration::from_millis(100);

/// Returns the last failure, or `None` if a request succeeds or `is_wanted` no longer holds.
pub(super) fn failure(
    target: &Arc<dyn AnyBackend>,
    timeout: Duration,
    is_wanted: impl Fn() -> bool,
) -> io::Result<Option<FailureKind>> {
    let called = Arc::clone(target);
    let failure =
        apart(timeout, &is_wanted, move || async move { last_failure(&*called, timeout).await });
    let holds = || is_wanted().then(|| held(target).kind);
    Ok(failure?.unwrap_or_else(holds))
}

async fn last_failure(target: &dyn AnyBackend, timeout: Duration) -> Option<FailureKind> {
    let mut guarded = Guarded::new(timeout, target.keeps_to_timeout());
    let begin = Instant::now();
    loop {
        match guarded.run(|| target.call_alone()).await {
            Ok(_) => return None,
            Err(failure) if begin.elapsed() >= PATIENCE => return Some(failure.kind),
            Err(_) => sleep(RESPITE).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::backend::Backend;
    use crate::load::target::{Done, Failure, Slot, Target};
    use std::future::pending;
    use std::sync::Mutex;
    use std::sync::mpsc::{self, Receiver};

    struct Bad {
        panics: bool,
    }

    impl Target for Bad {
        type Session = ();

        async fn connect(&self, _index: usize) -> Result<(), Failure> {
            assert!(!self.panics, "no door");
            Ok(())
        }

        async fn call(&self, _session: &mut (), _slot: Slot) -> Result<Done, Failure> {
            pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_target_that_hangs_or_panics_ends_no_search() {
        for (panics, told) in [(false, "timeout"), (true, "panic: no door")] {
            let failure = last_failure(&Bad { panics }, Duration::from_secs(1)).await;
            assert_eq!(failure.map(|kind| kind.to_string()).as_deref(), Some(told));
        }
    }

    struct Holds(Mutex<Receiver<()>>);

    impl Holds {
        fn call(&self) -> Done {
            let _ = self.0.lock().map(|ends| ends.recv());
            Done::new()
        }
    }

    impl Target for Holds {
        type Session = ();

        async fn connect(&self, _index: usize) -> Result<(), Failure> {
            Ok(())
        }

        async fn call(&self, _session: &mut (), _slot: Slot) -> Result<Done, Failure> {
            Ok(Holds::call(self))
        }
    }

    fn told<T: Backend>(target: T, timeout: Duration, is_wanted: bool) -> Option<String> {
        let target: Arc<dyn AnyBackend> = Arc::new(target);
        let failure = failure(&target, timeout, || is_wanted).unwrap();
        failure.map(|kind| kind.to_string())
    }

    #[test]
    fn a_target_that_holds_its_thread_ends_no_search() {
        for (timeout, is_wanted) in [(50, true), (3_600_000, false)] {
            let timeout = Duration::from_millis(timeout);
            let ((end, ends), (other_end, other_ends)) = (mpsc::channel(), mpsc::channel());
            let [holds, blocks] = [ends, other_ends].map(|ends| Holds(Mutex::new(ends)));
            let blocks = move |_: Slot| Ok(blocks.call());
            let expected =
                ["timeout: it holds its thread", "timeout"].map(|told| is_wanted.then_some(told));
            let told = [told(holds, timeout, is_wanted), told(blocks, timeout, is_wanted)];
            assert_eq!(told.each_ref().map(Option::as_deref), expected);
            drop((end, other_end));
        }
    }
}
