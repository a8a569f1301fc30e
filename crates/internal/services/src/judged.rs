//! Judges tests in real time only if the machine ran their threads in time.

use std::env;
use std::fmt::Debug;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The variable with the path of a file to which unjudged tests append a line.
const FILE: &str = "NANOPACE_NOT_JUDGED";

/// The period of the probe's sleeps.
const EVERY: Duration = Duration::from_millis(5);

/// Runs a test that can fail if its threads are not scheduled in time.
///
/// An error counts only if no thread stalled for longer than `tolerated` during the test. Otherwise the test is not
/// judged: its name and the stall are written to the file in `NANOPACE_NOT_JUDGED`, as `NAME: stalled for 0.4 s`.
/// `cargo xtask test` sets the variable, runs such tests once more, alone, and reports them. Without the variable, an
/// error always counts.
///
/// # Errors
/// The test's own error.
pub fn judged<E: Debug>(
    tolerated: Duration,
    test: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let (outcome, stood_still) = watched(test);
    match outcome {
        Err(error) if stood_still > tolerated && env::var_os(FILE).is_some() => {
            not_judged(stood_still);
            println!("{error:?}");
            Ok(())
        }
        outcome => outcome,
    }
}

/// Runs `test` while another thread sleeps repeatedly. Returns how late that thread woke at most.
fn watched<T>(test: impl FnOnce() -> T) -> (T, Duration) {
    thread::scope(|scope| {
        let (end, ended) = mpsc::channel::<()>();
        let probe = scope.spawn(move || {
            let mut latest = Duration::ZERO;
            loop {
                let began = Instant::now();
                let end = ended.recv_timeout(EVERY);
                latest = latest.max(began.elapsed().saturating_sub(EVERY));
                if end == Err(RecvTimeoutError::Disconnected) {
                    return latest;
                }
            }
        });
        let outcome = test();
        drop(end);
        (outcome, probe.join().unwrap_or_default())
    })
}

/// Reports that this thread's test was not judged because the machine stalled: prints it and appends it to the file
/// in `NANOPACE_NOT_JUDGED`.
pub fn not_judged(stood_still: Duration) {
    let seconds = stood_still.as_secs_f64();
    println!("NOT JUDGED: stalled for {seconds:.1} s");
    let Some(file) = env::var_os(FILE) else { return };
    let file = OpenOptions::new().append(true).create(true).open(file);
    let name = thread::current().name().unwrap_or("a test").to_owned();
    let written = file.and_then(|mut file| writeln!(file, "{name}: stalled for {seconds:.1} s"));
    written.unwrap_or_else(|error| println!("{FILE}: {error}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_run_in_time_keeps_its_own_outcome() {
        let long = Duration::MAX;
        assert_eq!(judged(long, || Ok::<(), u8>(())), Ok(()));
        assert_eq!(judged(long, || Err(7)), Err(7));
    }

    #[test]
    fn a_stalled_probe_reports_at_least_the_time_that_passed_minus_its_period() {
        let (elapsed, late) = watched(|| {
            let began = Instant::now();
            thread::sleep(Duration::from_millis(1));
            began.elapsed()
        });
        assert!(elapsed >= Duration::from_millis(1) && late < Duration::from_secs(3600));
    }
}
