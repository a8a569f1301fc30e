//! Defines a custom shape: the load doubles every second. The shape defines only the number of slots by a given time.
//! The pacer computes the start of each slot from that number.
//!
//! `cargo run --release -p nanopace --example own_shape`

use nanopace::{Curve, ManualClock, Nanos, Pacer, Shape};
use std::error::Error;
use std::f64::consts::LN_2;
use std::time::Duration;

/// A shape whose rate is `first * 2^t` after `t` seconds.
#[derive(Debug)]
struct Doubling {
    /// The rate at the beginning, in operations per second.
    first: f64,
}

impl Curve for Doubling {
    /// Returns the area under the rate up to `elapsed`.
    fn count_at(&self, elapsed: Duration) -> f64 {
        self.first * (elapsed.as_secs_f64() * LN_2).exp_m1() / LN_2
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let doubling = Shape::custom(Doubling { first: 10.0 }, Some(Duration::from_secs(8)))?;
    let pacer = Pacer::shaped(doubling).clock(ManualClock::jumping()).build();
    let mut starts = [0_usize; 8];
    while let Ok(grant) = pacer.acquire() {
        starts[usize::try_from((grant.intended_start() - Nanos::ZERO).as_secs())?] += 1;
    }
    for (second, starts) in starts.iter().enumerate() {
        println!("second {second}: {starts:>4} {}", "#".repeat(starts / 30));
    }
    Ok(())
}
