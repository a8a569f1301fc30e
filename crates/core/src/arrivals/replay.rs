//! Arrivals that were recorded: read as far as needed, and forgotten when they are over.

use crate::count::{Count, ONE};
use std::collections::VecDeque;
use std::fmt;
use std::iter::Fuse;
use std::time::Duration;

/// So many arrivals are read ahead, behind the last one that was asked for by number.
const AHEAD: u64 = 1 << 20;

type Offsets = Box<dyn Iterator<Item = Duration> + Send>;

pub(super) struct Replay {
    offsets: Fuse<Offsets>,
    /// The number of the first arrival in `known`.
    first: u64,
    known: VecDeque<Count>,
    /// The latest arrival that was read.
    latest: Count,
    /// How many arrivals may have been read.
    limit: u64,
}

impl Replay {
    pub(super) fn new(offsets: impl Iterator<Item = Duration> + Send + 'static) -> Replay {
        let offsets: Offsets = Box::new(offsets);
        let known = VecDeque::new();
        Replay { offsets: offsets.fuse(), first: 0, known, latest: 0, limit: AHEAD }
    }

    pub(super) fn count_of(&mut self, slot: u64) -> Option<Count> {
        self.limit = self.limit.max(slot.saturating_add(AHEAD));
        while self.read() <= slot {
            self.read_one()?;
        }
        let index = usize::try_from(slot.saturating_sub(self.first)).ok()?;
        self.known.get(index).copied()
    }

    pub(super) fn slots_by(&mut self, count: Count) -> u64 {
        while self.latest <= count && self.read() < self.limit && self.read_one().is_some() {}
        let known = self.known.partition_point(|&at| at <= count);
        self.first + u64::try_from(known).unwrap_or(0)
    }

    pub(super) fn forget_before(&mut self, slot: u64) {
        let known = self.known.len();
        let over = usize::try_from(slot.saturating_sub(self.first)).map_or(known, |n| n.min(known));
        self.known.drain(..over);
        self.first += u64::try_from(over).unwrap_or(0);
    }

    /// How many arrivals have been read.
    fn read(&self) -> u64 {
        self.first + u64::try_from(self.known.len()).unwrap_or(0)
    }

    /// Reads the next arrival, which is no earlier than the one before it; none if there is none.
    fn read_one(&mut self) -> Option<()> {
        self.latest = self.latest.max(count(self.offsets.next()?));
        self.known.push_back(self.latest);
        Some(())
    }
}

/// One count is one second. Rounded down, so that the slot is due when its nanosecond has come.
fn count(offset: Duration) -> Count {
    Count::from(offset.as_secs()) * ONE + Count::from(offset.subsec_nanos()) * ONE / 1_000_000_000
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").field("read", &self.read()).finish_non_exhaustive()
    }
}
