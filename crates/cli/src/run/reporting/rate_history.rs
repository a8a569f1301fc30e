//! The rates that were asked for over time: the run is measured against them.

use nanopace::Nanos;

/// What a product of seconds and a rate may be too large by.
const ROUNDING: f64 = 1e-6;

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

    /// The number of slots with an intended start in `from..to`, if no policy moves them. The first
    /// slot is due at the very start.
    pub(crate) fn slots(&self, from: Nanos, to: Nanos) -> u64 {
        let start = self.segments.first().map_or(from, |segment| segment.from);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let before = |moment| (self.area(start, moment) - ROUNDING).ceil() as u64;
        before(to).saturating_sub(before(from))
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
    use std::time::Duration;

    fn at(seconds: f64) -> Nanos {
        Nanos::ZERO + Duration::from_secs_f64(seconds)
    }

    #[test]
    fn changes_and_pauses_are_integrated() {
        let mut rates = RateHistory::new(at(0.0), 100.0);
        rates.change(at(2.0), 0.0);
        rates.change(at(5.0), 1_000.0);
        assert_eq!(rates.mean_hz(at(0.0), at(6.0)), 200.0);
        assert_eq!(rates.mean_hz(at(1.0), at(5.0)), 25.0);
        assert_eq!(rates.mean_hz(at(5.5), at(6.0)), 1_000.0);
    }

    #[test]
    fn every_slot_due_before_the_end_is_counted() {
        for (hz, from, to, slots) in [
            (5_000.0, 0.0, 10.0, 50_000),
            (5_000.0, 0.3, 10.0, 48_500),
            (3.0, 0.0, 0.5, 2),
            (3.0, 0.5, 1.0, 1),
            (0.5, 0.0, 1.0, 1),
            (0.5, 1.0, 2.0, 0),
        ] {
            assert_eq!(RateHistory::new(at(0.0), hz).slots(at(from), at(to)), slots, "{hz}/s");
        }
        let mut rates = RateHistory::new(at(0.0), 100.0);
        rates.change(at(2.0), 0.0);
        rates.change(at(5.0), 1_000.0);
        assert_eq!(rates.slots(at(1.0), at(6.0)), 1_100);
    }

    #[test]
    fn a_constant_rate_is_its_own_mean() {
        for hz in [333.3, 0.5, 5_000.0] {
            assert_eq!(RateHistory::new(at(1.0), hz).mean_hz(at(3.0), at(3.1)), hz);
        }
    }

    #[test]
    fn an_empty_stretch_has_no_rate() {
        let mut rates = RateHistory::new(at(0.0), 333.3);
        rates.change(at(5.0), 100.0);
        assert_eq!(rates.mean_hz(at(3.0), at(3.0)), 0.0);
    }
}
