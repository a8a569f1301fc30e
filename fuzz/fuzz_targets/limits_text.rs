//! Checks that every string is a quota, the limits of a key, or an error with its reason. Printed values must be parsed
//! to equal values. Also checks limits that are built from any numbers.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use nanopace_fuzz::{AnyQuota, Number};
use nanopace_keyed::{Limit, Limits};
use nanopace_limits::Quota;
use std::fmt::{Debug, Display};
use std::num::NonZeroU16;
use std::str::FromStr;

const WORDS: [&str; 20] = [
    "/", ", ", " in ", " burst ", " ", "k", "M", "G", "s", "ms", "us", "ns", "min", "m", "h",
    "day", "year", "month", "1", "0",
];

#[derive(Arbitrary, Debug)]
enum Piece<'a> {
    Word(u8),
    Number(Number),
    Text(&'a str),
}

#[derive(Arbitrary, Debug)]
enum Made {
    Gcra(AnyQuota),
    WithBurst(AnyQuota, Number),
    Window(AnyQuota, NonZeroU16),
}

impl Made {
    fn limit(&self) -> Option<Limit> {
        match *self {
            Made::Gcra(quota) => Some(Limit::gcra(quota.get())),
            Made::WithBurst(quota, burst) => Limit::gcra_with_burst(quota.get(), burst.get()).ok(),
            Made::Window(quota, slots) => Some(Limit::window(quota.get(), slots)),
        }
    }
}

fn read_back<T: FromStr<Err: Display> + Display + PartialEq + Debug>(value: &T) {
    let shown = value.to_string();
    match shown.parse::<T>() {
        Ok(again) => assert_eq!(again, *value, "printed as {shown}"),
        Err(error) => panic!("{value:?} is printed as {shown}: {error}"),
    }
}

fn read<T: FromStr<Err: Display> + Display + PartialEq + Debug>(text: &str) {
    match text.parse::<T>() {
        Ok(value) => read_back(&value),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fuzz_target!(|input: (Vec<Piece>, Vec<Made>)| {
    let (pieces, made) = input;
    let text: String = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Word(word) => WORDS[usize::from(*word) % WORDS.len()].to_owned(),
            Piece::Number(number) => number.get().to_string(),
            Piece::Text(text) => (*text).to_owned(),
        })
        .collect();
    read::<Quota>(&text);
    read::<Limits>(&text);
    read_back(&Limits::new(made.iter().filter_map(Made::limit)));
});
