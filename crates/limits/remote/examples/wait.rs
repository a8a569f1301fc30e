//! Waiting for limits that many processes share: a loop that asks again when the store has said.
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

/// Waits until one request gets in. `jitter` is the most that it comes later than it could: it spreads
/// those who wait for the same moment.
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

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace_remote::Settings;
    use nanopace_services::{Engine, Server};

    /// Two processes with three threads each. All get in, and no faster than the limits say.
    #[test]
    #[ignore = "needs Redis and Valkey"]
    fn all_who_wait_get_in_as_fast_as_the_limits_let_them() {
        for engine in Engine::ALL {
            let server = Server::start(engine).unwrap();
            let settings = Settings::default().timeout(Duration::from_secs(20));
            let process = |_| {
                let store = Remote::lazy_with(&server.url(), settings).unwrap();
                store.limits("100/s burst 1").build().unwrap()
            };
            let processes: Vec<RemoteKeyed> = (0..2).map(process).collect();
            let began = Instant::now();
            thread::scope(|scope| {
                for jobs in processes.iter().cycle().take(6) {
                    let wait = |_| until_ready(jobs, "all", Duration::from_millis(5));
                    scope.spawn(move || assert!((0..5).map(wait).all(|end| end.is_ok())));
                }
            });
            // The first at once, and 29 after it.
            assert!(began.elapsed() >= Duration::from_millis(290), "{engine}");
        }
    }
}
