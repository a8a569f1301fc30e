//! Runs Poisson arrivals on a ramp. The counts per second follow the ramp. Each count typically differs from the ramp's
//! by about the square root of the count. The clock jumps, so the example takes no time.
//!
//! `cargo run --release -p nanopace --example ramped_poisson`

use nanopace::{Arrivals, ManualClock, Nanos, Pacer, Shape};
use std::error::Error;
use std::time::Duration;

fn counts(shape: &Shape, arrivals: Arrivals) -> Result<[u32; 10], Box<dyn Error>> {
    let builder = Pacer::shaped(shape.clone()).arrivals(arrivals);
    let pacer = builder.clock(ManualClock::jumping()).build();
    let mut counts = [0; 10];
    while let Ok(grant) = pacer.acquire() {
        let second = (grant.intended_start() - Nanos::ZERO).as_secs();
        counts[usize::try_from(second)?] += 1;
    }
    Ok(counts)
}

fn main() -> Result<(), Box<dyn Error>> {
    let shape: Shape = "ramp 0/s..500/s 10s".parse()?;
    let even = counts(&shape, Arrivals::even())?;
    let poisson = counts(&shape, Arrivals::poisson(42))?;
    let again = counts(&shape, Arrivals::poisson(42))?;
    println!("second  the ramp  even  Poisson");
    for (second, (even, poisson)) in (0..).zip(even.iter().zip(poisson)) {
        let by = |second| shape.count_at(Duration::from_secs(second));
        let ramp = by(second + 1) - by(second);
        println!("{second:>6} {ramp:>9} {even:>5} {poisson:>8}");
    }
    assert_eq!(poisson, again, "the same seed, the same arrivals");
    Ok(())
}
