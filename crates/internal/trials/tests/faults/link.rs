//! Tests nodes that have no connection to the store for a while, and requests and responses that are late or lost.

use crate::{all_started, assert_if_run, begin, end, one_engine, program, stop, wait_for};
use anyhow::Result;
use nanopace_services::{NewConnections, Proxy, Server};
use nanopace_trials::fleet::{Start, Trial};
use std::thread;
use std::time::Duration;

/// Makes a fault in a run in which each node has its own proxy, and asserts that all slots are started. Nodes that are
/// cut off start their own slots, and the others start the slots that they consider free.
fn tried(nodes: usize, fault: impl Fn(&[Proxy]) -> Result<()>) -> Result<()> {
    one_engine(|engine| {
        let server = Server::start(engine)?;
        let proxy = |_| Ok(Proxy::start(server.address())?);
        let proxies = (0..nodes).map(proxy).collect::<Result<Vec<_>>>()?;
        let urls: Vec<String> = proxies.iter().map(Proxy::url).collect();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        let trial = Trial::begin_at(program(), &server.url(), "hold 1k/s 2s", &urls, &[])?;
        trial.until(400);
        fault(&proxies)?;
        all_started(&end(trial)?, 0);
        Ok(())
    })
}

fn wait(milliseconds: u64) {
    thread::sleep(Duration::from_millis(milliseconds));
}

fn cut_off(proxies: &[Proxy], new: NewConnections, milliseconds: u64) -> Result<()> {
    for proxy in proxies {
        proxy.cut(new);
    }
    wait(milliseconds);
    Ok(proxies.iter().try_for_each(Proxy::mend)?)
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn one_node_is_cut_off() -> Result<()> {
    tried(3, |proxies| cut_off(&proxies[..1], NewConnections::Refused, 500))?;
    tried(3, |proxies| cut_off(&proxies[..1], NewConnections::Hang, 1000))
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn half_the_fleet_is_cut_off() -> Result<()> {
    tried(4, |proxies| cut_off(&proxies[..2], NewConnections::Hang, 600))
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn nodes_are_cut_off_up_to_the_end() -> Result<()> {
    tried(3, |proxies| cut_off(&proxies[..2], NewConnections::Refused, 2000))
}

/// The node continues without the store, and other nodes start its slots too. Nobody learns how many slots the node
/// started.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_node_that_is_cut_off_and_then_killed_lies_between_bounds() -> Result<()> {
    one_engine(|engine| {
        let server = Server::start(engine)?;
        let proxy = Proxy::start(server.address())?;
        let (far, near) = (proxy.url(), server.url());
        let urls = [&far[..], &near, &near];
        let mut trial = Trial::begin_at(program(), &near, "hold 1k/s 60s", &urls, &[])?;
        trial.until(400);
        proxy.cut(NewConnections::Hang);
        let late = Duration::from_millis(1_500);
        let goes_on = |starts: &[Start]| starts.iter().any(|start| start.intended > late);
        trial.members.iter().try_for_each(|member| wait_for(member, goes_on))?;
        trial.members[0].kill()?;
        let outcome = stop(trial, 2_000)?;
        assert!(!outcome.account.closes(), "{}", outcome.summary());
        let (repeated, most) = (outcome.truth.repeated(), outcome.account.twice_at_most());
        assert!(repeated > outcome.account.twice() && repeated <= most, "{}", outcome.summary());
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_link_flaps() -> Result<()> {
    tried(3, |proxies| {
        for _ in 0..8 {
            cut_off(&proxies[..1], NewConnections::Refused, 50)?;
            wait(50);
        }
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn replies_are_lost_after_requests_were_done() -> Result<()> {
    tried(3, |proxies| {
        for lost in [1, 2, 1, 5, 1, 3] {
            for proxy in proxies {
                proxy.drop_replies(lost);
            }
            wait(120);
        }
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn old_requests_arrive_late() -> Result<()> {
    tried(3, |proxies| {
        for late in [20, 45, 60, 100, 200] {
            proxies.iter().for_each(Proxy::hold_requests);
            wait(late);
            proxies.iter().for_each(Proxy::release);
            wait(100);
        }
        Ok(())
    })
}

/// One-way delays that last from the middle of the run to its end.
const SLOW_MS: [u64; 3] = [12, 25, 75];

#[test]
#[ignore = "needs Redis and Valkey"]
fn one_link_becomes_slow_and_stays_so() -> Result<()> {
    for slow in SLOW_MS {
        tried(4, |proxies| {
            proxies[1].delay(Duration::from_millis(slow));
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn all_links_become_slow_and_stay_so() -> Result<()> {
    for slow in SLOW_MS {
        tried(3, |proxies| {
            for proxy in proxies {
                proxy.delay(Duration::from_millis(slow));
            }
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_node_joins_from_far_away() -> Result<()> {
    one_engine(|engine| {
        let server = Server::start(engine)?;
        let far = Proxy::start(server.address())?;
        far.delay(Duration::from_millis(75));
        let mut trial = begin(&server, "hold 1k/s 60s", 3)?;
        let joined = trial.add(&far.url(), &[])?;
        joined.joined()?;
        wait_for(joined, |starts| !starts.is_empty())?;
        all_started(&stop(trial, 3000)?, 0);
        Ok(())
    })
}

/// The node owns the slots that it has requested, even if it leaves before the response arrives.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_node_that_leaves_over_a_link_that_has_become_slow_loses_nothing() -> Result<()> {
    one_engine(|engine| {
        let server = Server::start(engine)?;
        let proxy = Proxy::start(server.address())?;
        let mut trial =
            Trial::begin_at(program(), &server.url(), "hold 1k/s 60s", &[&proxy.url()], &[])?;
        trial.until(300);
        proxy.delay(Duration::from_millis(150));
        trial.until(700);
        trial.members[0].leave()?;
        let outcome = end(trial)?;
        let never = outcome.truth.never_of(outcome.account.expected);
        let is_right = outcome.account.is_exact() && never == 0;
        // Starts are later than a frame only if the machine stalled.
        let mut starts = outcome.nodes.iter().flat_map(|(_, _, starts)| starts);
        let is_late = starts.any(|start| start.wait > Duration::from_millis(100));
        assert_if_run(!is_late, is_right, &outcome);
        Ok(())
    })
}
