//! Replays recorded arrivals. Reads arrivals when they are needed, and forgets them when they are past.

use crate::count::{Count, ONE};
use std::collections::VecDeque;
use std::fmt;
use std::iter::Fuse;
use std::sync::Arc;
use std::time::Duration;

/// The maximum number of arrivals that are read ahead of the slots in use, to count how many are due.
const AHEAD: u64 = 1 << 20;

/// The reading limit is raised, and past arrivals are forgotten, only in steps of more than this many arrivals.
const FEW: u64 = 1 << 10;

/// Memory for this many arrivals is never released.
const ROOM: usize = 1 << 12;

type Offsets = Box<dyn Iterator<Item = Duration> + Send>;

#[derive(Clone)]
pub(super) struct Recording(Arc<dyn Fn() -> Offsets + Send + Sync>);

impl Recording {
    pub(super) fn new<I>(recorded: impl Fn() -> I + Send + Sync + 'static) -> Recording
    where
        I: IntoIterator<Item = Duration, IntoIter: Send + 'static>,
    {
        Recording(Arc::new(move || Box::new(recorded().into_iter())))
    }

    pub(super) fn open(&self) -> Replay {
        Replay::new(self.0())
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recording")
    }
}

pub(super) struct Replay {
    offsets: Fuse<Offsets>,
    first: u64,
    known: VecDeque<Count>,
    latest: Count,
    /// [`slots_by`](Replay::slots_by) stops reading when this many arrivals of the recording have been read.
    limit: u64,
}

impl Replay {
    fn new(offsets: Offsets) -> Replay {
        let known = VecDeque::new();
        Replay { offsets: offsets.fuse(), first: 0, known, latest: 0, limit: AHEAD }
    }

    /// For a forgotten slot, returns the count of the first known slot, or of the last slot read if none is known.
    pub(super) fn count_of(&mut self, slot: u64) -> Option<Count> {
        while self.read() <= slot {
            self.read_one()?;
        }
        let index = usize::try_from(slot.saturating_sub(self.first)).ok()?;
        Some(self.known.get(index).copied().unwrap_or(self.latest))
    }

    pub(super) fn slots_by(&mut self, count: Count) -> u64 {
        while self.latest <= count && self.read() < self.limit && self.read_one().is_some() {}
        let known = self.known.partition_point(|&at| at <= count);
        (self.first + u64::try_from(known).unwrap_or(0)).min(self.limit)
    }

    pub(super) fn is_known_until(&mut self, count: Count) -> bool {
        self.slots_by(count) < self.limit
    }

    /// Returns whether the limit was raised.
    pub(super) fn read_ahead(&mut self, slot: u64) -> bool {
        let limit = slot.saturating_add(AHEAD);
        let is_more = limit.saturating_sub(self.limit) > FEW;
        self.limit = if is_more { limit } else { self.limit };
        is_more
    }

    pub(super) fn remembers_many_before(&self, slot: u64) -> bool {
        slot.saturating_sub(self.first) > FEW
    }

    pub(super) fn forget_before(&mut self, slot: u64) {
        let known = self.known.len();
        let over = usize::try_from(slot.saturating_sub(self.first)).map_or(known, |n| n.min(known));
        self.known.drain(..over);
        let left = self.known.len();
        if self.known.capacity() > ROOM.max(4 * left) {
            self.known.shrink_to(ROOM.max(2 * left));
        }
        self.first += u64::try_from(over).unwrap_or(0);
    }

    fn read(&self) -> u64 {
        self.first + u64::try_from(self.known.len()).unwrap_or(0)
    }

    fn read_one(&mut self) -> Option<()> {
        self.latest = self.latest.max(count(self.offsets.next()?));
        self.known.push_back(self.latest);
        Some(())
    }
}

/// Rounds down, so that the slot is due at the recorded nanosecond.
fn count(offset: Duration) -> Count {
    Count::from(offset.as_secs()) * ONE + Count::from(offset.subsec_nanos()) * ONE / 1_000_000_000
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").field("read", &self.read()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    fn replay(millis: &[u64]) -> Replay {
        Replay::new(Box::new(Vec::from(millis).into_iter().map(Duration::from_millis)))
    }

    fn endless() -> (Replay, Arc<AtomicU64>) {
        let read = Arc::new(AtomicU64::new(0));
        let reader = Arc::clone(&read);
        let offsets = (0..).map(Duration::from_secs).inspect(move |_| {
            reader.fetch_add(1, SeqCst);
        });
        (Replay::new(Box::new(offsets)), read)
    }

    #[test]
    fn one_count_is_one_second() {
        let mut replay = replay(&[0, 250, 1_000, 90_500]);
        let counts: Vec<_> = (0..5).map(|slot| replay.count_of(slot)).collect();
        assert_eq!(counts, [Some(0), Some(ONE / 4), Some(ONE), Some(ONE * 181 / 2), None]);
        assert_eq!(replay.count_of(u64::MAX), None);
    }

    #[test]
    fn an_ended_schedule_stays_ended() {
        let mut times = 0;
        let unfused = std::iter::from_fn(move || {
            times += 1;
            (times % 2 == 1).then_some(Duration::ZERO)
        });
        let mut replay = Replay::new(Box::new(unfused));
        assert_eq!(
            [replay.count_of(0), replay.count_of(1), replay.count_of(1)],
            [Some(0), None, None]
        );
        assert_eq!(replay.slots_by(Count::MAX), 1);
    }

    #[test]
    fn an_empty_recording_has_no_slots() {
        let mut replay = replay(&[]);
        assert_eq!((replay.slots_by(Count::MAX), replay.count_of(0)), (0, None));
    }

    #[test]
    fn equal_offsets_start_together() {
        let mut replay = replay(&[1_000, 1_000, 1_000, 2_000]);
        let by: Vec<u64> = [0, ONE - 1, ONE, ONE * 2].map(|count| replay.slots_by(count)).into();
        assert_eq!(by, [0, 0, 3, 4]);
    }

    #[test]
    fn offsets_out_of_order_are_raised() {
        let mut replay = replay(&[1_000, 3_000, 2_000, 4_000]);
        assert_eq!(replay.count_of(2), Some(ONE * 3));
        assert_eq!((replay.slots_by(ONE * 3 - 1), replay.slots_by(ONE * 3)), (1, 3));
    }

    #[test]
    fn the_longest_offset_is_a_count() {
        let mut replay = Recording::new(|| [Duration::MAX, Duration::ZERO]).open();
        assert!(replay.count_of(1) > Some(ONE * Count::from(u64::MAX)));
    }

    #[test]
    fn a_long_recording_is_read_as_needed_and_forgotten() {
        let (mut replay, read) = endless();
        let mut most = 0;
        for slot in (0..100_000).step_by(100) {
            assert_eq!(replay.count_of(slot), Some(ONE * Count::from(slot)));
            assert_eq!(replay.slots_by(ONE * Count::from(slot + 5)), slot + 6);
            replay.forget_before(slot);
            most = most.max(replay.known.len());
        }
        assert_eq!(read.load(SeqCst), 99_900 + 7);
        assert!(most < 110, "{most}");
    }

    #[test]
    fn no_more_is_read_ahead_than_the_limit() {
        let (mut replay, read) = endless();
        assert_eq!(replay.slots_by(Count::MAX), AHEAD);
        assert_eq!(replay.count_of(AHEAD - 1), Some(ONE * Count::from(AHEAD - 1)));
        assert_eq!(replay.slots_by(Count::MAX), AHEAD);
        assert_eq!(read.load(SeqCst), AHEAD);
        assert!(replay.count_of(AHEAD + 9).is_some());
        assert_eq!(replay.slots_by(Count::MAX), AHEAD);
        assert!(!replay.is_known_until(ONE * Count::from(AHEAD - 1)));
        assert!(replay.is_known_until(ONE * Count::from(AHEAD - 2)));
        assert!(!replay.read_ahead(FEW));
        assert!(replay.read_ahead(2 * FEW));
        assert_eq!(replay.slots_by(Count::MAX), AHEAD + 2 * FEW);
        assert_eq!(read.load(SeqCst), AHEAD + 2 * FEW);
        assert!(replay.is_known_until(ONE * Count::from(AHEAD)));
    }

    #[test]
    fn the_end_of_a_recording_is_known() {
        assert!(replay(&[1_000]).is_known_until(Count::MAX));
    }

    #[test]
    fn forgotten_arrivals_take_no_memory() {
        let (mut replay, _) = endless();
        assert_eq!(replay.slots_by(Count::MAX), AHEAD);
        replay.forget_before(AHEAD);
        assert!(replay.known.capacity() <= 2 * ROOM, "{}", replay.known.capacity());
    }

    #[test]
    fn a_forgotten_arrival_is_as_late_as_the_next_one() {
        let (mut replay, _) = endless();
        assert_eq!(replay.count_of(9), Some(9 * ONE));
        replay.forget_before(7);
        assert_eq!(replay.count_of(3), Some(7 * ONE));
        replay.forget_before(10);
        assert_eq!(replay.count_of(3), Some(9 * ONE));
    }

    proptest! {
        #[test]
        fn any_use_sees_the_same(millis in proptest::collection::vec(0_u64..50, 0..60), uses in proptest::collection::vec((0_u64..70, 0_u64..60), 0..60)) {
            let mut highest = 0;
            let sorted: Vec<u64> = millis.iter().map(|&ms| { highest = highest.max(ms); highest }).collect();
            let at = |ms: u64| count(Duration::from_millis(ms));
            let mut replay = replay(&millis);
            let mut forgotten = 0;
            for (slot, ms) in uses {
                let exact = usize::try_from(slot).ok().and_then(|n| sorted.get(n)).map(|&ms| at(ms));
                if slot >= forgotten {
                    prop_assert_eq!(replay.count_of(slot), exact);
                }
                let by = sorted.iter().filter(|&&other| other <= ms).count() as u64;
                prop_assert_eq!(replay.slots_by(at(ms)).max(forgotten), by.max(forgotten));
                if ms % 3 == 0 && slot <= by {
                    replay.forget_before(slot);
                    forgotten = forgotten.max(slot);
                }
            }
        }
    }
}
