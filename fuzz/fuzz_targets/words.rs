//! Checks that every string or number is a strictness, a kind of pause, a quota or an error. Printed values must be
//! parsed to equal values.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nanopace::{Pause, Strictness};
use nanopace_limits::Quota;
use std::fmt::Display;
use std::str::FromStr;

fn check<T: FromStr<Err: Display> + Display + PartialEq>(parsed: Result<T, T::Err>) {
    match parsed {
        Ok(value) => {
            assert!(value.to_string().parse().is_ok_and(|again: T| again == value), "{value}")
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fuzz_target!(|input: (f64, &str)| {
    let (number, text) = input;
    check(Strictness::new(number));
    assert_eq!(Strictness::new(number).is_ok(), (0.0..=1000.0).contains(&number), "{number}");
    check(text.parse::<Strictness>());
    check(text.parse::<Pause>());
    check(text.parse::<Quota>());
});
