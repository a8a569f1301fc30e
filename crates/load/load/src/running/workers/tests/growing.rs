//! Tests pools that grow.

use super::{Called, Told, refuses, run_with, set_up};
use crate::load::target::Done;
use std::sync::{Arc, mpsc};
use tokio::sync::Barrier;

#[test]
fn a_pool_grows_until_its_calls_can_end() {
    for threads in [1, 2] {
        let all = Arc::new(Barrier::new(20));
        let calls = move |_| -> Called {
            let all = Arc::clone(&all);
            Box::pin(async move {
                all.wait().await;
                Ok(Done::new())
            })
        };
        let options = format!("-c 1..64 --threads {threads} --requests 40 --duration 1h");
        let setup = set_up(Told::new(refuses(0..0), calls), &options).unwrap();
        let (sender, messages) = mpsc::channel();
        let summary = run_with(&setup, &sender, &messages);
        assert_eq!(summary.stats.completed(), 40, "{summary:?}");
        let opened = summary.pool.unwrap().opened;
        assert_eq!(setup.target.seen(), (1 + opened as u64, 40));
        assert!((20..64).contains(&opened), "{opened}");
    }
}

#[test]
fn a_pool_of_blocking_sessions_does_not_grow() {
    let target = Told::new(refuses(0..0), |_| Ok(Done::new()));
    let error = set_up(target, "-c 1..64").unwrap_err().to_string();
    assert!(error.ends_with("has its own thread: write one number, such as 64"), "{error}");
}
