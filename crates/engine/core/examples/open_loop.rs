//! Runs an open loop with threads. The schedule does not wait for the target, so a stall of the target shows in the
//! response times.
//!
//! `cargo run --release -p nanopace --example open_loop`

use hdrhistogram::Histogram;
use nanopace::{Ended, Pacer, Rate};
use std::error::Error;
use std::thread;
use std::time::Duration;

const WORKERS: usize = 4;
const OPERATIONS: u32 = 500;

/// Takes about 100 us, except for operation 100, which stalls for a quarter second.
fn operation(number: u32) {
    thread::sleep(if number == 100 {
        Duration::from_millis(250)
    } else {
        Duration::from_micros(100)
    });
}

/// Runs a worker, and returns the service times and the response times of its operations.
fn work(pacer: &Pacer) -> Result<[Vec<Duration>; 2], Ended> {
    let mut lane = pacer.lane();
    let (mut service, mut response) = (Vec::new(), Vec::new());
    for number in 0..OPERATIONS {
        let grant = lane.acquire()?;
        let start = pacer.now();
        operation(number);
        let end = pacer.now();
        service.push(end - start);
        response.push(grant.response_time(end));
    }
    Ok([service, response])
}

fn main() -> Result<(), Box<dyn Error>> {
    let pacer = Pacer::new(Rate::per_second(1_000)?);
    let mut histograms = [Histogram::<u64>::new(3)?, Histogram::new(3)?];
    thread::scope(|scope| -> Result<(), Box<dyn Error>> {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(|| work(&pacer))).collect();
        for worker in workers {
            let times = worker.join().expect("a worker does not panic")?;
            for (histogram, times) in histograms.iter_mut().zip(times) {
                for time in times {
                    histogram.record(u64::try_from(time.as_nanos())?)?;
                }
            }
        }
        Ok(())
    })?;
    println!("                       p50        p99    maximum");
    for (name, times) in ["service time", "response time"].iter().zip(&histograms) {
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|q| times.value_at_quantile(q) / 1_000);
        println!("{name:>13}  {p50:>8} us {p99:>7} us {max:>7} us");
    }
    println!("The service times hide how long the operations after the stall waited.");
    Ok(())
}
