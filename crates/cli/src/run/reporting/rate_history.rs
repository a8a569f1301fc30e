//! The rates that were asked for over time: the run is measured against them.

use nanopace::Nanos;
use std::time::Duration;

/// How much of the beginning of a stretch is not counted. The schedule starts a little after the
/// clock was read for it, and 10.0001 intervals would otherwise count as eleven slots.
const GRACE: Duration = Duration::from_micros(10);

/// The rate over time. During a pause it is zero.
#[derive(Debug)]
pub(crate) struct RateHistory {
    /// In order of time, and never empty. The last one has no end.
    segments: Vec<Segment>,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    from: Nanos,
    hz: f64,
}

impl RateHistory {
    /// A history that starts at `from` with `hz` requests per second.
    pub(crate) fn new(from: Nanos, hz: f64) -> RateHistory {
        RateHistory { segments: vec![Segment { from, hz }] }
    }

    /// The rate is `hz` from `from` on.
    pub(crate) fn change(&mut self, from: Nanos, hz: f64) {
        self.segments.push(Segment { from, hz });
    }

    /// The number of slots with an intended start in `from..to`.
    pub(crate) fn slots(&self, from: Nanos, to: Nanos) -> f64 {
        // The first slot of a stretch is due at its very start: 1.5 intervals hold two starts.
        self.area(from + GRACE, to).ceil()
    }

    /// The mean rate over `from..to`, in requests per second.
    pub(crate) fn mean_hz(&self, from: Nanos, to: Nanos) -> f64 {
        if let [segment] = self.segments[..] {
            // Exactly what was asked for, not what is left of it after a division.
            return segment.hz;
        }
        let seconds = (to - from).as_secs_f64();
        if seconds > 0.0 { self.area(from, to) / seconds } else { 0.0 }
    }

    /// The rate's integral over `from..to`.
    fn area(&self, from: Nanos, to: Nanos) -> f64 {
        let ends = self.segments.iter().skip(1).map(|segment| segment.from).chain([to]);
        self.segments
            .iter()
            .zip(ends)
            .map(|(segment, end)| (end.min(to) - segment.from.max(from)).as_secs_f64() * segment.hz)
            .sum()
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the numbers are exact in binary")]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Nanos {
        Nanos::ZERO + Duration::from_secs_f64(seconds)
    }

    #[test]
    fn a_constant_rate_counts_every_slot_due_before_the_end() {
        for (hz, seconds, slots) in [
            (5_000.0, 10.0, 50_000.0),
            (3.0, 0.5, 2.0),
            (1.0, 10.0, 10.0),
            (0.5, 1.0, 1.0),
            (333.3, 10.0, 3_333.0),
        ] {
            assert_eq!(
                RateHistory::new(at(1.0), hz).slots(at(1.0), at(1.0 + seconds)),
                slots,
                "{hz}/s for {seconds} s"
            );
        }
    }

    #[test]
    fn changes_and_pauses_are_integrated() {
        let mut rates = RateHistory::new(at(0.0), 100.0);
        rates.change(at(2.0), 0.0);
        rates.change(at(5.0), 1_000.0);
        assert_eq!(rates.slots(at(0.0), at(6.0)), 200.0 + 1_000.0);
        assert_eq!(rates.slots(at(1.0), at(4.0)), 100.0);
        assert_eq!(rates.slots(at(5.5), at(6.0)), 500.0);
        assert_eq!(rates.mean_hz(at(0.0), at(6.0)), 200.0);
    }

    #[test]
    fn an_empty_stretch_has_no_slots() {
        let mut rates = RateHistory::new(at(0.0), 333.3);
        assert_eq!((rates.slots(at(3.0), at(3.0)), rates.mean_hz(at(3.0), at(3.1))), (0.0, 333.3));
        rates.change(at(5.0), 100.0);
        assert_eq!((rates.slots(at(3.0), at(3.0)), rates.mean_hz(at(3.0), at(3.0))), (0.0, 0.0));
    }
}
