//! Changes of the load while something fails.

use crate::{all_started, begin, each_engine, end, one_engine, program, tell};
use anyhow::{Context, Result};
use nanopace::Rate;
use nanopace_fleet::{Control, FleetError, RunStatus};
use nanopace_services::{NewConnections, Proxy, Server};
use nanopace_trials::fleet::{Outcome, Trial};
use std::thread;
use std::time::Duration;

/// The default.
const FRAME: Duration = Duration::from_millis(100);

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_run_is_paused_goes_on_and_stops() -> Result<()> {
    each_engine(|engine| {
        let server = Server::start(engine)?;
        let trial = begin(&server, "hold 1k/s 10s", 3)?;
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
        trial.until(1400);
        trial.control().stop()?;
        let outcome = end(trial)?;
        all_started(&outcome, 1);
        // Both changes begin with a frame, as long after they were asked for.
        let longest = longest_gap(&outcome).context("no starts")?;
        assert!(longest + 2 * FRAME >= resumed.saturating_sub(paused), "{longest:?}");
        Ok(())
    })
}

/// The longest time without an intended start.
fn longest_gap(outcome: &Outcome) -> Option<Duration> {
    let starts = outcome.nodes.iter().flat_map(|(_, _, starts)| starts);
    let mut intended: Vec<Duration> = starts.map(|start| start.intended).collect();
    intended.sort_unstable();
    intended.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max()
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn the_rate_is_changed_while_a_node_is_frozen() -> Result<()> {
    one_engine(|engine| {
        for freeze in [40, 300, 700] {
            let server = Server::start(engine)?;
            let trial = begin(&server, "hold 500/s 2s", 3)?;
            trial.until(300);
            trial.members[1].freeze()?;
            trial.control().set_rate("1k/s".parse()?)?;
            trial.until(300 + freeze);
            trial.members[1].thaw()?;
            trial.until(1200);
            trial.control().set_rate("200/s".parse()?)?;
            let outcome = end(trial)?;
            all_started(&outcome, 1);
        }
        Ok(())
    })
}

/// A node that does not know of a change starts slots that are not there any more. It counts them, and
/// then it is right again.
#[test]
#[ignore = "needs Redis and Valkey"]
fn the_rate_is_changed_while_a_node_is_cut_off() -> Result<()> {
    one_engine(|engine| {
        for rates in [["800/s", "400/s"], ["200/s", "1k/s"]] {
            let server = Server::start(engine)?;
            let proxy = Proxy::start(server.address())?;
            let urls = [&server.url()[..], &proxy.url(), &server.url()];
            let trial = Trial::begin_at(program(), &server.url(), "hold 500/s 3s", &urls, &[])?;
            trial.until(300);
            proxy.cut(NewConnections::Refused);
            trial.until(400);
            for rate in rates {
                trial.control().set_rate(rate.parse()?)?;
            }
            trial.until(1000);
            proxy.mend()?;
            end(trial)?;
        }
        Ok(())
    })
}

/// A node that does not know that the load has ended starts what there is not. Each start counts once.
#[test]
#[ignore = "needs Redis and Valkey"]
fn the_run_is_stopped_while_a_node_is_cut_off() -> Result<()> {
    one_engine(|engine| {
        let server = Server::start(engine)?;
        let proxy = Proxy::start(server.address())?;
        let urls = [&server.url()[..], &proxy.url(), &server.url()];
        let trial = Trial::begin_at(program(), &server.url(), "hold 500/s 9s", &urls, &[])?;
        trial.until(300);
        proxy.cut(NewConnections::Refused);
        trial.until(400);
        trial.control().stop()?;
        trial.until(1000);
        proxy.mend()?;
        let outcome = end(trial)?;
        all_started(&outcome, 0);
        let started_twice = outcome.truth.repeated() + outcome.truth.strays;
        assert!(started_twice > 20, "{}", outcome.summary());
        if outcome.had_time(0) {
            assert_eq!(outcome.account.twice(), started_twice, "{}", outcome.summary());
        }
        Ok(())
    })
}

/// The store is emptied as soon as a change is done, and while it is being made.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_change_outlives_the_data_of_the_store() -> Result<()> {
    one_engine(|engine| {
        let server = Server::start(engine)?;
        let trial = begin(&server, "hold 500/s 10s", 3)?;
        for is_paused in [true, false, true, false] {
            let control = trial.control();
            if is_paused {
                control.pause()?;
            } else {
                control.resume()?;
            }
            tell(server.address(), "FLUSHALL")?;
            assert_eq!(when_it_is_there(control)?.is_paused, is_paused);
        }
        for rate in [1_000, 600, 800] {
            let control = trial.control();
            thread::scope(|scope| {
                let asked = Rate::from_hz(rate.into())?;
                let change = scope.spawn(move || control.set_rate(asked));
                // It has found the run by then.
                thread::sleep(Duration::from_millis(fastrand::u64(5..300)));
                tell(server.address(), "FLUSHALL")?;
                change.join().expect("no panic")?;
                anyhow::Ok(())
            })?;
            let shape = when_it_is_there(control)?.shape;
            assert!(shape.contains(&format!("{rate}/s")), "{shape}");
        }
        trial.control().stop()?;
        all_started(&end(trial)?, 1);
        Ok(())
    })
}

/// The status of a run that its nodes fill the store with again.
fn when_it_is_there(control: &Control) -> Result<RunStatus> {
    loop {
        match control.status() {
            Err(FleetError::NoRun) => thread::sleep(Duration::from_millis(10)),
            status => return Ok(status?),
        }
    }
}

/// A load that has no slot for hours goes on until its end.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_rate_of_almost_nothing_does_not_end_the_run() -> Result<()> {
    one_engine(|engine| {
        let server = Server::start(engine)?;
        let trial = begin(&server, "hold 500/s 2s", 2)?;
        trial.until(300);
        trial.control().set_rate("1/h".parse()?)?;
        trial.until(900);
        trial.control().set_rate("400/s".parse()?)?;
        let outcome = end(trial)?;
        all_started(&outcome, 0);
        assert!((400..700).contains(&outcome.account.expected), "{}", outcome.summary());
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn many_change_a_run_at_once() -> Result<()> {
    each_engine(|engine| {
        let server = Server::start(engine)?;
        // Each change takes half a second.
        let trial = begin(&server, "hold 500/s 10s", 3)?;
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
        all_started(&end(trial)?, 0);
        Ok(())
    })
}
