//! Writes the account of a fleet: how many slots were started, skipped, lost and started twice.

use crate::console::human;
use nanopace_fleet::{Account, NodeAccount};
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

pub(crate) fn line(account: &Account) -> String {
    let (started, skipped) = (account.started(), account.skipped());
    format!(
        "account   {}: {} expected = {started} started + {skipped} skipped + {} lost - {} twice",
        if account.closes() { "closes" } else { "does not close" },
        account.expected,
        account.lost(),
        account.twice()
    )
}

/// A table of the nodes and their slots.
#[derive(Debug)]
pub(crate) struct NodeTable<'run>(pub(crate) &'run Account);

impl Display for NodeTable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let account = self.0;
        writeln!(
            f,
            "\n{:>6} {:>10} {:>10} {:>8} {:>8} {:>8}  name",
            "node", "claimed", "started", "skipped", "lost", "twice"
        )?;
        for node in &account.nodes {
            let NodeAccount { number, name, claimed, started, skipped, lost, twice, .. } = node;
            writeln!(
                f,
                "{number:>6} {claimed:>10} {started:>10} {skipped:>8} {lost:>8} {twice:>8}  {name}"
            )?;
        }
        if account.unclaimed > 0 {
            writeln!(f, "{:>6} {:>39}  claimed by no node", "none", account.unclaimed)?;
        }
        Ok(())
    }
}

fn listed(numbers: impl Iterator<Item = u16>) -> String {
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    let nodes = if numbers.len() == 1 { "node" } else { "nodes" };
    format!("{nodes} {}", numbers.join(", "))
}

pub(crate) fn clock_steps(account: &Account) -> Option<String> {
    steps(account.nodes.iter().map(|node| (node.number, node.stepped)))
}

fn steps(stepped: impl Iterator<Item = (u16, Duration)>) -> Option<String> {
    let set: Vec<_> = stepped.filter(|(_, by)| !by.is_zero()).collect();
    let most = set.iter().map(|(_, by)| *by).max()?;
    let nodes = listed(set.iter().map(|(number, _)| *number));
    let by = human::time(most);
    Some(format!("the clock of {nodes} was set, by up to {by}, to follow the store's clock"))
}

/// Returns the reasons why numbers are not certain and the bounds of these numbers, and then the steps of clocks.
pub(crate) fn notes(account: &Account) -> Vec<String> {
    let mut notes = if account.is_told() { Vec::new() } else { bounds(account) };
    notes.extend(clock_steps(account));
    notes
}

fn bounds(account: &Account) -> Vec<String> {
    let mut bounds = Vec::new();
    let is_silent = |node: &&NodeAccount| node.untold + node.perhaps_twice > 0;
    let mut silent = account.nodes.iter().filter(is_silent).map(|node| node.number).peekable();
    if silent.peek().is_some() {
        let nodes = listed(silent);
        bounds.push(format!("results are missing: {nodes} died or lost the store"));
    }
    if account.forgotten > 0 {
        let nodes = human::count(account.forgotten, "node");
        bounds.push(format!("the store lost its data: the results of {nodes} are unknown"));
    }
    let (started, twice) = (account.started(), account.twice());
    let (most, more) = (account.started_at_most(), account.twice_at_most());
    let (least, lost) = (account.lost_at_least().max(0), account.lost());
    bounds.push(format!(
        "{started} to {most} slots started, {least} to {lost} lost, {twice} to {more} started twice"
    ));
    bounds
}

#[derive(Debug, Serialize)]
pub(crate) struct AccountObject {
    expected: u64,
    #[serde(rename = "fired")]
    started: u64,
    #[serde(rename = "shed")]
    skipped: u64,
    lost: i64,
    twice: u64,
    #[serde(rename = "fired_at_most")]
    started_at_most: u64,
    lost_at_least: i64,
    twice_at_most: u64,
    unclaimed: u64,
    forgotten_nodes: u64,
    closes: bool,
    nodes: Vec<NodeObject>,
}

#[derive(Debug, Serialize)]
struct NodeObject {
    number: u16,
    name: String,
    claimed: u64,
    #[serde(rename = "fired")]
    started: u64,
    #[serde(rename = "shed")]
    skipped: u64,
    lost: i64,
    twice: u64,
    untold: u64,
    perhaps_twice: u64,
    late_seconds: f64,
    blind_seconds: f64,
    stepped_seconds: f64,
    silent_seconds: f64,
    is_finished: bool,
}

impl AccountObject {
    pub(crate) fn new(account: &Account) -> AccountObject {
        AccountObject {
            expected: account.expected,
            started: account.started(),
            skipped: account.skipped(),
            lost: account.lost(),
            twice: account.twice(),
            started_at_most: account.started_at_most(),
            lost_at_least: account.lost_at_least(),
            twice_at_most: account.twice_at_most(),
            unclaimed: account.unclaimed,
            forgotten_nodes: account.forgotten,
            closes: account.closes(),
            nodes: account.nodes.iter().map(NodeObject::new).collect(),
        }
    }
}

impl NodeObject {
    fn new(node: &NodeAccount) -> NodeObject {
        NodeObject {
            number: node.number,
            name: node.name.clone(),
            claimed: node.claimed,
            started: node.started,
            skipped: node.skipped,
            lost: node.lost,
            twice: node.twice,
            untold: node.untold,
            perhaps_twice: node.perhaps_twice,
            late_seconds: node.late.as_secs_f64(),
            blind_seconds: node.blind.as_secs_f64(),
            stepped_seconds: node.stepped.as_secs_f64(),
            silent_seconds: node.silent.as_secs_f64(),
            is_finished: node.is_finished,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_whose_clocks_were_set_are_named_with_the_longest_step() {
        let steps = |seconds: [u64; 3]| {
            steps((1..).zip(seconds).map(|(node, by)| (node, Duration::from_secs(by))))
        };
        assert_eq!(steps([0, 0, 0]), None);
        let said = |nodes: &str| {
            Some(format!(
                "the clock of {nodes} was set, by up to 5.00s, to follow the store's clock"
            ))
        };
        assert_eq!(steps([0, 5, 0]), said("node 2"));
        assert_eq!(steps([5, 0, 3]), said("nodes 1, 3"));
    }
}
