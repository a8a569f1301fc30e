//! How much of the load was asked for by the moments between which a run is measured.

use nanopace::{Nanos, Pacer};

/// The load from its beginning to a moment, as its pacer counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Asked {
    /// How many slots have an intended start before the moment, if no policy moves them.
    pub(crate) slots: u64,
    /// The same with the part of the next slot that has passed by then. Of random slots, how many
    /// there are on average.
    pub(crate) count: f64,
}

impl Asked {
    /// The load before `moment`, which is not before the last change of the load.
    pub(crate) fn before(pacer: &Pacer, moment: Nanos) -> Asked {
        Asked { slots: pacer.asked_before(moment), count: pacer.asked_count(moment) }
    }

    /// The part of it that came after an earlier moment.
    pub(crate) fn since(self, earlier: Asked) -> Asked {
        Asked {
            slots: self.slots.saturating_sub(earlier.slots),
            count: (self.count - earlier.count).max(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::human::float;
    use crate::schedule::args::ScheduleArgs;
    use clap::{Args, Command, FromArgMatches};
    use nanopace::{ManualClock, Rate};
    use std::time::Duration;

    const RAMP: &str = "--shape ramp_0/s..100/s_10s";

    /// Underscores stand for blanks.
    fn args(line: &str) -> ScheduleArgs {
        let words = line.split_whitespace().map(|word| word.replace('_', " "));
        let command = ScheduleArgs::augment_args(Command::new("test").no_binary_name(true));
        let mut args = ScheduleArgs::from_arg_matches(&command.get_matches_from(words)).unwrap();
        args.settle(line.contains("--rate"));
        args
    }

    /// The load that options ask for, from its beginning.
    struct Load {
        pacer: Pacer,
        clock: ManualClock,
        begin: Nanos,
    }

    impl Load {
        fn new(line: &str) -> Load {
            let clock = ManualClock::new();
            let pacer = args(line).pacer().unwrap().clock(clock.clone()).build();
            Load { begin: pacer.now(), pacer, clock }
        }

        /// The load between two moments, in seconds.
        fn between(&self, from: f64, to: f64) -> Asked {
            let before = |at| Asked::before(&self.pacer, self.begin + Duration::from_secs_f64(at));
            before(to).since(before(from))
        }

        /// The load of the next so many seconds.
        fn passes(&self, seconds: f64) -> Asked {
            let before = Asked::before(&self.pacer, self.pacer.now());
            self.clock.advance(Duration::from_secs_f64(seconds));
            Asked::before(&self.pacer, self.pacer.now()).since(before)
        }
    }

    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-4 * expected.max(1.0), "{value}, not {expected}");
    }

    #[test]
    fn a_constant_rate_is_not_computed() {
        for text in ["333.3/s", "0.5/s", "5k/s"] {
            let hz = text.parse::<Rate>().unwrap().as_hz();
            let constant_hz = |more| args(&format!("--rate {text} {more}")).constant_hz().unwrap();
            assert_eq!(constant_hz(""), Some(hz));
            assert_eq!(constant_hz("--arrivals poisson --shard 2/4"), Some(hz / 4.0));
        }
        assert_eq!(args(RAMP).constant_hz().unwrap(), None);
    }

    #[test]
    fn changes_and_pauses_are_followed() {
        let load = Load::new("--rate 100/s");
        let mut all = vec![load.passes(2.0)];
        load.pacer.pause();
        all.push(load.passes(1.0));
        load.pacer.set_rate("1k/s".parse().unwrap());
        all.push(load.passes(2.0));
        load.pacer.resume();
        all.push(load.passes(1.0));
        for (asked, expected) in all.iter().zip([200.0, 0.0, 0.0, 1_000.0]) {
            assert_near(asked.count, expected);
        }
        assert_eq!(Asked::before(&load.pacer, load.pacer.now()).slots, 1_200);
    }

    #[test]
    fn a_thousand_changes_are_followed() {
        let load = Load::new("--rate 1k/s");
        let mut sum = 0.0;
        for second in 1..=1_000 {
            sum += load.passes(1.0).count;
            match second % 3 {
                0 => load.pacer.set_rate(Rate::per_second(100).unwrap()),
                1 => load.pacer.pause(),
                _ => load.pacer.resume(),
            }
        }
        // 1000 in the first second, 100 in each that is not the second of three; 1000 in the third.
        assert_near(sum, 68_500.0);
    }

    #[test]
    fn a_shape_goes_on_after_a_pause_where_it_was_until_its_end() {
        let load = Load::new(RAMP);
        let before = load.passes(4.0);
        load.pacer.pause();
        let paused = load.passes(6.0);
        load.pacer.resume();
        let behind = [load.passes(1.0), load.passes(5.0), load.passes(70.0)];
        let counts = [before, paused, behind[0], behind[1], behind[2]].map(|asked| asked.count);
        for (count, expected) in counts.into_iter().zip([80.0, 0.0, 45.0, 375.0, 0.0]) {
            assert_near(count, expected);
        }
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
            assert_eq!(Load::new(line).between(from, to).slots, slots, "{line} {from}..{to}");
        }
    }

    #[test]
    fn shards_and_random_arrivals_are_counted_slot_by_slot() {
        for line in ["--rate 90/s", RAMP, "--rate 90/s --arrivals poisson --seed 7"] {
            let shards =
                ["1/3", "2/3", "3/3"].map(|shard| Load::new(&format!("{line} --shard {shard}")));
            let all = Load::new(line);
            for (from, to) in [(0.0, 2.7), (1.3, 8.1), (9.0, 9.0)] {
                let all = all.between(from, to);
                let parts = shards.each_ref().map(|shard| shard.between(from, to));
                assert_eq!(parts.iter().map(|part| part.slots).sum::<u64>(), all.slots, "{line}");
                assert_near(parts[1].count * 3.0, all.count);
            }
        }
        let poisson = Load::new("--rate 1k/s --arrivals poisson").between(0.0, 10.0);
        assert!((9_500..10_500).contains(&poisson.slots), "{poisson:?}");
        assert_near(poisson.count, 10_000.0);
    }

    #[test]
    fn a_recording_asks_for_what_is_in_it() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("starts");
        std::fs::write(&file, "0.0\n0.5\n0.5\n3.25\n4.0\n").unwrap();
        let line = format!("--arrivals replay:{}", file.display());
        for (line, speed) in [(line.clone(), 1.0), (format!("{line} --rate 2/s"), 2.0)] {
            let load = Load::new(&line);
            for (from, to, slots) in [(0.0, 1.0, 3), (1.0, 3.0, 0), (3.0, 9.0, 2)] {
                let asked = load.between(from / speed, to / speed);
                assert_eq!((asked.slots, asked.count), (slots, float(slots)), "{line} {from}");
            }
        }
    }
}
