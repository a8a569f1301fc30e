//! What came of the requests.

use super::counts::Counts;
use super::kind::Kind;
use super::lane::{Answers, Lane, Phasing};
use super::line::Arrival;
use super::lines::Faults;
use crate::human;
use nanopace::Nanos;
use nanopace_limits::{Quota, Rejected};
use std::ops::Range;
use std::time::Duration;

/// Everything that is shown in the end.
pub(crate) struct Results {
    /// How many per how much time.
    pub(crate) limit: Quota,
    /// What each request counted as.
    pub(crate) cost: u64,
    /// Where the requests came from, in a line.
    pub(crate) title: String,
    phasing: Phasing,
    /// What was counted for each limiter.
    pub(crate) lanes: Vec<Lane>,
    /// Limiters that could not be tried.
    pub(crate) dropped: Vec<Dropped>,
    /// When requests came.
    pub(crate) asked: Counts,
    /// How phases are shown.
    pub(crate) rows: Rows,
    /// Lines that were not as they should be.
    pub(crate) faults: Faults,
    /// Whether all requests were decided, or somebody ended it before.
    pub(crate) complete: bool,
}

impl Results {
    /// Nothing was decided yet.
    pub(crate) fn new(
        limit: Quota,
        cost: u64,
        phasing: Phasing,
        lanes: Vec<Lane>,
        dropped: Vec<Dropped>,
    ) -> Results {
        Results {
            limit,
            cost,
            title: String::new(),
            phasing,
            lanes,
            dropped,
            asked: Counts::new(phasing.origin),
            rows: Rows { slices: 1, rows: Vec::new() },
            faults: Faults::default(),
            complete: true,
        }
    }

    /// The next request, to every limiter; says what the first one answers.
    pub(crate) fn decide(&mut self, arrival: &Arrival) -> Result<Nanos, Rejected> {
        self.asked.add(arrival.at);
        let (first, others) = self.lanes.split_first_mut().expect("one at least");
        for lane in others {
            let _ = lane.decide(arrival);
        }
        first.decide(arrival)
    }

    /// How long each row's phase is.
    pub(crate) fn row_length(&self) -> Duration {
        Duration::from_nanos(self.phasing.phase_ns.saturating_mul(self.rows.slices))
    }

    /// When the row's phase begins, after the first one.
    pub(crate) fn row_start(&self, row: &Row) -> Duration {
        Duration::from_nanos(self.phasing.phase_ns.saturating_mul(row.slices.start))
    }

    /// Admitted requests per second of the row's phase.
    pub(crate) fn rate(&self, answers: &Answers) -> f64 {
        human::float(answers.admitted) / self.row_length().as_secs_f64()
    }

    /// The limit per second.
    pub(crate) fn limit_hz(&self) -> f64 {
        human::float(self.limit.count()) / self.limit.period().as_secs_f64()
    }

    /// How many limits a limiter let through in its worst period.
    pub(crate) fn worst(&self, lane: &Lane) -> f64 {
        human::float(lane.most_in_period()) / human::float(self.limit.count())
    }
}

/// A limiter that could not be tried.
#[derive(Clone, Debug)]
pub(crate) struct Dropped {
    /// Which one.
    pub(crate) kind: Kind,
    /// Why it cannot keep the limit.
    pub(crate) reason: String,
}

/// The rows of the table, each one or more phases of a lane.
#[derive(Debug)]
pub(crate) struct Rows {
    /// How many phases make a row.
    slices: u64,
    /// In the order of time.
    pub(crate) rows: Vec<Row>,
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    /// What it is called.
    pub(crate) name: String,
    slices: Range<u64>,
}

impl Rows {
    /// More rows are not shown unless they are asked for.
    pub(crate) const FEW: u64 = 10;

    /// A row for each name.
    pub(crate) fn named(names: &[String]) -> Rows {
        let row =
            |(slice, name): (u64, &String)| Row { name: name.clone(), slices: slice..slice + 1 };
        Rows { slices: 1, rows: (0..).zip(names).map(row).collect() }
    }

    /// A row for each time in which something was asked, as many phases long as it takes to have at
    /// most `most` rows.
    pub(crate) fn of(lanes: &[Lane], most: u64) -> Rows {
        let phases = || lanes.iter().flat_map(|lane| lane.phases.keys().copied());
        let slices = (phases().max().unwrap_or(0) / most).saturating_add(1);
        let mut numbers: Vec<_> = phases().map(|phase| phase / slices).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let row = |number: u64| Row {
            name: (number + 1).to_string(),
            slices: number * slices..(number + 1).saturating_mul(slices),
        };
        Rows { slices, rows: numbers.into_iter().map(row).collect() }
    }
}

impl Row {
    /// The limiter's answers in this row.
    pub(crate) fn answers(&self, lane: &Lane) -> Answers {
        lane.phases
            .range(self.slices.clone())
            .map(|(_, answers)| *answers)
            .fold(Answers::default(), Answers::and)
    }
}
