//! Defines shapes, arrivals and shards for the pacer and for the plain pacer.

use super::Profile;
use crate::oracle_model::{Curve, Pace, Part};
use nanopace::{Arrivals, Level, Rate, Shape, Shard};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug)]
pub(crate) enum Item {
    Hold(u32, u64),
    Ramp(u32, u32, u64),
    Sine(u32, u32, u64),
}

#[derive(Clone, Debug)]
pub(crate) struct Outline {
    pub(crate) items: Vec<Item>,
    pub(crate) forever: bool,
}

fn level(per_second: u32) -> Level {
    Rate::per_second(per_second.into()).map_or(Level::ZERO, Level::from)
}

impl Item {
    fn shape(&self) -> Shape {
        let time = Duration::from_nanos;
        let shape = match *self {
            Item::Hold(rate, ns) => Shape::hold(level(rate), time(ns)),
            Item::Ramp(from, to, ns) => Shape::ramp(level(from), level(to), time(ns)),
            Item::Sine(from, to, ns) => Shape::sine(level(from), level(to), time(ns)),
        };
        shape.expect("a part")
    }

    fn parts(&self) -> Vec<Part> {
        let part = |is_wave, from: u32, to: u32, ns| {
            let time = Duration::from_nanos(ns).as_secs_f64() * 1e9;
            Part { is_wave, from: from.into(), to: to.into(), time: time.round() }
        };
        match *self {
            Item::Hold(rate, ns) => vec![part(false, rate, rate, ns)],
            Item::Ramp(from, to, ns) => vec![part(false, from, to, ns)],
            Item::Sine(from, to, ns) => {
                vec![part(true, from, to, ns / 2), part(true, to, from, ns - ns / 2)]
            }
        }
    }

    fn is_flat(&self) -> bool {
        matches!(self, Item::Hold(0, _) | Item::Ramp(0, 0, _) | Item::Sine(0, 0, _))
    }
}

impl Outline {
    pub(crate) fn shape(&self) -> Shape {
        let row = self.items.iter().map(Item::shape);
        let row = row.reduce(|row, item| row.then(item).expect("not too long"));
        let row = row.expect("one part at least");
        if self.forever { row.forever().expect("a shape") } else { row }
    }

    /// A constant rate that never ends becomes an interval.
    pub(crate) fn pace(&self, origin: f64) -> Pace {
        if let ([Item::Hold(rate, _)], true) = (&self.items[..], self.forever) {
            return Pace::Interval(1e9 / f64::from(*rate));
        }
        let parts: Vec<Part> = self.items.iter().flat_map(Item::parts).collect();
        Pace::Shape(Arc::new(Curve::new(&parts, self.forever)), origin)
    }
}

pub(crate) fn outline(profile: Profile) -> impl Strategy<Value = Outline> {
    let span = profile.spans()[2];
    let rate = match profile {
        Profile::Slow => prop::sample::select(vec![0_u32, 10, 33, 70, 333, 1_000, 5_000]),
        Profile::Fast => prop::sample::select(vec![0_u32, 50_000, 150_000, 300_000, 500_000]),
    };
    // Half of the times are round, so that changes and slots often coincide.
    let time = prop_oneof![(1_u64..6).prop_map(move |n| 5 * n * span), span / 2..50 * span];
    let item = (0..3, rate.clone(), rate, time).prop_map(|(kind, from, to, ns)| match kind {
        0 => Item::Hold(from, ns),
        1 => Item::Ramp(from, to, ns),
        _ => Item::Sine(from, to, ns),
    });
    (prop::collection::vec(item, 1..5), any::<bool>()).prop_map(|(items, forever)| {
        // If the rate stayed zero, a caller would wait forever.
        let forever = forever && !items.iter().all(Item::is_flat);
        Outline { items, forever }
    })
}

#[derive(Clone, Debug)]
pub(crate) enum Spread {
    Poisson(u64),
    Jitter(u64),
    Replay(Vec<u64>),
}

impl Spread {
    pub(crate) fn arrivals(&self) -> Arrivals {
        match self {
            Spread::Poisson(seed) => Arrivals::poisson(*seed),
            Spread::Jitter(seed) => Arrivals::jitter(0.7, *seed).expect("a part of a gap"),
            Spread::Replay(offsets) => {
                let offsets = offsets.clone();
                Arrivals::replay(move || offsets.clone().into_iter().map(Duration::from_nanos))
            }
        }
    }
}

pub(crate) fn spread(_: Profile) -> impl Strategy<Value = Spread> {
    let offset = prop_oneof![0_u64..5_000_000_000, (0_u64..20).prop_map(|n| n * 1_000_000_000)];
    prop_oneof![
        any::<u64>().prop_map(Spread::Poisson),
        any::<u64>().prop_map(Spread::Jitter),
        prop::collection::vec(offset, 1..2_000).prop_map(|gaps| {
            let mut sum = 0;
            Spread::Replay(
                gaps.iter()
                    .map(|gap| {
                        sum += gap;
                        sum
                    })
                    .collect(),
            )
        }),
    ]
}

#[derive(Clone, Debug)]
pub(crate) struct Split {
    index: usize,
    weights: Vec<u32>,
}

impl Split {
    pub(crate) fn shard(&self) -> Shard {
        let index = u32::try_from(self.index).expect("a small number");
        Shard::weighted(index, &self.weights).expect("a shard")
    }

    pub(crate) fn part(&self) -> (usize, u64) {
        let weight = usize::try_from(self.weights[self.index]).expect("a small number");
        (weight, self.weights.iter().copied().map(u64::from).sum())
    }
}

pub(crate) fn split() -> impl Strategy<Value = Split> {
    let weights = prop::collection::vec(1_u32..4, 2..4);
    (weights, any::<prop::sample::Index>())
        .prop_map(|(weights, index)| Split { index: index.index(weights.len()), weights })
}
