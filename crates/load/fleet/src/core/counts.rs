//! Counts old frames: the store and the nodes keep only how many slots each node owned in them, and forget which track
//! had which owner.

use super::Core;
use crate::message::{Counted, Request};
use crate::store::CHUNK;

/// Frames are counted when they are this old, if the store has also been available without a disturbance for this time.
/// After this time, all nodes that can reach the store have reported what they ran in these frames.
const AGE_NS: u64 = 60_000_000_000;

/// The maximum number of tracks that one request counts. No frame has more tracks.
const MOST_CELLS: u64 = 1_024;

impl Core {
    /// Records a response of the store. After a disturbance, nodes have to report what they ran in old frames. After an
    /// outage of up to half of [`AGE_NS`], the other half is enough for these reports.
    pub(super) fn hears_store(&mut self, epoch: u64, now: u64) {
        if now > self.heard_at + AGE_NS / 2 || epoch != self.run.epoch {
            self.disturbed_at = now;
        }
        self.heard_at = now;
    }

    pub(super) fn count(&mut self, now: u64) -> Option<Request> {
        let from = self.run.counted.until;
        let most_frames = MOST_CELLS.div_ceil(self.frames().tracks.into());
        let until = (from + most_frames).min((from / CHUNK + 1) * CHUNK);
        let last = self.disturbed_at.max(self.frames().begins(until));
        if now < last + AGE_NS || self.book.first() < until || self.run.roster.rank(self.node).0 > 0
        {
            return None;
        }
        let firsts = (from..=until).map(|frame| self.load.first(frame)).collect();
        Some(Request::Count { id: self.run.id.clone(), from, firsts })
    }

    /// Replaces the counts of the node. Returns `false`, and keeps them, if `counted` covers fewer frames.
    pub(super) fn take_counted(&mut self, counted: &Counted) -> bool {
        if counted.until < self.run.counted.until {
            return false;
        }
        self.run.counted = counted.clone();
        self.book.forget(counted.until);
        self.unclaimed.forget(counted.until);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::{answered, blind_until, claimed, core};
    use crate::frame_window::FrameWindow;
    use crate::message::{Answer, Claimed, Portion, Roster};
    use crate::track_ownership::TrackSet;

    fn counted(until: u64) -> Counted {
        Counted { until, ..Counted::default() }
    }

    fn hears_of(core: &mut Core, until: u64) {
        let request = core.sign_of_life("");
        let answer = Claimed { counted: Some(counted(until)), ..claimed(core) };
        answered(core, &request, Answer::Claimed(answer), core.awake_at);
    }

    #[test]
    fn slots_started_twice_stay_so_when_their_frame_is_counted() {
        let mut core = blind_until(40);
        let tracks: TrackSet = (0..16).collect();
        core.clash(&Portion { frame: 20, tracks }, core.awake_at);
        let twice = core.twice();
        hears_of(&mut core, 30);
        assert!(twice > 0 && core.twice() == twice && core.unclaimed.twice_by_frame.is_empty());
        assert_eq!(core.book.past().tracks(20), None);
        assert!(core.book.past().tracks(30).is_some());
    }

    #[test]
    fn slots_that_are_marked_too_late_count_as_started_twice() {
        let mut core = blind_until(40);
        let (now, unconfirmed) = (core.awake_at, core.unclaimed.unconfirmed.clone());
        let request = core.next_repair().unwrap();
        answered(&mut core, &request, Answer::Portions(20, Vec::new()), now);
        let slots = unconfirmed.range(..20).map(|(_, slots)| slots).sum();
        assert_eq!(core.twice(), slots);
        assert_eq!(core.progress(core.awake_at).unmarked, 0);
        core.mark_all();
        let request = core.next_repair().unwrap();
        answered(&mut core, &request, Answer::Portions(20, Vec::new()), now);
        assert_eq!(core.twice(), slots);
    }

    #[test]
    fn a_store_that_has_counted_less_gets_the_counts() {
        let mut core = core();
        hears_of(&mut core, 64);
        assert!(core.urgent.is_none());
        hears_of(&mut core, 0);
        let Some(Request::Restore { run, .. }) = &core.urgent else {
            panic!("expected a request to restore the data")
        };
        assert_eq!(run.counted.until, 64);
    }

    #[test]
    fn the_first_node_counts_old_frames_when_all_is_in_order_for_long() {
        let begun = |core: &mut Core| {
            let frame_ns = core.frames().frame_ns;
            core.book = FrameWindow::new(200, core.frames());
            core.disturbed_at = 64 * frame_ns;
            64 * frame_ns + AGE_NS
        };
        let mut core = core();
        let now = begun(&mut core);
        assert!(core.count(now - 1).is_none(), "the frames are too young");
        let Some(Request::Count { from: 0, firsts, .. }) = core.count(now) else {
            panic!("expected a request to count")
        };
        assert_eq!((firsts.len(), firsts[0], firsts[64]), (65, 0, 56 * 20));
        core.disturbed_at += 1;
        assert!(core.count(now).is_none(), "the run was disturbed");
        begun(&mut core);
        core.book = FrameWindow::new(63, core.frames());
        assert!(core.count(now).is_none(), "the node may still claim a frame");
        begun(&mut core);
        core.run.roster = Roster { version: 2, nodes: vec![2, 1] };
        assert!(core.count(now).is_none(), "the node is not the first");
    }

    #[test]
    fn a_store_that_is_filled_again_or_was_away_for_long_is_a_disturbance() {
        let mut core = core();
        let first = core.heard_at;
        let mut heard = |later, epoch| {
            let (request, now) = (core.sign_of_life(""), core.heard_at + later);
            let answer = Claimed { epoch, ..claimed(&core) };
            answered(&mut core, &request, Answer::Claimed(answer), now);
            (core.disturbed_at, now)
        };
        assert_eq!(heard(AGE_NS / 2, 0).0, first);
        assert_eq!(heard(AGE_NS / 2, 0).0, first);
        for (later, epoch) in [(AGE_NS / 2 + 1, 0), (1, 1)] {
            let (disturbed, now) = heard(later, epoch);
            assert_eq!(disturbed, now);
        }
    }
}
