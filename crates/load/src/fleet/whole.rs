//! A run of a fleet, all nodes together: the account, and the sum of their results.

use super::account::{self, AccountObject, AccountText};
use crate::console::human::{self, float};
use crate::percentiles::{Percentiles, Sample};
use crate::run::criteria::{self, Criterion, Figures};
use crate::run::member::results::Results;
use crate::run::recording::over_time::OverTime;
use crate::run::recording::stats::OperationStats;
use crate::run::reporting::json::IntervalObject;
use crate::run::reporting::report::MissedLines;
use crate::run::reporting::verdict::{Evidence, Verdict};
use crate::times::TimesTable;
use nanopace::Shape;
use nanopace_fleet::{Account, Control, FleetError, NodeResults, RunStatus};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// What is known of a run.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(super) name: String,
    pub(super) status: RunStatus,
    pub(super) account: Account,
    pub(super) told: Told,
    /// What was required and does not hold.
    pub(super) missed: Vec<String>,
}

/// The results of nodes.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Of all that have told any.
    sum: Option<Results>,
    /// How many nodes have given them.
    given: usize,
    /// Nodes of which there is only what they told last, and up to which time of the load that is.
    pub(super) so_far: Vec<(u16, Duration)>,
    /// Results that can't be read.
    unreadable: usize,
}

impl Told {
    fn add(mut self, results: &NodeResults) -> Told {
        // A node that ended without a word, and had not told anything.
        if results.bytes.is_empty() {
            return self;
        }
        let Ok(read) = Results::from_bytes(&results.bytes) else {
            self.unreadable += 1;
            return self;
        };
        if results.is_final {
            self.given += 1;
        } else {
            self.so_far.push((results.number, read.until));
        }
        let sum = match self.sum.take() {
            Some(sum) => sum.plus(read),
            None => read,
        };
        Told { sum: Some(sum), ..self }
    }
}

const INEXACT: &str = "what nodes have told was on schedule, but the load is not known to be the one that was asked for: see what \
     is lost and twice.";

impl Whole {
    /// Asks the store.
    pub(crate) fn read(control: &Control, name: &str) -> Result<Whole, FleetError> {
        let (status, account) = (control.status()?, control.account()?);
        let told = control.results()?.iter().fold(Told::default(), Told::add);
        Ok(Whole { name: name.to_owned(), status, account, told, missed: Vec::new() })
    }

    /// Notes which of the criteria are missed. Those about slots are about the account, and those about
    /// requests and times about what the nodes have told.
    pub(crate) fn require(&mut self, criteria: &[Criterion]) {
        let nothing = OperationStats::new();
        let figures = self.figures(self.stats().unwrap_or(&nothing));
        self.missed = criteria::missed(criteria, &figures);
    }

    /// What all nodes have told.
    pub(super) fn stats(&self) -> Option<&OperationStats> {
        self.told.sum.as_ref().map(|sum| &sum.stats)
    }

    /// The rates that were asked for and achieved.
    pub(super) fn rates(&self) -> [f64; 2] {
        account::rates(&self.account)
    }

    /// Whether what nodes have told was on schedule. What is lost, the account says.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let stats = self.stats().filter(|stats| stats.due() > 0)?;
        let ratio = float(stats.started()) / float(stats.due());
        Some(Verdict::new(&Evidence::new(stats, ratio)))
    }

    /// The verdict in a sentence. Nodes that were on schedule may not have started all that was asked for.
    pub(super) fn sentence(&self) -> Option<String> {
        let stats = self.stats()?;
        let verdict = self.verdict()?;
        if verdict == Verdict::OnSchedule && !self.account.is_exact() {
            return Some(INEXACT.to_owned());
        }
        Some(verdict.sentence(&stats.lateness))
    }

    /// What happened over time, on all nodes together.
    pub(super) fn over_time(&self) -> OverTime {
        let shape = self.status.shape.parse::<Shape>().ok();
        let asked = |from, to| {
            shape.as_ref().map_or(0.0, |shape| shape.count_at(to) - shape.count_at(from))
        };
        let mut over_time = OverTime::new();
        let timeline = self.told.sum.as_ref().map(|sum| sum.timeline.clone());
        let intervals = timeline.map(|timeline| timeline.intervals(asked)).unwrap_or_default();
        for interval in intervals {
            over_time.add(interval);
        }
        over_time
    }

    fn figures<'run>(&self, stats: &'run OperationStats) -> Figures<'run> {
        let account = &self.account;
        let [asked, achieved_hz] = self.rates();
        Figures {
            wait: &stats.wait,
            service: &stats.service,
            response: stats.responses(),
            setup: &stats.set_ups.all,
            due: account.expected,
            started: stats.started(),
            completed: stats.completed(),
            failed: stats.failed(),
            skipped: account.shed(),
            unfinished: stats.unfinished,
            unstarted: account.lost().max(0).unsigned_abs(),
            ratio: achieved_hz / asked,
            achieved_hz,
            gaps_within_25_percent: None,
            target_lateness: Duration::from_secs_f64(stats.lateness.target),
            generator_lateness: Duration::from_secs_f64(stats.lateness.generator),
        }
    }

    /// Whether each slot was started once, and all that was required holds.
    pub(crate) fn is_well(&self) -> bool {
        self.account.is_exact() && self.missed.is_empty()
    }
}

impl Display for Whole {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let nodes = self.account.nodes.len();
        let Told { given, so_far, unreadable, .. } = &self.told;
        writeln!(f, "fleet     {}: {nodes} nodes, of which {given} have given results", self.name)?;
        for (node, until) in so_far {
            let until = human::time(*until);
            writeln!(f, "          node {node} has not: what it did is known up to {until}")?;
        }
        if *unreadable > 0 {
            writeln!(f, "          {unreadable} results can't be read: another version")?;
        }
        let [asked, achieved] = self.rates().map(human::hz);
        let span = human::time(self.account.span);
        writeln!(f, "rate      target {asked}, achieved {achieved} over {span}")?;
        write!(f, "{}", AccountText(&self.account))?;
        if let Some(stats) = self.stats() {
            requests(f, stats)?;
            self.sentence().iter().try_for_each(|verdict| writeln!(f, "\nverdict   {verdict}"))?;
        }
        write!(f, "{}", MissedLines(&self.missed))
    }
}

fn requests(f: &mut Formatter<'_>, stats: &OperationStats) -> fmt::Result {
    let (completed, failed, unfinished) = (stats.completed(), stats.failed(), stats.unfinished);
    writeln!(f, "\nrequests  {completed} completed, {failed} failed, {unfinished} unfinished")?;
    for (kind, count) in &stats.failures {
        writeln!(f, "          {count} failed: {kind}")?;
    }
    let [wait, service] = [&stats.wait, &stats.service].map(Sample::exact);
    write!(f, "{}", TimesTable { wait, service, response: stats.responses() })
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
    rate_over_time: Vec<IntervalObject>,
    verdict: Option<Verdict>,
    account: AccountObject,
    nodes_with_results: usize,
    nodes_with_results_so_far: Vec<SoFarObject>,
    missed: Vec<String>,
    #[serde(flatten)]
    results: Option<ResultsObject>,
}

/// Up to which time of the load it is known what a node did.
#[derive(Debug, Serialize)]
struct SoFarObject {
    number: u16,
    until_seconds: f64,
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
        let [target_rate, achieved_rate] = whole.rates();
        WholeObject {
            run: whole.name.clone(),
            has_ended: status.has_ended,
            shape: status.shape.clone(),
            arrivals: status.arrivals.clone(),
            duration_seconds: status.elapsed.as_secs_f64(),
            target_rate,
            achieved_rate,
            rate_over_time: whole.over_time().intervals().iter().map(IntervalObject::new).collect(),
            verdict: whole.verdict(),
            account: AccountObject::new(&whole.account),
            nodes_with_results: whole.told.given,
            nodes_with_results_so_far: whole.told.so_far.iter().map(SoFarObject::new).collect(),
            missed: whole.missed.clone(),
            results: whole.told.sum.as_ref().map(|sum| ResultsObject::new(&sum.stats)),
        }
    }
}

impl SoFarObject {
    fn new((number, until): &(u16, Duration)) -> SoFarObject {
        SoFarObject { number: *number, until_seconds: until.as_secs_f64() }
    }
}

impl ResultsObject {
    fn new(stats: &OperationStats) -> ResultsObject {
        ResultsObject {
            started: stats.started(),
            completed: stats.completed(),
            failed: stats.failed(),
            unfinished: stats.unfinished,
            failures: stats.failures.iter().map(|(kind, n)| (kind.to_string(), *n)).collect(),
            statuses: stats.statuses.clone(),
            wait_time_ns: Percentiles::new(&stats.wait),
            service_time_ns: Percentiles::new(&stats.service),
            response_time_ns: Percentiles::new(&stats.response),
            response_times_at_least: stats.responses().at_least(),
        }
    }
}
