//! Whether the account of a run is true.

use crate::member::Fate;
use crate::start::Start;
use crate::truth::Truth;
use anyhow::{Result, ensure};
use nanopace_fleet::{Account, NodeAccount};

/// A run that is over.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What the store says.
    pub account: Account,
    /// What was started.
    pub truth: Truth,
    /// For each node its number, how it ended, and what it has started.
    pub nodes: Vec<(u16, Fate, Vec<Start>)>,
    /// How often the store was filled again.
    pub repairs: u64,
}

impl Outcome {
    /// The laws that hold whatever happens. `forgets`: the store lost what nodes had told that were
    /// gone by then.
    ///
    /// # Errors
    /// With the law that is broken.
    pub fn check(&self, forgets: bool) -> Result<()> {
        let Outcome { account, truth, .. } = self;
        ensure!(account.closes(), "the account does not close: {}", self.summary());
        let slots = truth.times.len() as u64;
        ensure!(account.expected == slots, "{} slots, not {slots}", account.expected);
        for (number, fate, starts) in &self.nodes {
            let told = self.node(*number).map_or(0, |node| node.fired);
            let started = starts.len() as u64;
            ensure!(told <= started, "node {number} has told {told} of {started} starts");
            let has_told = told == started || forgets || *fate == Fate::Killed;
            ensure!(has_told, "node {number} has told {told} of {started} starts, {fate:?}");
        }
        let (never, lost) = (truth.never().cast_signed(), account.lost());
        ensure!(never <= lost, "{never} never started, but {lost} lost: {}", self.summary());
        let (repeated, twice) = (truth.repeated() + truth.strays, account.twice());
        let is_counted = repeated <= twice || forgets;
        ensure!(is_counted, "{repeated} started twice, but {twice} told: {}", self.summary());
        if self.was_blind() { Ok(()) } else { self.check_seeing() }
    }

    /// No node was without the store.
    fn check_seeing(&self) -> Result<()> {
        let Outcome { account, truth, .. } = self;
        let again = (truth.repeated(), truth.strays, account.twice());
        ensure!(again == (0, 0, 0), "{again:?} started twice, and no node was blind");
        ensure!(account.unclaimed == 0, "unclaimed, and no node was blind: {}", self.summary());
        for (number, fate, _) in &self.nodes {
            let lost = self.node(*number).map_or(0, |node| node.lost);
            let is_right = lost == 0 || !matches!(fate, Fate::Finished { .. });
            ensure!(is_right, "node {number} lives and has lost: {}", self.summary());
        }
        Ok(())
    }

    /// What the store says of a node.
    #[must_use]
    pub fn node(&self, number: u16) -> Option<&NodeAccount> {
        self.account.nodes.iter().find(|node| node.number == number)
    }

    /// Whether any node was without the store for a while, as far as it could say so.
    #[must_use]
    pub fn was_blind(&self) -> bool {
        let is_blind =
            |fate: &Fate| matches!(fate, Fate::Finished { was_blind: true } | Fate::Failed(_));
        self.nodes.iter().any(|(_, fate, _)| is_blind(fate))
    }

    /// In a line.
    #[must_use]
    pub fn summary(&self) -> String {
        let Outcome { account, truth, .. } = self;
        let nodes: Vec<String> = self.nodes.iter().map(|node| self.node_summary(node)).collect();
        format!(
            "expected {}, fired {}, lost {} ({} unclaimed), twice {}; in truth never {}, twice {}, strays {}; repairs {}; {}",
            account.expected,
            account.fired(),
            account.lost(),
            account.unclaimed,
            account.twice(),
            truth.never(),
            truth.repeated(),
            truth.strays,
            self.repairs,
            nodes.join("; ")
        )
    }

    fn node_summary(&self, (number, fate, starts): &(u16, Fate, Vec<Start>)) -> String {
        let told = self.node(*number).map_or_else(String::new, |node| {
            let NodeAccount { claimed, fired, twice, lost, .. } = node;
            format!("claimed {claimed} fired {fired} twice {twice} lost {lost}")
        });
        let late = starts.iter().map(|start| start.wait).max().unwrap_or_default();
        format!("{number} {fate:?}: {told}, started {}, latest {late:.1?}", starts.len())
    }
}
