//! Counts the slots that were really started, so that tests can compare them with the account.

use crate::load::Load;
use crate::track_ownership::TrackSet;
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct Tally {
    tracks: u32,
    frames: BTreeMap<u64, Vec<u64>>,
    most: usize,
    /// The errors of the clock at the beginnings of frames, in nanoseconds: their number, their sum, the sum of their
    /// squares, and the largest one.
    errors: (u64, f64, f64, f64),
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fates {
    pub(super) expected: u64,
    pub(super) started: u64,
    pub(super) lost: u64,
    pub(super) twice: u64,
    pub(super) last_lost: Option<u64>,
}

impl Tally {
    pub(super) fn new(tracks: u32) -> Tally {
        Tally { tracks, frames: BTreeMap::new(), most: 0, errors: (0, 0.0, 0.0, 0.0) }
    }

    pub(super) fn fire(
        &mut self,
        frame: u64,
        tracks: &TrackSet,
        mut slots: impl FnMut(&TrackSet) -> u64,
    ) {
        let started = self.frames.entry(frame).or_insert_with(|| vec![0; self.tracks as usize]);
        let mut all = 0;
        for track in tracks.iter() {
            let slots = slots(&std::iter::once(track).collect());
            started[track as usize] += slots;
            all += slots;
        }
        if all > 0 {
            self.most = self.most.max(tracks.len());
        }
    }

    pub(super) fn begun(&mut self, late_ns: f64) {
        let (number, sum, squares, most) = &mut self.errors;
        *number += 1;
        *sum += late_ns;
        *squares += late_ns * late_ns;
        *most = late_ns.abs().max(*most);
    }

    #[expect(clippy::cast_precision_loss, reason = "a figure")]
    pub(super) fn errors(&self) -> (f64, f64) {
        let (number, sum, squares, most) = self.errors;
        let number = number.max(1) as f64;
        ((squares / number - (sum / number).powi(2)).max(0.0).sqrt(), most)
    }

    pub(super) fn largest_part(&self) -> f64 {
        f64::from(u32::try_from(self.most).unwrap_or(u32::MAX)) / f64::from(self.tracks)
    }

    pub(super) fn fates(&self, load: &mut Load, until: u64) -> Fates {
        let mut fates = Fates::default();
        let nothing = vec![0; self.tracks as usize];
        for frame in 0..until {
            let started = self.frames.get(&frame).unwrap_or(&nothing);
            for (track, &started) in (0..).zip(started) {
                let expected = load.slots_on(frame, track);
                let lost = expected.saturating_sub(started);
                fates.expected += expected;
                fates.started += started;
                fates.lost += lost;
                fates.twice += started.saturating_sub(expected);
                fates.last_lost = if lost > 0 { Some(frame) } else { fates.last_lost };
            }
        }
        fates
    }
}
