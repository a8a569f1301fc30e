//! Tests nodes whose links to the store are down for a while, become slow or lose responses.

use crate::{all_started, assert_if_run, end, one_product, program, were_run};
use anyhow::Result;
use nanopace_services::{NewConnections, Proxy, Server};
use nanopace_trials::fleet::Trial;
use std::thread;
use std::time::Duration;

fn tried(nodes: usize, fault: impl Fn(&[Proxy]) -> Result<()>) -> Result<()> {
    one_product(|product| {
        let server = Server::start(product)?;
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
fn nodes_are_cut_off_up_to_the_end() -> Result<()> {
    tried(3, |proxies| cut_off(&proxies[..2], NewConnections::Refused, 2000))
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

/// The node owns the slots that it requested, even if the response is still under way when it leaves.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_node_that_leaves_over_a_link_that_has_become_slow_loses_nothing() -> Result<()> {
    one_product(|product| {
        let server = Server::start(product)?;
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
        assert_if_run(were_run(&outcome), is_right, &outcome);
        Ok(())
    })
}
