//! Whether the target answers a request alone, which is the lowest rate that there is.

use crate::console::interrupt::Interrupt;
use crate::load::kind::Kind;
use crate::load::target::{Done, Failure, Slot, Target};
use crate::running::workers::guarded::Guarded;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::select;
use tokio::time::{Instant, sleep};

/// How long a target has to come back.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long to wait before the next request, or the next look at the interrupt.
const RESPITE: Duration = Duration::from_millis(100);

/// How a request fails that is sent alone, again and again for some seconds. Each ends with the timeout.
/// None if one succeeds, or when interrupted.
pub(super) fn failure<T: Target>(
    target: &T,
    timeout: Duration,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<Kind>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        select! {
            failure = last_failure(target, timeout) => Ok(failure),
            () = interrupted(interrupt) => Ok(None),
        }
    })
}

async fn last_failure<T: Target>(target: &T, timeout: Duration) -> Option<Kind> {
    let mut guarded = Guarded::new(timeout, target.keeps_to_timeout());
    let begin = Instant::now();
    loop {
        match guarded.run(|| call(target)).await {
            Ok(_) => return None,
            Err(failure) if begin.elapsed() >= PATIENCE => return Some(failure.kind),
            Err(_) => sleep(RESPITE).await,
        }
    }
}

async fn call<T: Target>(target: &T) -> Result<Done, Failure> {
    let mut session = target.connect(0).await?;
    target.call(&mut session, Slot::ALONE).await
}

async fn interrupted(interrupt: &Interrupt) {
    while !interrupt.is_triggered() {
        sleep(RESPITE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

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
}
