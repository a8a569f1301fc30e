//! Tests nodes that die, freeze, join and leave.

use crate::{all_started, assert_if_run, begin, each_product, end, one_product, stop, wait_for};
use anyhow::Result;
use nanopace_services::Server;
use std::time::Duration;

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_killed_node_costs_what_it_had_claimed() -> Result<()> {
    each_product(|product| {
        let server = Server::start(product)?;
        let mut trial = begin(&server, "hold 2k/s 60s", 4)?;
        trial.until(700);
        let killed = trial.members[1].joined()?;
        trial.members[1].kill()?;
        let died = trial.elapsed();
        let outcome = stop(trial, 2000)?;
        assert!(
            !outcome.account.closes(),
            "the account closes without the starts of the killed node: {}",
            outcome.summary()
        );
        // Only slots of the killed node were never started. The node lost some of them, and its threads held up to two
        // others. Soon after its death, no slot is missing.
        let never = outcome.truth.never();
        let lost = outcome.node(killed).map_or(0, |node| node.lost);
        let recovered = died + Duration::from_millis(450 + 100);
        let is_over = outcome.truth.never_between(recovered, Duration::MAX) == 0;
        // In each of five frames, the node has at most a quarter of the slots and one more track, which are 50 + 13
        // slots.
        let is_short = never <= 5 * (50 + 13);
        let holds = never.cast_signed() <= lost + 2 && is_over && is_short;
        assert_if_run(outcome.had_time(0), holds, &outcome);
        Ok(())
    })
}

/// After the request to leave, the node continues for some frames without reporting their starts. If the machine
/// stalls, the node may end before it is killed.
#[test]
#[ignore = "needs Redis and Valkey"]
fn the_last_node_that_is_killed_while_it_leaves_lies_between_bounds() -> Result<()> {
    one_product(|product| {
        let server = Server::start(product)?;
        let mut is_killed = false;
        while !is_killed {
            let mut trial = begin(&server, "hold 1k/s 60s", 1)?;
            trial.until(1_000);
            trial.members[0].leave()?;
            trial.until(1_150);
            is_killed = trial.members[0].kill().is_ok();
            let outcome = end(trial)?;
            assert_eq!(outcome.account.closes(), !is_killed, "{}", outcome.summary());
        }
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_frozen_node_is_late_and_loses_nothing() -> Result<()> {
    one_product(|product| {
        let server = Server::start(product)?;
        let trial = begin(&server, "hold 1k/s 2500ms", 3)?;
        trial.until(500);
        trial.members[0].freeze()?;
        trial.until(800);
        trial.members[0].thaw()?;
        all_started(&end(trial)?, 1);
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn nodes_join_and_leave_and_nothing_is_lost() -> Result<()> {
    each_product(|product| {
        let server = Server::start(product)?;
        let mut trial = begin(&server, "hold 1k/s 60s", 1)?;
        for _ in 0..3 {
            trial.join()?;
        }
        trial.members.iter().try_for_each(|member| wait_for(member, |starts| starts.len() > 50))?;
        trial.until(1500);
        for member in &mut trial.members[..3] {
            member.leave()?;
        }
        all_started(&stop(trial, 3000)?, 0);
        Ok(())
    })
}
