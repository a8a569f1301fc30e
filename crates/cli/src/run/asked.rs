//! The load that was asked for over time: the run is measured against it.

use nanopace::{Nanos, Rate, Shape};
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// What a count of slots may be too large by.
const ROUNDING: f64 = 1e-6;

/// How the rate goes over time.
#[derive(Clone, Debug)]
pub(crate) enum Load {
    /// Always the same.
    Rate(Rate),
    /// As in this shape.
    Shape(Shape),
}

impl Load {
    /// The slots by then.
    fn count_at(&self, elapsed: Duration) -> f64 {
        match self {
            Load::Rate(rate) => rate.as_hz() * elapsed.as_secs_f64(),
            Load::Shape(shape) => shape.count_at(elapsed),
        }
    }

    /// Slots per second.
    fn hz_at(&self, elapsed: Duration) -> f64 {
        match self {
            Load::Rate(rate) => rate.as_hz(),
            Load::Shape(shape) => shape.rate_at(elapsed),
        }
    }
}

impl Display for Load {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Load::Rate(rate) => rate.fmt(f),
            Load::Shape(shape) => shape.fmt(f),
        }
    }
}

/// The loads that were asked for, one after the other, and this process's share of them. During a
/// pause nothing is asked for, and a shape goes on afterwards where it was.
#[derive(Debug)]
pub(crate) struct AskedLoad {
    /// In order of time, and never empty. The last one has no end.
    segments: Vec<Segment>,
    share: f64,
}

#[derive(Clone, Debug)]
struct Segment {
    from: Nanos,
    load: Load,
    /// How much of the load is over at its beginning.
    past: Duration,
    is_paused: bool,
}

impl Segment {
    fn elapsed(&self, now: Nanos) -> Duration {
        if self.is_paused { self.past } else { self.past + (now - self.from) }
    }

    /// The slots within this segment, which lasts until `end`, from one moment to another.
    fn count(&self, end: Nanos, from: Nanos, to: Nanos) -> f64 {
        let (from, to) = (from.max(self.from), to.min(end));
        if from >= to {
            return 0.0;
        }
        self.load.count_at(self.elapsed(to)) - self.load.count_at(self.elapsed(from))
    }
}

impl AskedLoad {
    /// A load that begins at `from`, of which a share is this process's.
    pub(crate) fn new(from: Nanos, load: Load, share: f64) -> AskedLoad {
        let first = Segment { from, load, past: Duration::ZERO, is_paused: false };
        AskedLoad { segments: vec![first], share }
    }

    /// From now on another load is asked for.
    pub(crate) fn change(&mut self, now: Nanos, load: Load) {
        let is_paused = self.current().is_paused;
        self.segments.push(Segment { from: now, load, past: Duration::ZERO, is_paused });
    }

    /// From now on nothing is asked for; or what was asked for before.
    pub(crate) fn pause(&mut self, now: Nanos, is_paused: bool) {
        let current = self.current();
        let (load, past) = (current.load.clone(), current.elapsed(now));
        self.segments.push(Segment { from: now, load, past, is_paused });
    }

    /// The load that is asked for now, or that is paused.
    pub(crate) fn load(&self) -> &Load {
        &self.current().load
    }

    /// The slots per second of all processes that are asked for now, or would be but for a pause.
    pub(crate) fn hz(&self, now: Nanos) -> f64 {
        let current = self.current();
        current.load.hz_at(current.elapsed(now))
    }

    /// How many slots, parts of them included, have an intended start in `from..to`, if arrivals
    /// are even and no policy moves them.
    pub(crate) fn count(&self, from: Nanos, to: Nanos) -> f64 {
        let ends = self.segments.iter().skip(1).map(|segment| segment.from).chain([Nanos::MAX]);
        let counts =
            self.segments.iter().zip(ends).map(|(segment, end)| segment.count(end, from, to));
        counts.sum::<f64>() * self.share
    }

    /// The same as a whole number. The first slot is due at the very start.
    pub(crate) fn slots(&self, from: Nanos, to: Nanos) -> u64 {
        let start = self.segments.first().map_or(from, |segment| segment.from);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let before = |moment| (self.count(start, moment) - ROUNDING).ceil() as u64;
        before(to).saturating_sub(before(from))
    }

    /// The mean rate over `from..to`, in slots per second.
    pub(crate) fn mean_hz(&self, from: Nanos, to: Nanos) -> f64 {
        if let [Segment { load: Load::Rate(rate), .. }] = self.segments[..] {
            // Exactly what was asked for, not what is left of it after a division.
            return rate.as_hz() * self.share;
        }
        let seconds = (to - from).as_secs_f64();
        if seconds > 0.0 { self.count(from, to) / seconds } else { 0.0 }
    }

    fn current(&self) -> &Segment {
        &self.segments[self.segments.len() - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Nanos {
        Nanos::ZERO + Duration::from_secs_f64(seconds)
    }

    fn rate(text: &str) -> Load {
        Load::Rate(text.parse().unwrap())
    }

    fn shape(text: &str) -> Load {
        Load::Shape(text.parse().unwrap())
    }

    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6 * expected.max(1.0), "{value}, not {expected}");
    }

    #[test]
    fn changes_and_pauses_are_integrated() {
        let mut asked = AskedLoad::new(at(0.0), rate("100/s"), 1.0);
        asked.pause(at(2.0), true);
        asked.change(at(3.0), rate("1k/s"));
        asked.pause(at(5.0), false);
        for (from, to, hz) in [(0.0, 6.0, 200.0), (1.0, 5.0, 25.0), (5.5, 6.0, 1_000.0)] {
            assert_near(asked.mean_hz(at(from), at(to)), hz);
        }
        assert_eq!(asked.slots(at(1.0), at(6.0)), 1_100);
    }

    #[test]
    fn a_shape_goes_on_after_a_pause_where_it_was() {
        let mut asked = AskedLoad::new(at(10.0), shape("ramp 0/s..100/s 10s"), 1.0);
        asked.pause(at(14.0), true);
        asked.pause(at(20.0), false);
        for (from, to, count) in
            [(10.0, 14.0, 80.0), (14.0, 20.0, 0.0), (20.0, 26.0, 420.0), (12.0, 21.0, 105.0)]
        {
            assert_near(asked.count(at(from), at(to)), count);
        }
        // Behind its end there is nothing more.
        assert_near(asked.count(at(0.0), at(100.0)), 500.0);
        assert_near(asked.hz(at(21.0)), 50.0);
    }

    #[test]
    fn a_share_is_a_part_of_all_slots() {
        for load in [rate("90/s"), shape("ramp 0/s..100/s 10s")] {
            let [whole, part] = [1.0, 0.25].map(|part| AskedLoad::new(at(1.0), load.clone(), part));
            assert_near(part.count(at(2.0), at(3.5)) * 4.0, whole.count(at(2.0), at(3.5)));
            assert_near(part.mean_hz(at(2.0), at(3.5)) * 4.0, whole.mean_hz(at(2.0), at(3.5)));
        }
    }

    #[test]
    fn every_slot_due_before_the_end_is_counted() {
        for (load, from, to, slots) in [
            (rate("5k/s"), 0.0, 10.0, 50_000),
            (rate("5k/s"), 0.3, 10.0, 48_500),
            (rate("1/s"), 0.0, 2.000_01, 3),
            (rate("1/s"), 0.0, 2.0, 2),
            (rate("0.5/s"), 1.0, 2.0, 0),
            (shape("ramp 0/s..100/s 10s"), 0.0, 10.0, 500),
            // Slot 5 is due after one second.
            (shape("ramp 0/s..100/s 10s"), 0.0, 1.0, 5),
            (shape("ramp 0/s..100/s 10s"), 1.0, 1.001, 1),
        ] {
            let slots_of = AskedLoad::new(at(0.0), load.clone(), 1.0).slots(at(from), at(to));
            assert_eq!(slots_of, slots, "{load} {from}..{to}");
        }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "a constant rate is not computed")]
    fn a_constant_rate_is_its_own_mean() {
        for text in ["333.3/s", "0.5/s", "5k/s"] {
            let hz = text.parse::<Rate>().unwrap().as_hz();
            let asked = AskedLoad::new(at(1.0), rate(text), 1.0);
            assert_eq!(asked.mean_hz(at(3.0), at(3.1)), hz);
        }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "nothing is zero")]
    fn an_empty_stretch_has_no_rate() {
        let mut asked = AskedLoad::new(at(0.0), rate("333.3/s"), 1.0);
        asked.change(at(5.0), rate("100/s"));
        assert_eq!(asked.mean_hz(at(3.0), at(3.0)), 0.0);
    }
}
