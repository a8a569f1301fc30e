//! Judges the run of a whole fleet, with its account and with the sum of its nodes' results.

use super::criteria::{self, Criterion, Figures, Required};
use super::verdict::{Evidence, Verdict};
use crate::console::human::float;
use crate::load::own_times::OwnTimes;
use crate::results::asked::is_constant;
use crate::results::confidence::Confidence;
use crate::results::nodes::results::Results;
use crate::results::nodes::timeline::Timeline;
use crate::results::over_time::{Interval, OverTime};
use crate::results::stats::OperationStats;
use nanopace::Shape;
use nanopace_fleet::{Account, NodeResults, RunStatus};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) name: String,
    pub(crate) status: RunStatus,
    pub(crate) account: Account,
    pub(crate) told: Told,
    pub(crate) required: Vec<Required>,
}

#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) sum: Option<Results>,
    pub(crate) given: usize,
    /// The nodes that have reported only interim results, and the times up to which their results are complete.
    pub(crate) so_far: Vec<(u16, Duration)>,
    pub(crate) unreadable: usize,
}

impl Told {
    fn add(mut self, results: &NodeResults) -> Told {
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

impl Whole {
    pub(crate) fn new(
        name: &str,
        status: RunStatus,
        account: Account,
        results: &[NodeResults],
    ) -> Whole {
        let told = results.iter().fold(Told::default(), Told::add);
        Whole { name: name.to_owned(), status, account, told, required: Vec::new() }
    }

    /// Checks the criteria. Criteria about slots use the account. Criteria about requests and times use the sum of the
    /// nodes' results.
    pub(crate) fn require(&mut self, criteria: &[Criterion]) {
        let nothing = OperationStats::new();
        let stats = self.stats().unwrap_or(&nothing);
        let confidence = Confidence::new(stats, &self.over_time());
        let figures = Figures { confidence: Some(&confidence), ..self.figures(stats) };
        self.required = criteria::judged(criteria, &figures);
    }

    pub(crate) fn stats(&self) -> Option<&OperationStats> {
        self.told.sum.as_ref().map(|sum| &sum.stats)
    }

    pub(crate) fn own_times(&self) -> &[OwnTimes] {
        self.told.sum.as_ref().map_or(&[], |sum| &sum.own_times)
    }

    pub(crate) fn rates(&self) -> [f64; 2] {
        rates(&self.account)
    }

    /// Returns the verdict. Lost slots are not included, because only the account contains them.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        let stats = self.stats().filter(|stats| stats.due() > 0)?;
        let ratio = float(stats.started()) / float(stats.due());
        // Nodes do not report the CPU time that other programs used.
        Some(Verdict::new(&Evidence::new(stats, ratio, 0.0)))
    }

    /// Returns the verdict and what it is about, unless the verdict is good and the account is not exact. The whole
    /// load may then differ from the requested one.
    pub(crate) fn sure_verdict(&self) -> Option<(Verdict, &OperationStats)> {
        let verdict = self.verdict().filter(|it| !it.is_well() || self.account.is_exact())?;
        Some((verdict, self.stats()?))
    }

    pub(crate) fn exactness(&self) -> &'static str {
        match &self.account {
            account if account.is_exact() => "No slot was lost or started twice",
            account if !account.is_told() => "The results of some nodes are missing",
            _ => "Some slots were lost or started twice",
        }
    }

    pub(crate) fn missed(&self) -> impl Iterator<Item = &String> {
        self.required.iter().filter_map(|required| required.missed.as_ref())
    }

    pub(crate) fn over_time(&self) -> OverTime {
        let shape = self.status.shape.parse::<Shape>().ok();
        let asked = |from, to| {
            shape.as_ref().map_or(0.0, |shape| shape.count_at(to) - shape.count_at(from))
        };
        let mut over_time = OverTime::new();
        let timeline = self.told.sum.as_ref().map(|sum| sum.timeline.clone());
        for interval in timeline.map(Timeline::intervals).unwrap_or_default() {
            // Slots that no node has claimed were requested, too.
            over_time.add(Interval { asked: asked(interval.from, interval.to), ..interval });
        }
        over_time
    }

    fn figures<'run>(&'run self, stats: &'run OperationStats) -> Figures<'run> {
        let account = &self.account;
        let [asked, achieved_hz] = self.rates();
        Figures {
            wait: &stats.wait,
            service: &stats.service,
            response: stats.responses(),
            setup: &stats.set_ups.all,
            own: self.own_times(),
            due: account.expected,
            started: stats.started(),
            completed: stats.completed(),
            failed: stats.failed(),
            skipped: account.skipped(),
            retried: stats.traffic.retried,
            unfinished: stats.unfinished,
            unstarted: account.lost().max(0).unsigned_abs(),
            ratio: achieved_hz / asked,
            achieved_hz,
            gaps_within_25_percent: None,
            target_lateness: Duration::from_secs_f64(stats.lateness.target),
            generator_lateness: Duration::from_secs_f64(stats.lateness.generator),
            confidence: None,
            labels: Some(&stats.labels),
        }
    }

    pub(crate) fn changes_rate(&self) -> bool {
        let shape = self.status.shape.parse::<Shape>();
        shape.is_ok_and(|shape| !is_constant(&shape, self.account.span))
    }

    pub(crate) fn is_well(&self) -> bool {
        self.account.is_exact() && self.missed().next().is_none()
    }
}

pub(crate) fn rates(account: &Account) -> [f64; 2] {
    let seconds = account.span.as_secs_f64();
    let started = account.started() - account.twice();
    let hz = |slots| if seconds > 0.0 { float(slots) / seconds } else { 0.0 };
    [account.expected, started].map(hz)
}
