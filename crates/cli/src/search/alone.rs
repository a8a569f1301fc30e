//! Whether the target answers a request alone, which is the lowest rate that there is.

use crate::interrupt::Interrupt;
use crate::run::client::failure::Failure;
use crate::run::client::plan::Plan;
use crate::run::setup::send_alone;
use std::sync::Arc;
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
pub(super) fn failure(plan: &Arc<Plan>, interrupt: &Interrupt) -> anyhow::Result<Option<Failure>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        select! {
            failure = last_failure(plan) => failure,
            () = interrupted(interrupt) => Ok(None),
        }
    })
}

async fn last_failure(plan: &Arc<Plan>) -> anyhow::Result<Option<Failure>> {
    let begin = Instant::now();
    loop {
        match send_alone(plan).await? {
            Ok(()) => return Ok(None),
            Err(failure) if begin.elapsed() >= PATIENCE => return Ok(Some(failure)),
            Err(_) => sleep(RESPITE).await,
        }
    }
}

async fn interrupted(interrupt: &Interrupt) {
    while !interrupt.is_triggered() {
        sleep(RESPITE).await;
    }
}
