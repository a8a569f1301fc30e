//! Simulates the pacer of a node, which starts each leased slot at its intended start.

use super::tally::Tally;
use crate::load::Load;
use crate::track_ownership::TrackSet;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Pacer {
    leased: BTreeMap<u64, Leased>,
    started: u64,
    last: Option<u64>,
}

#[derive(Debug)]
struct Leased {
    tracks: TrackSet,
    started: u64,
}

impl Pacer {
    pub(super) fn started(&self) -> u64 {
        self.started
    }

    /// Replaces the leases from the frame `from` on. Returns `false`, and keeps the old leases, if a slot in these
    /// frames has already started.
    pub(super) fn lease(&mut self, from: u64, known: Vec<(u64, TrackSet)>) -> bool {
        if self.last.is_some_and(|last| last >= from) {
            return false;
        }
        self.leased.split_off(&from);
        let leased = known.into_iter().filter(|(_, tracks)| !tracks.is_empty());
        self.leased.extend(leased.map(|(frame, tracks)| (frame, Leased { tracks, started: 0 })));
        true
    }

    pub(super) fn has(&self, frame: u64) -> bool {
        self.leased.contains_key(&frame)
    }

    pub(super) fn advance(&mut self, now_ns: u64, frame: u64, load: &mut Load, tally: &mut Tally) {
        while let Some(mut entry) = self.leased.first_entry().filter(|entry| *entry.key() <= frame)
        {
            let (at, leased) = (*entry.key(), entry.get_mut());
            let is_over = at < frame;
            let due = if is_over {
                load.slots(at, &leased.tracks)
            } else {
                load.slots_by(now_ns, &leased.tracks)
            };
            if due > 0 {
                self.last = Some(at);
            }
            self.started += due - leased.started;
            leased.started = due;
            if !is_over {
                return;
            }
            tally.fire(at, &leased.tracks, |track| load.slots(at, track));
            entry.remove();
        }
    }

    pub(super) fn kill(&mut self, now_ns: u64, frame: u64, load: &mut Load, tally: &mut Tally) {
        if let Some(leased) = self.leased.get(&frame) {
            tally.fire(frame, &leased.tracks, |track| load.slots_by(now_ns, track));
        }
        self.leased.clear();
    }
}
