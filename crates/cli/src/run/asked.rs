//! The load that was asked for over time: the run is measured against it.

use crate::console::human;
use crate::schedule::args::ScheduleArgs;
use crate::schedule::tally::tally;
use nanopace::{Arrivals, Nanos, Rate, Shape, Shard};
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// What a count of slots may be too large by.
const ROUNDING: f64 = 1e-6;

/// How the rate of all processes goes over time.
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

/// How slots lie around a load, and which of them are this process's. Their numbers are by count:
/// the slots that the load had made if they were even.
#[derive(Debug)]
enum Spread {
    /// By a process that knows how many there are.
    Made { arrivals: Arrivals, shard: Shard, even: bool },
    /// As recorded: how many there are by the ends of columns until a count.
    Recorded { end: f64, sums: Vec<f64> },
    /// As nodes of a fleet get them: about the same number each.
    Shared,
}

/// In how many columns a recording is counted.
const COLUMNS: usize = 10_000;

impl Spread {
    fn new(schedule: &ScheduleArgs) -> anyhow::Result<Spread> {
        let (arrivals, shard) = (schedule.arrivals()?, schedule.shard()?);
        if !schedule.is_replay() {
            return Ok(Spread::Made { arrivals, shard, even: schedule.arrivals.is_even() });
        }
        let last = arrivals.starts(a_count_a_second()?, shard.clone()).last().unwrap_or_default();
        let end = last + Duration::from_nanos(1);
        let starts = schedule.arrivals()?.starts(a_count_a_second()?, shard);
        Ok(Spread::Recorded { end: end.as_secs_f64(), sums: tally(starts, end, COLUMNS) })
    }

    /// How many slots lie between two counts, parts of them included; on average, if they lie there
    /// at random.
    fn expected(&self, from: f64, to: f64) -> f64 {
        match self {
            Spread::Made { shard, .. } => (to - from) * shard.share(),
            Spread::Recorded { end, sums } => by(sums, to / end) - by(sums, from / end),
            Spread::Shared => to - from,
        }
    }

    /// How many slots lie below a count.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    fn below(&self, count: f64) -> u64 {
        let count = (count - ROUNDING).max(0.0);
        match (self, a_count_a_second()) {
            (Spread::Made { arrivals, shard, .. }, Ok(shape)) => {
                let moment = Duration::try_from_secs_f64(count).unwrap_or(Duration::MAX);
                arrivals.starts_before(moment, &shape, shard)
            }
            _ => self.expected(0.0, count).round() as u64,
        }
    }
}

/// A load whose counts are seconds.
fn a_count_a_second() -> anyhow::Result<Shape> {
    Ok(Shape::constant(Rate::per_second(1)?))
}

/// The sum at this part of all columns; straight between their ends.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a column")]
fn by(sums: &[f64], part: f64) -> f64 {
    let column = (part * human::float(COLUMNS as u64)).clamp(0.0, human::float(COLUMNS as u64));
    let before = column.floor() as usize;
    let after = sums[(before + 1).min(COLUMNS)];
    sums[before] + (after - sums[before]) * column.fract()
}

/// The loads that were asked for, one after the other. During a pause nothing is asked for, and a
/// shape goes on afterwards where it was.
#[derive(Debug)]
pub(crate) struct AskedLoad {
    /// In order of time, and never empty. The last one has no end.
    segments: Vec<Segment>,
    spread: Spread,
}

#[derive(Clone, Debug)]
struct Segment {
    from: Nanos,
    /// The count until its beginning.
    before: f64,
    load: Load,
    /// How much of the load is over at its beginning.
    past: Duration,
    is_paused: bool,
    /// The part of it that is this process's, if that is not for the spread to say.
    share: f64,
}

impl Segment {
    /// A load from its beginning on.
    fn new(from: Nanos, load: Load) -> Segment {
        Segment { from, before: 0.0, load, past: Duration::ZERO, is_paused: false, share: 1.0 }
    }

    fn elapsed(&self, now: Nanos) -> Duration {
        if self.is_paused { self.past } else { self.past + (now - self.from) }
    }

    /// The count from its beginning until a moment.
    fn count(&self, until: Nanos) -> f64 {
        let until = until.max(self.from);
        self.share * (self.load.count_at(self.elapsed(until)) - self.load.count_at(self.past))
    }
}

impl AskedLoad {
    /// The load that the options ask for, from its beginning.
    pub(crate) fn new(from: Nanos, schedule: &ScheduleArgs) -> anyhow::Result<AskedLoad> {
        let load = match schedule.rate {
            Some(rate) => Load::Rate(rate),
            None => Load::Shape(schedule.shape()?),
        };
        let first = Segment::new(from, load);
        Ok(AskedLoad { segments: vec![first], spread: Spread::new(schedule)? })
    }

    /// This process's fair share of a fleet's load, of which so much is over; from this moment on.
    pub(crate) fn of_fleet(from: Nanos, load: Shape, past: Duration, share: f64) -> AskedLoad {
        let first = Segment { past, share, ..Segment::new(from, Load::Shape(load)) };
        AskedLoad { segments: vec![first], spread: Spread::Shared }
    }

    /// From now on it is this share of this load, of which so much is over.
    pub(crate) fn share(&mut self, now: Nanos, load: Shape, past: Duration, share: f64) {
        self.push(Segment { past, share, ..Segment::new(now, Load::Shape(load)) });
    }

    /// A constant rate.
    #[cfg(test)]
    pub(crate) fn constant(from: Nanos, rate: Rate) -> AskedLoad {
        let load = Load::Rate(rate);
        let spread = Spread::Made {
            arrivals: Arrivals::even(),
            shard: Shard::new(0, 1).expect("the only one"),
            even: true,
        };
        let first = Segment::new(from, load);
        AskedLoad { segments: vec![first], spread }
    }

    /// From now on another load is asked for.
    pub(crate) fn change(&mut self, now: Nanos, load: Load) {
        let is_paused = self.current().is_paused;
        self.push(Segment { is_paused, ..Segment::new(now, load) });
    }

    /// From now on nothing is asked for; or what was asked for before.
    pub(crate) fn pause(&mut self, now: Nanos, is_paused: bool) {
        let current = self.current();
        let (load, past) = (current.load.clone(), current.elapsed(now));
        self.push(Segment { past, is_paused, ..Segment::new(now, load) });
    }

    fn push(&mut self, segment: Segment) {
        let before = self.total(segment.from);
        self.segments.push(Segment { before, ..segment });
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

    /// Whether slots are evenly spaced, so that gaps between them can be judged.
    pub(crate) fn is_even(&self) -> bool {
        matches!(self.spread, Spread::Made { even: true, .. })
    }

    /// How many slots, parts of them included, have an intended start in `from..to`, if no policy
    /// moves them; of random ones, how many on average.
    pub(crate) fn count(&self, from: Nanos, to: Nanos) -> f64 {
        self.spread.expected(self.total(from), self.total(to))
    }

    /// How many slots have an intended start in `from..to`, if no policy moves them.
    pub(crate) fn slots(&self, from: Nanos, to: Nanos) -> u64 {
        let below = |moment| self.spread.below(self.total(moment));
        below(to).saturating_sub(below(from))
    }

    /// How many slots must have started in `from..to` if none was late. Of even ones, the last may
    /// just have been due.
    pub(crate) fn required(&self, from: Nanos, to: Nanos) -> f64 {
        match self.spread {
            _ if self.is_even() => self.count(from, to).floor(),
            // What is not started by one node is started by another.
            Spread::Shared => 0.0,
            _ => human::float(self.slots(from, to)),
        }
    }

    /// The mean rate over `from..to`, in slots per second.
    pub(crate) fn mean_hz(&self, from: Nanos, to: Nanos) -> f64 {
        if let ([Segment { load: Load::Rate(rate), .. }], true) =
            (&self.segments[..], self.has_share())
        {
            return self.spread.expected(0.0, rate.as_hz());
        }
        let seconds = (to - from).as_secs_f64();
        if seconds > 0.0 { self.count(from, to) / seconds } else { 0.0 }
    }

    /// Whether this process has the same share of all parts of the load.
    fn has_share(&self) -> bool {
        matches!(self.spread, Spread::Made { .. })
    }

    /// The count of all processes together until a moment.
    fn total(&self, moment: Nanos) -> f64 {
        // Programs may change the load many times a second.
        let begun = self.segments.partition_point(|segment| segment.from <= moment);
        let segment = &self.segments[begun.saturating_sub(1)];
        segment.before + segment.count(moment)
    }

    fn current(&self) -> &Segment {
        &self.segments[self.segments.len() - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};

    fn at(seconds: f64) -> Nanos {
        Nanos::ZERO + Duration::from_secs_f64(seconds)
    }

    /// What options ask for, from second 10 on. Underscores stand for blanks.
    fn asked(line: &str) -> AskedLoad {
        let words = line.split_whitespace().map(|word| word.replace('_', " "));
        let command = ScheduleArgs::augment_args(Command::new("test").no_binary_name(true));
        let mut args = ScheduleArgs::from_arg_matches(&command.get_matches_from(words)).unwrap();
        args.settle(line.contains("--rate"));
        AskedLoad::new(at(10.0), &args).unwrap()
    }

    const RAMP: &str = "--shape ramp_0/s..100/s_10s";

    fn rate(text: &str) -> Load {
        Load::Rate(text.parse().unwrap())
    }

    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6 * expected.max(1.0), "{value}, not {expected}");
    }

    #[test]
    fn changes_and_pauses_are_integrated() {
        let mut asked = asked("--rate 100/s");
        asked.pause(at(12.0), true);
        asked.change(at(13.0), rate("1k/s"));
        asked.pause(at(15.0), false);
        for (from, to, hz) in [(10.0, 16.0, 200.0), (11.0, 15.0, 25.0), (15.5, 16.0, 1_000.0)] {
            assert_near(asked.mean_hz(at(from), at(to)), hz);
        }
        assert_eq!(asked.slots(at(11.0), at(16.0)), 1_100);
    }

    #[test]
    fn a_share_of_a_fleet_is_of_the_load_as_it_was_each_time() {
        // A node that came a second late, of two; then of four, and of another load.
        let load = |text: &str| text.parse::<Shape>().unwrap();
        let second = Duration::from_secs(1);
        let mut asked = AskedLoad::of_fleet(at(11.0), load("ramp 0/s..100/s 10s"), second, 0.5);
        asked.share(at(14.0), load("ramp 0/s..100/s 10s"), second * 4, 0.25);
        asked.share(at(16.0), load("ramp 0/s..100/s 6s, hold 10/s 4s"), second * 6, 0.25);
        for (from, to, count) in
            [(10.0, 14.0, 37.5), (14.0, 16.0, 25.0), (16.0, 99.0, 10.0), (10.0, 99.0, 72.5)]
        {
            assert_near(asked.count(at(from), at(to)), count);
        }
        // What it is required to start is known by what it was given, and the rate is that of all.
        assert_near(asked.required(at(10.0), at(99.0)), 0.0);
        assert_near(asked.hz(at(17.0)), 10.0);
        assert!(!asked.is_even());
    }

    #[test]
    fn a_thousand_changes_are_integrated() {
        let mut asked = asked("--rate 1k/s");
        for second in 1_u32..1_000 {
            let now = at(10.0 + f64::from(second));
            match second % 3 {
                0 => asked.change(now, rate("100/s")),
                1 => asked.pause(now, true),
                _ => asked.pause(now, false),
            }
        }
        // 1000 in the first second, 100 in each that is not the second of three.
        for (from, to, count) in [
            (0.0, 11.0, 1_000.0),
            (10.0, 13.0, 2_000.0),
            (13.0, 1_009.0, 66_400.0),
            (16.5, 17.5, 50.0),
            (1_008.0, 1_010.0, 200.0),
        ] {
            assert_near(asked.count(at(from), at(to)), count);
        }
    }

    #[test]
    fn a_shape_goes_on_after_a_pause_where_it_was() {
        let mut asked = asked(RAMP);
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
    fn every_slot_due_before_the_end_is_counted() {
        for (line, from, to, slots) in [
            ("--rate 5k/s", 0.0, 10.0, 50_000),
            ("--rate 5k/s", 0.3, 10.0, 48_500),
            ("--rate 3/s", 0.0, 0.5, 2),
            ("--rate 3/s", 0.5, 1.0, 1),
            ("--rate 0.5/s", 0.0, 1.0, 1),
            ("--rate 0.5/s", 1.0, 2.0, 0),
            (RAMP, 0.0, 10.0, 500),
            // Slot 5 is due after one second.
            (RAMP, 0.0, 1.0, 5),
            (RAMP, 1.0, 1.001, 1),
        ] {
            let slots_of = asked(line).slots(at(10.0 + from), at(10.0 + to));
            assert_eq!(slots_of, slots, "{line} {from}..{to}");
        }
    }

    #[test]
    fn shards_and_random_arrivals_are_counted_slot_by_slot() {
        for line in ["--rate 90/s", RAMP, "--rate 90/s --arrivals poisson --seed 7"] {
            let shards =
                ["1/3", "2/3", "3/3"].map(|shard| asked(&format!("{line} --shard {shard}")));
            let all = asked(line);
            for (from, to) in [(10.0, 12.7), (11.3, 18.1), (19.0, 19.0)] {
                let (from, to) = (at(from), at(to));
                let parts = shards.iter().map(|shard| shard.slots(from, to)).sum::<u64>();
                assert_eq!(parts, all.slots(from, to), "{line}");
                assert_near(shards[1].count(from, to) * 3.0, all.count(from, to));
            }
        }
        let poisson = asked("--rate 1k/s --arrivals poisson");
        let slots = human::float(poisson.slots(at(10.0), at(20.0)));
        assert!((9_500.0..10_500.0).contains(&slots) && slots.fract() == 0.0, "{slots}");
    }

    #[test]
    fn a_recording_asks_for_what_is_in_it() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("starts");
        std::fs::write(&file, "0.0\n0.5\n0.5\n3.25\n4.0\n").unwrap();
        let line = format!("--arrivals replay:{}", file.display());
        for (line, speed) in [(line.clone(), 1.0), (format!("{line} --rate 2/s"), 2.0)] {
            let asked = asked(&line);
            for (from, to, slots) in [(0.0, 1.0, 3), (1.0, 3.0, 0), (3.0, 9.0, 2)] {
                let [from, to] = [from, to].map(|offset| at(10.0 + offset / speed));
                assert_eq!(asked.slots(from, to), slots, "{line} {from:?}");
                assert_near(asked.count(from, to), human::float(slots));
            }
        }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "a constant rate is not computed")]
    fn a_constant_rate_is_its_own_mean() {
        for text in ["333.3/s", "0.5/s", "5k/s"] {
            let hz = text.parse::<Rate>().unwrap().as_hz();
            assert_eq!(asked(&format!("--rate {text}")).mean_hz(at(13.0), at(13.1)), hz);
        }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "nothing is zero")]
    fn an_empty_stretch_has_no_rate() {
        let mut asked = asked("--rate 333.3/s");
        asked.change(at(15.0), rate("100/s"));
        assert_eq!(asked.mean_hz(at(13.0), at(13.0)), 0.0);
    }
}
