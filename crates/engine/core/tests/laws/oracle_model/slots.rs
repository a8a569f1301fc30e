//! Stores the count of the load at which each slot lies, as a table.

use nanopace::{Arrivals, ManualClock, Pacer, Shard};

#[derive(Debug)]
pub(super) struct Slots {
    /// Whether every slot lies at the count that equals its number.
    pub(super) is_plain: bool,
    /// A pacer at 1/s. Each of its slots starts at the time, in seconds, that equals the slot's count in the load.
    load: Option<Pacer>,
    load_counts: Vec<f64>,
    /// The cycles of this process's slots, and for each the slot of the load at which it begins.
    shards: Vec<(u64, Cycle)>,
    /// This process's slots as far as they are known: their numbers in the load, and their positions.
    own: Vec<(u64, f64)>,
}

/// The number of slots of a cycle, and the slots of the cycle that belong to this process.
#[derive(Debug)]
struct Cycle(u64, Vec<u64>);

fn starts(pacer: &Pacer) -> impl Iterator<Item = f64> {
    std::iter::from_fn(|| pacer.acquire().ok())
        .map(|grant| super::state::index(grant.intended_start().as_nanos()))
}

fn at_one_per_second(arrivals: Arrivals, shard: Shard) -> Pacer {
    let builder = Pacer::builder("1/s".parse().expect("a rate"));
    builder.arrivals(arrivals).shard(shard).clock(ManualClock::jumping()).build()
}

impl Slots {
    pub(super) fn new(arrivals: Option<Arrivals>) -> Slots {
        let whole = Shard::new(0, 1).expect("one of one");
        Slots {
            is_plain: arrivals.is_none(),
            load: arrivals.map(|arrivals| at_one_per_second(arrivals, whole)),
            load_counts: Vec::new(),
            shards: vec![(0, Cycle(1, vec![0]))],
            own: Vec::new(),
        }
    }

    /// Sets the shard. From slot `from` of the load on, `weight` of each `cycle` slots belong to this process.
    pub(super) fn set_shard(&mut self, shard: Shard, (weight, cycle): (usize, u64), from: u64) {
        let slots = at_one_per_second(Arrivals::even(), shard);
        let own = starts(&slots)
            .take(weight)
            .map(|start| (0..cycle).find(|&slot| super::state::index(slot) * 1e9 >= start));
        let own = own.map(|slot| slot.expect("a slot of the cycle")).collect();
        let first = self.own_before(from);
        self.is_plain = false;
        self.own.truncate(first);
        self.shards.retain(|&(since, _)| since < from);
        self.shards.push((from, Cycle(cycle, own)));
    }

    pub(super) fn own_before(&mut self, number: u64) -> usize {
        while self.own.last().is_none_or(|&(last, _)| last < number) && self.extend() {}
        self.own.partition_point(|&(own, _)| own < number)
    }

    fn extend(&mut self) -> bool {
        let first = self.own.last().map_or(0, |(last, _)| last + 1);
        let is_own = |&slot: &u64| {
            let (_, Cycle(cycle, own)) =
                self.shards.iter().rfind(|(from, _)| *from <= slot).expect("from 0 on");
            own.contains(&(slot % cycle))
        };
        let number = (first..first + 100).find(is_own).expect("every cycle has one");
        let count = self.load_count(number);
        self.own.extend(count.map(|count| (number, count)));
        count.is_some()
    }

    pub(super) fn number(&mut self, slot: u64) -> u64 {
        if self.is_plain {
            return slot;
        }
        let index = usize::try_from(slot).expect("a small number");
        while self.own.len() <= index && self.extend() {}
        self.own[index].0
    }

    fn load_count(&mut self, number: u64) -> Option<f64> {
        let Some(load) = &self.load else { return Some(super::state::index(number)) };
        let index = usize::try_from(number).expect("a small number");
        let missing = (index + 1).saturating_sub(self.load_counts.len());
        self.load_counts.extend(starts(load).map(|start| start / 1e9).take(missing));
        self.load_counts.get(index).copied()
    }

    /// Returns the position of a slot in the load, or infinity if there is no such slot. A fraction is interpolated.
    pub(super) fn count_of(&mut self, slot: f64) -> f64 {
        if self.is_plain {
            return slot;
        }
        let [here, next] = [slot.floor(), slot.floor() + 1.0].map(|slot| self.count_of_whole(slot));
        let part = slot - slot.floor();
        if part > 0.0 { here + (next - here) * part } else { here }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number")]
    fn count_of_whole(&mut self, slot: f64) -> f64 {
        if slot < 0.0 {
            return 0.0;
        }
        while self.own.len() <= slot as usize && self.extend() {}
        self.own.get(slot as usize).map_or(f64::INFINITY, |(_, count)| *count)
    }

    pub(super) fn slot_by(&mut self, count: f64) -> f64 {
        if self.is_plain {
            return count;
        }
        while self.own.last().is_none_or(|(_, last)| *last <= count) && self.extend() {}
        let behind = self.own.partition_point(|(_, own)| *own <= count);
        let behind = super::state::index(behind as u64);
        let [here, next] = [behind - 1.0, behind].map(|slot| self.count_of_whole(slot));
        behind - 1.0 + ((count - here) / (next - here)).clamp(0.0, 1.0 - 1e-12)
    }
}
