//! Runs the run loop of cql-stress, whose files `build` copies to this folder. Its operations record their start.
//! cql-stress itself needs a cluster.

#![allow(dead_code, unused_imports, reason = "only the run loop is used")]

#[macro_use]
extern crate async_trait;

mod configuration;
mod run;

use anyhow::{anyhow, bail, Result};
use configuration::{Configuration, Operation, OperationContext, OperationFactory};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const TASKS: u64 = 32;
/// The duration of a failed attempt. A successful attempt takes no time.
const FAILURE: Duration = Duration::from_millis(50);

/// The response times, in the form in which the tool reports them with `fixed=`.
static TIMES: Mutex<Vec<Duration>> = Mutex::new(Vec::new());

/// One in this number of operations fails at its first attempt. With 0, no operation fails.
struct OneIn(u64);

struct Start {
    one_in: u64,
    failed: Option<u64>,
}

impl OperationFactory for OneIn {
    fn create(&self) -> Box<dyn Operation> {
        Box::new(Start { one_in: self.0, failed: None })
    }
}

make_runnable!(Start);

impl Start {
    async fn execute(&mut self, context: &OperationContext) -> Result<ControlFlow<()>> {
        stamps::stamp();
        let id = context.operation_id;
        if self.one_in > 0 && id % self.one_in == 0 && self.failed != Some(id) {
            self.failed = Some(id);
            tokio::time::sleep(FAILURE).await;
            bail!("a first try");
        }
        let time = context.scheduled_start_time.elapsed();
        TIMES.lock().map_err(|_| anyhow!("a task has panicked"))?.push(time);
        Ok(ControlFlow::Continue(()))
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [rate, seconds, rest @ ..] = &words[..] else {
        bail!("usage: load-cql-stress RATE SECONDS [ONE_IN]");
    };
    let one_in = rest.first().map_or(Ok(0), |word| word.parse())?;
    stamps::prepare();
    let (_controller, end) = run::run(Configuration {
        max_duration: Some(Duration::from_secs(seconds.parse()?)),
        concurrency: TASKS,
        rate_limit_per_second: Some(rate.parse()?),
        operation_factory: Arc::new(OneIn(one_in)),
        max_retries_per_op: 1,
    });
    if let Err(error) = end.await {
        // An error is expected if the run ends during a failed attempt.
        eprintln!("{error}");
    }
    stamps::print(&mut TIMES.lock().map_err(|_| anyhow!("a task has panicked"))?);
    Ok(stamps::write()?)
}
