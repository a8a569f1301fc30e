//! Reports tests that cannot be judged, because the machine was too slow.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::thread;

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
