//! Measures how long the machine stalled, and reports tests that cannot be judged because of that.

use std::env;
use std::fmt::Debug;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

const FILE: &str = "NANOPACE_NOT_JUDGED";

/// Reports that the test on this thread is not judged, because the machine did not run it in time. Prints the reason.
/// If `NANOPACE_NOT_JUDGED` is set to a path, also appends the name of the thread and the reason to that file. The
/// command `cargo xtask test` sets that variable, reruns these tests one at a time, and lists the tests that are still
/// not judged.
pub fn not_judged(reason: &str) {
    println!("NOT JUDGED: {reason}");
    let Some(file) = env::var_os(FILE) else { return };
    let file = OpenOptions::new().append(true).create(true).open(file);
    let name = thread::current().name().unwrap_or("a test").to_owned();
    let written = file.and_then(|mut file| writeln!(file, "{name}: {reason}"));
    written.unwrap_or_else(|error| println!("{FILE}: {error}"));
}

/// Runs a test, and a thread that sleeps 2 ms at a time. Also returns the longest time between two wake-ups of that
/// thread.
///
/// # Panics
///
/// Panics if the test panics.
pub fn watched<T>(test: impl FnOnce() -> T) -> (T, Duration) {
    let (running, ended) = mpsc::channel::<()>();
    let probe = thread::spawn(move || {
        let (mut longest, mut is_running) = (Duration::ZERO, true);
        while is_running {
            let last = Instant::now();
            let end = ended.recv_timeout(Duration::from_millis(2));
            (longest, is_running) =
                (longest.max(last.elapsed()), end == Err(RecvTimeoutError::Timeout));
        }
        longest
    });
    let result = test();
    drop(running);
    (result, probe.join().unwrap_or_default())
}

/// The shortest stall that can make a test miss its outcome.
const STALL: Duration = Duration::from_millis(20);

/// Asserts the outcome of a test that was [watched]. If the outcome is another one and the machine stalled for 20 ms or
/// longer, reports that the test is not judged.
///
/// # Panics
///
/// Panics if the outcome is another one and the machine did not stall.
pub fn assert_unless_stalled(holds: bool, stalled: Duration, outcome: &impl Debug) {
    if !holds && stalled >= STALL {
        return not_judged(&format!("the machine stalled for {stalled:.1?}"));
    }
    assert!(holds, "{outcome:?}, with stalls of up to {stalled:.1?}");
}
