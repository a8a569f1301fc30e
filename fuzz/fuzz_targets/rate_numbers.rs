//! Any numbers are a rate within the documented range, and to their precision, or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nanopace::{Rate, RateError};
use std::time::Duration;

const SLOWEST_HZ: f64 = 1.0 / 86_400.0;
const FASTEST_HZ: f64 = 1e10;

fn check(rate: Result<Rate, RateError>, hz: f64) {
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-15;
    match rate {
        Ok(rate) => {
            assert!(close(rate.as_hz(), hz), "{rate:?} for {hz}");
            assert!(close(rate.interval_ns(), 1e9 / hz), "{rate:?} for {hz}");
            let again = rate.to_string().parse::<Rate>();
            assert!(
                again.is_ok_and(|again| close(again.as_hz(), hz)),
                "{rate:?} is shown as {rate}"
            );
        }
        // At the ends of the range the float may lie on either side.
        Err(_) => assert!(
            !(hz > SLOWEST_HZ * (1.0 + 1e-15) && hz < FASTEST_HZ * (1.0 - 1e-15)),
            "{rate:?} for {hz}"
        ),
    }
}

fuzz_target!(|numbers: (f64, u64, u64, u32)| {
    let (hz, operations, seconds, nanos) = numbers;
    let period = Duration::new(seconds, nanos % 1_000_000_000);
    check(Rate::from_hz(hz), hz);
    check(Rate::per_second(operations), operations as f64);
    check(Rate::per(operations, period), operations as f64 * 1e9 / period.as_nanos() as f64);
});
