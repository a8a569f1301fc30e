//! Prints the progress of a run as one line.

use super::run_title::RunTitle;
use super::snapshot::{Phase, Snapshot};
use crate::console::{Progress, human};
use crate::load::schedule::args::MAX;
use crate::results::percentiles;
use hdrhistogram::Histogram;
use std::fmt;

const LEGEND: &str = "time, achieved of requested rate, backlog (time behind the schedule), p50/p99 of wait and response times in the last second";
const LEGEND_OF_CLOSED: &str = "time, achieved rate, p50/p99 of response times in the last second";
const KEYS: &str =
    "keys: + and - change the rate, 2k and Enter sets the rate to 2k/s, space pauses, q stops";
const KEYS_OF_LOADS: &str = "keys, for all loads: + and - change the rates, space pauses, q stops";

pub(crate) fn introduce(progress: &Progress, title: &RunTitle, has_keys: bool) {
    progress.add_line(&title.to_string());
    progress.add_line(if title.is_closed { LEGEND_OF_CLOSED } else { LEGEND });
    if has_keys {
        progress.add_line(KEYS);
    }
}

pub(crate) fn introduce_all(progress: &Progress, loads: &[(&str, RunTitle)], has_keys: bool) {
    for (name, title) in loads {
        progress.add_line(&format!("{name}: {title}"));
    }
    let are_closed = loads.iter().all(|(_, title)| title.is_closed);
    progress.add_line(if are_closed { LEGEND_OF_CLOSED } else { LEGEND });
    if has_keys {
        progress.add_line(KEYS_OF_LOADS);
    }
}

#[derive(Debug)]
pub(crate) struct Status<'run>(pub(crate) &'run Snapshot);

fn spread(times: &Histogram<u64>) -> String {
    let time = |quantile| human::time(percentiles::at(times, quantile));
    if times.is_empty() { "-".to_owned() } else { format!("{}/{}", time(0.5), time(0.99)) }
}

fn late(Snapshot { backlog, recent, .. }: &Snapshot) -> String {
    let (slots, time) = (backlog.slots, human::time(backlog.time));
    format!("  backlog {slots} ({time})  wait {}", spread(&recent.brief.wait))
}

impl fmt::Display for Status<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Snapshot { elapsed, recent, note, .. } = self.0;
        let (elapsed, achieved) = (elapsed.as_secs_f64(), human::hz(recent.hz));
        let paused = match self.0.phase {
            Phase::Paused => " (paused)",
            Phase::WarmUp => " (warming up)",
            _ => "",
        };
        let response = spread(&recent.brief.response);
        // In a closed loop, no rate is requested, and no request waits.
        let (requested, late) = if self.0.load == MAX {
            (String::new(), String::new())
        } else {
            (format!(" of {}", self.0.rate()), late(self.0))
        };
        let fleet = self.0.fleet.as_ref().map_or_else(String::new, |fleet| format!("  {fleet}"));
        // The typed text is near the beginning of the line, so that it is visible in a narrow terminal.
        let note = if note.is_empty() { String::new() } else { format!("{note}  ") };
        write!(f, "{elapsed:3.0}s  {note}{achieved}{requested}{paused}{fleet}{late}")?;
        write!(f, "  response {response}")
    }
}
