//! Finds the time spans in which no response arrived although requests were in flight.

use crate::results::over_time::Interval;
use std::time::Duration;

/// The minimum number of requested slots in a silent time span. With fewer, it may be chance that no response arrived.
const SLOTS: f64 = 10.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Silence {
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    pub(crate) asked: f64,
}

impl Silence {
    pub(crate) fn length(&self) -> Duration {
        self.to.saturating_sub(self.from)
    }
}

pub(crate) fn silences(intervals: &[Interval]) -> Vec<Silence> {
    let mut in_flight = 0;
    let mut silences: Vec<Silence> = Vec::new();
    for interval in intervals {
        let &Interval { from, to, asked, ref brief, .. } = interval;
        let ended = brief.completed() + brief.failed;
        in_flight += brief.started();
        if brief.answered == 0 && in_flight > 0 {
            match silences.last_mut() {
                Some(last) if last.to == from => (last.to, last.asked) = (to, last.asked + asked),
                _ => silences.push(Silence { from, to, asked }),
            }
        }
        in_flight = in_flight.saturating_sub(ended);
    }
    silences.retain(|silence| silence.asked >= SLOTS);
    silences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::over_time::tests::over_time;

    /// Returns the silent time spans. Each second has the numbers of started requests, of responses, and of requests
    /// that timed out.
    fn silent(seconds: &[(u64, u64, u64)]) -> Vec<(u64, u64)> {
        let ends = (0..).map(|second| second * 1_000);
        let all = over_time(ends.zip(seconds).map(|(at, of)| (at, at + 1_000, 8.0, of.0)));
        let mut intervals = all.intervals().to_vec();
        for (interval, &(_, answered, timed_out)) in intervals.iter_mut().zip(seconds) {
            interval.brief.service.record_n(1, answered).unwrap();
            (interval.brief.answered, interval.brief.failed) = (answered, timed_out);
        }
        let found = silences(&intervals);
        found.iter().map(|silence| (silence.from.as_secs(), silence.to.as_secs())).collect()
    }

    #[test]
    fn without_an_answer_that_is_awaited_it_is_silent() {
        assert_eq!(silent(&[(8, 7, 0), (1, 0, 0), (0, 0, 0), (0, 2, 0), (8, 8, 0)]), [(1, 3)]);
        assert_eq!(silent(&[(8, 0, 0), (0, 0, 0), (0, 0, 0)]), [(0, 3)]);
        assert_eq!(silent(&[(8, 0, 0), (8, 0, 8), (0, 0, 8)]), [(0, 3)]);
        assert_eq!(silent(&[(8, 8, 0), (0, 0, 0), (0, 0, 0), (8, 8, 0)]), []);
        // In one second with one request, it may be chance that no response arrived.
        assert_eq!(silent(&[(8, 7, 0), (1, 0, 0), (8, 9, 0)]), []);
    }
}
