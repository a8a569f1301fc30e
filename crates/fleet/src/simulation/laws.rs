//! Tests: what has to hold for every seed.

use super::{Fault, Outcome, Setup, simulate};
use std::time::Duration;

const SEEDS: u64 = 12;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn each(setup: impl Fn(u64) -> Setup, law: impl Fn(&Outcome)) {
    for seed in 1..=SEEDS {
        let outcome = simulate(&Setup { seed, ..setup(seed) });
        println!("seed {seed}: {outcome:?}");
        assert!(outcome.closes, "seed {seed}: {outcome:?}");
        law(&outcome);
    }
}

#[test]
fn without_faults_each_slot_starts_once() {
    let setup = |seed| Setup { nodes: 1 + seed as u32 % 9, ..Setup::default() };
    each(setup, |outcome| {
        assert_eq!([outcome.expected, outcome.fired], [30_000, 30_000]);
        assert_eq!(outcome.account, (30_000, 0, 0));
        assert_eq!([outcome.lost, outcome.twice], [0, 0]);
    });
}
