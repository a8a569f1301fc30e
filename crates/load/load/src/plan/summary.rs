//! Summarizes a planned load in a few lines.

use super::load::PlannedLoad;
use super::outline::Outline;
use crate::console::human;
use std::fmt::{self, Display, Formatter};

/// The number of samples of the rate. The lowest rate is taken from them. If only a part of the shape is shown, the
/// highest rate is taken from them too.
const MOMENTS: u64 = 6_000;
const COLUMNS: usize = 100;

pub(crate) struct Summary<'plan> {
    pub(crate) load: &'plan PlannedLoad<'plan>,
    pub(crate) outline: &'plan Outline,
}

impl Display for Summary<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (schedule, end) = (self.load.schedule, self.outline.end);
        writeln!(f, "load      {}", schedule.title())?;
        let only = if self.load.has_end() { "" } else { ": the beginning of a load without end" };
        writeln!(f, "duration  {}{only}", human::long_time(end))?;
        writeln!(f, "slots     {}", self.outline.total())?;
        if self.outline.is_instant() {
            return writeln!(f, "rate      none: all starts are at the same time");
        }
        let (lowest, mean, peak) = self.rates();
        let [lowest, mean, peak] = [lowest, mean, peak].map(human::short_hz);
        writeln!(f, "rate      lowest {lowest}, mean {mean}, peak {peak}")
    }
}

impl Summary<'_> {
    fn rates(&self) -> (f64, f64, f64) {
        let (load, end) = (self.load, self.outline.end);
        let mean = self.outline.rates(1)[0];
        if load.schedule.is_replay() {
            let (lowest, highest) = range(self.outline.rates(COLUMNS));
            return (lowest, mean, highest);
        }
        let moments = (0..MOMENTS).map(|index| human::float(index) / human::float(MOMENTS));
        let (lowest, highest) = range(moments.map(|part| load.shape.rate_at(end.mul_f64(part))));
        let is_whole = load.shape.duration() == Some(end);
        let highest = if is_whole { load.shape.peak() } else { highest };
        (lowest * load.shard.share(), mean, highest * load.shard.share())
    }
}

fn range(rates: impl IntoIterator<Item = f64>) -> (f64, f64) {
    rates.into_iter().fold((f64::INFINITY, 0.0), |(low, high), hz| (hz.min(low), hz.max(high)))
}
