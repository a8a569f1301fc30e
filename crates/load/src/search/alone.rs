//! Whether the target answers a request alone, which is the lowest rate that there is.

use crate::interrupt::Interrupt;
use crate::kind::Kind;
use crate::target::{Done, Failure, Slot, Target};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::select;
use tokio::time::{Instant, sleep};

/// How long a target has to come back.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long to wait before the next request, or the next look at the interrupt.
const RESPITE: Duration = Duration::from_millis(100);

/// How a request fails that is sent alone, again and again for some seconds. None if it succeeds, or
/// when interrupted.
pub(super) fn failure<T: Target>(
    target: &T,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<Kind>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        select! {
            failure = last_failure(target) => Ok(failure),
            () = interrupted(interrupt) => Ok(None),
        }
    })
}

async fn last_failure<T: Target>(target: &T) -> Option<Kind> {
    let begin = Instant::now();
    loop {
        match call(target).await {
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
