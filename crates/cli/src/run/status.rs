//! How a run is going, as one line.

use super::recording::stats::OperationStats;
use crate::percentiles;
use crate::progress::Progress;
use hdrhistogram::Histogram;
use nanopace::Ledger;
use nanopace_console::human;
use std::fmt;
use std::time::Duration;

const LEGEND: &str = "elapsed, rate achieved of asked, backlog, p50/p99 of wait and response time in the last second";
const KEYS: &str = "keys: + and - change the rate, space pauses, 2k and Enter sets it, q stops";

/// Shows the run's title and explains its status line, and its keys if they can be used.
pub(crate) fn introduce(progress: &Progress, title: &str, has_keys: bool) {
    progress.add_line(title);
    progress.add_line(LEGEND);
    if has_keys {
        progress.add_line(KEYS);
    }
}

/// How a run is going; shown as one line.
#[derive(Debug)]
pub(crate) struct Status {
    /// Time since the start of the schedule.
    pub(crate) elapsed: Duration,
    /// The rate that is asked for.
    pub(crate) rate: String,
    /// Whether the schedule is paused.
    pub(crate) paused: bool,
    /// The pacer's ledger.
    pub(crate) ledger: Ledger,
    /// What the last second was like.
    pub(crate) recent: Recent,
    /// What is being typed, or what was wrong with it.
    pub(crate) note: String,
}

/// What happened between two collections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    hz: f64,
    /// What was asked for.
    asked_hz: f64,
    /// Median and 99th percentile.
    wait: String,
    response: String,
}

impl Recent {
    /// The operations in `stats`, within `length`, of which so many per second were asked for.
    pub(crate) fn new(stats: &OperationStats, length: Duration, asked_hz: f64) -> Recent {
        let hz = human::float(stats.started()) / length.as_secs_f64();
        Recent { hz, asked_hz, wait: spread(&stats.wait), response: spread(&stats.response) }
    }

    /// The rate that was asked for.
    pub(crate) fn asked(&self) -> String {
        human::hz(self.asked_hz)
    }
}

fn spread(times: &Histogram<u64>) -> String {
    let time = |quantile| human::time(percentiles::at(times, quantile));
    if times.is_empty() { "-".to_owned() } else { format!("{}/{}", time(0.5), time(0.99)) }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (elapsed, achieved) = (self.elapsed.as_secs_f64(), human::hz(self.recent.hz));
        let paused = if self.paused { " (paused)" } else { "" };
        let (slots, backlog) = (self.ledger.backlog_slots, human::time(self.ledger.backlog));
        let Recent { wait, response, .. } = &self.recent;
        // What is being typed must be seen, however narrow the terminal is.
        let note = if self.note.is_empty() { String::new() } else { format!("{}  ", self.note) };
        write!(
            f,
            "{elapsed:3.0}s  {note}{achieved} of {}{paused}  backlog {slots} ({backlog})  ",
            self.rate
        )?;
        write!(f, "wait {wait}  response {response}")
    }
}
