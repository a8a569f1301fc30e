//! What to expect of more cores than there are here: a model small enough to be checked by hand.
//!
//! A lane *thinks* while it takes a block and hands out its slots, touching nothing that others write, and is *served* by what
//! is shared, the word, one lane at a time. That is a closed queue with one server, and its mean value
//! analysis is three lines. The shared `acquire` is the same without thinking: each grant is one hand-over of a cache line.
//!
//! Everything in it is measured on one and two cores; how far apart cores are is the one thing that is assumed.

use serde::{Deserialize, Serialize};

/// Measured costs, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// A `fetch_add` by one thread alone.
    pub add: f64,
    /// Between two additions to one word by two threads: with the line's way from core to core.
    pub hand_over: f64,
    /// A grant out of a lane's block.
    pub grant: f64,
    /// What a block takes beyond its grants, alone.
    pub block: f64,
    /// What comes on top with two lanes: what only one of them can do at a time, the line's way.
    pub served: f64,
}

/// Two cores' distance here.
pub const HERE: f64 = 1.0;

impl Model {
    /// From millions of grants per second: by the bare word on 1 and 2 cores, by lanes with blocks of ten on 1 and 2, and by
    /// one lane with blocks of a thousand.
    #[must_use]
    pub fn fit(bare: [f64; 2], tens: [f64; 2], thousand: f64) -> Model {
        let nanos = |mega: f64| 1e3 / mega;
        // Two measurements, two unknowns: a grant's share of its block is block / slots.
        let block = (nanos(tens[0]) - nanos(thousand)) / (1.0 / 10.0 - 1.0 / 1000.0);
        let grant = nanos(thousand) - block / 1000.0;
        let model = Model { add: nanos(bare[0]), hand_over: nanos(bare[1]), grant, block, served: 0.0 };
        // The more is served one by one, the less two lanes get: halve the range until it fits.
        let mut range = (0.0, 100.0 * block);
        for _ in 0..60 {
            let served = f64::midpoint(range.0, range.1);
            let is_too_fast = Model { served, ..model }.lanes(2, 10.0, HERE) > tens[1];
            range = if is_too_fast { (served, range.1) } else { (range.0, served) };
        }
        Model { served: range.0, ..model }
    }

    /// Millions of grants per second by the shared `acquire`. `distance`: how long a line's way takes, in terms of here.
    #[must_use]
    pub fn shared(&self, cores: u32, distance: f64) -> f64 {
        1e3 / if cores == 1 { self.add } else { self.hand_over * distance }
    }

    /// Millions of grants per second by as many lanes as there are cores, with blocks of `slots`.
    #[must_use]
    pub fn lanes(&self, cores: u32, slots: f64, distance: f64) -> f64 {
        let think = self.grant * slots + self.block;
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

    /// From how many cores on more lanes bring nothing more.
    #[must_use]
    pub fn knee(&self, slots: f64, distance: f64) -> f64 {
        (self.grant * slots + self.block + self.served * distance) / (self.served * distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: Model = Model { add: 7.0, hand_over: 10.0, grant: 1.0, block: 200.0, served: 100.0 };

    fn is_near(left: f64, right: f64) -> bool {
        (left / right - 1.0).abs() < 1e-9
    }

    #[test]
    fn it_reproduces_what_it_was_fitted_to() {
        let (bare, tens) = ([140.0, 100.0], [50.0, 40.0]);
        let model = Model::fit(bare, tens, 800.0);
        assert!(is_near(model.shared(1, HERE), bare[0]));
        assert!(is_near(model.shared(2, HERE), bare[1]));
        assert!(is_near(model.lanes(1, 10.0, HERE), tens[0]));
        assert!(is_near(model.lanes(2, 10.0, HERE), tens[1]));
        assert!(is_near(model.lanes(1, 1000.0, HERE), 800.0));
    }

    /// What was measured on the machine of docs/SCALING.md, and what the model makes of the part that it was fitted to.
    #[test]
    fn it_predicts_what_it_was_not_fitted_to() {
        let model = Model::fit([145.5, 69.5], [57.3, 78.7], 787.8);
        for (cores, slots, measured) in [(1, 100.0, 373.8), (2, 100.0, 594.6), (2, 1000.0, 1492.1)] {
            let off = model.lanes(cores, slots, HERE) / measured - 1.0;
            assert!(off.abs() < 0.12, "{cores} cores, blocks of {slots}: {off}");
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
    fn two_lanes_with_large_blocks_are_nearly_twice_one() {
        let gain = MODEL.lanes(2, 2048.0, HERE) / MODEL.lanes(1, 2048.0, HERE);
        assert!((1.5..2.0).contains(&gain), "{gain}");
    }
}
