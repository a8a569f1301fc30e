//! Changes the rate while workers acquire: from 100/s to 1000/s in steps, without a burst.
//!
//! `cargo run --release -p nanopace --example live_rate`

use nanopace::{Pacer, Rate};
use std::error::Error;
use std::thread;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let pacer = Pacer::new(Rate::per_second(100)?);
    thread::scope(|scope| -> Result<(), Box<dyn Error>> {
        for _ in 0..2 {
            let mut lane = pacer.lane();
            scope.spawn(move || while lane.acquire().is_ok() {});
        }
        let mut before = 0;
        for hundreds in 1..=10 {
            pacer.set_rate(Rate::per_second(100 * hundreds)?);
            thread::sleep(Duration::from_millis(200));
            let granted = pacer.ledger().granted;
            println!("{:>5}: {:>3} starts in 0.2 s", pacer.rate().to_string(), granted - before);
            before = granted;
        }
        // This ends the workers, including those that are asleep.
        pacer.close();
        Ok(())
    })
}
