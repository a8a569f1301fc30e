//! Generates random shapes.

use nanopace::{Level, Rate, Shape};
use proptest::prelude::*;
use std::time::Duration;

pub(crate) fn shapes() -> impl Strategy<Value = Shape> {
    let level = prop_oneof![
        1 => Just(Level::ZERO),
        4 => (0_u32..7, 1_u64..=10).prop_map(|(power, n)| Rate::per_second(n * 10_u64.pow(power)).unwrap().into()),
    ];
    let time = (1_u64..1_000).prop_map(Duration::from_millis);
    let part = (0..6, level.clone(), level, time).prop_map(|(kind, from, to, time)| match kind {
        0 => Shape::hold(from, time).unwrap(),
        1 => Shape::ramp(from, to, time).unwrap(),
        2 => Shape::sine(from, to, time).unwrap(),
        3 => Shape::spike(from, to, time).unwrap(),
        4 => Shape::bell(from, to, time).unwrap(),
        _ => Shape::ladder(from, to, 4, time / 4).unwrap(),
    });
    let row = prop::collection::vec(part, 1..4)
        .prop_map(|parts| parts.into_iter().reduce(|row, part| row.then(part).unwrap()).unwrap());
    let whole = (row, 1_u64..4, any::<bool>()).prop_map(|(row, times, mirrored)| {
        let row = if mirrored { row.mirrored().unwrap() } else { row };
        row.repeat(times).unwrap()
    });
    (whole, prop::collection::vec((any::<bool>(), 0.0..1.0), 0..3))
        .prop_map(|(whole, cuts)| cuts.into_iter().fold(whole, cut))
}

fn cut(shape: Shape, (first, part): (bool, f64)) -> Shape {
    let time = shape.duration().unwrap().mul_f64(part);
    let cut = if first { shape.clone().take(time) } else { shape.clone().skip(time) };
    cut.unwrap_or(shape)
}
