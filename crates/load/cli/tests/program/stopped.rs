//! Tests the attribution of lateness if a real process is stopped, on an idle machine and on a busy one.

use crate::command::{object, signal};
use crate::running::{Target, at_work};
use serde_json::Value;
use std::hint;
use std::io::Read;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const STOP: Duration = Duration::from_millis(1_500);
const RATE: f64 = 500.0;

/// Stops a process for a while, lets it continue, and returns how long it was stopped. A pause of this test itself
/// counts as at most 100 ms.
fn stop_for_a_while(process: u32) -> Duration {
    const TURN: Duration = Duration::from_millis(10);
    signal(process, "-STOP");
    let mut stopped = Duration::ZERO;
    for _ in 0..STOP.as_millis() / TURN.as_millis() {
        let turn = Instant::now();
        thread::sleep(TURN);
        stopped += turn.elapsed().min(10 * TURN);
    }
    signal(process, "-CONT");
    stopped
}

fn results(strictness: f64, choose: impl Fn(&Child, &Child) -> u32) -> (Value, Duration) {
    let target = Target::start("--target-latency 25ms --target-body 10");
    let Target { url, .. } = &target;
    let line = format!(
        "run --url {url} --rate {RATE} --duration 4s -c 32 --strictness {strictness} --json -"
    );
    let (generator, mut progress) = at_work(&line);
    let stopped = stop_for_a_while(choose(&generator, &target.process));
    progress.errors.read_to_string(&mut String::new()).unwrap();
    (object(&generator.wait_with_output().unwrap()), stopped)
}

/// Returns the minimum lateness, in seconds summed over all slots: half of the waits of the slots during the stop,
/// because 32 connections take some of the slots.
fn least(stopped: Duration) -> f64 {
    RATE * stopped.as_secs_f64().powi(2) / 2.0 / 2.0
}

fn assert_blames(who: &str, (results, stopped): &(Value, Duration), busy_loops: u32) {
    let seconds = results["lateness"][format!("{who}_seconds")].as_f64().unwrap();
    assert!(seconds >= least(*stopped), "{who}, {busy_loops} busy loops, {stopped:?}: {results}");
    let is_scarce = results["warnings"] != Value::Array(Vec::new());
    let is_named = results["verdict"] == format!("{who}-behind");
    assert!(is_named || is_scarce, "{who}, {busy_loops} busy loops: {results}");
}

#[test]
fn the_verdict_names_the_process_that_was_stopped() {
    // With a strictness above 1, the schedule itself holds slots back after a stop. The lateness must still be
    // attributed to the stopped process.
    for (busy_loops, strictness) in [(0, 1.1), (4, 0.0)] {
        let is_over = AtomicBool::new(false);
        let [own, other] = thread::scope(|scope| {
            for _ in 0..busy_loops {
                // Relaxed: no other data is published through the flag, and the threads only have to end at some time.
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        hint::spin_loop();
                    }
                });
            }
            let own = scope.spawn(|| results(strictness, |generator, _| generator.id()));
            let other = scope.spawn(|| results(strictness, |_, target| target.id()));
            let both = [own, other].map(thread::ScopedJoinHandle::join);
            is_over.store(true, Ordering::Relaxed);
            both.map(Result::unwrap)
        });
        assert_blames("generator", &own, busy_loops);
        assert_blames("target", &other, busy_loops);
    }
}
