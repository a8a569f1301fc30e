//! Sessions that can't connect, in a closed loop and in a load with a schedule.

use super::{LOAD, Line, Told, blocking, done, failures, of_kind, refuses, run_with};
use crate::judged::summary::Summary;
use crate::load::target::{Done, Target};
use crate::running::setup::Setup;
use clap::Parser;
use std::sync::mpsc;

/// A run over two sessions.
fn run<T: Target>(target: T, options: &str, is_closed: bool) -> Summary {
    let words = ["test", "-c", "2"].into_iter().chain(LOAD.split(' ')).chain(options.split(' '));
    let mut args = Line::try_parse_from(words).unwrap().run;
    args.schedule.is_closed = is_closed;
    let (sender, messages) = mpsc::channel();
    run_with(&Setup::new(args, &[], |_| Ok(target)).unwrap(), &sender, &messages)
}

fn refused() -> Told {
    Told::new(refuses(1..u64::MAX), |_| done())
}

fn refused_blocking() -> blocking::Told {
    let refuses = refuses(1..u64::MAX);
    blocking::Told::new(refuses, |_| Ok(Done::new()))
}

/// After waits of 1, 2, 4, ... ms, each of two sessions has tried nine times in 300 ms, at most ten.
#[test]
fn a_closed_loop_that_cant_connect_waits_longer_and_longer() {
    let options = "--rate max --duration 300ms";
    for summary in [run(refused(), options, true), run(refused_blocking(), options, true)] {
        let started = summary.stats.started();
        assert!(started <= 20, "{started}");
        assert_eq!(failures(&summary), of_kind("refused", started));
    }
}

/// With waits of a second, it would take more than an hour.
#[test]
fn a_load_with_a_schedule_does_not_wait() {
    let options = "--rate 1M/s --duration 2h --requests 10000";
    for summary in [run(refused(), options, false), run(refused_blocking(), options, false)] {
        assert_eq!(failures(&summary), of_kind("refused", 10_000));
    }
}

/// Failures of calls are the target's answers.
#[test]
fn calls_that_fail_wait_for_nothing() {
    let fails = |_| super::fails(crate::load::target::Failure::new("no"));
    let options = "--rate max --duration 2h --requests 10000";
    let summary = run(Told::new(refuses(0..0), fails), options, true);
    assert_eq!(failures(&summary), of_kind("no", 10_000));
}
