//! Tests sessions that cannot connect, in a closed loop and in a load with a schedule.

use super::{Called, CommandLine, LOAD, Told, done, failures, of_kind, refuses, run_with};
use crate::judged::summary::Summary;
use crate::load::backend::Backend;
use crate::load::target::{Done, Failure};
use crate::running::setup::Setup;
use clap::Parser;
use std::sync::mpsc;

fn run<T: Backend>(target: T, options: &str, is_closed: bool) -> Summary {
    let words = ["test", "-c", "2"].into_iter().chain(LOAD.split(' ')).chain(options.split(' '));
    let mut args = CommandLine::try_parse_from(words).unwrap().run;
    args.schedule.is_closed = is_closed;
    let (sender, messages) = mpsc::channel();
    run_with(&Setup::new(args, &[], |_| Ok(target)).unwrap(), &sender, &messages)
}

fn refused() -> Told<Called> {
    Told::new(refuses(1..u64::MAX), |_| done())
}

fn refused_blocking() -> Told<Result<Done, Failure>> {
    Told::new(refuses(1..u64::MAX), |_| Ok(Done::new()))
}

/// Two sessions make at most 10 000 attempts per second, which are 1000 in 100 ms, plus one attempt for each session.
#[test]
fn a_closed_loop_that_cant_connect_waits_before_it_tries_again() {
    let options = "--rate max --duration 100ms";
    for summary in [run(refused(), options, true), run(refused_blocking(), options, true)] {
        let started = summary.stats.started();
        assert!(started <= 1_002, "{started}");
        assert_eq!(failures(&summary), of_kind("refused", started));
    }
}

/// Requests fail at a rate of 10 000 per second, so 1000 requests end long before the hour is over.
#[test]
fn a_number_of_requests_ends_although_nothing_can_connect() {
    let options = "--rate max --duration 1h --requests 1000";
    for summary in [run(refused(), options, true), run(refused_blocking(), options, true)] {
        assert_eq!(failures(&summary), of_kind("refused", 1_000));
    }
}

#[test]
fn a_load_with_a_schedule_has_all_its_requests_although_nothing_can_connect() {
    let options = "--rate 1M/s --duration 2h --requests 10000";
    for summary in [run(refused(), options, false), run(refused_blocking(), options, false)] {
        assert_eq!(failures(&summary), of_kind("refused", 10_000));
    }
}

/// After a failed call, there is no delay, because the failure shows that the target has responded.
#[test]
fn calls_that_fail_wait_for_nothing() {
    let fails = |_| super::fails(Failure::new("no"));
    let options = "--rate max --duration 2h --requests 10000";
    let summary = run(Told::new(refuses(0..0), fails), options, true);
    assert_eq!(failures(&summary), of_kind("no", 10_000));
}
