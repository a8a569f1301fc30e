//! The results of a trial.

use crate::limit::candidate::{Answers, Candidate, Phasing};
use crate::limit::chosen::Dropped;
use crate::limit::input::Faults;
use crate::limit::request::Request;
use crate::limit::time_series::TimeSeries;
use nanopace::Nanos;
use nanopace_limits::{Quota, Rejected};
use nanopace_load::console::human;
use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

/// Everything that is shown at the end.
pub(crate) struct Results {
    /// The limit that was tried.
    pub(crate) limit: Quota,
    /// How much each request counted.
    pub(crate) cost: u64,
    /// Where the requests came from, in a few words.
    pub(crate) title: String,
    phasing: Phasing,
    /// The numbers of the keys. A key is looked up once for all limiters.
    keys: HashMap<Option<String>, usize>,
    /// The limiters, with their counts.
    pub(crate) candidates: Vec<Candidate>,
    /// Limiters that could not be tried.
    pub(crate) dropped: Vec<Dropped>,
    /// When requests came.
    pub(crate) asked: TimeSeries,
    /// How phases are shown.
    pub(crate) rows: Rows,
    /// Lines of the input that were wrong.
    pub(crate) faults: Faults,
    /// Whether all requests were decided. An interrupt ends a trial early.
    pub(crate) complete: bool,
}

impl Results {
    /// Results before the first decision.
    pub(crate) fn new(
        limit: Quota,
        cost: u64,
        phasing: Phasing,
        candidates: Vec<Candidate>,
        dropped: Vec<Dropped>,
    ) -> Results {
        Results {
            limit,
            cost,
            title: String::new(),
            phasing,
            keys: HashMap::new(),
            candidates,
            dropped,
            asked: TimeSeries::new(phasing.origin),
            rows: Rows { phases: 1, rows: Vec::new() },
            faults: Faults::default(),
            complete: true,
        }
    }

    /// Gives the next request to every limiter, and returns the first one's answer.
    pub(crate) fn decide(&mut self, request: &Request) -> Result<Nanos, Rejected> {
        self.asked.add(request.at);
        let key = self.number(request);
        let (first, others) = self.candidates.split_first_mut().expect("at least one limiter");
        for candidate in others {
            let _ = candidate.decide(key, request.at);
        }
        first.decide(key, request.at)
    }

    /// The number of the request's key.
    fn number(&mut self, request: &Request) -> usize {
        if let Some(&number) = self.keys.get(&request.key) {
            return number;
        }
        let number = self.keys.len();
        self.keys.insert(request.key.clone(), number);
        number
    }

    /// How long a row of the table is.
    pub(crate) fn row_length(&self) -> Duration {
        Duration::from_nanos(self.phasing.phase_ns.saturating_mul(self.rows.phases))
    }

    /// When the row begins, counted from the first one.
    pub(crate) fn row_start(&self, row: &Row) -> Duration {
        Duration::from_nanos(self.phasing.phase_ns.saturating_mul(row.phases.start))
    }

    /// Admitted requests per second of a row.
    pub(crate) fn rate(&self, answers: &Answers) -> f64 {
        human::float(answers.admitted) / self.row_length().as_secs_f64()
    }

    /// The limit per second.
    pub(crate) fn limit_hz(&self) -> f64 {
        human::float(self.limit.count()) / self.limit.period().as_secs_f64()
    }

    /// What a limiter let through in its worst period, as a multiple of the limit.
    pub(crate) fn worst(&self, candidate: &Candidate) -> f64 {
        human::float(candidate.most_in_period()) / human::float(self.limit.count())
    }
}

/// The rows of the table. Each stands for one or more phases.
#[derive(Debug)]
pub(crate) struct Rows {
    /// How many phases a row has.
    phases: u64,
    /// The rows in the order of time.
    pub(crate) rows: Vec<Row>,
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) name: String,
    phases: Range<u64>,
}

impl Rows {
    /// The most rows that are shown unless more are asked for.
    pub(crate) const FEW: u64 = 10;

    /// A row for each name.
    pub(crate) fn named(names: &[String]) -> Rows {
        let row =
            |(phase, name): (u64, &String)| Row { name: name.clone(), phases: phase..phase + 1 };
        Rows { phases: 1, rows: (0..).zip(names).map(row).collect() }
    }

    /// Rows for the times in which something was asked. A row has as many phases as it takes to
    /// have at most `most` rows.
    pub(crate) fn of(candidates: &[Candidate], most: u64) -> Rows {
        let used = || candidates.iter().flat_map(|candidate| candidate.phases.keys().copied());
        let phases = (used().max().unwrap_or(0) / most).saturating_add(1);
        let mut numbers: Vec<_> = used().map(|phase| phase / phases).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let row = |number: u64| Row {
            name: (number + 1).to_string(),
            phases: number * phases..(number + 1).saturating_mul(phases),
        };
        Rows { phases, rows: numbers.into_iter().map(row).collect() }
    }
}

impl Row {
    /// The limiter's answers in this row.
    pub(crate) fn answers(&self, candidate: &Candidate) -> Answers {
        candidate
            .phases
            .range(self.phases.clone())
            .map(|(_, answers)| *answers)
            .fold(Answers::default(), Answers::and)
    }
}
