//! Measures how busy the machine is, and reports tests that cannot be judged because of that.

use std::env;
use std::fmt::Debug;
use std::fs::{self, OpenOptions};
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

/// Tells how busy the machine was during a test.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// The longest time between two wake-ups of a thread that sleeps 2 ms at a time.
    pub stalled: Duration,
    /// The part of the time in which the CPU was not idle. It is 0 if the system does not report it.
    pub busy: f64,
}

impl Machine {
    fn was_busy(self) -> bool {
        self.stalled >= Duration::from_millis(20) || self.busy > 0.8
    }
}

/// Runs a test, and measures the machine beside it.
///
/// # Panics
///
/// Panics if the test panics.
pub fn watched<T>(test: impl FnOnce() -> T) -> (T, Machine) {
    let (running, ended) = mpsc::channel::<()>();
    let before = cpu_times();
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
    let stalled = probe.join().unwrap_or_default();
    (result, Machine { stalled, busy: busy_since(before).unwrap_or(0.0) })
}

fn busy_since(before: Option<[f64; 2]>) -> Option<f64> {
    let ([idle_before, all_before], [idle, all]) = (before?, cpu_times()?);
    Some(1.0 - (idle - idle_before) / (all - all_before).max(1.0))
}

/// Returns the idle time and the whole time of all cores since the machine has started, in ticks of the system.
fn cpu_times() -> Option<[f64; 2]> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let times = text.lines().next()?.split_whitespace().skip(1).take(8);
    let times: Vec<f64> = times.map(|ticks| ticks.parse().ok()).collect::<Option<_>>()?;
    Some([times.get(3)? + times.get(4)?, times.iter().sum()])
}

/// Asserts the outcome of a test that was [watched]. If the outcome is another one and the machine was busy, reports that
/// the test is not judged. It was busy if it stalled for 20 ms or longer, or if it was idle for less than 20 % of the time.
///
/// # Panics
///
/// Panics if the outcome is another one and the machine was not busy.
pub fn assert_unless_busy(holds: bool, machine: Machine, outcome: &impl Debug) {
    if !holds && machine.was_busy() {
        return not_judged(&format!("the machine was busy: {machine:.1?}"));
    }
    assert!(holds, "{outcome:?}, {machine:?}");
}
