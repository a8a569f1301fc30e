//! Compares the account of a run with the starts that its nodes recorded.

use crate::fleet::member::Fate;
use crate::fleet::start::Start;
use crate::fleet::truth::Truth;
use anyhow::{Result, ensure};
use nanopace_fleet::{Account, NodeAccount};
use std::time::Duration;

/// The maximum number of slots that a killed node can have started and not recorded: one for each of its two threads.
const IN_HAND: u64 = 2;

/// A node with a start within this time counts as present from the beginning.
const EARLY: Duration = Duration::from_millis(100);

/// The time between two wake-ups of a node, in milliseconds, from which the node counts as not scheduled in time.
const CALM_MS: u64 = 12;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The account that the store reports.
    pub account: Account,
    /// The recorded starts of all nodes.
    pub truth: Truth,
    /// For each node: its number, how it ended, and its starts.
    pub nodes: Vec<(u16, Fate, Vec<Start>)>,
    /// How often nodes have restored the store's data.
    pub repairs: u64,
}

impl Outcome {
    /// Checks the laws that always hold. The recorded starts must equal the account or lie within its bounds. `forgets`
    /// means that the store may have lost the reports of nodes that had already left.
    ///
    /// # Errors
    /// Returns the first law that is broken.
    pub fn check(&self, forgets: bool) -> Result<()> {
        let Outcome { account, truth, .. } = self;
        let has_ended = |(_, fate, _): &(u16, Fate, _)| matches!(fate, Fate::Finished { .. });
        let is_told = self.nodes.iter().all(has_ended) && !forgets;
        ensure!(account.closes() || !is_told, "the account does not close: {}", self.summary());
        let slots = truth.times.len() as u64;
        // No slot is expected after the last node has left.
        let is_whole = account.expected == slots || !self.has_stayed();
        ensure!(is_whole, "{slots} slots: {}", self.summary());
        let behind = truth.times.iter().skip(usize::try_from(account.expected)?);
        ensure!(behind.sum::<u32>() == 0, "starts after the end: {}", self.summary());
        for (number, fate, starts) in &self.nodes {
            let told = self.node(*number).map_or(0, |node| node.started);
            let started = starts.len() as u64;
            let in_hand = if *fate == Fate::Killed { IN_HAND } else { 0 };
            ensure!(
                told <= started + in_hand,
                "node {number} has reported {told} of {started} starts"
            );
            let has_told = told == started || forgets || !matches!(fate, Fate::Finished { .. });
            ensure!(has_told, "node {number} has reported {told} of {started} starts, {fate:?}");
        }
        let killed = self.nodes.iter().filter(|(_, fate, _)| *fate == Fate::Killed).count();
        let in_hand = killed as u64 * IN_HAND;
        let never = truth.never_of(account.expected);
        let lost = account.lost() + in_hand.cast_signed();
        ensure!(never.cast_signed() <= lost, "{never} never started: {}", self.summary());
        let repeated = truth.repeated() + truth.strays;
        let is_counted = repeated <= account.twice_at_most();
        ensure!(is_counted, "{repeated} started twice: {}", self.summary());
        let started = account.expected - never + repeated;
        let is_between =
            started + in_hand >= account.started() && started <= account.started_at_most();
        ensure!(is_between, "{started} started: {}", self.summary());
        Ok(())
    }

    /// Checks the laws that hold if every node could always reach the store. The remaining nodes then start the slots
    /// that a killed node had not claimed. If a node failed or was without the store, the check succeeds.
    ///
    /// # Errors
    /// Returns the first law that is broken.
    pub fn check_seeing(&self) -> Result<()> {
        if self.was_blind() {
            return Ok(());
        }
        let Outcome { account, truth, .. } = self;
        let again = (truth.repeated(), truth.strays, account.twice());
        // A killed node cannot report that it was without the store, so slots may have been started twice within the
        // account's upper bound.
        let is_once = again.0 + again.1 <= account.twice_at_most() && again.2 == 0;
        ensure!(is_once, "{again:?} started twice, and no node was blind: {}", self.summary());
        if !self.had_time(0) {
            return Ok(());
        }
        let lives = |fate: &Fate| matches!(fate, Fate::Finished { .. });
        let living = self.nodes.iter().filter(|(_, fate, _)| lives(fate));
        let lost = living.filter_map(|(number, ..)| Some(self.node(*number)?.lost)).sum::<i64>();
        // The store does not know the nodes that left before it was emptied, so the slots of those nodes may count as
        // unclaimed.
        let is_whole = self.has_lasted() && account.forgotten == 0;
        let is_claimed = account.unclaimed == 0 || !is_whole;
        let is_right = lost == 0 && is_claimed;
        ensure!(is_right, "living nodes lost: {}", self.summary());
        Ok(())
    }

    fn has_lasted(&self) -> bool {
        let stays = |fate: &Fate| matches!(fate, Fate::Finished { has_left: false, .. });
        let is_early = |starts: &[Start]| starts.iter().any(|start| start.intended < EARLY);
        self.nodes.iter().any(|(_, fate, starts)| stays(fate) && is_early(starts))
    }

    fn has_stayed(&self) -> bool {
        let stays = |fate: &Fate| matches!(fate, Fate::Finished { has_left: false, .. });
        self.nodes.iter().any(|(_, fate, _)| stays(fate))
    }

    /// Returns the part of the account about a node, or `None` if the account does not contain this node.
    #[must_use]
    pub fn node(&self, number: u16) -> Option<&NodeAccount> {
        self.account.nodes.iter().find(|node| node.number == number)
    }

    /// Returns whether a node failed, or could not reach the store for a while.
    #[must_use]
    pub fn was_blind(&self) -> bool {
        let told = |number| self.node(number).is_some_and(|node| node.twice > 0);
        let was_blind = |(number, fate, _): &(u16, Fate, Vec<Start>)| match fate {
            Fate::Finished { blind_frames, .. } => *blind_frames > 0,
            Fate::Killed => told(*number),
            Fate::Failed(_) => true,
        };
        self.nodes.iter().any(was_blind)
    }

    /// Returns whether the machine stalled at most `frozen` of the nodes. A stalled node can be too late for slots that
    /// no other node claims, and those slots are lost. Late starts do not count as a stall, because a fault of a node
    /// can cause them.
    #[must_use]
    pub fn had_time(&self, frozen: usize) -> bool {
        let was_stalled = |fate: &Fate| matches!(fate, Fate::Finished { stalled_ms, .. } if *stalled_ms >= CALM_MS);
        self.nodes.iter().filter(|(_, fate, _)| was_stalled(fate)).count() <= frozen
    }

    /// Returns the longest time between two wake-ups of a node that finished, in milliseconds.
    #[must_use]
    pub fn stalled_ms(&self) -> u64 {
        let stalled = |fate: &Fate| match fate {
            Fate::Finished { stalled_ms, .. } => *stalled_ms,
            Fate::Killed | Fate::Failed(_) => 0,
        };
        self.nodes.iter().map(|(_, fate, _)| stalled(fate)).max().unwrap_or(0)
    }

    /// Describes the account and the truth in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        let Outcome { account, truth, .. } = self;
        let nodes: Vec<String> = self.nodes.iter().map(|node| self.node_summary(node)).collect();
        format!(
            "expected {}, started {}..={}, lost {}..={} ({} unclaimed), twice {}..={}; in truth never {}, twice {}, strays {}; repairs {}; {}",
            account.expected,
            account.started(),
            account.started_at_most(),
            account.lost_at_least(),
            account.lost(),
            account.unclaimed,
            account.twice(),
            account.twice_at_most(),
            truth.never(),
            truth.repeated(),
            truth.strays,
            self.repairs,
            nodes.join("; ")
        )
    }

    fn node_summary(&self, (number, fate, starts): &(u16, Fate, Vec<Start>)) -> String {
        let told = self.node(*number).map_or_else(String::new, |node| {
            let NodeAccount { claimed, started, twice, lost, .. } = node;
            format!("claimed {claimed} started {started} twice {twice} lost {lost}")
        });
        let late = starts.iter().map(|start| start.wait).max().unwrap_or_default();
        format!("{number} {fate:?}: {told}, started {}, latest {late:.1?}", starts.len())
    }
}
