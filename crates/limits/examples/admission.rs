//! A service admits up to 5 requests per second and 12 per minute, and says when to come back to the
//! others. It runs on a clock that is moved by hand, so the two minutes take no time:
//!
//! ```text
//! cargo run -p nanopace-limits --example admission
//! ```

use nanopace::{Clock, ManualClock};
use nanopace_limits::{Clocked, Gcra, Locked, QuotaError, Rejected};
use std::time::Duration;

fn main() -> Result<(), QuotaError> {
    let clock = ManualClock::new();
    let both = (Gcra::new("5/s".parse()?), Gcra::new("12/min".parse()?));
    let limiter = Clocked::new(Locked::new(both), clock.clone());
    let mut admitted = 0;
    while clock.now().as_nanos() < 120_000_000_000 {
        let second = Duration::from_nanos(clock.now().as_nanos()).as_secs_f64();
        match limiter.try_acquire() {
            Ok(()) => admitted += 1,
            Err(Rejected::NotUntil(moment)) => {
                println!("{second:>7.3} s: {admitted:>2} admitted so far, the next at {moment:?}");
                clock.set(moment);
            }
            Err(error) => println!("{second:>7.3} s: {error}"),
        }
    }
    Ok(())
}
