//! A load generator for a plain function: one call sorts numbers.

use clap::Args;
use nanopace_load::{Done, Slot};
use std::convert::Infallible;
use std::hint::black_box;
use std::process::ExitCode;

/// Sorts numbers.
#[derive(Debug, Args)]
struct Options {
    /// How many numbers to sort
    #[arg(long, default_value_t = 1_000)]
    numbers: u64,
}

fn numbers(slot: Slot, count: u64) -> Vec<u64> {
    let seeds = (0..count).map(|index| slot.number() + index);
    seeds.map(|seed| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
}

fn main() -> ExitCode {
    nanopace_load::main(|options: &Options| {
        let count = options.numbers;
        Ok::<_, Infallible>(move |slot: Slot| {
            let mut numbers = numbers(slot, count);
            numbers.sort_unstable();
            black_box(numbers);
            Ok(Done::new())
        })
    })
}
