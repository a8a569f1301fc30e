//! Which of several requests a slot has: round and round, each as often as its weight says, or as a list has them.

/// The turns of requests.
#[derive(Debug)]
pub(crate) enum Turns {
    /// Each of so many has one.
    Even { count: u64 },
    /// By their weights.
    Weighted {
        /// How many turns a round has up to and with each request.
        up_to: Vec<u64>,
        /// How far apart the turns of neighbours are.
        stride: u64,
    },
    /// Of each slot, its request.
    Listed(Vec<u32>),
}

impl Default for Turns {
    fn default() -> Turns {
        Turns::Even { count: 0 }
    }
}

impl Turns {
    /// Adds a request.
    pub(crate) fn add(&mut self, weight: u32) {
        match self {
            Turns::Even { count } if weight == 1 => *count += 1,
            Turns::Even { count } => {
                let up_to = (1..=*count).chain([*count + u64::from(weight)]).collect();
                *self = Turns::Weighted { up_to, stride: 1 };
            }
            Turns::Weighted { up_to, .. } => {
                up_to.push(up_to.last().map_or(0, |before| *before) + u64::from(weight));
            }
            // A list is never mixed with what has turns.
            Turns::Listed(_) => {}
        }
    }

    /// The next slot has this request.
    pub(crate) fn list(&mut self, request: u32) {
        match self {
            Turns::Listed(list) => list.push(request),
            _ => *self = Turns::Listed(vec![request]),
        }
    }

    /// Nothing is added any more.
    pub(crate) fn complete(mut self) -> Turns {
        match &mut self {
            Turns::Even { .. } => {}
            Turns::Weighted { up_to, stride } => {
                up_to.shrink_to_fit();
                *stride = up_to.last().map_or(1, |round| apart(*round));
            }
            Turns::Listed(list) => list.shrink_to_fit(),
        }
        self
    }

    /// The request of a slot. There is at least one.
    pub(crate) fn of_slot(&self, number: u64) -> usize {
        let index = match self {
            Turns::Even { count } => number % count,
            Turns::Weighted { up_to, stride } => {
                let round = up_to[up_to.len() - 1];
                // A round goes through all turns, not side by side, so that those of a request lie apart.
                let turn = u128::from(number % round) * u128::from(*stride) % u128::from(round);
                up_to.partition_point(|up_to| u128::from(*up_to) <= turn) as u64
            }
            Turns::Listed(list) => {
                u64::from(list[usize::try_from(number).unwrap_or_default() % list.len()])
            }
        };
        // It is less than the count.
        usize::try_from(index).unwrap_or_default()
    }
}

/// A number without a divisor in common with a round, near its golden section: multiples of it lie as evenly
/// as any (Knuth, The Art of Computer Programming, volume 3, section 6.4).
fn apart(round: u64) -> u64 {
    let section = u128::from(round) * 618_034 / 1_000_000;
    let begin = u64::try_from(section).unwrap_or_default().max(1);
    (begin..=round).find(|stride| gcd(*stride, round) == 1).unwrap_or(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn turns(weights: &[u32]) -> Turns {
        let mut turns = Turns::default();
        for weight in weights {
            turns.add(*weight);
        }
        turns.complete()
    }

    #[test]
    fn without_weights_it_goes_round_and_round() {
        let turns = turns(&[1, 1, 1]);
        assert!((0..7).map(|slot| turns.of_slot(slot)).eq([0, 1, 2, 0, 1, 2, 0]));
        assert!(matches!(turns, Turns::Even { count: 3 }));
    }

    #[test]
    fn a_list_says_which_request_each_slot_has() {
        let mut turns = Turns::default();
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

        /// Of 2 in 3 or fewer, no three turns in a row are one request's.
        #[test]
        fn turns_of_a_request_lie_apart(one in 3_u32..300, other in 3_u32..300) {
            prop_assume!(one.max(other) <= 2 * one.min(other));
            let turns = turns(&[one, other]);
            let order: Vec<_> = (0..u64::from(one + other)).map(|slot| turns.of_slot(slot)).collect();
            let longest = order.chunk_by(|a, b| a == b).map(<[usize]>::len).max().unwrap();
            prop_assert!(longest <= 4, "{}", longest);
        }
    }
}
