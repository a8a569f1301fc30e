//! Chooses the request of each slot: by rotation, with or without weights, or from a list.

#[derive(Debug)]
pub(crate) enum Rotation {
    Even {
        count: u64,
    },
    /// The requests have weights. Each element is the sum of the weights up to and including its request.
    Weighted(Vec<u64>),
    Listed(Vec<u32>),
}

impl Default for Rotation {
    fn default() -> Rotation {
        Rotation::Even { count: 0 }
    }
}

impl Rotation {
    pub(crate) fn add(&mut self, weight: u32) {
        match self {
            Rotation::Even { count } if weight == 1 => *count += 1,
            Rotation::Even { count } => {
                let up_to = (1..=*count).chain([*count + u64::from(weight)]).collect();
                *self = Rotation::Weighted(up_to);
            }
            Rotation::Weighted(up_to) => {
                up_to.push(up_to.last().map_or(0, |before| *before) + u64::from(weight));
            }
            Rotation::Listed(_) => {}
        }
    }

    pub(crate) fn list(&mut self, request: u32) {
        match self {
            Rotation::Listed(list) => list.push(request),
            _ => *self = Rotation::Listed(vec![request]),
        }
    }

    pub(crate) fn complete(mut self) -> Rotation {
        match &mut self {
            Rotation::Even { .. } => {}
            Rotation::Weighted(up_to) => up_to.shrink_to_fit(),
            Rotation::Listed(list) => list.shrink_to_fit(),
        }
        self
    }

    /// Returns the index of the slot's request. Panics if there are no requests.
    pub(crate) fn of_slot(&self, number: u64) -> usize {
        let index = match self {
            Rotation::Even { count } => number % count,
            Rotation::Weighted(up_to) => return weighted(up_to, number % up_to[up_to.len() - 1]),
            Rotation::Listed(list) => {
                let place = number % list.len() as u64;
                u64::from(list[usize::try_from(place).unwrap_or_default()])
            }
        };
        usize::try_from(index).unwrap_or_default()
    }
}

/// Returns the index of the request that has this turn of a round. The requests are repeatedly split into two parts
/// with about the same number of turns. The turns of both parts are interleaved evenly, in the same way as pixels
/// approximate a line (J. E. Bresenham, "Algorithm for computer control of a digital plotter", 1965).
fn weighted(up_to: &[u64], mut turn: u64) -> usize {
    let (mut requests, mut before) = (0..up_to.len(), 0);
    while requests.len() > 1 {
        let all = up_to[requests.end - 1] - before;
        let inner = &up_to[requests.start..requests.end - 1];
        let first = inner.partition_point(|up_to| *up_to - before <= all / 2).max(1);
        let its = inner[first - 1] - before;
        let [had, has] = [turn, turn + 1].map(|turns| share(turns, its, all));
        if has > had {
            (requests.end, turn) = (requests.start + first, had);
        } else {
            (requests.start, turn) = (requests.start + first, turn - had);
            before += its;
        }
    }
    requests.start
}

fn share(turns: u64, part: u64, all: u64) -> u64 {
    let [turns, part, all] = [turns, part, all].map(u128::from);
    // The result is at most `part`, so it fits into a `u64`.
    u64::try_from((2 * turns * part + all) / (2 * all)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn turns(weights: &[u32]) -> Rotation {
        let mut turns = Rotation::default();
        for weight in weights {
            turns.add(*weight);
        }
        turns.complete()
    }

    #[test]
    fn without_weights_requests_take_equal_turns() {
        let turns = turns(&[1, 1, 1]);
        assert!((0..7).map(|slot| turns.of_slot(slot)).eq([0, 1, 2, 0, 1, 2, 0]));
        assert!(matches!(turns, Rotation::Even { count: 3 }));
    }

    #[test]
    fn a_list_gives_each_slot_its_request() {
        let mut turns = Rotation::default();
        for request in [0, 1, 0, 2, 2] {
            turns.list(request);
        }
        let turns = turns.complete();
        assert!((0..6).map(|slot| turns.of_slot(slot)).eq([0, 1, 0, 2, 2, 0]));
    }

    proptest! {
        #[test]
        fn a_round_has_each_as_often_as_its_weight(
            weights in prop::collection::vec(1_u32..50, 1..20),
            round in 0_u64..1_000_000,
        ) {
            let turns = turns(&weights);
            let length: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
            let mut times = vec![0; weights.len()];
            (round * length..(round + 1) * length).for_each(|slot| times[turns.of_slot(slot)] += 1);
            prop_assert_eq!(times, weights);
        }

        #[test]
        fn each_has_had_its_share_of_turns_give_or_take_two(
            weights in prop::collection::vec(prop_oneof![Just(1_u32), 1_u32..10, 1_u32..200], 2..14),
        ) {
            let turns = turns(&weights);
            let length: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
            let mut had = vec![0_u64; weights.len()];
            for slot in 0..length {
                had[turns.of_slot(slot)] += 1;
                for (had, weight) in had.iter().zip(&weights) {
                    let off = (had * length).abs_diff((slot + 1) * u64::from(*weight));
                    prop_assert!(off < 2 * length, "{} of {}", off, length);
                }
            }
        }

        #[test]
        fn turns_of_two_requests_alternate_as_far_as_they_can(one in 1_u32..300, other in 1_u32..300) {
            let turns = turns(&[one, other]);
            let order: Vec<_> = (0..2 * u64::from(one + other)).map(|slot| turns.of_slot(slot)).collect();
            let seldom = usize::from(one > other);
            prop_assert!(one == other || !order.windows(2).any(|pair| pair == [seldom; 2]));
            let longest = order.chunk_by(|a, b| a == b).map(<[usize]>::len).max();
            prop_assert!(one.max(other) > 2 * one.min(other) || longest <= Some(3), "{:?}", longest);
        }
    }

    #[test]
    fn turns_of_small_rounds_are_spread_out() {
        for (weights, order) in [
            (&[3, 1, 2][..], "acabac"),
            (&[2, 2, 2], "bacbac"),
            (&[2, 2], "abab"),
            (&[3, 1, 1, 1], "acabad"),
            (&[5, 1, 1], "abaaaca"),
        ] {
            let (turns, names) = (turns(weights), ["a", "b", "c", "d"]);
            let of = |slot| names[turns.of_slot(slot)];
            assert_eq!((0..order.len() as u64).map(of).collect::<String>(), order);
        }
    }

    #[test]
    fn a_round_may_have_more_turns_than_memory_could_hold() {
        let turns = turns(&[u32::MAX, u32::MAX, 1, u32::MAX]);
        let round = 3 * u64::from(u32::MAX) + 1;
        let few: Vec<_> = (0..round).step_by(1 << 30).map(|slot| turns.of_slot(slot)).collect();
        assert!(few.iter().all(|request| *request < 4), "{few:?}");
        assert_eq!(turns.of_slot(round), turns.of_slot(0));
    }
}
