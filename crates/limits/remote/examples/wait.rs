//! Waits for limits that many processes share: a loop that asks again at the retry time.
//!
//! ```text
//! cargo run -p nanopace-remote --example wait -- redis://127.0.0.1/
//! ```

use nanopace_remote::{Remote, RemoteKeyed, RemoteRejected};
use std::time::{Duration, Instant};
use std::{env, thread};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = env::args().nth(1).unwrap_or_else(|| "redis://127.0.0.1/".to_owned());
    let jobs = Remote::connect(&url)?.limits("2/s burst 1").prefix("jobs").build()?;
    for number in 1..=10 {
        let waited = until_ready(&jobs, "all", Duration::from_millis(100))?;
        println!("job {number} waited {waited:.1?}");
    }
    Ok(())
}

/// Waits until one request is admitted. `jitter` is the maximum additional delay, which spreads waiting callers.
fn until_ready(
    limits: &RemoteKeyed,
    key: &str,
    jitter: Duration,
) -> Result<Duration, RemoteRejected> {
    let began = Instant::now();
    loop {
        let decision = limits.decide(key)?;
        match (decision.answer(), decision.retry()) {
            (Ok(()), _) => return Ok(began.elapsed()),
            (Err(_), Some(retry)) => thread::sleep(retry + jitter.mul_f64(fastrand::f64())),
            (Err(never), None) => return Err(never.into()),
        }
    }
}
