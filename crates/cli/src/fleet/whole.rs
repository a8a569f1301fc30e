//! A run of a fleet, all nodes together: the account, and the sum of their results.

use super::results::Results;
use crate::percentiles::{Percentiles, Sample};
use crate::times::TimesTable;
use nanopace_console::human;
use nanopace_console::human::float;
use nanopace_fleet::{Account, Control, FleetError, NodeAccount, RunStatus};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// What is known of a run.
#[derive(Debug)]
pub(crate) struct Whole {
    name: String,
    status: RunStatus,
    pub(crate) account: Account,
    /// Of the nodes that have given them, and how many these are.
    results: Option<(Results, usize)>,
    /// Results that can't be read.
    unreadable: usize,
}

impl Whole {
    /// Asks the store.
    pub(crate) fn read(control: &Control, name: &str) -> Result<Whole, FleetError> {
        let (status, account) = (control.status()?, control.account()?);
        let sent = control.results()?;
        let read: Vec<Results> =
            sent.iter().filter_map(|(_, bytes)| Results::from_bytes(bytes).ok()).collect();
        let (unreadable, nodes) = (sent.len() - read.len(), read.len());
        let sum = read.into_iter().reduce(Results::plus);
        let results = sum.map(|sum| (sum, nodes));
        Ok(Whole { name: name.to_owned(), status, account, results, unreadable })
    }

    fn asked_hz(&self) -> f64 {
        self.per_second(self.account.expected)
    }

    fn achieved_hz(&self) -> f64 {
        self.per_second(self.account.fired() - self.account.twice())
    }

    fn per_second(&self, slots: u64) -> f64 {
        let seconds = self.account.span.as_secs_f64();
        if seconds > 0.0 { float(slots) / seconds } else { 0.0 }
    }
}

impl Display for Whole {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let nodes = self.account.nodes.len();
        let given = self.results.as_ref().map_or(0, |(_, nodes)| *nodes);
        writeln!(f, "fleet     {}: {nodes} nodes, of which {given} have given results", self.name)?;
        if self.unreadable > 0 {
            writeln!(f, "          {} results can't be read: another version", self.unreadable)?;
        }
        let [asked, achieved] = [self.asked_hz(), self.achieved_hz()].map(human::hz);
        let span = human::time(self.account.span);
        writeln!(f, "rate      target {asked}, achieved {achieved} over {span}")?;
        write!(f, "{}", AccountText(&self.account))?;
        let Some((results, _)) = &self.results else { return Ok(()) };
        let counts = &results.counts;
        let (completed, failed, unfinished) = (counts.completed, counts.failed, counts.unfinished);
        writeln!(f, "\nrequests  {completed} completed, {failed} failed, {unfinished} unfinished")?;
        for (kind, count) in &counts.failures {
            writeln!(f, "          {count} failed: {kind}")?;
        }
        let [wait, service] = [&results.wait, &results.service].map(Sample::exact);
        write!(f, "{}", TimesTable { wait, service, response: results.responses() })
    }
}

/// The account as a line and a table.
#[derive(Debug)]
pub(crate) struct AccountText<'run>(pub(crate) &'run Account);

impl Display for AccountText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let account = self.0;
        let outcome = match (account.closes(), account.is_told()) {
            (true, _) => "the account closes",
            (_, false) => "it does not close, because not all is told",
            (_, true) => "IT DOES NOT CLOSE",
        };
        writeln!(
            f,
            "account   {} expected = {} fired + {} shed + {} lost - {} twice: {outcome}",
            account.expected,
            account.fired(),
            account.shed(),
            account.lost(),
            account.twice()
        )?;
        write!(f, "{}", Bounds(account))?;
        writeln!(
            f,
            "\n{:>6} {:>10} {:>10} {:>8} {:>8} {:>8}  name",
            "node", "claimed", "fired", "shed", "lost", "twice"
        )?;
        for node in &account.nodes {
            let NodeAccount { number, name, claimed, fired, shed, lost, twice, .. } = node;
            writeln!(
                f,
                "{number:>6} {claimed:>10} {fired:>10} {shed:>8} {lost:>8} {twice:>8}  {name}"
            )?;
        }
        if account.unclaimed > 0 {
            writeln!(f, "{:>6} {:>39}  claimed by no node", "none", account.unclaimed)?;
        }
        Ok(())
    }
}

/// What is known although not all nodes have told what they did.
struct Bounds<'run>(&'run Account);

impl Display for Bounds<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let account = self.0;
        if account.is_told() {
            return Ok(());
        }
        let is_silent = |node: &&NodeAccount| node.untold + node.perhaps_twice > 0;
        let silent = account.nodes.iter().filter(is_silent);
        let silent: Vec<String> = silent.map(|node| node.number.to_string()).collect();
        if !silent.is_empty() {
            let nodes = if silent.len() == 1 { "node" } else { "nodes" };
            writeln!(
                f,
                "          {nodes} {} died or was cut off, and has not told all",
                silent.join(", ")
            )?;
        }
        if account.forgotten > 0 {
            writeln!(
                f,
                "          the store was emptied: of {} nodes nothing is known",
                account.forgotten
            )?;
        }
        let (fired, twice) = (account.fired(), account.twice());
        let (most, more) = (account.fired_at_most(), account.twice_at_most());
        let (least, lost) = (account.lost_at_least().max(0), account.lost());
        writeln!(
            f,
            "          between {fired} and {most} fired, {least} and {lost} lost, {twice} and {more} twice"
        )
    }
}

/// The account as it is written to JSON.
#[derive(Debug, Serialize)]
pub(crate) struct AccountObject {
    expected: u64,
    fired: u64,
    shed: u64,
    lost: i64,
    twice: u64,
    fired_at_most: u64,
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
    fired: u64,
    shed: u64,
    lost: i64,
    twice: u64,
    untold: u64,
    perhaps_twice: u64,
    late_seconds: f64,
    blind_seconds: f64,
    silent_seconds: f64,
    is_finished: bool,
}

impl AccountObject {
    pub(crate) fn new(account: &Account) -> AccountObject {
        AccountObject {
            expected: account.expected,
            fired: account.fired(),
            shed: account.shed(),
            lost: account.lost(),
            twice: account.twice(),
            fired_at_most: account.fired_at_most(),
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
            fired: node.fired,
            shed: node.shed,
            lost: node.lost,
            twice: node.twice,
            untold: node.untold,
            perhaps_twice: node.perhaps_twice,
            late_seconds: node.late.as_secs_f64(),
            blind_seconds: node.blind.as_secs_f64(),
            silent_seconds: node.silent.as_secs_f64(),
            is_finished: node.is_finished,
        }
    }
}

/// A whole run as it is written to JSON.
#[derive(Debug, Serialize)]
pub(crate) struct WholeObject {
    run: String,
    has_ended: bool,
    shape: String,
    arrivals: String,
    duration_seconds: f64,
    target_rate: f64,
    achieved_rate: f64,
    account: AccountObject,
    nodes_with_results: usize,
    #[serde(flatten)]
    results: Option<ResultsObject>,
}

#[derive(Debug, Serialize)]
struct ResultsObject {
    started: u64,
    completed: u64,
    failed: u64,
    unfinished: u64,
    failures: BTreeMap<String, u64>,
    statuses: BTreeMap<u16, u64>,
    wait_time_ns: Percentiles,
    service_time_ns: Percentiles,
    response_time_ns: Percentiles,
    response_times_at_least: u64,
}

impl WholeObject {
    pub(crate) fn new(whole: &Whole) -> WholeObject {
        let status = &whole.status;
        WholeObject {
            run: whole.name.clone(),
            has_ended: status.has_ended,
            shape: status.shape.clone(),
            arrivals: status.arrivals.clone(),
            duration_seconds: status.elapsed.as_secs_f64(),
            target_rate: whole.asked_hz(),
            achieved_rate: whole.achieved_hz(),
            account: AccountObject::new(&whole.account),
            nodes_with_results: whole.results.as_ref().map_or(0, |(_, nodes)| *nodes),
            results: whole.results.as_ref().map(|(results, _)| ResultsObject::new(results)),
        }
    }
}

impl ResultsObject {
    fn new(results: &Results) -> ResultsObject {
        let counts = &results.counts;
        ResultsObject {
            started: counts.started,
            completed: counts.completed,
            failed: counts.failed,
            unfinished: counts.unfinished,
            failures: counts.failures.clone(),
            statuses: counts.statuses.clone(),
            wait_time_ns: Percentiles::new(&results.wait),
            service_time_ns: Percentiles::new(&results.service),
            response_time_ns: Percentiles::new(&results.response),
            response_times_at_least: results.responses().at_least(),
        }
    }
}
