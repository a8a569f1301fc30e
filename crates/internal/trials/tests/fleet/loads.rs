//! Tests loads whose rates are too high for the nodes, very low or very high.

use crate::{all_started, assert_if_run, begin, each_product, end, one_product, program, were_run};
use anyhow::Result;
use nanopace_services::Server;
use nanopace_trials::fleet::Trial;
use std::time::Duration;

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_load_that_is_too_high_is_late_and_nothing_is_dropped() -> Result<()> {
    one_product(|product| {
        let server = Server::start(product)?;
        let url = server.url();
        let slow = ["--threads", "1", "--busy-us", "4000"];
        let urls = [&url[..]; 4];
        let trial = Trial::begin_at(program(), &url, "hold 2k/s 1s", &urls, &slow)?;
        let outcome = end(trial)?;
        assert_if_run(outcome.had_time(0), outcome.truth.never() == 0, &outcome);
        let starts = || outcome.nodes.iter().map(|(_, _, starts)| starts);
        // Four threads with at most 250 starts per second each take 2 s for the 2000 slots, so the last starts are
        // about 1 s late.
        assert!(
            starts().flatten().map(|start| start.wait).max() > Some(Duration::from_millis(800))
        );
        let is_shared = starts().all(|starts| starts.len() < 800);
        assert_if_run(were_run(&outcome), is_shared, &outcome);
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn nodes_that_are_late_leave_nothing_behind() -> Result<()> {
    one_product(|product| {
        let server = Server::start(product)?;
        let url = server.url();
        let slow = ["--threads", "1", "--busy-us", "4000"];
        let mut trial = Trial::begin_at(program(), &url, "hold 1k/s 60s", &[&url, &url], &slow)?;
        trial.until(600);
        for member in &mut trial.members {
            member.leave()?;
        }
        let outcome = end(trial)?;
        let never = outcome.truth.never_of(outcome.account.expected);
        assert_if_run(outcome.had_time(0), never == 0, &outcome);
        let is_soon = (500..1_500).contains(&outcome.account.expected);
        assert_if_run(were_run(&outcome), is_soon, &outcome);
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_slow_node_leaves_its_part_to_the_others() -> Result<()> {
    one_product(|product| {
        let server = Server::start(product)?;
        let url = server.url();
        let mut trial = Trial::new(program(), &url, "hold 600/s 3s")?;
        trial.add(&url, &["--nodes", "3", "--threads", "1", "--busy-us", "20000"])?;
        trial.add(&url, &["--nodes", "3"])?;
        trial.add(&url, &["--nodes", "3"])?;
        trial.start()?;
        let outcome = end(trial)?;
        all_started(&outcome, 1);
        // An equal share would be 600 slots. The slow node can start 150 slots in time, and some more late.
        let [slow, fast, _] = &outcome.nodes[..] else { panic!("three nodes") };
        let is_less = 2 * slow.2.len() < fast.2.len();
        assert_if_run(were_run(&outcome), is_less, &outcome);
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn one_slot_per_second() -> Result<()> {
    each_product(|product| {
        let server = Server::start(product)?;
        let outcome = end(begin(&server, "hold 1/s 2500ms", 3)?)?;
        assert_eq!(outcome.account.expected, 3);
        all_started(&outcome, 0);
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_million_slots_per_second() -> Result<()> {
    each_product(|product| {
        let server = Server::start(product)?;
        let url = server.url();
        let urls = [&url[..]; 3];
        let options = ["--together", "64"];
        let trial = Trial::begin_at(program(), &url, "hold 1M/s 200ms", &urls, &options)?;
        let outcome = end(trial)?;
        assert_eq!(outcome.account.expected, 200_000);
        all_started(&outcome, 0);
        Ok(())
    })
}
