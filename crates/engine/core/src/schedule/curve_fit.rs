//! Fits straight and bent lines to a curve, for callers that take no lock: a chord or a parabola, within 1 ns of the
//! curve over its whole length.
//!
//! # Chord
//!
//! The first slot's intended start is exact, so a caller's plan for that slot stays correct. The times of the chord's
//! two ends are rounded up to whole nanoseconds, as intended starts are.
//!
//! * Where the rate rises, the chord's times are before the curve's. Rounding up makes this difference smaller.
//! * Where the rate falls, the chord's times are after the curve's, and rounding up makes this difference larger. The
//!   chord is therefore half as long, which reduces its error to a quarter, and its end is set a nanosecond earlier. If
//!   the chord has to be longer than that to include the requested slot, its end is exact.
//!
//! # Parabola
//!
//! A parabola can be much longer than a chord. The k-th slot after the anchor starts `gap_ns k - bend_ns k^2` after the
//! anchor's time. The anchor's time is a slot's intended start, in whole nanoseconds. Such a parabola is a [`Line`]
//! whose scale has a mantissa that decreases by the same number for each slot.
//!
//! # Why a parabola is within 1 ns
//!
//! The parabola meets the curve after half of the time and at the end. The counts at these two times are exact,
//! because both times are whole nanoseconds. Only the anchor is rounded: the curve reaches its slot f ns before the
//! intended start, with f < 1.
//!
//! Let x be the fraction of the slots that have started, from 0 to 1, and m be x when half of the time has passed. For
//! a duration of [`SHORTEST_NS`] or longer, m is between 31/64 and 33/64: the slope of the rate and the change of the
//! slope each move the rate by at most 1/64 of it (`shape/trend.rs`), so they move m by less than 1/256. Half of the
//! time is rounded to a whole nanosecond, and the anchor's slot was reached f earlier, which moves m by about 1/130 at
//! most.
//!
//! The difference between the parabola and the curve is the sum of three terms:
//!
//! * The rounding of the anchor: f (1 - x) (1 - x / m).
//! * The parabola's own error, which is at most c x (x - m) (1 - x), where 0.051 c is at most 1/4 ns
//!   (`shape/trend.rs`). This error is at most 1/4 ns. Near the anchor it is at most c m x, which is below 2.53 x ns
//!   (1/4 / 0.051 times 33/64).
//! * The other rounding, which is less than x / 2^9 ns, as shown below.
//!
//! The sum of the first two terms is less than 1 ns. The remainder to 1 ns is at least 0.2 x for x up to 0.1, and more
//! for a larger x, so it is larger than the third term.
//!
//! The mantissa and the bend are each rounded by less than a unit of the mantissa, which is at most 2^-61 of the gap.
//! The time of slot k contains the mantissa k times and the bend k^2 times. The parabola has n slots, at most
//! [`MOST_SLOTS`], and lasts at most [`LONGEST_NS`]. For k = x n, the three errors are therefore:
//!
//! * the error of the bend: 2^-61 gap k^2, which is 2^-61 (gap n) n x^2, so at most about 2^-61 2^32 2^18 x = 2^-11 x
//!   ns;
//! * the error of the mantissa: 2^-61 gap k, which is less;
//! * the error of the values computed as `f64`: 2^-50 of the time since the anchor, at most 2^-50 2^32 x = 2^-18 x ns.
//!
//! Both the curve's time and the parabola's time are then rounded up to whole nanoseconds. Two times that differ by
//! less than 1 ns before this rounding differ by at most 1 ns after it.

use super::curve::Curve;
use super::line::Line;
use super::slots::Slots;
use super::stretch::{Begin, Stretch};
use crate::position::{SLOT, after, earlier, later};
use crate::scale::Scale;

/// The minimum length of a parabola, in slots. Where a parabola has fewer slots, a chord is as good.
const FEW_SLOTS: f64 = 2.0;

const MOST_SLOTS: u64 = 1 << 18;

/// The minimum duration of a parabola. The rounded anchor makes a shorter parabola too inexact.
const SHORTEST_NS: i64 = 64;

const LONGEST_NS: i64 = 1 << 32;

const TICKS: f64 = 65_536.0;
const _: () = assert!(SLOT == 65_536);

/// The curve caches the time of the chord's end for this revision, because that time is needed next.
pub(super) fn chord(curve: &Curve, begin: &Begin, slots: &Slots, revision: u64) -> Stretch {
    let (straight_ns, falls) = curve.straight(begin.time);
    let until_ns = begin.time.saturating_add(if falls { straight_ns / 2 } else { straight_ns });
    let reached = curve.position_at(until_ns, slots);
    let last = earlier(reached, begin.ends_at_most) & !(SLOT - 1);
    let ends_at = later(begin.wanted, last);
    let early_ns = i64::from(falls && ends_at == last);
    let end = (ends_at, curve.time_in(revision, ends_at, slots) - early_ns);
    begin.stretch(Line::between((begin.position, begin.time), end), 0, ends_at)
}

/// Returns `None` where a chord is as good or a parabola would be too inexact.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "all are positive, and few or small"
)]
pub(super) fn parabola(curve: &Curve, begin: &Begin, slots: &Slots) -> Option<Stretch> {
    let all_ns = curve.bent_ns(begin.time).min(LONGEST_NS);
    if all_ns < SHORTEST_NS {
        return None;
    }
    let half_ns = all_ns / 2;
    let first = slots.count_of(begin.position);
    let slots_after = |elapsed_ns| {
        curve.slots_after(first, begin.time.saturating_add(elapsed_ns)) / begin.even.stride as f64
    };
    let all = slots_after(all_ns);
    if all < FEW_SLOTS {
        return None;
    }
    let half = slots_after(half_ns);
    let (half_gap, all_gap) = (half_ns as f64 / half, all_ns as f64 / all);
    let bend = (half_gap - all_gap) / (all - half);
    let scale = Scale::roomy((half_gap + bend * half) / TICKS);
    let ends_at = earlier(begin.ends_at_most, after(begin.position, (all as u64).min(MOST_SLOTS)));
    let line = Line { time: begin.time, position: begin.position, scale };
    Some(begin.stretch(line, scale.units(bend / TICKS), ends_at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::ticks_between;
    use crate::{Arrivals, Level, Rate, Shape, Shard};
    use proptest::prelude::*;
    use std::time::Duration;

    fn levels() -> impl Strategy<Value = Level> {
        let rates = (1_u64..1 << 40, 1_u64..1 << 40).prop_filter_map("no rate", |(n, ns)| {
            Rate::per(n, Duration::from_nanos(ns)).ok().map(Level::from)
        });
        prop_oneof![1 => Just(Level::ZERO), 4 => rates]
    }

    fn shapes() -> impl Strategy<Value = Shape> {
        let time = (10_u32..50).prop_flat_map(|bits| (1_u64 << bits)..(2 << bits));
        let part = (levels(), levels(), time, 0..3, 0_u64..1_000);
        part.prop_filter_map("no shape", |(from, to, ns, kind, skipped)| {
            let time = Duration::from_nanos(ns);
            let shape = match kind {
                0 => Shape::ramp(from, to, time),
                1 => Shape::sine(from, to, time),
                _ => Shape::bell(from, to, time),
            };
            shape.ok()?.skip(Duration::from_nanos(ns / 1_000 * skipped)).ok()
        })
    }

    fn parabola(shape: &str, slot: u64) -> Option<Stretch> {
        let slots = Slots::new(&Arrivals::even(), Shard::whole());
        let curve = Curve::new(&shape.parse().unwrap(), 0, 0, 0_u64.wrapping_sub(1), 0);
        let position = after(0, slot);
        let (time, even) = (curve.time_of(position, &slots), slots.even_from(position).unwrap());
        let ends_at_most = after(position, 1 << 40);
        super::parabola(
            &curve,
            &Begin { position, time, wanted: position, ends_at_most, even },
            &slots,
        )
    }

    /// The proof in the module's documentation depends on [`LONGEST_NS`], [`MOST_SLOTS`] and [`SHORTEST_NS`].
    #[test]
    fn a_parabola_is_as_long_as_is_proven() {
        let slow = parabola("ramp 1k/s..2k/s 240h", 1).unwrap();
        let long_ns = slow.time_of(slow.ends_at) - slow.line.time;
        assert!((1 << 31..=1 << 32).contains(&long_ns), "{long_ns} ns");
        let fast = parabola("ramp 90k/s..180k/s 33h", 1).unwrap();
        assert_eq!((fast.ends_at - fast.line.position) / SLOT, 1 << 18);
        // A parabola that begins in the middle of this ramp would be 39 ns long.
        assert_eq!(parabola("ramp 0/s..10G/s 5us", 6_250), None);
        assert!(parabola("ramp 0/s..10G/s 50us", 62_500).is_some());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_048))]

        #[test]
        #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "in range")]
        fn a_parabola_is_within_a_nanosecond(shape in shapes(), at in 0.0_f64..1.0, weight in 1_u32..4, origin in 0_i64..1 << 40, parts in prop::array::uniform8(0_u64..=1 << 32)) {
            let shard = Shard::weighted(0, &[1, weight - 1][..(weight as usize).min(2)]);
            let slots = Slots::new(&Arrivals::even(), shard.unwrap());
            let curve = Curve::new(&shape, origin, origin, 0_u64.wrapping_sub(1), 0);
            let now = origin + (shape.duration_ns() as f64 * at) as i64;
            let position = curve.position_at(now, &slots) & !(SLOT - 1);
            let (time, even) = (curve.time_of(position, &slots), slots.even_from(position));
            let Some(even) = even.filter(|_| time < i64::MAX) else { return Ok(()) };
            let begin = Begin { position, time, wanted: position, ends_at_most: after(position, 1 << 40), even };
            let Some(stretch) = super::parabola(&curve, &begin, &slots) else { return Ok(()) };
            let last = (stretch.ends_at - position) / SLOT;
            let near = [0, 1, 2, 3, last - 1, last].map(|slot| slot.min(last));
            let slots_there = parts.map(|part| ((u128::from(last) * u128::from(part)) >> 32) as u64);
            for slot in near.into_iter().chain(slots_there) {
                let [there, next] = [slot, slot + 1].map(|slot| after(position, slot));
                let told = stretch.time_of(there);
                let off_ns = told - curve.time_of(there, &slots);
                prop_assert!(off_ns.abs() <= i64::from(slot > 0), "{off_ns} ns, slot {slot} of {last}");
                prop_assert!(slot == last || stretch.time_of(next) >= told);
                for now in [told - 1, told, told + 1] {
                    let ahead = stretch.first_ahead(now);
                    let is_due = |position| stretch.time_of(position) <= now;
                    prop_assert!(ticks_between(ahead, position) >= 0 || is_due(ahead.wrapping_sub(SLOT)));
                    prop_assert!(ticks_between(stretch.ends_at, ahead) > 0 || now < time || !is_due(ahead));
                }
            }
        }
    }
}
