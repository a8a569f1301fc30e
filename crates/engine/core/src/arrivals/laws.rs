//! Tests the laws that hold for every arrival process except a replay, and the distribution of each random process. The
//! statistical tests have fixed seeds, so a test that passes once always passes. Their significance level is 0.1 %.

use super::statistics::{
    KS_LEVEL, Law, correlation, exponential, float, gamma_four, gamma_half, kolmogorov_smirnov,
    mean, uniform, variance,
};
use super::tree::MOST;
use super::{Arrivals, Process};
use crate::count::{Count, ONE};
use proptest::prelude::*;
use std::time::Duration;

const NORMAL_LEVEL: f64 = 3.29;

fn poisson(seed: u64) -> Process {
    Arrivals::poisson(seed).process()
}

fn exact(slots: u32, seed: u64) -> Process {
    Arrivals::exact_poisson(slots, seed).unwrap().process()
}

fn gamma(shape: f64, seed: u64) -> Process {
    Arrivals::gamma(shape, seed).unwrap().process()
}

fn jitter(part: f64, seed: u64) -> Process {
    Arrivals::jitter(part, seed).unwrap().process()
}

fn random(seed: u64) -> Vec<Arrivals> {
    let mut all = vec![Ok(Arrivals::poisson(seed))];
    all.extend([0.01, 0.25, 4.0, 1e6].map(|shape| Arrivals::gamma(shape, seed)));
    all.extend([1, 7, 127, 128, 1_000, u32::MAX].map(|n| Arrivals::exact_poisson(n, seed)));
    all.extend([0.3, 1.0].map(|part| Arrivals::jitter(part, seed)));
    all.into_iter().map(Result::unwrap).collect()
}

fn all(seed: u64) -> Vec<Process> {
    let mut all: Vec<_> = random(seed).iter().map(Arrivals::process).collect();
    all.extend([Arrivals::even().process(), jitter(0.0, seed)]);
    all
}

fn slot() -> impl Strategy<Value = u64> {
    prop_oneof![
        0_u64..1_000,
        (7_u32..62, -2_i64..3).prop_map(|(level, off)| (1_u64 << level).saturating_add_signed(off)),
        0_u64..1 << 40,
        0_u64..MOST - 1,
    ]
}

fn at(arrivals: &Process, slot: u64) -> f64 {
    difference(arrivals.count_of(slot).unwrap(), 0)
}

#[expect(clippy::cast_precision_loss, reason = "a figure of a test")]
fn difference(later: Count, earlier: Count) -> f64 {
    (later - earlier) as f64 / ONE as f64
}

fn gaps(arrivals: &Process, from: u64, n: u64) -> Vec<f64> {
    let gap =
        |slot| difference(arrivals.count_of(slot + 1).unwrap(), arrivals.count_of(slot).unwrap());
    (from..from + n).map(gap).collect()
}

proptest! {
    #[test]
    fn counts_never_go_down(seed: u64, slot in slot(), further in 1_u64..1_000) {
        for arrivals in all(seed) {
            let later = arrivals.count_of(slot.saturating_add(further).min(MOST - 1));
            prop_assert!(arrivals.count_of(slot) <= later, "{arrivals:?}");
        }
    }

    #[test]
    fn slots_by_is_the_inverse_of_count_of(seed: u64, slot in slot()) {
        for arrivals in all(seed) {
            let count = arrivals.count_of(slot).unwrap();
            prop_assert!(arrivals.slots_by(count) > slot, "{arrivals:?}");
            if count > 0 {
                prop_assert!(arrivals.slots_by(count - 1) <= slot, "{arrivals:?}");
            }
        }
    }

    #[test]
    fn slots_by_a_count_lie_before_it(seed: u64, whole in slot(), part: u64) {
        let count = Count::from(whole) * ONE + Count::from(part);
        for arrivals in all(seed) {
            let slots = arrivals.slots_by(count);
            prop_assert!(slots == 0 || arrivals.count_of(slots - 1).unwrap() <= count, "{arrivals:?}");
            prop_assert!(arrivals.count_of(slots).is_none_or(|next| next > count), "{arrivals:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_order_of_queries_does_not_matter(seed: u64, slots in proptest::collection::vec(slot(), 1..5)) {
        for ((arrivals, other), ordered) in all(seed).into_iter().zip(all(seed)).zip(all(seed)) {
            let asked: Vec<_> = slots.iter().map(|&slot| arrivals.count_of(slot)).collect();
            for (&slot, &count) in slots.iter().zip(&asked) {
                let by = arrivals.slots_by(count.unwrap());
                prop_assert_eq!(other.slots_by(count.unwrap()), by);
                prop_assert_eq!(ordered.count_of(slot), count);
            }
        }
        for slot in slots {
            for (arrivals, fresh) in all(seed).into_iter().zip(all(seed)) {
                arrivals.slots_by(Count::from(slot) * ONE);
                prop_assert_eq!(arrivals.count_of(slot), fresh.count_of(slot));
            }
        }
    }
}

#[test]
fn slots_are_the_same_in_any_order() {
    for (sequential, backwards) in all(3).into_iter().zip(all(3)) {
        let slots = 2_000;
        let mut counts: Vec<_> = (0..slots).map(|slot| sequential.count_of(slot)).collect();
        counts.reverse();
        let reversed: Vec<_> = (0..slots).rev().map(|slot| backwards.count_of(slot)).collect();
        assert_eq!(counts, reversed, "{sequential:?}");
    }
}

#[test]
fn a_seed_makes_a_difference() {
    for (first, second) in random(1).into_iter().zip(random(2)) {
        let hundredth = |arrivals: &Arrivals| arrivals.process().count_of(100);
        assert_ne!(hundredth(&first), hundredth(&second), "{first:?}");
        assert_eq!(hundredth(&first.with_seed(2)), hundredth(&second));
    }
}

#[test]
fn poisson_is_gamma_of_shape_one() {
    assert_eq!(poisson(5).count_of(1_000), gamma(1.0, 5).count_of(1_000));
}

#[test]
fn even_slots_are_exact() {
    let (even, still) = (Arrivals::default().process(), jitter(0.0, 1));
    for slot in [0, 1, 99, MOST - 1] {
        let count = Some(Count::from(slot) * ONE);
        assert_eq!((even.count_of(slot), still.count_of(slot)), (count, count));
    }
    assert!(Arrivals::default().is_even() && !Arrivals::poisson(0).is_even());
}

#[test]
fn random_processes_have_the_largest_number_of_slots() {
    for arrivals in all(1) {
        assert!(arrivals.count_of(MOST - 1).is_some());
        assert_eq!(arrivals.count_of(MOST), None);
        assert_eq!(arrivals.slots_by(Count::MAX), MOST);
        arrivals.forget_before(MOST);
        assert!(arrivals.count_of(0).is_some());
    }
}

#[test]
fn far_slots_are_where_they_belong() {
    let far = 1_000_000_000_000_000_u64;
    for (arrivals, variance) in [
        (poisson(1), 1e15),
        (gamma(0.01, 1), 1e17),
        (gamma(1e6, 1), 1e9),
        (exact(1_000, 1), 1e3),
        (jitter(1.0, 1), 1.0),
    ] {
        let deviation = (at(&arrivals, far) - 1e15) / f64::sqrt(variance);
        assert!(deviation.abs() < NORMAL_LEVEL, "{arrivals:?}: {deviation}");
    }
}

#[test]
fn a_replay_is_replayed() {
    let recorded = Arrivals::replay(|| [1, 2, 4].map(Duration::from_secs)).with_seed(9);
    let arrivals = recorded.process();
    assert_eq!((arrivals.slots_by(ONE * 2), arrivals.slots_by(ONE * 4)), (2, 3));
    arrivals.forget_before(1);
    assert_eq!([1, 2, 3].map(|n| arrivals.count_of(n)), [Some(ONE * 2), Some(ONE * 4), None]);
    assert_eq!(recorded.clone().process().count_of(0), Some(ONE), "each reads from the beginning");
}

#[test]
fn gaps_have_their_distribution() {
    let laws: [(f64, Law); 3] = [(1.0, exponential), (0.5, gamma_half), (4.0, gamma_four)];
    for (shape, law) in laws {
        for from in [0, (1 << 40) - 25_000] {
            let gaps = gaps(&gamma(shape, 1), from, 50_000);
            let distance = kolmogorov_smirnov(gaps, |gap| law(gap * shape));
            assert!(distance < KS_LEVEL, "shape {shape} from {from}: {distance}");
        }
    }
}

#[test]
fn gaps_at_borders_have_their_distribution_and_are_independent() {
    for (border, n) in
        [(1_u64 << 7, 8_000_u64), (1 << 8, 8_000), (1 << 20, 3_000), (1 << 45, 3_000)]
    {
        let arrivals = poisson(1);
        let pairs: Vec<(f64, f64)> = (1..=n)
            .map(|k| gaps(&arrivals, k * border - 2, 2))
            .map(|gaps| (exponential(gaps[0]), exponential(gaps[1])))
            .collect();
        let firsts = kolmogorov_smirnov(pairs.iter().map(|pair| pair.0).collect(), uniform);
        let seconds = kolmogorov_smirnov(pairs.iter().map(|pair| pair.1).collect(), uniform);
        assert!(firsts < KS_LEVEL && seconds < KS_LEVEL, "{border}: {firsts} {seconds}");
        let together = correlation(&pairs);
        assert!(together.abs() < NORMAL_LEVEL, "{border}: {together}");
    }
}

#[test]
fn neighbouring_gaps_are_independent() {
    for arrivals in [poisson(1), gamma(0.25, 1), gamma(4.0, 1)] {
        let gaps = gaps(&arrivals, 0, 50_000);
        for lag in [1, 2, 127, 128] {
            let pairs: Vec<_> = gaps.iter().copied().zip(gaps.iter().skip(lag).copied()).collect();
            let together = correlation(&pairs);
            assert!(together.abs() < NORMAL_LEVEL, "lag {lag}: {together}");
        }
    }
}

#[test]
fn the_mean_gap_is_one() {
    for (arrivals, variance) in
        [(poisson(1), 1.0), (gamma(0.25, 1), 4.0), (gamma(0.01, 1), 100.0), (gamma(4.0, 1), 0.25)]
    {
        let n = 50_000_u32;
        let deviation =
            (at(&arrivals, u64::from(n) - 1) - f64::from(n)) / (f64::from(n) * variance).sqrt();
        assert!(deviation.abs() < NORMAL_LEVEL, "{arrivals:?}: {deviation}");
    }
}

fn dispersion(arrivals: &Process, window: u64) -> f64 {
    let by = |n: u64| arrivals.slots_by(Count::from(n * window) * ONE + ONE / 3);
    let slots: Vec<f64> = (0..u64::from(WINDOWS))
        .map(|n| float(usize::try_from(by(n + 1) - by(n)).unwrap()))
        .collect();
    assert!((mean(&slots) / float(usize::try_from(window).unwrap()) - 1.0).abs() < 0.2);
    variance(&slots) / mean(&slots)
}

const WINDOWS: u32 = 2_000;

/// The relative standard deviation of a variance that is estimated from `n` normal values is sqrt(2 / n).
fn near(index: f64, expected: f64) -> bool {
    (index / expected - 1.0).abs() < NORMAL_LEVEL * (2.0 / f64::from(WINDOWS)).sqrt()
}

#[test]
fn numbers_of_slots_have_their_dispersion() {
    for (arrivals, index, windows) in [
        (poisson(1), 1.0, vec![10, 100, 1_000, 1 << 20, 1 << 40]),
        (gamma(0.25, 1), 4.0, vec![1_000, 10_000, 1 << 30]),
        (gamma(4.0, 1), 0.25, vec![1_000, 10_000, 1 << 30]),
    ] {
        for window in windows {
            let found = dispersion(&arrivals, window);
            assert!(near(found, index), "windows of {window}: {found} instead of {index}");
        }
    }
    for (arrivals, most) in
        [(Arrivals::even().process(), 0.0), (jitter(0.3, 1), 1e-12), (jitter(1.0, 1), 0.001)]
    {
        let found = dispersion(&arrivals, 1_000);
        assert!(found <= most, "{arrivals:?}: {found}");
    }
}

#[test]
fn each_run_of_exact_poisson_has_its_slots() {
    for slots in [1, 2, 127, 128, 129, 1_000, u32::MAX] {
        let arrivals = exact(slots, 1);
        let counts = Count::from(slots) * ONE;
        for run in (0..300).chain([1 << 30]) {
            let begin = Count::from(run) * counts;
            let before = if run == 0 { 0 } else { arrivals.slots_by(begin - 1) };
            assert_eq!(before, run * u64::from(slots));
            assert_eq!(arrivals.slots_by(begin + counts - 1) - before, u64::from(slots));
            assert!(arrivals.count_of(before).unwrap() >= begin);
            assert!(arrivals.count_of(before + u64::from(slots) - 1).unwrap() < begin + counts);
        }
    }
}

#[test]
fn exact_poisson_is_uniform_inside() {
    for slots in [1_u32, 2, 10, 1_000] {
        let (arrivals, length) = (exact(slots, 1), f64::from(slots));
        let sample: Vec<f64> =
            (0..20_000).map(|slot| at(&arrivals, slot) / length).map(f64::fract).collect();
        // The first slot of a run is the minimum of `slots` uniform numbers.
        let firsts = sample.iter().step_by(usize::try_from(slots).unwrap()).copied().collect();
        let distance = kolmogorov_smirnov(firsts, |x| 1.0 - (1.0 - x).powf(length));
        assert!(distance < KS_LEVEL, "first of {slots}: {distance}");
        let distance = kolmogorov_smirnov(sample, uniform);
        assert!(distance < KS_LEVEL, "{slots}: {distance}");
    }
}

/// The number of slots in a part `p` of a run is binomial: its variance is `1 - p` times its mean.
#[test]
fn exact_poisson_varies_inside_like_a_binomial() {
    let halves = exact(1_000, 1);
    let numbers: Vec<f64> = (0..u64::from(WINDOWS))
        .map(|run| halves.slots_by(Count::from(run * 1_000 + 500) * ONE) - run * 1_000)
        .map(|slots| float(usize::try_from(slots).unwrap()))
        .collect();
    let found = variance(&numbers) / mean(&numbers);
    assert!(near(found, 0.5), "{found}");
    let found = dispersion(&exact(u32::MAX, 1), 1_000);
    assert!(near(found, 1.0), "{found}");
}

#[test]
fn jitter_is_uniform_and_independent() {
    let arrivals = jitter(0.3, 1);
    let offset = |slot: u64| arrivals.count_of(slot).unwrap() - Count::from(slot) * ONE;
    let sample: Vec<f64> = (0..50_000).map(|slot| difference(offset(slot), 0) / 0.3).collect();
    for lag in [1, 31, 32] {
        let pairs: Vec<_> = sample.iter().copied().zip(sample.iter().skip(lag).copied()).collect();
        let together = correlation(&pairs);
        assert!(together.abs() < NORMAL_LEVEL, "lag {lag}: {together}");
    }
    let distance = kolmogorov_smirnov(sample, uniform);
    assert!(distance < KS_LEVEL, "{distance}");
}

#[test]
fn arrivals_are_shared_and_sent() {
    fn is_plain_data<T: Clone + Send + Sync>() {}
    is_plain_data::<Arrivals>();
}
