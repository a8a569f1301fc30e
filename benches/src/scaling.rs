//! Predicts the throughput on more cores than this machine has, with a model that can be checked by hand.
//!
//! A lane *thinks* while it accesses no data that other lanes write. It does so while it grants the slots of a run, and
//! for most of the time that claiming a run takes. A lane is *served* while it uses shared data. Only one lane at a
//! time is served, so the model is a closed queueing network with one server, solved with mean value analysis. A shared
//! `acquire` costs one transfer of a cache line per grant. All parameters are measured on one and two cores, except the
//! distance between cores, which is assumed.

use serde::{Deserialize, Serialize};

/// The target duration of a run, in nanoseconds. A lane claims the number of slots that it grants within this time at
/// its own pace.
const YOUNG: f64 = 10_000.0;

const MOST_SLOTS: f64 = 2048.0;

/// The measured throughput of lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Runs {
    /// The average number of slots in a run.
    pub slots: f64,
    /// The throughput of all lanes together, in millions of grants per second.
    pub mega: f64,
}

/// Measured costs, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The cost of a shared `acquire` by one thread alone.
    pub shared: f64,
    /// The time between two shared `acquire` calls of two threads, with the transfer of the word between cores.
    pub hand_over: f64,
    /// The cost of a grant from a lane's run, and of its use by the caller.
    pub grant: f64,
    /// The cost of a run beyond its grants, for a single lane.
    pub run: f64,
    /// The additional cost of a run with two lanes, from the serialised part and the transfer of cache lines.
    pub served: f64,
}

/// The unit of distances: the distance between the two cores of this machine.
pub const HERE: f64 = 1.0;

impl Model {
    /// Fits the model to throughputs in millions of grants per second: the shared `acquire` on 1 and 2 cores, lanes
    /// with short runs on 1 and 2 cores, and one lane with long runs.
    #[must_use]
    pub fn fit(shared: [f64; 2], short: [Runs; 2], long: Runs) -> Model {
        let nanos = |mega: f64| 1e3 / mega;
        // The cost per grant is grant + run / slots, so two measurements determine the two unknowns.
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

    /// Fits the serialised part to the throughput of two lanes by bisection, because the throughput falls as that part
    /// grows.
    fn with_served(self, two: Runs) -> Model {
        let mut range = (0.0, 100.0 * self.run);
        for _ in 0..60 {
            let served = f64::midpoint(range.0, range.1);
            let is_too_fast = Model { served, ..self }.lanes(2, two.slots, HERE) > two.mega;
            range = if is_too_fast { (served, range.1) } else { (range.0, served) };
        }
        Model { served: range.0, ..self }
    }

    /// Returns the same model with an operation of `nanos` nanoseconds after each grant.
    #[must_use]
    pub fn with_operations(self, nanos: f64) -> Model {
        Model { grant: self.grant + nanos, ..self }
    }

    /// Returns the throughput of the shared `acquire`, in millions of grants per second. `distance` is the transfer
    /// time of a cache line as a multiple of [`HERE`].
    #[must_use]
    pub fn shared(&self, cores: u32, distance: f64) -> f64 {
        1e3 / if cores == 1 { self.shared } else { self.hand_over * distance }
    }

    /// Returns the throughput of one lane per core in runs of `slots`, in millions of grants per second.
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

    /// Returns the number of slots to which runs converge. A run has the number of slots that a lane grants within 10
    /// us at its own pace, but at least 1, at most twice as many as the previous run, and at most 2048.
    #[must_use]
    pub fn slots(&self, cores: u32, distance: f64) -> f64 {
        let next = |slots: f64| {
            let elapsed = f64::from(cores) * slots * 1e3 / self.lanes(cores, slots, distance);
            (slots * YOUNG / elapsed).min(2.0 * slots).clamp(1.0, MOST_SLOTS)
        };
        (0..1000).fold(1.0, |slots, _| next(slots))
    }

    /// Returns the number of cores above which more lanes do not increase the throughput.
    #[must_use]
    pub fn knee(&self, slots: f64, distance: f64) -> f64 {
        (self.grant * slots + self.run + self.served * distance) / (self.served * distance)
    }

    /// Returns the number of lanes above which runs shrink to single slots, because each lane's clock reading is too
    /// old when all other lanes have been served.
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
    fn the_model_reproduces_the_figures_it_was_fitted_to() {
        let (shared, short, long) =
            ([140.0, 100.0], [runs(11.0, 50.0), runs(9.0, 40.0)], runs(900.0, 800.0));
        let model = Model::fit(shared, short, long);
        assert!(is_near(model.shared(1, HERE), shared[0]));
        assert!(is_near(model.shared(2, HERE), shared[1]));
        assert!(is_near(model.lanes(1, 11.0, HERE), short[0].mega));
        assert!(is_near(model.lanes(2, 9.0, HERE), short[1].mega));
        assert!(is_near(model.lanes(1, 900.0, HERE), long.mega));
    }

    /// The measurements come from the machine of docs/SCALING.md, from the round with the steadiest runs.
    #[test]
    fn the_model_predicts_figures_it_was_not_fitted_to() {
        let model =
            Model::fit([386.4, 137.2], [runs(40.0, 218.3), runs(35.0, 285.3)], runs(1007.0, 694.9));
        for (cores, slots, measured) in [(1, 95.0, 352.0), (2, 109.0, 643.5), (2, 988.0, 1360.3)] {
            let off = model.lanes(cores, slots, HERE) / measured - 1.0;
            assert!(off.abs() < 0.12, "{cores} cores, runs of {slots}: {off}");
        }
    }

    #[test]
    fn lanes_are_bounded_by_the_cores_and_by_the_serialised_part() {
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

    /// With an operation of 100 ns per slot, a run of 9800 / 101 slots takes 10 us, because each slot takes 101 ns and
    /// the claim of the run takes 200 ns. Serving 100 lanes takes 10 us as well.
    #[test]
    fn runs_last_ten_microseconds_until_serving_all_lanes_takes_as_long() {
        assert!(is_near(MODEL.slots(1, HERE), 2048.0));
        assert!(is_near(MODEL.with_operations(100.0).slots(1, HERE), 9_800.0 / 101.0));
        assert!(is_near(MODEL.crowd(HERE), 100.0));
        assert!(is_near(MODEL.slots(90, HERE), 2048.0));
        assert!(is_near(MODEL.slots(110, HERE), 1.0));
    }
}
