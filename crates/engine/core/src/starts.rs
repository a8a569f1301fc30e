//! Computes the intended starts of a load without running it.

use crate::arrivals::Arrivals;
use crate::count::Count;
use crate::nanos::{duration, span_ns};
use crate::shape::Shape;
use crate::shard::Shard;
use std::time::Duration;

impl Arrivals {
    /// Returns the intended starts of this process's part of a load, in order, as times since the load's beginning.
    /// The iterator ends where the shape or the arrivals end. It can have up to 2^63 items.
    ///
    /// ```
    /// use nanopace::{Arrivals, Level, Rate, Shape, Shard};
    /// use std::time::Duration;
    ///
    /// let shape = Shape::ramp(Level::ZERO, Rate::per_second(100)?, Duration::from_secs(10))?;
    /// let all = Arrivals::even().starts(shape.clone(), Shard::new(0, 1)?);
    /// assert_eq!(all.count(), 500);
    /// let mut second = Arrivals::even().starts(shape, Shard::new(1, 3)?);
    /// // Slot 1 starts after sqrt(1/5) s.
    /// assert_eq!(second.next(), Some(Duration::from_nanos(447_213_596)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn starts(&self, shape: Shape, shard: Shard) -> impl Iterator<Item = Duration> + use<> {
        let end = shape.count_at_ns(i64::MAX);
        let process = self.process();
        (0..).map_while(move |local| {
            let slot = shard.global(local);
            process.forget_before(slot);
            let count = process.count_of(slot).filter(|&count| count < end)?;
            Some(shape.time_of_count(count)).filter(|&ns| ns < i64::MAX).map(duration)
        })
    }

    /// Returns the number of [`starts`](Arrivals::starts) before `elapsed`. For a replay, the count stops at 2^20
    /// slots.
    ///
    /// ```
    /// use nanopace::{Arrivals, Rate, Shape, Shard};
    /// use std::time::Duration;
    ///
    /// let (shape, shard) = (Shape::constant(Rate::per_second(100)?), Shard::new(0, 3)?);
    /// let before = |ms| Arrivals::even().starts_before(Duration::from_millis(ms), &shape, &shard);
    /// assert_eq!([before(0), before(1), before(30), before(31)], [0, 1, 1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn starts_before(&self, elapsed: Duration, shape: &Shape, shard: &Shard) -> u64 {
        let Some(last_ns) = span_ns(elapsed).checked_sub(1).filter(|&ns| ns >= 0) else { return 0 };
        let count = shape.count_at_ns(last_ns);
        // The slots below a shape's count have started. A slot exactly at the count has started, too, unless the rate
        // is zero or the shape has ended.
        let is_below = shape.is_waiting_at_ns(last_ns, count);
        let last: Option<Count> = if is_below { count.checked_sub(1) } else { Some(count) };
        last.map_or(0, |last| shard.locals_before(self.process().slots_by(last)))
    }
}

#[cfg(test)]
mod vectors;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;
    use crate::shape::Level;
    use proptest::prelude::*;

    fn arrivals() -> impl Strategy<Value = (String, u64)> {
        let text = vec!["even", "poisson", "exact-poisson:7", "gamma:0.3", "jitter:0.8"];
        (proptest::sample::select(text).prop_map(str::to_owned), any::<u64>())
    }

    fn shape() -> impl Strategy<Value = Shape> {
        let level = || {
            prop_oneof![
                Just(Level::ZERO),
                (1_u64..2_000).prop_map(|hz| { Rate::per_second(hz).expect("in range").into() })
            ]
        };
        let part = (level(), level(), 1_u64..500_000_000);
        let ramp = part.prop_map(|(from, to, ns)| Shape::ramp(from, to, Duration::from_nanos(ns)));
        proptest::collection::vec(ramp, 1..5).prop_map(|parts| {
            let parts = parts.into_iter().map(|part| part.expect("a ramp"));
            parts.reduce(|all, part| all.then(part).expect("it ends")).expect("not empty")
        })
    }

    fn make((text, seed): &(String, u64)) -> Arrivals {
        text.parse::<Arrivals>().expect("a process").with_seed(*seed)
    }

    #[test]
    fn the_slot_at_the_end_of_a_shape_does_not_start() {
        let ten = Rate::per_second(10).expect("a rate");
        let second = Duration::from_secs(1);
        for forever in [false, true] {
            let hold = Shape::hold(ten, second).expect("a shape");
            let shape = if forever { Shape::constant(ten) } else { hold };
            for (elapsed, starts) in [(second, 10), (second + Duration::from_nanos(1), 10)] {
                let starts = starts + u64::from(forever && elapsed > second);
                let whole = Shard::new(0, 1).expect("a shard");
                assert_eq!(Arrivals::even().starts_before(elapsed, &shape, &whole), starts);
            }
        }
    }

    proptest! {
        #[test]
        fn shards_have_each_start_once(
            arrivals in arrivals(),
            shape in shape(),
            weights in proptest::collection::vec(1_u32..9, 1..5),
        ) {
            let whole = Shard::new(0, 1).expect("a shard");
            let all: Vec<_> = make(&arrivals).starts(shape.clone(), whole).collect();
            prop_assert!(all.is_sorted());
            let mut parts = Vec::new();
            for index in 0..weights.len() {
                let shard = Shard::weighted(index.try_into()?, &weights).expect("a shard");
                parts.extend(make(&arrivals).starts(shape.clone(), shard));
            }
            parts.sort_unstable();
            prop_assert_eq!(parts, all);
        }

        #[test]
        fn starts_before_a_moment_are_those_that_are_listed(
            arrivals in arrivals(),
            shape in shape(),
            index in 0_u32..3,
            moments in proptest::collection::vec(0_u64..2_500_000_000, 1..20),
        ) {
            let shard = Shard::weighted(index, &[3, 1, 2]).expect("a shard");
            let all: Vec<_> = make(&arrivals).starts(shape.clone(), shard.clone()).collect();
            let starts = all.iter().step_by(17).flat_map(|&at| [at, at + Duration::from_nanos(1)]);
            let moments = moments.into_iter().map(Duration::from_nanos).chain(starts);
            for moment in moments.chain([Duration::ZERO, Duration::MAX]) {
                let before = all.iter().filter(|&&start| start < moment).count() as u64;
                let counted = make(&arrivals).starts_before(moment, &shape, &shard);
                prop_assert_eq!(counted, before, "before {:?}", moment);
            }
        }

        #[test]
        fn a_replay_at_one_a_second_plays_as_recorded(
            mut offsets in proptest::collection::vec(0_u64..1 << 62, 0..50),
        ) {
            offsets.sort_unstable();
            let offsets: Vec<_> = offsets.into_iter().map(Duration::from_nanos).collect();
            let shape = Shape::constant(Rate::per_second(1).expect("a rate"));
            let shard = Shard::new(0, 1).expect("a shard");
            let recorded = offsets.clone();
            let arrivals = Arrivals::replay(move || recorded.clone());
            let played: Vec<_> = arrivals.starts(shape, shard).collect();
            prop_assert_eq!(played, offsets);
        }
    }
}
