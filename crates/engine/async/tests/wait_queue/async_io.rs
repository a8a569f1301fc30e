//! Tests the timer in the reactor of smol and async-std.

use async_io::block_on;
use nanopace::{Grant, Pacer, Refused};
use nanopace_async::AsyncPacer;
use nanopace_async::timer::AsyncIoTimer;
use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

fn queue(rate: &str) -> AsyncPacer {
    let pacer = Pacer::new(rate.parse().unwrap());
    AsyncPacer::with_timer(pacer, AsyncIoTimer::new())
}

fn in_threads<T: Send>(body: impl Fn() -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(&body));
        threads.map(|thread| thread.join().unwrap()).into()
    })
}

#[test]
fn every_slot_goes_to_one_task_and_none_is_early() {
    let queue = queue("2k/s");
    let grants = in_threads(|| {
        block_on(async {
            let mut grants: Vec<Grant> = Vec::new();
            for _ in 0..20 {
                grants.push(queue.acquire().await.unwrap());
                grants.push(queue.claim().unwrap().await.unwrap());
            }
            grants
        })
    })
    .concat();
    let starts: BTreeSet<_> = grants.iter().map(|grant| grant.intended_start()).collect();
    assert_eq!(starts.len(), 160);
    assert!(grants.iter().all(|grant| grant.actual_start() >= grant.intended_start()));
    assert_eq!(queue.pacer().ledger().granted, 160);
}

#[test]
fn changes_reach_tasks_that_wait() {
    let queue = queue("1/h");
    let pacer = queue.pacer().clone();
    pacer.acquire().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(20));
            pacer.set_rate("1k/s".parse().unwrap());
        });
        let told = in_threads(|| block_on(queue.acquire()));
        assert!(told.iter().all(Result::is_ok));
    });
    pacer.set_rate("1/h".parse().unwrap());
    while pacer.try_acquire().is_ok() {}
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(20));
            pacer.close();
        });
        let told = in_threads(|| block_on(queue.acquire()));
        assert_eq!(told, [Err(Refused::Closed); 4]);
    });
}
