//! Tests a store that stalls, dies, restarts without data or with old data, or is slow.

use crate::{all_started, begin, each_product, end, one_product, program, tell};
use anyhow::Result;
use nanopace_services::{Proxy, Server};
use nanopace_trials::fleet::{Outcome, Trial};
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

const SHAPE: &str = "hold 1k/s 2s";

fn wait(milliseconds: u64) {
    thread::sleep(Duration::from_millis(milliseconds));
}

fn ended(trial: Trial) -> Result<Outcome> {
    let outcome = end(trial)?;
    all_started(&outcome, 0);
    Ok(outcome)
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_store_that_stalls_costs_nothing() -> Result<()> {
    each_product(|product| {
        let server = Server::start(product)?;
        let trial = begin(&server, SHAPE, 3)?;
        for (at, freeze) in [(200, 8), (400, 15), (600, 40), (800, 500)] {
            trial.until(at);
            server.stop()?;
            wait(freeze);
            server.go_on()?;
        }
        ended(trial)?;
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_store_that_comes_back_empty_is_filled_again() -> Result<()> {
    each_product(|product| {
        let mut server = Server::start(product)?;
        let trial = begin(&server, SHAPE, 3)?;
        trial.until(500);
        server.kill();
        wait(500);
        server.restart()?;
        assert!(ended(trial)?.repairs > 0);
        Ok(())
    })
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// The store returns with old data, as after a failover to a replica. It is down briefly, or until the nodes have
/// started all slots that they had claimed in advance.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_store_that_returns_as_an_old_copy_is_repaired() -> Result<()> {
    each_product(|product| {
        for away in [0, 400] {
            let server = Server::with(product).append_only().start()?;
            let proxy = Proxy::start(server.address())?;
            let trial = Trial::begin(program(), &proxy.url(), SHAPE, 3)?;
            trial.until(500);
            let folder = tempfile::tempdir()?;
            copy(server.folder(), folder.path())?;
            trial.until(900);
            let server_of_copy =
                || Server::with(product).append_only().folder(folder.path()).start();
            let old = if away == 0 {
                let old = server_of_copy()?;
                drop(server);
                old
            } else {
                drop(server);
                wait(away);
                server_of_copy()?
            };
            proxy.redirect(old.address());
            ended(trial)?;
        }
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_lost_script_is_loaded_again() -> Result<()> {
    each_product(|product| {
        let server = Server::start(product)?;
        let trial = begin(&server, SHAPE, 3)?;
        for command in ["SCRIPT FLUSH", "FUNCTION FLUSH", "SCRIPT FLUSH"] {
            wait(250);
            tell(server.address(), command)?;
        }
        assert_eq!(ended(trial)?.repairs, 0);
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_store_that_is_far_away_costs_nothing() -> Result<()> {
    one_product(|product| {
        let server = Server::start(product)?;
        let proxy = Proxy::start(server.address())?;
        proxy.delay(Duration::from_millis(75));
        let trial = Trial::begin(program(), &proxy.url(), SHAPE, 2)?;
        let frame = trial.control().status()?.frame;
        assert!(frame >= Duration::from_millis(150), "{frame:?}");
        all_started(&end(trial)?, 0);
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_store_that_becomes_slow_costs_nothing() -> Result<()> {
    one_product(|product| {
        let server = Server::start(product)?;
        let proxy = Proxy::start(server.address())?;
        let trial = Trial::begin(program(), &proxy.url(), SHAPE, 2)?;
        for (at, delay) in [(300, 3), (700, 30), (1200, 0)] {
            trial.until(at);
            proxy.delay(Duration::from_millis(delay));
        }
        ended(trial)?;
        Ok(())
    })
}
