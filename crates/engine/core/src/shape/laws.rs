//! Tests the laws that hold for every shape.

use super::leaf::Leaf;
use super::show::Text;
use super::{Curve, Level, Shape, part_ns, rising};
use crate::Rate;
use crate::count::{Count, ONE, approximate};
use crate::error::ShapeError;
use crate::nanos::duration;
use proptest::prelude::*;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Square;

impl Curve for Square {
    fn count_at(&self, elapsed: Duration) -> f64 {
        (elapsed.as_secs_f64() * 1e6).powi(2)
    }
}

#[derive(Debug)]
struct Late;

impl Curve for Late {
    fn count_at(&self, elapsed: Duration) -> f64 {
        elapsed.saturating_sub(Duration::from_micros(1)).as_secs_f64() * 1e3
    }

    fn rate_at(&self, elapsed: Duration) -> f64 {
        if elapsed < Duration::from_micros(1) { 0.0 } else { 1e3 }
    }
}

fn levels() -> impl Strategy<Value = Level> {
    let rates = (1_u64..1 << 40, 1_u64..1 << 40).prop_filter_map("no rate", |(n, ns)| {
        Rate::per(n, Duration::from_nanos(ns)).ok().map(Level::from)
    });
    prop_oneof![1 => Just(Level::ZERO), 4 => rates]
}

fn times() -> impl Strategy<Value = Duration> {
    (1_u32..56).prop_flat_map(|bits| (1_u64 << bits)..(2 << bits)).prop_map(Duration::from_nanos)
}

fn whole_leaves() -> impl Strategy<Value = Shape> {
    let leaf =
        (0_u32..5, levels(), levels(), times()).prop_map(|(kind, from, to, time)| match kind {
            0 => Shape::hold(from, time),
            1 | 2 => Shape::leaf(
                rising(if kind == 1 { Leaf::swell } else { Leaf::bell }, from, to, part_ns(time)?),
                Text::Item(String::new()),
            ),
            _ => Shape::ramp(from, to, time),
        });
    let custom = times().prop_map(|time| Shape::custom(Square, Some(time.min(SECOND))));
    prop_oneof![8 => leaf, 1 => custom].prop_filter_map("no shape", Result::ok)
}

fn leaves() -> impl Strategy<Value = Shape> {
    (whole_leaves(), any::<bool>(), proptest::collection::vec((any::<bool>(), moments()), 0..3))
        .prop_filter_map("no shape", |(leaf, backwards, cuts)| {
            let leaf = if backwards { leaf.reversed().ok()? } else { leaf };
            cuts.into_iter().try_fold(leaf, |leaf, (first, at)| cut(leaf, first, at).ok())
        })
}

fn cut(shape: Shape, first: bool, at: u64) -> Result<Shape, ShapeError> {
    let time = duration(moment(&shape, at));
    if first { shape.take(time) } else { shape.skip(time) }
}

fn shapes() -> impl Strategy<Value = Shape> {
    let late = (any::<bool>(), times())
        .prop_map(|(ends, time)| Shape::custom(Late, ends.then_some(time)).unwrap());
    let leaves = prop_oneof![15 => leaves(), 1 => late];
    leaves.prop_recursive(5, 16, 3, |inner| {
        prop_oneof![
            2 => (inner.clone(), inner.clone()).prop_map(|(first, second)| first.then(second)),
            2 => (inner.clone(), 1_u64..50).prop_map(|(shape, times)| shape.repeat(times)),
            1 => inner.clone().prop_map(Shape::reversed),
            1 => inner.clone().prop_map(Shape::mirrored),
            1 => inner.clone().prop_map(Shape::forever),
            3 => (inner, any::<bool>(), moments()).prop_map(|(shape, first, at)| cut(shape, first, at)),
        ]
        .prop_filter_map("no shape", Result::ok)
    })
}

fn moments() -> impl Strategy<Value = u64> {
    prop_oneof![2 => any::<u64>(), 1 => 0_u64..100, 1 => 0_u64..1 << 20]
}

fn moment(shape: &Shape, at: u64) -> i64 {
    let range = shape.duration_ns().min(1 << 60).unsigned_abs() + 3;
    i64::try_from(at % range).unwrap()
}

fn has_come(shape: &Shape, count: Count, time_ns: i64) -> bool {
    let reached = shape.count_at_ns(time_ns);
    count < reached || count == reached && !is_flat(shape, time_ns)
}

fn is_flat(shape: &Shape, time_ns: i64) -> bool {
    shape.program.leaf_at(time_ns).is_none_or(|here| here.leaf.is_flat())
}

proptest! {
    #[test]
    fn times_and_counts_are_inverse(shape in shapes(), at in moments(), off in -3_i128..4, near in -2_i64..3) {
        let t = moment(&shape, at);
        let count = shape.count_at_ns(t).saturating_add_signed(off);
        let time = shape.time_of_count(count);
        let is_none = shape.duration().is_some() && count >= shape.count_at_ns(i64::MAX);
        prop_assert!(time == i64::MAX || has_come(&shape, count, time) && !is_none);
        for t in [t, time.saturating_add(near), time.saturating_sub(1), 0].map(|t| t.clamp(0, i64::MAX - 1)) {
            prop_assert!(time <= t || is_none || !has_come(&shape, count, t), "{} {} {}", count, time, t);
            prop_assert!(time > t || count <= shape.count_at_ns(t));
        }
        prop_assert!(shape.count_at_ns(t + 1) >= shape.count_at_ns(t));
    }

    #[test]
    fn slots_wait_until_they_come(shape in shapes(), at in moments()) {
        let t = moment(&shape, at);
        let count = shape.count_at_ns(t);
        prop_assert_eq!(shape.is_waiting_at_ns(t, count), shape.time_of_count(count) > t);
    }

    #[test]
    fn slots_and_times_are_inverse(shape in shapes(), at in moments(), near in -2_i64..3) {
        let slot = shape.count_at_ns(moment(&shape, at)) >> 64;
        let time = shape.time_of_count(slot << 64);
        let t = time.saturating_add(near).clamp(0, i64::MAX - 1);
        let is_none = shape.duration().is_some() && slot << 64 >= shape.count_at_ns(i64::MAX);
        prop_assert!(time <= t || is_none || !has_come(&shape, slot << 64, t));
        prop_assert!(time > t || slot << 64 <= shape.count_at_ns(t));
    }

    #[test]
    fn counts_of_parts_are_differences(shape in shapes(), at in moments(), then in moments(), near in -2_i64..3) {
        let a = moment(&shape, at);
        let count = |t: i64| shape.program.count_at(t);
        if let Ok(first) = shape.clone().take(duration(a)) {
            prop_assert_eq!(first.duration_ns(), a.min(shape.duration_ns()));
            for t in [moment(&first, then), a.saturating_add(near), i64::MAX] {
                prop_assert_eq!(first.program.count_at(t), count(t.min(a)), "{} {}", a, t);
            }
        }
        let Ok(rest) = shape.clone().skip(duration(a)) else { return Ok(()) };
        for t in [moment(&rest, then), 0, 1, (1 << 62) + near] {
            prop_assert_eq!(rest.program.count_at(t), count(a + t) - count(a), "{} {}", a, t);
        }
    }

    #[test]
    fn the_parts_are_the_whole(shape in shapes(), at in proptest::collection::vec(moments(), 1..5), then in moments(), off in -3_i128..4) {
        let mut cuts: Vec<i64> = at.iter().map(|&at| moment(&shape, at)).collect();
        cuts.sort_unstable();
        let (mut rest, mut done, mut parts) = (shape.clone(), 0, Vec::new());
        for cut in cuts {
            if let (Ok(first), Ok(left)) = (rest.clone().take(duration(cut - done)), rest.clone().skip(duration(cut - done))) {
                (rest, done) = (left, cut);
                parts.push(first);
            }
        }
        parts.push(rest);
        let all = parts.into_iter().map(Ok).reduce(|all, part| all?.then(part?)).unwrap();
        let Ok(all) = all else { return Ok(()) };
        prop_assert_eq!(all.duration_ns(), shape.duration_ns());
        prop_assert_eq!(all.program.total(), shape.program.total());
        for t in [moment(&shape, then), (done - 1).max(0), done, done + 1] {
            prop_assert_eq!(all.program.count_at(t), shape.program.count_at(t));
            prop_assert_eq!(is_flat(&all, t), is_flat(&shape, t));
            let (rate, whole) = (all.rate_at_ns(t), shape.rate_at_ns(t));
            prop_assert!((rate - whole).abs() <= 1e-9 * whole, "{rate} {whole}");
            let count = shape.count_at_ns(t);
            for count in [count, count.saturating_add_signed(off), count >> 64 << 64] {
                prop_assert_eq!(all.time_of_count(count), shape.time_of_count(count), "{} {}", t, count);
            }
        }
    }

    #[test]
    fn a_part_of_a_part_is_a_part(shape in shapes(), at in moments(), then in moments(), t in moments()) {
        let (a, b) = (moment(&shape, at), moment(&shape, then));
        let (Ok(once), Ok(first)) = (shape.clone().skip(duration(a + b)), shape.clone().skip(duration(a))) else { return Ok(()) };
        let twice = first.skip(duration(b)).unwrap();
        let t = moment(&once, t);
        prop_assert_eq!(once.program.count_at(t), twice.program.count_at(t));
        prop_assert_eq!(once.to_string(), twice.to_string());
        let longer = twice.take(duration(a + b + 1));
        let (once, twice) = (once.take(duration(b + 1)), longer.and_then(|longer| longer.take(duration(b + 1))));
        let (Ok(once), Ok(twice)) = (once, twice) else { return Ok(()) };
        prop_assert_eq!(once.program.count_at(t), twice.program.count_at(t));
        prop_assert_eq!(once.to_string(), twice.to_string());
    }

    #[test]
    fn no_rate_is_above_the_peak(shape in shapes(), at in moments()) {
        let rate = shape.rate_at_ns(moment(&shape, at));
        prop_assert!(rate <= shape.peak() * (1.0 + 1e-9), "{rate} {}", shape.peak());
    }

    #[test]
    fn no_chord_goes_beyond_the_end(shape in shapes(), at in moments()) {
        let t = moment(&shape, at);
        let length = shape.straight_ns(t).0;
        prop_assert!(length >= 1);
        prop_assert!(t >= shape.duration_ns() || t.saturating_add(length) <= shape.duration_ns());
    }

    #[test]
    fn chords_are_straight_over_their_whole_length(shape in leaves(), at in moments(), parts in proptest::array::uniform8(0_u64..=1 << 32)) {
        let time = shape.duration_ns();
        let t = moment(&shape, at).min(time - 1);
        let length = shape.straight_ns(t).0;
        prop_assert!((1..=time - t).contains(&length));
        let between = |part: u64| i64::try_from((u128::from(length.unsigned_abs()) * u128::from(part)) >> 32).unwrap();
        let rounding = 1e-9 + float(length) * 4e-16;
        for part in parts {
            prop_assert!(deviation(&shape, t, length, between(part)) <= 1.0 + rounding);
        }
    }

    #[test]
    fn chords_of_ramps_are_not_needlessly_short(from in levels(), to in levels(), time in times(), at: u64) {
        prop_assume!(from != to);
        let Ok(shape) = Shape::ramp(from, to, time) else { return Ok(()) };
        let t = moment(&shape, at).min(shape.duration_ns() - 1);
        let length = shape.straight_ns(t).0;
        let longer = 3 * length + 10;
        if t + longer <= shape.duration_ns() {
            let worst = (1..100).map(|part| deviation(&shape, t, longer, longer * part / 100));
            prop_assert!(worst.fold(0.0, f64::max) > 1.0, "{length}");
        }
    }

    #[test]
    fn a_reversed_shape_has_its_last_slots_first(shape in shapes(), at in moments()) {
        let Ok(back) = shape.clone().reversed() else { return Ok(()) };
        let (time, total) = (shape.duration_ns(), shape.count_at_ns(i64::MAX));
        let t = moment(&shape, at).min(time);
        prop_assert_eq!(back.count_at_ns(i64::MAX), total);
        let sum = back.count_at_ns(t) + shape.count_at_ns(time - t);
        prop_assert!(sum.abs_diff(total) <= 1, "{sum} {total}");
        let again = back.reversed().unwrap();
        prop_assert_eq!(again.count_at_ns(t), shape.count_at_ns(t));
        prop_assert_eq!(again.to_string(), shape.to_string());
    }

    #[test]
    fn a_mirrored_shape_is_the_same_backwards(shape in shapes(), at in moments()) {
        let Ok(mirrored) = shape.mirrored() else { return Ok(()) };
        let t = moment(&mirrored, at);
        prop_assert_eq!(mirrored.clone().reversed().unwrap().count_at_ns(t), mirrored.count_at_ns(t));
    }

    #[test]
    fn rates_are_slopes(shape in leaves().prop_filter("short", |leaf| leaf.duration_ns() > 1 << 20), at: u64) {
        let time = shape.duration_ns();
        let t = moment(&shape, at).min(time - (time >> 10) - 1);
        let end = t + (time >> 10);
        let grown = crate::count::fine(shape.count_at_ns(end) - shape.count_at_ns(t));
        let mean = approximate(grown) / float(end - t) * 1e9;
        let rates = [t, end - 1].map(|t| shape.rate_at(duration(t)));
        let (low, high) = (rates[0].min(rates[1]), rates[0].max(rates[1]));
        let rounding = 1e-6 * shape.peak() + 1e-9;
        prop_assert!(low - rounding <= mean && mean <= high + rounding, "{low} {mean} {high}");
        prop_assert!(high <= shape.peak() * (1.0 + 1e-9));
    }
}

#[expect(clippy::cast_precision_loss, reason = "tests allow for it")]
fn float(ns: i64) -> f64 {
    ns as f64
}

/// Treats time as a function of the count. Returns the distance in nanoseconds of the curve at `t + part` from the
/// chord that begins at `t` and lasts for `length`.
fn deviation(shape: &Shape, t: i64, length: i64, part: i64) -> f64 {
    let grown =
        |part: i64| approximate(shape.program.count_at(t + part) - shape.program.count_at(t));
    let all = grown(length);
    if all == 0.0 { 0.0 } else { (float(length) * (grown(part) / all) - float(part)).abs() }
}

#[test]
fn only_constants_are_constant() {
    let level: Level = "7/s".parse().unwrap();
    let hold = Shape::hold(level, SECOND).unwrap();
    assert_eq!(Shape::constant(level).as_constant(), Some(level));
    assert_eq!(hold.clone().forever().unwrap().as_constant(), Some(level));
    assert_eq!(hold.as_constant(), None);
    assert_eq!(Shape::constant(level).skip(SECOND).unwrap().as_constant(), Some(level));
    assert_eq!(Shape::constant(level).take(SECOND).unwrap().as_constant(), None);
    let half = hold.clone().skip(SECOND / 2).unwrap();
    assert_eq!(half.forever().unwrap().as_constant(), Some(level));
    let later = hold.clone().then(Shape::constant(level)).unwrap();
    assert_eq!(later.skip(SECOND).unwrap().as_constant(), Some(level));
    assert_eq!(hold.repeat(3).unwrap().forever().unwrap().as_constant(), None);
}

#[test]
fn counts_outside_a_shape_are_those_of_its_ends() {
    let ramp = Shape::ramp(Level::ZERO, Rate::FASTEST, SECOND).unwrap();
    assert_eq!((ramp.count_at_ns(i64::MIN), ramp.count_at_ns(0)), (0, 0));
    assert_eq!((ramp.time_of_count(0), ramp.straight_ns(i64::MAX).0), (0, i64::MAX));
    assert_eq!(ramp.count_at_ns(i64::MAX), 5_000_000_000 * ONE);
    assert_eq!(ramp.time_of_count(5_000_000_000 * ONE + 1), i64::MAX);
    assert_eq!(ramp.straight_ns(-7), ramp.straight_ns(0));
}

#[test]
fn a_shape_that_is_cut_again_and_again_does_not_grow() {
    let wave = || Shape::sine(Level::ZERO, Rate::FASTEST, SECOND).unwrap().forever().unwrap();
    let change = |shape: Shape| shape.skip(SECOND / 3)?.take(SECOND / 2)?.then(wave());
    let (mut shape, mut sizes) = (wave(), Vec::new());
    for _ in 0..100 {
        shape = change(shape).unwrap();
        let nodes = format!("{:?}", shape.program).matches("Leaf {").count();
        sizes.push((shape.to_string().matches("sine").count(), nodes));
    }
    assert!(sizes[5..].iter().all(|size| *size == sizes[5]), "{sizes:?}");
    assert!(shape.to_string().parse::<Shape>().is_ok());
}

#[test]
fn a_part_of_everything_is_the_shape_itself() {
    let ramp = Shape::ramp(Level::ZERO, Rate::FASTEST, SECOND).unwrap();
    let all = [ramp.clone().take(SECOND), ramp.clone().take(Duration::MAX)];
    for same in all.into_iter().chain([ramp.clone().skip(Duration::ZERO)]) {
        assert!(same.unwrap().is_same(&ramp));
    }
}

proptest! {
    #[test]
    fn a_steady_rate_reaches_a_count_at_the_exact_time(
        level in levels(),
        time in times(),
        part in any::<u64>(),
    ) {
        let shape = Shape::constant(level.rate().unwrap_or(Rate::FASTEST));
        let whole = shape.count_at_ns(part_ns(time).unwrap_or(1));
        for count in (whole.saturating_sub(2)..whole + 3).chain([whole + Count::from(part)]) {
            prop_assert_eq!(shape.time_of_count(count), shape.exact_time_of_count(count));
        }
    }
}

/// A ramp from zero is a parabola: the maximum length h of a chord that begins at time t satisfies h^2 = 8 t + 4 h, and
/// backwards h^2 = 8 t - 4 h.
#[test]
fn chords_of_ramps_last_until_a_nanosecond_is_left() {
    let ramp = Shape::ramp(Level::ZERO, Rate::FASTEST, SECOND).unwrap();
    let back = ramp.clone().reversed().unwrap();
    let end = ramp.duration_ns();
    for (t, forward, backward) in
        [(0, 4, 1), (4, 8, 4), (12, 12, 8), (5_100, 204, 200), (50_010_000, 20_004, 20_000)]
    {
        let lengths = (ramp.straight_ns(t).0, back.straight_ns(end - t).0.min(end));
        let is_near = |length: i64, wanted: i64| (wanted - 1..=wanted).contains(&length);
        assert!(is_near(lengths.0, forward), "{t}: {lengths:?}");
        assert!(t == 0 || is_near(lengths.1, backward), "{t} backwards: {lengths:?}");
    }
}

#[test]
fn chords_of_waves_are_straight() {
    let wave = Shape::sine(Rate::per_second(1_000).unwrap(), Rate::FASTEST, SECOND).unwrap();
    for step in 1..200 {
        let t = wave.duration_ns() * step / 200;
        let length = wave.straight_ns(t).0;
        assert!(deviation(&wave, t, length, length / 2) <= 1.001, "{t}: {length}");
    }
}
