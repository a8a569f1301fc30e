//! Runs a load that rises, stays constant, and falls again. The shape is written as a string, and the schedule ends
//! with the shape.
//!
//! `cargo run --release -p nanopace --example ramp`

use nanopace::{Pacer, Shape};
use std::error::Error;
use std::thread;

fn main() -> Result<(), Box<dyn Error>> {
    let shape: Shape = "ramp 0/s..2k/s 1s, hold 500ms, ramp ..500/s 1s".parse()?;
    let pacer = Pacer::shaped(shape.clone()).build();
    let begin = pacer.now();
    let work = || {
        let mut lane = pacer.lane();
        let mut tenths = Vec::new();
        // The loop ends when the shape has ended.
        while let Ok(grant) = lane.acquire() {
            tenths.push((grant.actual_start() - begin).as_millis() / 100);
        }
        tenths
    };
    let mut starts = [0; 25];
    thread::scope(|scope| -> Result<(), Box<dyn Error>> {
        let workers = [scope.spawn(work), scope.spawn(work)];
        for worker in workers {
            for tenth in worker.join().expect("a worker does not panic") {
                starts[usize::try_from(tenth)?.min(24)] += 1;
            }
        }
        Ok(())
    })?;
    println!("{shape}");
    for (tenth, starts) in starts.iter().enumerate() {
        println!("from {:>4} ms {starts:>3} {}", 100 * tenth, "#".repeat(starts / 4));
    }
    Ok(())
}
