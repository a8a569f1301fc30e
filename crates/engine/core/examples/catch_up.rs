//! Runs one worker with a burst ratio: after a stall, the missed operations are made up for at 150 % of the rate, and
//! not in one burst.
//!
//! `cargo run --release -p nanopace --example catch_up`

use nanopace::{Pacer, Rate, Strictness};
use std::error::Error;
use std::thread;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let pacer = Pacer::builder(Rate::per_second(500)?).strictness(Strictness::new(1.5)?).build();
    let begin = pacer.now();
    let mut in_tenth = [0; 15];
    for number in 0..750 {
        let grant = pacer.acquire()?;
        let since = grant.actual_start() - begin;
        let tenth = usize::try_from(since.as_millis() / 100)?;
        in_tenth[tenth.min(14)] += 1;
        if number == 200 {
            thread::sleep(Duration::from_millis(200)); // the target stalls
        }
    }
    for (tenth, starts) in in_tenth.iter().enumerate() {
        println!("from {:>4} ms {starts:>3} {}", 100 * tenth, "#".repeat(starts / 2));
    }
    Ok(())
}
