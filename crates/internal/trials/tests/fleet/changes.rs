//! Tests changes of the load, also during faults.

use crate::{
    all_started, assert_if_run, begin, each_product, end, one_product, program, stop, tell,
    wait_for, wait_for_run,
};
use anyhow::Result;
use nanopace::Rate;
use nanopace_fleet::{Control, FleetError};
use nanopace_services::{NewConnections, Proxy, Server};
use nanopace_trials::fleet::{Outcome, Start, Trial};
use std::thread;
use std::time::Duration;

const FRAME: Duration = Duration::from_millis(100);

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_run_is_paused_and_resumed_and_stopped() -> Result<()> {
    each_product(|product| {
        let server = Server::start(product)?;
        let trial = begin(&server, "hold 1k/s 60s", 3)?;
        trial.until(300);
        trial.control().pause()?;
        let paused = trial.elapsed();
        let again = trial.control().pause();
        assert!(matches!(again, Err(FleetError::Paused(_))), "{again:?}");
        trial.until(700);
        trial.control().set_rate("500/s".parse()?)?;
        trial.until(800);
        let resumed = trial.elapsed();
        trial.control().resume()?;
        let outcome = stop(trial, 1400)?;
        all_started(&outcome, 1);
        assert_gap(&outcome, resumed.saturating_sub(paused));
        Ok(())
    })
}

/// Checks for a gap between starts. A change takes effect at the beginning of a frame, a fixed number of frames after
/// its request, so the gap may be up to two frames shorter than `between`.
fn assert_gap(outcome: &Outcome, between: Duration) {
    let starts = outcome.nodes.iter().flat_map(|(_, _, starts)| starts);
    let mut intended: Vec<Duration> = starts.map(|start| start.intended).collect();
    intended.sort_unstable();
    let longest = intended.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max();
    assert!(longest.is_some_and(|longest| longest + 2 * FRAME >= between), "{longest:?}");
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn the_rate_is_changed_while_a_node_is_cut_off() -> Result<()> {
    one_product(|product| {
        for rates in [["800/s", "400/s"], ["200/s", "1k/s"]] {
            let server = Server::start(product)?;
            let proxy = Proxy::start(server.address())?;
            let urls = [&server.url()[..], &proxy.url(), &server.url()];
            let trial = Trial::begin_at(program(), &server.url(), "hold 500/s 60s", &urls, &[])?;
            trial.until(300);
            proxy.cut(NewConnections::Refused);
            trial.until(400);
            for rate in rates {
                trial.control().set_rate(rate.parse()?)?;
            }
            trial.until(1000);
            proxy.mend()?;
            stop(trial, 3000)?;
        }
        Ok(())
    })
}

/// The node that is cut off starts slots that do not exist. Each start of this kind counts as a slot that was started
/// twice.
#[test]
#[ignore = "needs Redis and Valkey"]
fn the_run_is_stopped_while_a_node_is_cut_off() -> Result<()> {
    one_product(|product| {
        let server = Server::start(product)?;
        let proxy = Proxy::start(server.address())?;
        let urls = [&server.url()[..], &proxy.url(), &server.url()];
        let trial = Trial::begin_at(program(), &server.url(), "hold 500/s 60s", &urls, &[])?;
        trial.until(300);
        proxy.cut(NewConnections::Refused);
        trial.until(400);
        trial.control().stop()?;
        let over = trial.elapsed() + 4 * FRAME;
        let is_over = |start: &&Start| start.intended > over;
        wait_for(&trial.members[1], |starts| starts.iter().filter(is_over).count() > 20)?;
        proxy.mend()?;
        let outcome = end(trial)?;
        all_started(&outcome, 0);
        let started_twice = outcome.truth.repeated() + outcome.truth.strays;
        assert!(started_twice > 20, "{}", outcome.summary());
        assert_if_run(outcome.had_time(0), outcome.account.twice() == started_twice, &outcome);
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_change_survives_the_loss_of_the_store_s_data() -> Result<()> {
    one_product(|product| {
        let server = Server::start(product)?;
        let trial = begin(&server, "hold 500/s 60s", 3)?;
        for is_paused in [true, false, true, false] {
            let control = trial.control();
            if is_paused {
                control.pause()?;
            } else {
                control.resume()?;
            }
            tell(server.address(), "FLUSHALL")?;
            wait_for_run(control, |status| status.is_paused == is_paused)?;
        }
        for rate in [1_000, 600, 800] {
            let control = trial.control();
            thread::scope(|scope| {
                let asked = Rate::from_hz(rate.into())?;
                let change = scope.spawn(move || control.set_rate(asked));
                // After this sleep, the change has very probably found the run, but may be incomplete.
                thread::sleep(Duration::from_millis(fastrand::u64(5..300)));
                tell(server.address(), "FLUSHALL")?;
                change.join().expect("no panic")?;
                anyhow::Ok(())
            })?;
            wait_for_run(control, |status| status.shape.contains(&format!("{rate}/s")))?;
        }
        all_started(&stop(trial, 0)?, 1);
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_very_low_rate_does_not_end_the_run() -> Result<()> {
    one_product(|product| {
        let server = Server::start(product)?;
        let trial = begin(&server, "hold 500/s 60s", 2)?;
        trial.until(300);
        trial.control().set_rate("1/h".parse()?)?;
        let slow = trial.elapsed();
        trial.until(900);
        let fast = trial.elapsed();
        trial.control().set_shape(&"hold 400/s 1s".parse()?)?;
        let outcome = end(trial)?;
        all_started(&outcome, 0);
        assert!(outcome.account.expected > 400, "{}", outcome.summary());
        assert_gap(&outcome, fast.saturating_sub(slow));
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn several_programs_change_a_run_at_once() -> Result<()> {
    each_product(|product| {
        let server = Server::start(product)?;
        let trial = begin(&server, "hold 500/s 60s", 3)?;
        trial.until(200);
        thread::scope(|scope| {
            for caller in 0..4 {
                let control = Control::open(&server.url(), trial.name());
                scope.spawn(move || {
                    for change in 0..2 {
                        let rate = format!("{}/s", 400 + 100 * caller + 10 * change);
                        let changed = control.as_ref().unwrap().set_rate(rate.parse().unwrap());
                        let is_right = matches!(changed, Ok(()) | Err(FleetError::Contended));
                        assert!(is_right, "{changed:?}");
                    }
                });
            }
        });
        all_started(&stop(trial, 0)?, 0);
        Ok(())
    })
}
