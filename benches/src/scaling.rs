//! What to expect of more cores than there are here: a model small enough to be checked by hand.
//!
//! A lane *thinks* while it takes a run of slots and grants them, touching nothing that others
//! write, and is *served* by what is shared, one lane at a time. That is a closed queue with one
//! server, and its mean value analysis is three lines. The shared `acquire` is one hand-over of a
//! cache line per grant.
//!
//! Everything in it is measured on one and two cores; how far apart cores are is the one thing that
//! is assumed.

use serde::{Deserialize, Serialize};

/// A lane takes as many slots as it grants within this time, in nanoseconds.
const YOUNG: f64 = 10_000.0;

/// But no more than this.
const MOST_SLOTS: f64 = 2048.0;

/// What lanes did, by measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Runs {
    /// Slots in a run, on average.
    pub slots: f64,
    /// Millions of grants per second by all lanes.
    pub mega: f64,
}

/// Measured costs, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// A shared `acquire` by one thread alone.
    pub shared: f64,
    /// Between two of them by two threads: with the word's way from core to core.
    pub hand_over: f64,
    /// A grant out of a lane's run, and what its caller does with it.
    pub grant: f64,
    /// What a run takes beyond its grants, alone.
    pub run: f64,
    /// What comes on top with two lanes: what only one of them can do at a time, the lines' way.
    pub served: f64,
}

/// Two cores' distance here.
pub const HERE: f64 = 1.0;

impl Model {
    /// From millions of grants per second by the shared `acquire` on 1 and 2 cores, from lanes with
    /// short runs on 1 and 2, and from one lane with long runs.
    #[must_use]
    pub fn fit(shared: [f64; 2], short: [Runs; 2], long: Runs) -> Model {
        let nanos = |mega: f64| 1e3 / mega;
        // Two measurements, two unknowns: a grant's share of its run is run / slots.
        let share = 1.0 / short[0].slots - 1.0 / long.slots;
        let run = (nanos(short[0].mega) - nanos(long.mega)) / share;
        let grant = nanos(long.mega) - run / long.slots;
        let model = Model {
            shared: nanos(shared[0]),
            hand_over: nanos(shared[1]),
            grant,
            run,
            served: 0.0,
        };
        model.with_served(short[1])
    }

    /// The more is served one by one, the less two lanes get: halves the range until it fits.
    fn with_served(self, two: Runs) -> Model {
        let mut range = (0.0, 100.0 * self.run);
        for _ in 0..60 {
            let served = f64::midpoint(range.0, range.1);
            let is_too_fast = Model { served, ..self }.lanes(2, two.slots, HERE) > two.mega;
            range = if is_too_fast { (served, range.1) } else { (range.0, served) };
        }
        Model { served: range.0, ..self }
    }

    /// The same where an operation of so many nanoseconds follows each grant.
    #[must_use]
    pub fn with_operations(self, nanos: f64) -> Model {
        Model { grant: self.grant + nanos, ..self }
    }

    /// Millions of grants per second by the shared `acquire`. `distance`: how long a line's way
    /// takes, in terms of here.
    #[must_use]
    pub fn shared(&self, cores: u32, distance: f64) -> f64 {
        1e3 / if cores == 1 { self.shared } else { self.hand_over * distance }
    }

    /// Millions of grants per second by as many lanes as there are cores, in runs of `slots`.
    #[must_use]
    pub fn lanes(&self, cores: u32, slots: f64, distance: f64) -> f64 {
        let think = self.grant * slots + self.run;
        if cores == 1 {
            return slots * 1e3 / think;
        }
        let served = self.served * distance;
        let (mut queue, mut per_nano) = (0.0, 0.0);
        for customers in 1..=cores {
            let stay = served * (1.0 + queue);
            per_nano = f64::from(customers) / (think + stay);
            queue = per_nano * stay;
        }
        per_nano * slots * 1e3
    }

    /// How many slots the runs come to have: as many as a lane grants within 10 us at its own pace,
    /// at most twice as many as in the run before.
    #[must_use]
    pub fn slots(&self, cores: u32, distance: f64) -> f64 {
        let next = |slots: f64| {
            let elapsed = f64::from(cores) * slots * 1e3 / self.lanes(cores, slots, distance);
            (slots * YOUNG / elapsed).min(2.0 * slots).clamp(1.0, MOST_SLOTS)
        };
        (0..1000).fold(1.0, |slots, _| next(slots))
    }

    /// From how many cores on more lanes bring nothing more.
    #[must_use]
    pub fn knee(&self, slots: f64, distance: f64) -> f64 {
        (self.grant * slots + self.run + self.served * distance) / (self.served * distance)
    }

    /// From how many lanes on runs come down to single slots: by the time that all have been served
    /// once, the first one's reading is old.
    #[must_use]
    pub fn crowd(&self, distance: f64) -> f64 {
        YOUNG / (self.served * distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: Model =
        Model { shared: 7.0, hand_over: 10.0, grant: 1.0, run: 200.0, served: 100.0 };

    fn is_near(left: f64, right: f64) -> bool {
        (left / right - 1.0).abs() < 1e-9
    }

    fn runs(slots: f64, mega: f64) -> Runs {
        Runs { slots, mega }
    }

    #[test]
    fn it_reproduces_what_it_was_fitted_to() {
        let (shared, short, long) =
            ([140.0, 100.0], [runs(11.0, 50.0), runs(9.0, 40.0)], runs(900.0, 800.0));
        let model = Model::fit(shared, short, long);
        assert!(is_near(model.shared(1, HERE), shared[0]));
        assert!(is_near(model.shared(2, HERE), shared[1]));
        assert!(is_near(model.lanes(1, 11.0, HERE), short[0].mega));
        assert!(is_near(model.lanes(2, 9.0, HERE), short[1].mega));
        assert!(is_near(model.lanes(1, 900.0, HERE), long.mega));
    }

    /// What was measured on the machine of docs/SCALING.md, in the run whose runs of slots were
    /// steadiest, and what the model makes of it.
    #[test]
    fn it_predicts_what_it_was_not_fitted_to() {
        let model =
            Model::fit([386.4, 137.2], [runs(40.0, 218.3), runs(35.0, 285.3)], runs(1007.0, 694.9));
        for (cores, slots, measured) in [(1, 95.0, 352.0), (2, 109.0, 643.5), (2, 988.0, 1360.3)] {
            let off = model.lanes(cores, slots, HERE) / measured - 1.0;
            assert!(off.abs() < 0.12, "{cores} cores, runs of {slots}: {off}");
        }
    }

    #[test]
    fn lanes_are_bounded_by_the_cores_and_by_what_is_shared() {
        for cores in [2, 8, 64, 256] {
            let lanes = MODEL.lanes(cores, 2048.0, HERE);
            assert!(lanes < f64::from(cores) * 1e3 / MODEL.grant);
            assert!(lanes < 2048.0 * 1e3 / MODEL.served * 1.000_001);
        }
    }

    #[test]
    fn two_lanes_with_long_runs_are_nearly_twice_one() {
        let gain = MODEL.lanes(2, 2048.0, HERE) / MODEL.lanes(1, 2048.0, HERE);
        assert!((1.5..2.0).contains(&gain), "{gain}");
    }

    /// A run of 9800 / 101 slots, and 200 ns to take it: 10 us. Where a hundred lanes are served,
    /// that is 10 us too.
    #[test]
    fn runs_take_ten_microseconds_until_being_served_takes_as_long() {
        assert!(is_near(MODEL.slots(1, HERE), 2048.0));
        assert!(is_near(MODEL.with_operations(100.0).slots(1, HERE), 9_800.0 / 101.0));
        assert!(is_near(MODEL.crowd(HERE), 100.0));
        assert!(is_near(MODEL.slots(90, HERE), 2048.0));
        assert!(is_near(MODEL.slots(110, HERE), 1.0));
    }
}
