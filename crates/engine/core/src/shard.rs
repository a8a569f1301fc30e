//! Defines shards: the slots of a load that belong to one of several processes.

use crate::count::Count;
use crate::error::errors_by_text;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::str::FromStr;

/// The slots of a load that belong to this process. With shards, several processes share a load without communication.
///
/// All processes have the same schedule, and each starts only its own slots. With equal weights, process `i` of `n`
/// gets slots `i`, `i + n`, `i + 2n` and so on. With weights whose sum is `W`, process `i` gets `w_i` of each `W`
/// slots, as evenly spaced as possible: the number of slots of process `i` before any slot `s` of the load differs from
/// `s * w_i / W` by less than one. Together the processes get each slot exactly once.
///
/// This is the scheduling problem of proportionate progress (Baruah, Cohen, Plaxton and Varvel, Algorithmica 1996) for
/// one processor: the `k`-th slot of a process has to lie in the window `⌊(k - 1) W / w⌋ .. ⌈k W / w⌉`. If several
/// processes can have a slot, the one whose window ends first gets it.
///
/// ```
/// use nanopace::Shard;
///
/// // The first of three equal processes. Indices count from 0, and in strings from 1.
/// let first: Shard = "1/3".parse()?;
/// assert_eq!(first, Shard::new(0, 3)?);
/// // The first of three, which takes as much as the other two together.
/// let larger: Shard = "1/2:1:1".parse()?;
/// assert_eq!(larger, Shard::weighted(0, &[2, 1, 1])?);
/// # Ok::<(), nanopace::ShardError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    cycle: u64,
    /// The offsets of the process's slots in a cycle, in ascending order.
    own: Vec<u64>,
}

/// The maximum length of a cycle in slots, except for processes with equal weights.
const MOST: u64 = 1 << 16;

impl Shard {
    /// Returns the shard of process `index`, counted from 0, of `count` processes with equal weights.
    ///
    /// # Errors
    /// Returns [`ShardError::Index`] if there is no such process.
    pub fn new(index: u32, count: u32) -> Result<Shard, ShardError> {
        if index >= count {
            return Err(ShardError::Index { index, count });
        }
        Ok(Shard { cycle: count.into(), own: vec![index.into()] })
    }

    /// Returns the shard of process `index`, counted from 0, among processes with these `weights`. Only the ratios of
    /// the weights matter.
    ///
    /// # Errors
    /// Returns [`ShardError::Index`] if there is no such process, [`ShardError::Weight`] if a weight is zero, and
    /// [`ShardError::Cycle`] if the sum of the weights, divided by their greatest common divisor, is above 65 536.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{Shard, ShardError};
    ///
    /// assert_eq!(Shard::weighted(1, &[7, 7, 7])?, Shard::new(1, 3)?);
    /// assert_eq!(Shard::weighted(1, &[7, 0]), Err(ShardError::Weight));
    /// # Ok::<(), ShardError>(())
    /// ```
    pub fn weighted(index: u32, weights: &[u32]) -> Result<Shard, ShardError> {
        let count = u32::try_from(weights.len()).unwrap_or(u32::MAX);
        let process = usize::try_from(index).unwrap_or(usize::MAX);
        if process >= weights.len() {
            return Err(ShardError::Index { index, count });
        }
        if weights.contains(&0) {
            return Err(ShardError::Weight);
        }
        let divisor = weights.iter().copied().fold(0, greatest_common_divisor);
        let weights: Vec<u64> = weights.iter().map(|&weight| u64::from(weight / divisor)).collect();
        if weights.iter().all(|&weight| weight == 1) {
            return Shard::new(index, count);
        }
        let cycle = weights.iter().sum();
        if cycle > MOST {
            return Err(ShardError::Cycle);
        }
        let slots = (0..).zip(owners(&weights, cycle));
        let own = slots.filter(|&(_, owner)| owner == process).map(|(slot, _)| slot).collect();
        Ok(Shard { cycle, own })
    }

    /// Returns the shard that contains each slot whose number leaves one of these `remainders` when divided by `cycle`.
    ///
    /// # Errors
    /// Returns [`ShardError::Remainder`] if `remainders` is empty or contains a number that is not below `cycle`.
    /// Returns [`ShardError::Cycle`] if `cycle` is above 65 536.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{Shard, ShardError};
    ///
    /// assert_eq!(Shard::of(4, &[3])?, Shard::new(3, 4)?);
    /// assert_eq!(Shard::of(4, &[2, 0])?.share(), 0.5);
    /// assert_eq!(Shard::of(4, &[4]), Err(ShardError::Remainder));
    /// # Ok::<(), ShardError>(())
    /// ```
    pub fn of(cycle: u32, remainders: &[u32]) -> Result<Shard, ShardError> {
        if remainders.is_empty() || remainders.iter().any(|&number| number >= cycle) {
            return Err(ShardError::Remainder);
        }
        let mut own: Vec<u64> = remainders.iter().copied().map(u64::from).collect();
        own.sort_unstable();
        own.dedup();
        let cycle = u64::from(cycle);
        (cycle <= MOST).then_some(Shard { cycle, own }).ok_or(ShardError::Cycle)
    }
}

impl Shard {
    /// Returns the fraction of the load that belongs to this process, above 0 and at most 1.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "both are below 2^32")]
    pub fn share(&self) -> f64 {
        self.own.len() as f64 / self.cycle as f64
    }
}

impl Shard {
    pub(crate) fn whole() -> Shard {
        Shard { cycle: 1, own: vec![0] }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.cycle == 1
    }

    pub(crate) fn global(&self, local: u64) -> u64 {
        let own = self.own.len() as u64;
        let in_cycle = usize::try_from(local % own).unwrap_or(0);
        (local / own).saturating_mul(self.cycle).saturating_add(self.own[in_cycle])
    }

    pub(crate) fn locals_before(&self, global: u64) -> u64 {
        let in_cycle = self.own.partition_point(|&slot| slot < global % self.cycle);
        global / self.cycle * self.own.len() as u64 + in_cycle as u64
    }

    pub(crate) fn part_of(&self, count: Count) -> Count {
        let (own, cycle) = (self.own.len() as Count, Count::from(self.cycle));
        count / cycle * own + count % cycle * own / cycle
    }

    /// Returns n if the shard has every n-th slot of the load, or `None` if its slots are not evenly spaced.
    pub(crate) fn stride(&self) -> Option<u64> {
        if !self.cycle.is_multiple_of(self.own.len() as u64) {
            return None;
        }
        let stride = self.cycle / self.own.len() as u64;
        let even = (0..=self.own.len() as u64).all(|n| self.global(n) == self.own[0] + n * stride);
        even.then_some(stride)
    }
}

fn owners(weights: &[u64], cycle: u64) -> impl Iterator<Item = usize> {
    let mut windows: Vec<(u64, u64, usize)> = Vec::new();
    for (process, &weight) in weights.iter().enumerate() {
        let window = |k: u64| (k * cycle / weight, ((k + 1) * cycle).div_ceil(weight), process);
        windows.extend((0..weight).map(window));
    }
    windows.sort_unstable();
    let mut coming = windows.into_iter().peekable();
    let mut open = BinaryHeap::new();
    (0..cycle).filter_map(move |slot| {
        while let Some((_, end, process)) = coming.next_if(|&(start, ..)| start <= slot) {
            open.push(Reverse((end, process)));
        }
        open.pop().map(|Reverse((_, process))| process)
    })
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl FromStr for Shard {
    type Err = ShardError;

    /// Parses `INDEX/COUNT`, such as `1/3`, or `INDEX/WEIGHT:WEIGHT...`, such as `1/2:1:1`. Indices count from 1.
    ///
    /// # Errors
    /// Returns a [`ShardError`]. Its message says what is wrong and what to write instead.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{Shard, ShardError};
    ///
    /// assert_eq!("3/3".parse(), Shard::new(2, 3));
    /// assert_eq!("2/5:1".parse(), Shard::weighted(1, &[5, 1]));
    /// assert_eq!("0/3".parse::<Shard>(), Err(ShardError::Syntax));
    /// ```
    fn from_str(text: &str) -> Result<Shard, ShardError> {
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| ShardError::Syntax);
        let (index, processes) = text.split_once('/').ok_or(ShardError::Syntax)?;
        let index = number(index)?.checked_sub(1).ok_or(ShardError::Syntax)?;
        let numbers: Vec<u32> = processes.split(':').map(number).collect::<Result<_, _>>()?;
        match numbers[..] {
            [count] => Shard::new(index, count),
            _ => Shard::weighted(index, &numbers),
        }
    }
}

/// The reason why numbers or a string do not specify a valid [`Shard`], or why slots cannot be reassigned. The message
/// says what to do instead.
///
/// ```
/// use nanopace::Shard;
///
/// let error = "4/3".parse::<Shard>().unwrap_err();
/// assert_eq!(error.to_string(), "there is no process 4 of 3: write 1/3 to 3/3");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShardError {
    /// There is no process with this index. (The message counts processes from 1.)
    Index {
        /// The index, counted from 0.
        index: u32,
        /// The number of processes.
        count: u32,
    },
    /// A process has the weight zero.
    Weight,
    /// The cycle is longer than 65 536 slots. The cycle of weights is their sum, divided by their greatest common
    /// divisor.
    Cycle,
    /// There are no remainders, or a remainder is not below the cycle.
    Remainder,
    /// The change would affect a slot that is due or has been claimed.
    TooLate,
    /// A lease ends before the previous lease ends.
    Order,
    /// The string has neither the form INDEX/COUNT nor the form INDEX/WEIGHT:WEIGHT...
    Syntax,
}

errors_by_text!(ShardError);

impl fmt::Display for ShardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ShardError::Index { index, count } => {
                let (process, instead) = (u64::from(*index) + 1, which(*count));
                return write!(f, "there is no process {process} of {count}: write {instead}");
            }
            ShardError::Weight => "a process of weight 0 has no slots: write weights from 1, such as 1/2:1:1",
            ShardError::Cycle => "the cycle of a load's parts, which is the sum of the weights divided by their greatest common divisor, has 65536 slots at most: write smaller numbers, such as 1/2:1:1",
            ShardError::Remainder => "a part of a load has at least one slot of each cycle: give at least one number, each below the length of the cycle",
            ShardError::TooLate => "that slot is due or has been claimed: begin with a later slot",
            ShardError::Order => "a lease ends before the previous one: write leases in the order of their slots",
            ShardError::Syntax => "that is not a part of a load: write which process of how many, such as 1/3 for the first of three, or weights, such as 1/2:1:1",
        })
    }
}

fn which(count: u32) -> String {
    if count == 0 {
        "1/1 for the only process".to_owned()
    } else {
        format!("1/{count} to {count}/{count}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn weights() -> impl Strategy<Value = Vec<u32>> {
        proptest::collection::vec(1_u32..40, 1..7)
    }

    fn processes(weights: &[u32]) -> Vec<Shard> {
        (0..).take(weights.len()).map(|i| Shard::weighted(i, weights).unwrap()).collect()
    }

    proptest! {
        #[test]
        fn all_processes_take_each_slot_once(weights in weights()) {
            let cycle: u32 = weights.iter().sum();
            let mut taken = vec![0; 3 * usize::try_from(cycle).unwrap()];
            for (shard, weight) in processes(&weights).iter().zip(&weights) {
                for local in 0..u64::from(3 * weight) {
                    taken[usize::try_from(shard.global(local)).unwrap()] += 1;
                }
            }
            prop_assert!(taken.iter().all(|&times| times == 1), "{taken:?}");
        }

        #[test]
        fn every_process_is_within_a_slot_of_its_share(weights in weights(), slot in 0_u64..1_000) {
            let total: u64 = weights.iter().copied().map(u64::from).sum();
            for (shard, weight) in processes(&weights).iter().zip(weights) {
                let taken = shard.locals_before(slot) * total;
                prop_assert!(taken.abs_diff(slot * u64::from(weight)) < total);
            }
        }

        #[test]
        fn local_and_global_are_inverse(weights in weights(), local in 0_u64..1 << 50) {
            for shard in processes(&weights) {
                let global = shard.global(local);
                prop_assert_eq!(shard.locals_before(global), local);
                prop_assert_eq!(shard.locals_before(global + 1), local + 1);
                prop_assert!(shard.global(local + 1) > global);
            }
        }

        #[test]
        fn equal_processes_take_turns(index in 0_u32..1_000, more in 1_u32..1_000_000, local in 0_u64..1 << 30) {
            let shard = Shard::new(index, index + more).unwrap();
            let count = u64::from(index + more);
            prop_assert_eq!(shard.global(local), u64::from(index) + local * count);
            prop_assert_eq!(shard.stride(), Some(count));
        }

        #[test]
        fn a_stride_is_one(weights in weights()) {
            for shard in processes(&weights) {
                let steps: Vec<u64> = (0..400).map(|n| shard.global(n + 1) - shard.global(n)).collect();
                let even = steps.iter().all(|step| *step == steps[0]);
                prop_assert_eq!(shard.stride(), even.then_some(steps[0]));
            }
        }

        #[test]
        fn any_string_is_parsed_or_refused(text in "[0-9/: -]{0,20}") {
            let _ = text.parse::<Shard>();
        }
    }

    #[test]
    fn the_larger_one_takes_every_other() {
        let slots = |index| {
            let shard = Shard::weighted(index, &[2, 1, 1]).unwrap();
            [shard.global(0), shard.global(1), shard.global(2)]
        };
        assert_eq!([slots(0), slots(1), slots(2)], [[0, 2, 4], [1, 5, 9], [3, 7, 11]]);
    }

    #[test]
    fn only_ratios_matter() {
        for (weights, same) in [(vec![4, 2, 2], vec![2, 1, 1]), (vec![u32::MAX], vec![1])] {
            assert_eq!(processes(&weights), processes(&same));
        }
        assert_eq!(Shard::weighted(0, &[9]), Shard::new(0, 1));
    }

    #[test]
    fn the_longest_cycle() {
        assert!(Shard::weighted(1, &[65_535, 1]).is_ok());
        assert_eq!(Shard::weighted(1, &[65_536, 1]), Err(ShardError::Cycle));
        assert_eq!(Shard::weighted(1, &[u32::MAX, u32::MAX - 1]), Err(ShardError::Cycle));
    }

    #[test]
    fn invalid_shards_are_refused() {
        let index = |index, count| ShardError::Index { index, count };
        for (text, error, message) in [
            ("", ShardError::Syntax, "such as 1/3"),
            ("1", ShardError::Syntax, "such as 1/3"),
            ("1/", ShardError::Syntax, "such as 1/3"),
            ("a/3", ShardError::Syntax, "such as 1/3"),
            ("0/3", ShardError::Syntax, "1/3 for the first"),
            ("1/2:", ShardError::Syntax, "such as 1/2:1:1"),
            ("-1/2", ShardError::Syntax, "such as 1/3"),
            ("4/3", index(3, 3), "no process 4 of 3: write 1/3 to 3/3"),
            ("3/1:1", index(2, 2), "no process 3 of 2: write 1/2 to 2/2"),
            ("1/0", index(0, 0), "write 1/1 for the only process"),
            ("1/2:0", ShardError::Weight, "such as 1/2:1:1"),
            ("1/65537:2", ShardError::Cycle, "65536 slots at most"),
        ] {
            let refused = text.parse::<Shard>().unwrap_err();
            assert!(refused.to_string().contains(message), "{text:?}: {refused}");
            assert_eq!(refused, error, "{text:?}");
        }
    }
}
