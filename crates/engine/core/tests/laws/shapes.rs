//! Compares shapes with exact arithmetic: rationals for straight lines, and a long series for waves.

#![expect(clippy::float_cmp, reason = "these are exact")]

use nanopace::{Between, Curve, Level, ManualClock, Pacer, Rate, Shape, ShapeError};
use num_bigint::BigInt;
use num_rational::BigRational;
use proptest::prelude::*;
use std::f64::consts::PI;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn level(text: &str) -> Level {
    text.parse().unwrap()
}

fn whole(number: impl Into<BigInt>) -> BigRational {
    BigRational::from_integer(number.into())
}

/// An exact rate: operations and nanoseconds. `None` is the rate zero.
type Exact = Option<(u64, u64)>;

fn to_level(exact: Exact) -> Level {
    exact.map_or(Level::ZERO, |(n, ns)| Rate::per(n, Duration::from_nanos(ns)).unwrap().into())
}

fn to_rational(exact: Exact) -> BigRational {
    exact.map_or(whole(0), |(n, ns)| BigRational::new(n.into(), ns.into()))
}

fn exacts() -> impl Strategy<Value = Exact> {
    let odd = (1_u64..1 << 36, 1_u64 << 30..1 << 36)
        .prop_filter("too fast", |&(n, ns)| Rate::per(n, Duration::from_nanos(ns)).is_ok());
    let round = (1_u64..2_000, prop_oneof![Just(1_000_000_000), Just(60_000_000_000)]);
    prop_oneof![1 => Just(None), 2 => odd.prop_map(Some), 2 => round.prop_map(Some)]
}

fn times() -> impl Strategy<Value = u64> {
    prop_oneof![
        1_u64..100,
        1_u64..1 << 44,
        (1_u64..1_000).prop_map(|seconds| seconds * 1_000_000_000)
    ]
}

/// A straight piece: its duration, its first rate and its last rate.
type Straight = (u64, BigRational, BigRational);

fn count_by(pieces: &[Straight], moment: u64) -> BigRational {
    let mut rest = moment;
    let mut sum = whole(0);
    for (time, from, to) in pieces {
        let t = whole(rest.min(*time));
        sum += from * &t + (to - from) * &t * &t / whole(2 * *time);
        rest -= rest.min(*time);
    }
    sum
}

fn is_flat(pieces: &[Straight], moment: u64) -> bool {
    let mut rest = moment;
    for (time, from, to) in pieces {
        if rest < *time {
            return from + to == whole(0);
        }
        rest -= time;
    }
    true
}

/// Asserts that every sampled slot starts in the first whole nanosecond at which the exact count has reached it and the
/// rate is not zero.
fn check(shape: &Shape, pieces: &[Straight], samples: &[u64]) {
    let total = count_by(pieces, u64::MAX);
    let slots = u64::try_from(total.ceil().to_integer()).unwrap();
    assert_eq!(shape.time_of(slots), None);
    for slot in samples.iter().map(|sample| sample % slots.max(1)).filter(|&slot| slot < slots) {
        let start = u64::try_from(shape.time_of(slot).unwrap().as_nanos()).unwrap();
        let reached = |moment| {
            let count = count_by(pieces, moment);
            count > whole(slot) || count == whole(slot) && !is_flat(pieces, moment)
        };
        assert!(reached(start), "slot {slot} at {start} is too early");
        assert!(start == 0 || !reached(start - 1), "slot {slot} at {start} is too late");
    }
}

fn samples() -> impl Strategy<Value = Vec<u64>> {
    proptest::collection::vec(prop_oneof![any::<u64>(), 0_u64..10], 8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ramps_are_exact(from in exacts(), to in exacts(), ns in times(), samples in samples()) {
        let shape = Shape::ramp(to_level(from), to_level(to), Duration::from_nanos(ns)).unwrap();
        let pieces = [(ns, to_rational(from), to_rational(to))];
        check(&shape, &pieces, &samples);
        let back = [(ns, to_rational(to), to_rational(from))];
        check(&shape.reversed().unwrap(), &back, &samples);
    }

    #[test]
    fn tables_are_exact(points in proptest::collection::vec((times(), exacts()), 2..8), samples in samples()) {
        let mut moment = 0;
        let table: Vec<_> = points.iter().map(|&(ns, rate)| {
            let point = (Duration::from_nanos(moment), to_level(rate));
            moment += ns;
            point
        }).collect();
        let pieces = |step: bool| -> Vec<Straight> {
            points.windows(2).map(|pair| {
                let [(ns, from), (_, to)] = [pair[0], pair[1]];
                (ns, to_rational(from), to_rational(if step { from } else { to }))
            }).collect()
        };
        check(&Shape::table(&table, Between::Linear).unwrap(), &pieces(false), &samples);
        check(&Shape::table(&table, Between::Step).unwrap(), &pieces(true), &samples);
    }

    #[test]
    fn ladders_are_exact(from in exacts(), to in exacts(), steps in 2_u32..20, ns in times(), samples in samples()) {
        let shape = Shape::ladder(to_level(from), to_level(to), steps, Duration::from_nanos(ns)).unwrap();
        let pieces: Vec<Straight> = (0..steps).map(|step| {
            let part = BigRational::new(step.into(), (steps - 1).into());
            let rate = to_rational(from) + (to_rational(to) - to_rational(from)) * part;
            (ns, rate.clone(), rate)
        }).collect();
        check(&shape, &pieces, &samples);
    }

    #[test]
    fn repeated_shapes_are_exact(low in exacts(), high in exacts(), ns in times(), times in 1_u64..6, samples in samples()) {
        let shape = Shape::spike(to_level(low), to_level(high), Duration::from_nanos(2 * ns)).unwrap();
        let shape = shape.then(Shape::hold(to_level(low), Duration::from_nanos(ns)).unwrap()).unwrap();
        let (low, high) = (to_rational(low), to_rational(high));
        let cycle = [(ns, low.clone(), high.clone()), (ns, high, low.clone()), (ns, low.clone(), low)];
        let all: Vec<Straight> = (0..times).flat_map(|_| cycle.clone()).collect();
        check(&shape.repeat(times).unwrap(), &all, &samples);
    }

    #[test]
    fn waves_are_exact(from in exacts(), to in exacts(), is_peak: bool, ns in prop_oneof![1_u64..1 << 44, 1_u64 << 58..1 << 61], samples in samples()) {
        let wave = Wave::new(from, to, ns * 2, is_peak);
        let shape = if is_peak { Shape::bell } else { Shape::sine };
        let shape = shape(to_level(from), to_level(to), Duration::from_nanos(2 * ns));
        let Ok(shape) = shape else { return Ok(()) }; // too many slots
        let total = &wave.mean * whole(2 * ns);
        let slots = u64::try_from(total.ceil().to_integer()).unwrap();
        prop_assert_eq!(shape.time_of(slots), None);
        for slot in samples.iter().map(|sample| sample % slots.max(1)).filter(|&slot| slot > 0) {
            let start = u64::try_from(shape.time_of(slot).unwrap().as_nanos()).unwrap();
            let due = whole(slot) * whole(BigInt::from(1) << BITS);
            prop_assert!(wave.count_by(start) >= due.to_integer() - Wave::rounding());
            prop_assert!(wave.count_by(start - 1) < due.to_integer() + Wave::rounding());
        }
    }
}

const BITS: u32 = 500;

/// A raised cosine, or its square, in fixed-point numbers.
struct Wave {
    mean: BigRational,
    /// The amplitudes of the first and the second harmonic.
    harmonics: [BigRational; 2],
    period: u64,
    pi: BigInt,
}

impl Wave {
    fn new(from: Exact, to: Exact, period: u64, is_peak: bool) -> Wave {
        let (from, to) = (to_rational(from), to_rational(to));
        let (low, high) = (from.clone().min(to.clone()), from.clone().max(to.clone()));
        // The mean and the amplitude of the second harmonic, in eighths of the rise. For a peak, they belong to the
        // square of (1 ± cos) / 2, and otherwise to (1 ± cos) / 2.
        let [mean, second] = if is_peak { [3, 1] } else { [4, 0] };
        let part = |eighths: i64| (&high - &low) * BigRational::new(eighths.into(), 8.into());
        let harmonics = [(from - to) / whole(2), part(second)];
        Wave { mean: &low + part(mean), harmonics, period, pi: pi() }
    }

    /// Returns the count at `t = moment`, with [`BITS`] fraction bits: `mean * t`, plus, for each harmonic `n`,
    /// `amplitude * period / (2 pi n) * sin(2 pi n t / period)`.
    fn count_by(&self, moment: u64) -> BigInt {
        let even = &self.mean * whole(moment) * whole(BigInt::from(1) << BITS);
        let waved = (1_u32..).zip(&self.harmonics).map(|(n, amplitude)| {
            let angle: BigInt = &self.pi * 2 * n * moment / self.period;
            amplitude
                * whole(self.period)
                * BigRational::new(sine(&angle) << BITS, &self.pi * 2 * n)
        });
        waved.fold(even, |sum, waved| sum + waved).to_integer()
    }

    fn rounding() -> BigInt {
        BigInt::from(1) << (BITS - 400)
    }
}

fn pi() -> BigInt {
    let arctan = |inverse: u32| -> BigInt {
        let mut power = (BigInt::from(1) << (BITS + 16)) / inverse;
        let mut sum = BigInt::from(0);
        for term in 0_u32..400 {
            let next = &power / (2 * term + 1);
            sum = if term % 2 == 0 { sum + next } else { sum - next };
            power /= inverse * inverse;
        }
        sum
    };
    (arctan(5) * 16 - arctan(239) * 4) >> 16
}

fn sine(angle: &BigInt) -> BigInt {
    let square = (angle * angle) >> BITS;
    let (mut term, mut sum) = (angle.clone(), BigInt::from(0));
    for k in 1_u32..100 {
        sum += &term;
        term = -((&term * &square) >> BITS) / (2 * k * (2 * k + 1));
    }
    sum
}

#[test]
fn the_series_of_the_test_is_right() {
    let pi = pi();
    let float = |number: &BigInt| {
        (number >> (BITS - 50)).to_string().parse::<f64>().unwrap() / 2_f64.powi(50)
    };
    assert!((float(&pi) - PI).abs() < 1e-14);
    assert!((float(&sine(&(&pi / 6))) - 0.5).abs() < 1e-14);
}

#[test]
fn the_slots_of_a_ramp_from_zero_follow_the_root() {
    let ramp = Shape::ramp(Level::ZERO, level("100/s"), 10 * SECOND).unwrap();
    assert_eq!(ramp.count(), Some(500.0));
    assert_eq!(ramp.time_of(500), None);
    for slot in 0..500_u64 {
        // Slot n starts at sqrt(2n / 10) s, rounded up to a nanosecond.
        let square = u128::from(slot) * 200_000_000_000_000_000;
        let root = square.isqrt();
        let ns = if root * root == square { root } else { root + 1 };
        assert_eq!(ramp.time_of(slot).unwrap().as_nanos(), ns, "{slot}");
    }
}

#[test]
fn the_count_of_whole_waves_is_their_mean() {
    for (low, high, period) in [("1k/s", "5k/s", 20), ("0/s", "1/min", 3_600), ("7/s", "0/s", 3)] {
        let wave = Shape::sine(level(low), level(high), period * SECOND).unwrap();
        let mean = f64::midpoint(level(low).as_hz(), level(high).as_hz());
        let count = mean * f64::from(period);
        assert_eq!(wave.count(), Some(count));
        let waves = wave.forever().unwrap();
        for periods in [1_u32, 2, 1_000_000] {
            assert_eq!(waves.count_at(periods * period * SECOND), count * f64::from(periods));
        }
    }
}

/// A cycle of 120 s has 140 slots. The counts of its parts are not whole numbers, but their sum is.
#[test]
fn nothing_drifts() {
    let ladder = Shape::ladder(level("1/3s"), level("2/s"), 6, 10 * SECOND).unwrap();
    let stairs = ladder.mirrored().unwrap();
    assert_eq!(stairs.count(), Some(140.0));
    let endless = stairs.forever().unwrap();
    // At 140 slots in 120 s, the range of times ends after 10^10 slots.
    for cycles in [1_u64, 1_000, 10_000_000, 76_000_000] {
        let start = Duration::from_secs(120 * cycles);
        assert_eq!(endless.time_of(140 * cycles), Some(start));
        assert_eq!(endless.time_of(140 * cycles + 1), Some(start + 3 * SECOND));
        assert_eq!(endless.time_of(140 * cycles - 1), start.checked_sub(3 * SECOND));
    }
    let fast = Shape::ladder(level("1G/3s"), level("2G/s"), 6, 10 * SECOND).unwrap();
    let fast = fast.mirrored().unwrap().repeat(10_000_000).unwrap();
    for slots in [1_000_000_000_000_u64, 1_000_000_000_000_000, 1_000_000_000_000_000_000] {
        let (cycles, rest) = (slots / 140_000_000_000, slots % 140_000_000_000);
        let within = fast.time_of(rest).unwrap();
        assert_eq!(
            fast.time_of(slots),
            Some(Duration::from_secs(120 * cycles) + within),
            "{slots}"
        );
    }
}

#[test]
fn nothing_starts_at_rate_zero() {
    let rest = || Shape::hold(Level::ZERO, 10 * SECOND).unwrap();
    let work = || Shape::hold(level("1/s"), 10 * SECOND).unwrap();
    let start = rest().then(work()).unwrap();
    assert_eq!(start.time_of(0), Some(10 * SECOND));
    assert_eq!(start.time_of(1), Some(11 * SECOND));
    let middle = work().then(rest()).unwrap().then(work()).unwrap();
    assert_eq!(middle.time_of(10), Some(20 * SECOND));
    assert_eq!(middle.time_of(11), Some(21 * SECOND));
    assert_eq!(middle.rate_at(15 * SECOND), 0.0);
    let end = work().then(rest()).unwrap();
    assert_eq!(end.time_of(9), Some(9 * SECOND));
    assert_eq!(end.time_of(10), None);
    assert_eq!(end.forever().unwrap().time_of(10), Some(20 * SECOND));
    for none in [
        rest(),
        rest().repeat(1 << 20).unwrap(),
        rest().forever().unwrap(),
        Shape::constant(Level::ZERO),
        rest().then(rest()).unwrap().forever().unwrap(),
    ] {
        assert_eq!((none.time_of(0), none.time_of(u64::MAX), none.peak()), (None, None, 0.0));
        assert_eq!(none.count_at(Duration::MAX), 0.0);
    }
}

#[test]
fn slots_at_joints() {
    let up = Shape::ramp(Level::ZERO, level("100/s"), 10 * SECOND).unwrap();
    let hill = up.clone().mirrored().unwrap();
    assert_eq!(hill.time_of(500), Some(10 * SECOND));
    assert_eq!(hill.count_at(10 * SECOND), 500.0);
    assert_eq!(hill.rate_at(10 * SECOND), 100.0);
    // The slot at the end of a ramp to zero belongs to the next part, and lies at the joint however slow the ramp is at
    // its end.
    for (rate, time, slots) in [
        ("100/s", 10, 500),
        ("1/s", 86_400, 43_200),
        ("2/min", 86_400, 1_440),
        ("2/d", 86_400 * 7, 7),
    ] {
        let time = time * SECOND;
        let down = Shape::ramp(level(rate), Level::ZERO, time).unwrap();
        let shape = down.clone().then(up.clone()).unwrap();
        assert_eq!(down.time_of(slots), None);
        assert_eq!(shape.time_of(slots), Some(time), "{rate}");
        assert!(shape.time_of(slots - 1).unwrap() < time);
    }
}

#[test]
fn a_slot_that_is_due_at_a_whole_nanosecond_is_not_late() {
    for (rate, time) in (1_u64..60).flat_map(|rate| (1_u64..60).map(move |time| (rate, time))) {
        let exact = Some((rate, 1_000_000_000));
        let down = Shape::ramp(to_level(exact), Level::ZERO, Duration::from_secs(time)).unwrap();
        let up = down.clone().reversed().unwrap();
        for second in 1..time {
            let double = 2 * rate * time * second - rate * second * second; // twice the count, multiplied by the time
            if double.is_multiple_of(2 * time) {
                let start = Some(Duration::from_secs(second));
                assert_eq!(down.time_of(double / (2 * time)), start, "{rate} {time}");
            }
            if (rate * second * second).is_multiple_of(2 * time) {
                let start = Some(Duration::from_secs(second));
                assert_eq!(up.time_of(rate * second * second / (2 * time)), start, "{rate} {time}");
            }
        }
    }
}

#[test]
fn an_odd_nanosecond_is_not_lost() {
    let time = Duration::from_nanos(3);
    let (low, high) = (level("1G/s"), level("3G/s"));
    for shape in [Shape::sine(low, high, time), Shape::spike(low, high, time)].map(Result::unwrap) {
        assert_eq!((shape.duration(), shape.count()), (Some(time), Some(6.0)));
    }
    let peak = Shape::bell(low, high, time).unwrap();
    assert_eq!((peak.duration(), peak.count()), (Some(time), Some(5.25)));
}

#[test]
fn the_rate_at_a_jump_is_the_later_one() {
    let shape = Shape::ladder(level("1/s"), level("3/s"), 3, SECOND).unwrap();
    let rates = [0, 1, 2, 3].map(|second| shape.rate_at(second * SECOND));
    assert_eq!(rates, [1.0, 2.0, 3.0, 0.0]);
    assert_eq!(shape.rate_at(Duration::from_nanos(999_999_999)), 1.0);
    assert_eq!(shape.peak(), 3.0);
    let sine = Shape::sine(level("1/s"), level("3/s"), 4 * SECOND).unwrap();
    let rates = [0, 1, 2, 3].map(|second| sine.rate_at(second * SECOND));
    assert!(
        rates
            .iter()
            .zip([1.0, 2.0, 3.0, 2.0])
            .all(|(rate, expected)| (rate - expected).abs() < 1e-12)
    );
    assert_eq!(sine.peak(), 3.0);
}

#[test]
fn limits_are_errors() {
    let (one, day) = (level("1/s"), Duration::from_secs(86_400));
    let year = 365 * day;
    let long = Duration::from_nanos(u64::MAX / 2 - 1);
    let hold = |rate: &str, time| Shape::hold(level(rate), time);
    let error = |shape: Result<Shape, ShapeError>| shape.unwrap_err();
    assert_eq!(error(hold("1/s", Duration::ZERO)), ShapeError::Empty);
    assert_eq!(error(Shape::sine(one, one, Duration::from_nanos(1))), ShapeError::Empty);
    assert_eq!(error(hold("1/s", 300 * year)), ShapeError::TooLong);
    assert_eq!(error(hold("1/s", Duration::MAX)), ShapeError::TooLong);
    assert!(hold("1/s", long).is_ok());
    assert_eq!(error(hold("1/s", long).unwrap().repeat(2)), ShapeError::TooLong);
    assert_eq!(error(hold("1/s", long).unwrap().mirrored()), ShapeError::TooLong);
    assert_eq!(error(hold("1/s", day).unwrap().repeat(u64::MAX)), ShapeError::TooLong);
    assert_eq!(error(hold("10G/s", 30 * year)), ShapeError::TooManySlots);
    assert_eq!(error(hold("10G/s", year).unwrap().repeat(30)), ShapeError::TooManySlots);
    assert_eq!(error(hold("1/s", day).unwrap().repeat(0)), ShapeError::NoTimes);
    assert_eq!(error(Shape::ladder(one, one, 1, day)), ShapeError::TooFewSteps);
    assert_eq!(error(Shape::ladder(one, one, u32::MAX, SECOND)), ShapeError::TooManyParts);
    assert_eq!(Shape::ladder(one, one, 1 << 16, SECOND).unwrap().count(), Some(65_536.0));
    let endless = Shape::constant(one);
    let then = |shape: Shape, next: &Shape| shape.then(next.clone());
    assert_eq!(error(then(endless.clone(), &endless)), ShapeError::Endless);
    assert_eq!(error(endless.clone().repeat(1)), ShapeError::Endless);
    assert_eq!(error(endless.clone().forever()), ShapeError::Endless);
    assert_eq!(error(endless.clone().reversed()), ShapeError::Endless);
    assert_eq!(error(endless.clone().mirrored()), ShapeError::Endless);
    let point = |ns| (Duration::from_nanos(ns), one);
    let table = |points: &[_]| Shape::table(points, Between::Linear).unwrap_err();
    assert_eq!(table(&[]), ShapeError::TableStart);
    assert_eq!(table(&[point(0)]), ShapeError::TableStart);
    assert_eq!(table(&[point(1), point(2)]), ShapeError::TableStart);
    assert_eq!(
        table(&[point(0), point(2), point(2)]),
        ShapeError::TableOrder(Duration::from_nanos(2))
    );
    let deep = (0..100).try_fold(hold("1/s", SECOND).unwrap(), |shape, _| {
        shape.repeat(1)?.then(Shape::hold(one, SECOND)?)
    });
    assert_eq!(error(deep), ShapeError::TooManyParts);
}

#[test]
fn cutting_a_shape_moves_nothing() {
    let work = || Shape::hold(level("1/s"), 10 * SECOND).unwrap();
    let rest = Shape::hold(Level::ZERO, 10 * SECOND).unwrap();
    let slow = Shape::ramp(Level::ZERO, level("1/d"), 86_400 * SECOND).unwrap();
    let none = Shape::custom(Of(|_| 0.0), Some(10 * SECOND)).unwrap();
    let cuts = [5, 10, 15, 20, 25].map(|second: u64| second * 1_000_000_000);
    for after in [work(), slow.then(work()).unwrap(), none.then(work()).unwrap()] {
        let shape = work().then(rest.clone()).unwrap().then(after).unwrap();
        assert_eq!(shape.time_of(10), Some(20 * SECOND));
        for ns in cuts.into_iter().flat_map(|ns| [ns - 1, ns, ns + 1]) {
            let time = Duration::from_nanos(ns);
            let first = shape.clone().take(time).unwrap();
            assert!((0..25).all(|slot| first.time_of(slot).is_none_or(|start| start < time)));
            let whole = first.then(shape.clone().skip(time).unwrap()).unwrap();
            assert!((0..25).all(|slot| whole.time_of(slot) == shape.time_of(slot)), "{ns}");
        }
    }
}

#[test]
fn the_peak_is_that_of_the_part() {
    let ramp = || Shape::ramp(Level::ZERO, level("100/s"), 10 * SECOND).unwrap();
    let peak = |shape: Shape, from: u32, time: u32| {
        shape.skip(from * SECOND).unwrap().take(time * SECOND).unwrap().peak()
    };
    assert_eq!(peak(ramp(), 2, 3), 50.0);
    assert_eq!(peak(ramp().reversed().unwrap(), 2, 3), 80.0);
    assert_eq!(peak(ramp().mirrored().unwrap(), 2, 17), 100.0);
    assert_eq!(peak(ramp().repeat(9).unwrap(), 25, 4), 90.0);
    assert_eq!(peak(ramp().forever().unwrap(), 38, 3), 100.0);
    assert_eq!(peak(ramp().forever().unwrap(), 31, 3), 40.0);
    let square = Shape::custom(Of(|t: f64| t * t), Some(10 * SECOND)).unwrap();
    assert!((peak(square, 3, 4) - 14.0).abs() < 1e-3);
}

#[test]
fn impossible_parts_are_refused() {
    let ramp = || Shape::ramp(Level::ZERO, level("100/s"), 10 * SECOND).unwrap();
    let endless = || ramp().forever().unwrap();
    let error = |shape: Result<Shape, ShapeError>| shape.unwrap_err();
    assert_eq!(error(ramp().take(Duration::ZERO)), ShapeError::Empty);
    assert_eq!(error(endless().take(Duration::ZERO)), ShapeError::Empty);
    assert_eq!(error(ramp().skip(10 * SECOND)), ShapeError::Empty);
    assert_eq!(error(ramp().skip(Duration::MAX)), ShapeError::Empty);
    assert_eq!(error(endless().take(Duration::MAX)), ShapeError::TooLong);
    assert_eq!(error(endless().skip(Duration::MAX)), ShapeError::TooLong);
    let century = 36_500 * 86_400 * SECOND;
    let fastest = Shape::constant(Rate::FASTEST);
    assert_eq!(error(fastest.clone().take(century)), ShapeError::TooManySlots);
    assert_eq!(error(fastest.skip(SECOND).unwrap().take(century)), ShapeError::TooManySlots);
}

/// A shape lasts at most 292 years, but more than that can be skipped in an endless shape.
#[test]
fn an_endless_shape_can_be_skipped_again_and_again() {
    let (day, century) = (86_400 * SECOND, 36_500 * 86_400 * SECOND);
    let wave = Shape::sine(level("1/s"), level("3/s"), day).unwrap().forever().unwrap();
    let far = (0..7).try_fold(wave, |shape, _| shape.skip(century)).unwrap();
    assert_eq!(far.time_of(2 * 86_400), Some(day));
    let back = far.clone().take(2 * century).unwrap().reversed().unwrap();
    assert_eq!(back.time_of(2 * 86_400), Some(day));
    assert!(far.to_string().parse::<Shape>().is_ok());
}

#[test]
fn an_endless_shape_saturates() {
    let fastest = Shape::constant(Rate::FASTEST);
    let end = Duration::from_nanos(u64::MAX / 2 - 1);
    assert_eq!(fastest.count_at(end), 2_f64.powi(63));
    assert_eq!(fastest.time_of(u64::MAX), None);
    assert_eq!(fastest.time_of(10_000_000_000 * 86_400), Some(86_400 * SECOND));
    let cycles = Shape::ramp(Rate::FASTEST, Level::ZERO, SECOND).unwrap().forever().unwrap();
    assert_eq!(cycles.count_at(end), 2_f64.powi(63));
    assert_eq!(cycles.time_of(5_000_000_000 * 86_400), Some(86_400 * SECOND));
    let slow = Shape::hold(level("1/d"), Duration::from_nanos(1)).unwrap().repeat(3).unwrap();
    assert_eq!(slow.forever().unwrap().time_of(1), Some(86_400 * SECOND));
}

struct Of<F>(F);

impl<F> std::fmt::Debug for Of<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a function")
    }
}

impl<F: Fn(f64) -> f64 + Send + Sync> Curve for Of<F> {
    fn count_at(&self, elapsed: Duration) -> f64 {
        self.0(elapsed.as_secs_f64())
    }
}

/// The curve is checked at whole milliseconds and at powers of two, and falls at every third of the other nanoseconds.
#[test]
fn a_curve_that_falls_where_it_is_not_checked_causes_no_panic() {
    #[derive(Debug)]
    struct Falling;

    impl Curve for Falling {
        fn count_at(&self, elapsed: Duration) -> f64 {
            let nanos = u32::try_from(elapsed.as_nanos()).expect("4 s at most");
            let falls = nanos % 3 == 1 && !nanos.is_power_of_two() && nanos % 1_000_000 != 0;
            f64::from(nanos) * if falls { 0.5e-6 } else { 1e-6 }
        }
    }

    let shape = Shape::custom(Falling, Some(Duration::from_secs(1)))
        .expect("the checked times are in order");
    let pacer = Pacer::shaped(shape).clock(ManualClock::jumping()).build();
    let started = std::iter::from_fn(|| pacer.acquire().ok()).count();
    assert_eq!(started, 1_000);
}

#[test]
fn invalid_curves_are_refused() {
    let curves: [fn(f64) -> f64; 8] = [
        |_| f64::NAN,
        |t| if t < 50.0 { t } else { f64::NAN },
        |t| 1.0 / t,
        |t| -t,
        |t| t + 1.0,
        |t| 10.0 * t - t * t / 10.0,
        |t| t * 1e300,
        |t| if t < 50.0 { t } else { f64::INFINITY },
    ];
    for (index, curve) in curves.into_iter().enumerate() {
        for time in [Some(100 * SECOND), None] {
            let shape = Shape::custom(Of(curve), time);
            assert!(matches!(shape, Err(ShapeError::Curve(_))), "{index}");
        }
    }
    let moment = Shape::custom(Of(curves[1]), Some(100 * SECOND)).unwrap_err();
    assert_eq!(moment, ShapeError::Curve(50 * SECOND));
}

#[test]
fn curves_that_sampling_misses_stay_bounded() {
    let curves: [fn(f64) -> f64; 4] =
        [|_| f64::NAN, |_| f64::INFINITY, |_| -1e300, |t| 1e3 * (t * 1e5).sin()];
    for bad in curves {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
        let curve = move |t: f64| {
            let ns = (t * 1e9).round() as u64;
            let tried = ns.is_multiple_of(100_000_000) || ns.is_power_of_two();
            if tried { t } else { bad(t) }
        };
        let shape = Shape::custom(Of(curve), Some(100 * SECOND)).unwrap();
        for slot in 0..100 {
            assert!(shape.time_of(slot).unwrap() <= 100 * SECOND);
        }
        for ms in (0..100_500).step_by(17) {
            let t = Duration::from_millis(ms) + Duration::from_nanos(1);
            assert!((0.0..=100.0 + 1e-9).contains(&shape.count_at(t)));
            assert!(shape.rate_at(t) >= 0.0 && shape.rate_at(t).is_finite());
        }
        let _ = shape.peak();
        let part = shape.clone().reversed().unwrap().skip(SECOND / 3).unwrap().take(50 * SECOND);
        let part = part.unwrap().repeat(3).unwrap().skip(SECOND / 7).unwrap();
        assert!((0..100).filter_map(|slot| part.time_of(slot)).all(|time| time <= 150 * SECOND));
        assert!(shape.forever().unwrap().time_of(1_000).unwrap() <= 1_000 * SECOND);
    }
}

#[test]
fn curves_among_other_parts() {
    let cubic = || Shape::custom(Of(|t: f64| t.powi(3)), Some(10 * SECOND)).unwrap();
    let shape = cubic().mirrored().unwrap();
    assert_eq!(shape.count(), Some(2_000.0));
    assert_eq!(shape.time_of(27), Some(3 * SECOND));
    assert_eq!(shape.time_of(2_000 - 27), Some(17 * SECOND));
    assert!((cubic().rate_at(2 * SECOND) - 12.0).abs() < 1e-3);
    assert!((cubic().peak() - 300.0).abs() < 1e-2);
    let endless = Shape::custom(Of(|t: f64| t * 4.0), None).unwrap();
    assert_eq!((endless.duration(), endless.count()), (None, None));
    assert_eq!(endless.time_of(4_000_000), Some(1_000_000 * SECOND));
}
