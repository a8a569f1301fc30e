//! Defines the options of a load. Their doc comments are `--help` texts.

use super::arrivals::ArrivalProcess;
use super::table::WrittenShape;
use crate::console::human;
use anyhow::Context;
use clap::builder::ArgPredicate;
use clap::{ArgGroup, Args};
use nanopace::{Arrivals, Pacer, PacerBuilder, Rate, RateError, Shape, Shard, ShardError};
use std::path::Path;
use std::time::Duration;

/// The value of `--rate` for a closed loop.
pub(crate) const MAX: &str = "max";

#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("load").args(["rate", "shape"]))]
#[command(next_help_heading = "Load")]
pub(crate) struct ScheduleArgs {
    /// Start requests at this rate, as in 50k/s or 3/min; max is a closed loop [see: help rates]
    #[arg(
        long,
        value_parser = rate,
        default_value = "50/s",
        default_value_if("shape", ArgPredicate::IsPresent, None)
    )]
    pub(crate) rate: Option<Rate>,

    /// Change the rate over time, as in "ramp 100/s..5k/s 30s, hold 60s" or table:FILE [see: help shapes]
    #[arg(long, value_name = "SHAPE")]
    pub(crate) shape: Option<WrittenShape>,

    /// Space requests by this arrival process, such as poisson, gamma:0.25 or replay:FILE [see: help arrivals]
    #[arg(long, value_name = "PROCESS", default_value = "even")]
    pub(crate) arrivals: ArrivalProcess,

    /// Seed the random arrivals and the random request data; the same seed gives the same values
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Use only this part of the load: 1/3 is the first of three equal parts [see: help rates] [default: the
    /// whole load]
    #[arg(long, value_name = "INDEX/COUNT", value_parser = shard)]
    pub(crate) shard: Option<Shard>,

    /// Whether the load is a closed loop, in which each request starts when a connection is free for it.
    #[arg(skip)]
    pub(crate) is_closed: bool,
}

/// `max` becomes the highest rate, which stands for a closed loop.
fn rate(text: &str) -> Result<Rate, RateError> {
    if text == MAX { Ok(Rate::FASTEST) } else { text.parse() }
}

fn shard(text: &str) -> Result<Shard, ShardError> {
    from_one(text).parse()
}

/// Converts a shard such as `0+1/3`, whose index counts from 0, to `1/3`.
pub(crate) fn from_one(text: &str) -> String {
    let index = |index: &str| index.parse::<u32>().ok()?.checked_add(1);
    let split = text.split_once("+1/").and_then(|(zero, rest)| Some((index(zero)?, rest)));
    split.map_or_else(|| text.to_owned(), |(index, rest)| format!("{index}/{rest}"))
}

impl ScheduleArgs {
    /// Returns whether the rate of a replay was set to the recorded speed.
    pub(crate) fn settle(&mut self, is_rate_given: bool) -> bool {
        let plays_as_recorded = self.is_replay() && self.shape.is_none() && !is_rate_given;
        if plays_as_recorded {
            self.rate = Rate::per_second(1).ok();
        }
        plays_as_recorded
    }

    pub(crate) fn shape(&self) -> anyhow::Result<Shape> {
        match (&self.shape, self.rate) {
            (Some(written), _) => Ok(written.shape.clone()),
            (None, rate) => {
                rate.map(Shape::constant).context("the load has no rate: write --rate or --shape")
            }
        }
    }

    pub(crate) fn starts(&self) -> anyhow::Result<impl Iterator<Item = Duration> + use<>> {
        Ok(self.arrivals()?.starts(self.shape()?, self.shard()?))
    }

    pub(crate) fn check_first(&self, first: Duration) -> anyhow::Result<()> {
        self.arrivals.recording().map_or(Ok(()), |recording| recording.check_first(first))
    }

    pub(crate) fn starts_before(&self, moment: Duration, shard: Shard) -> anyhow::Result<u64> {
        if moment.is_zero() {
            return Ok(0);
        }
        let (arrivals, shape) = (self.arrivals()?, self.shape()?);
        if !self.is_replay() {
            return Ok(arrivals.starts_before(moment, &shape, &shard));
        }
        // The starts of a recording must be counted one by one.
        let starts = arrivals.starts(shape, shard).take_while(|&start| start < moment);
        Ok(u64::try_from(starts.count())?)
    }

    /// Returns `None` for an infinite load. A recording ends 1 ns after the last start of this shard.
    pub(crate) fn end(&self) -> anyhow::Result<Option<Duration>> {
        if self.is_replay() {
            let last = self.starts()?.last().unwrap_or_default();
            return Ok(Some(last + Duration::from_nanos(1)));
        }
        Ok(self.shape()?.duration())
    }

    pub(crate) fn inputs(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let table = self.shape.as_ref().and_then(WrittenShape::file);
        let files = [("--shape", table), ("--arrivals", self.arrivals.file())];
        files.into_iter().filter_map(|(option, file)| Some((option, file?)))
    }

    /// Reads and checks the file of a recording on the first call.
    pub(crate) fn arrivals(&self) -> anyhow::Result<Arrivals> {
        self.arrivals.open(self.seed)
    }

    pub(crate) fn shard(&self) -> anyhow::Result<Shard> {
        self.shard.clone().map_or_else(|| Ok(Shard::new(0, 1)?), Ok)
    }

    pub(crate) fn pacer(&self) -> anyhow::Result<PacerBuilder> {
        let builder = Pacer::shaped(self.shape()?);
        Ok(builder.arrivals(self.arrivals()?).shard(self.shard()?))
    }

    pub(crate) fn title(&self) -> String {
        if self.is_closed {
            return "as fast as responses arrive (closed loop)".to_owned();
        }
        let rate = self.rate.map(|rate| rate.to_string());
        let shape = self.shape.as_ref().map(WrittenShape::to_string);
        let arrivals = (!self.arrivals.is_even()).then(|| self.arrivals.title());
        let seed = self.arrivals.is_random().then(|| format!("seed {}", self.seed));
        let shard = self
            .shard
            .as_ref()
            .map(|shard| format!("{} of the load", human::percent(shard.share())));
        let parts = [shape.or(rate), arrivals, seed, shard];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn is_steady(&self) -> bool {
        self.shape.is_none() && self.arrivals.is_even() && self.shard.is_none()
    }

    pub(crate) fn is_poisson(&self) -> bool {
        self.arrivals.is_poisson() && self.shard.is_none()
    }

    pub(crate) fn constant_hz(&self) -> anyhow::Result<Option<f64>> {
        let rate = self.rate.filter(|_| self.shape.is_none() && !self.is_replay());
        let share = self.shard()?.share();
        Ok(rate.map(|rate| rate.as_hz() * share))
    }

    /// Returns whether the load defines its own length, which may be infinite.
    pub(crate) fn has_length(&self) -> bool {
        self.shape.is_some() || self.is_replay()
    }

    pub(crate) fn is_replay(&self) -> bool {
        self.arrivals.is_replay()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};
    use nanopace::ManualClock;
    use std::fs;

    /// Underscores stand for spaces within an option.
    fn args(line: &str) -> ScheduleArgs {
        let words = line.split_whitespace().map(|word| word.replace('_', " "));
        let command = ScheduleArgs::augment_args(Command::new("test").no_binary_name(true));
        let mut args = ScheduleArgs::from_arg_matches(&command.get_matches_from(words)).unwrap();
        args.settle(line.contains("--rate"));
        args
    }

    #[test]
    fn a_constant_rate_is_not_computed() {
        for text in ["333.3/s", "0.5/s", "5k/s"] {
            let hz = text.parse::<Rate>().unwrap().as_hz();
            let constant_hz = |more| args(&format!("--rate {text} {more}")).constant_hz().unwrap();
            assert_eq!(constant_hz(""), Some(hz));
            assert_eq!(constant_hz("--arrivals poisson --shard 2/4"), Some(hz / 4.0));
        }
        assert_eq!(args("--shape ramp_0/s..100/s_10s").constant_hz().unwrap(), None);
    }

    #[test]
    fn the_pacer_of_a_recording_has_its_starts() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("starts");
        fs::write(&file, "0.0\n0.5\n0.5\n3.25\n4.0\n").unwrap();
        let line = format!("--arrivals replay:{}", file.display());
        for (line, speed) in [(line.clone(), 1.0), (format!("{line} --rate 2/s"), 2.0)] {
            let pacer = args(&line).pacer().unwrap().clock(ManualClock::new()).build();
            let slots = [0.0, 1.0, 3.0, 9.0]
                .map(|at| pacer.asked_before(pacer.now() + Duration::from_secs_f64(at / speed)));
            assert_eq!(slots, [0, 3, 3, 5], "{line}");
        }
    }
}
