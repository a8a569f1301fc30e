//! Replays recorded arrivals at ten times the recorded speed. The arrivals are read line by line from a string.
//!
//! `cargo run --release -p nanopace --example replay`

use nanopace::{Arrivals, Pacer};
use std::error::Error;
use std::io::{BufRead, Cursor};
use std::time::Duration;

/// The arrivals in seconds since the recording began, one per line. The recording could be a file of any length: lines
/// are read when their slots are near.
const RECORDED: &str = "0.0\n0.5\n0.6\n0.7\n2.0\n2.1\n5.5\n5.5\n5.5\n9.0\n";

fn main() -> Result<(), Box<dyn Error>> {
    let lines = || Cursor::new(RECORDED).lines().map_while(|line| line.ok()?.parse().ok());
    let offsets = move || lines().map(Duration::from_secs_f64);
    // With a rate of 1/s, the recording would be replayed at its original speed.
    let pacer = Pacer::builder("10/s".parse()?).arrivals(Arrivals::replay(offsets)).build();
    let mut first = None;
    // The loop ends with the recording.
    while let Ok(grant) = pacer.acquire() {
        let intended = grant.intended_start();
        let played = intended - *first.get_or_insert(intended);
        let (recorded, late) = ((played * 10).as_secs_f64(), grant.wait_time());
        println!("recorded at {recorded:.1} s, played at {played:>5?}, {late:?} late");
    }
    Ok(())
}
