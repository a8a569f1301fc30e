//! The options that say which load is asked for.

use super::arrivals::ArrivalProcess;
use anyhow::Context;
use clap::Args;
use clap::builder::ArgPredicate;
use nanopace::{Arrivals, Rate, Shape, Shard};

/// The options of a load; the texts here are on the `--help` pages of `plan` and `run`.
#[derive(Debug, Args)]
pub(crate) struct ScheduleArgs {
    /// Requests to start, per second unless another unit follows: 5000, 50k/s, 3/min, 1.5/h
    #[arg(
        long,
        default_value = "5000/s",
        default_value_if("shape", ArgPredicate::IsPresent, None)
    )]
    pub(crate) rate: Option<Rate>,

    /// The rate over time, as in "ramp 100/s..5k/s 30s, hold 60s"; --help has the grammar
    #[arg(long, value_name = "SHAPE", conflicts_with = "rate")]
    pub(crate) shape: Option<Shape>,

    /// How requests lie around the rate: even, poisson, exact-poisson:1000, gamma:0.25, jitter:0.3
    /// or replay:FILE
    #[arg(long, value_name = "PROCESS", default_value = "even")]
    pub(crate) arrivals: ArrivalProcess,

    /// The seed of random arrivals; the same seed gives the same arrivals
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,

    /// The part of the load that is this process's: 1/3 is the first of three equal parts, 2/3:1
    /// the second of two, of which the first is three times as large [default: all of it]
    #[arg(long, value_name = "INDEX/COUNT")]
    pub(crate) shard: Option<Shard>,
}

impl ScheduleArgs {
    /// A recording plays as it was recorded, unless a rate or a shape was given.
    pub(crate) fn rate_is_not_given(&mut self) {
        if self.is_replay() && self.shape.is_none() {
            self.rate = Rate::per_second(1).ok();
        }
    }

    /// The rate over time.
    pub(crate) fn shape(&self) -> anyhow::Result<Shape> {
        match (&self.shape, self.rate) {
            (Some(shape), _) => Ok(shape.clone()),
            (None, rate) => rate.map(Shape::constant).context("neither --rate nor --shape"),
        }
    }

    /// The arrival process; its recording, if it is one, has been read and is sound.
    pub(crate) fn arrivals(&self) -> anyhow::Result<Arrivals> {
        self.arrivals.open(self.seed)
    }

    /// Whether the requests are those of a recording.
    pub(crate) fn is_replay(&self) -> bool {
        matches!(self.arrivals, ArrivalProcess::Replay(_))
    }
}
