//! Defines a picture, which contains all data for drawing the view once.

use crate::console::human;
use crate::results::over_time::{Interval, OverTime};
use crate::shown::keys::Prompt;
use crate::shown::run_title::RunTitle;
use crate::shown::snapshot::Snapshot;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) title: Arc<RunTitle>,
    /// The state of the run, or `None` before the schedule starts.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    /// The rates since the end of the warm-up.
    pub(crate) course: Vec<Span>,
    pub(crate) prompt: Prompt,
}

impl Picture {
    pub(crate) fn opening(title: &Arc<RunTitle>) -> Picture {
        Picture {
            title: Arc::clone(title),
            snapshot: None,
            course: Vec::new(),
            prompt: Prompt::default(),
        }
    }
}

/// The rates in a time span. Times are in seconds since the start of the schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) asked_hz: f64,
    pub(crate) achieved_hz: f64,
}

const MOST: usize = 150;
/// The minimum mean number of slots per span. With fewer, the rates would vary at random.
const LEAST_SLOTS: f64 = 10.0;

impl Span {
    /// Returns the spans to draw. The last span is left out until it is complete, unless it is the only one.
    pub(crate) fn all(over_time: &OverTime) -> Vec<Span> {
        let intervals = match over_time.intervals() {
            // If the warm-up ended shortly before results were first collected, the first interval is too short.
            [first, second, ..] if first.length() < second.length() / 2 => {
                &over_time.intervals()[1..]
            }
            all => all,
        };
        let slots: f64 = intervals.iter().map(|interval| interval.asked).sum();
        let enough = LEAST_SLOTS * human::float(intervals.len() as u64) / slots.max(LEAST_SLOTS);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a length")]
        let each = intervals.len().div_ceil(MOST).max(enough.ceil() as usize).max(1);
        if intervals.len() < each {
            return intervals.chunks(each).map(Span::of).collect();
        }
        intervals.chunks_exact(each).map(Span::of).collect()
    }

    fn of(intervals: &[Interval]) -> Span {
        let sum = |of: fn(&Interval) -> f64| intervals.iter().map(of).sum::<f64>();
        let seconds = sum(|interval| interval.length().as_secs_f64());
        let started = sum(|interval| human::float(interval.brief.started()));
        Span {
            from: intervals[0].from.as_secs_f64(),
            to: intervals[intervals.len() - 1].to.as_secs_f64(),
            asked_hz: sum(|interval| interval.asked) / seconds,
            achieved_hz: started / seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::over_time::tests::over_time;

    fn spans(count: u64, asked: f64) -> Vec<Span> {
        Span::all(&over_time((0..count).map(|at| (at * 250, at * 250 + 250, asked, 2))))
    }

    #[test]
    fn a_load_of_few_requests_has_long_spans() {
        assert_eq!(spans(0, 1.0), []);
        assert_eq!(spans(7, 100.0).len(), 7);
        assert_eq!(spans(8, 5.0).len(), 4);
        assert_eq!(spans(9, 5.0).len(), 4);
        assert_eq!((spans(8, 0.0).len(), spans(8, 0.1).len()), (1, 1));
        assert_eq!(spans(300, 1e6).len(), 150);
        let short = over_time([(0, 1, 1.0, 50), (1, 251, 25.0, 25), (251, 501, 25.0, 25)]);
        assert!(Span::all(&short).iter().all(|span| span.achieved_hz < 101.0));
        let span = Span { from: 0.5, to: 1.0, asked_hz: 20.0, achieved_hz: 8.0 };
        assert_eq!(spans(8, 5.0)[1], span);
    }
}
