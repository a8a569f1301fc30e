//! What a node may have started since it was heard of last, if it is not heard of any more.

use crate::frames::Frames;
use crate::load::Load;
use crate::message::{NodeText, Run, State};
use crate::progress::Progress;

/// A node that has left no results and is not heard of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Silence {
    /// The frame in which it was heard of.
    from: u64,
    /// Frames that it may have run without the store since then.
    frames: u64,
    /// The fewest nodes with which it has shared the load then.
    members: u32,
    /// Slots that it had started without the store before, which had not heard whose they are.
    unmarked: u64,
}

impl Silence {
    /// None if a node has told all, or most likely will.
    pub(crate) fn of(text: &NodeText, run: &Run, silent_us: u64) -> Option<Silence> {
        // Of the last that has left nobody waits for the results.
        let is_deserted = run.roster.nodes.is_empty();
        let is_over = run.state == State::Ended || is_deserted || run.is_absent(silent_us);
        // One that was not heard of since the run began does not know that it has.
        let since_us = u64::try_from(text.seen_us - run.origin_us).ok()?;
        if text.has_results || !is_over {
            return None;
        }
        // Of one that has told nothing yet, nothing is known.
        let anything = Progress { limit_ns: u64::MAX, members: 1, ..Progress::default() };
        let told = Progress::read(&text.progress).unwrap_or(anything);
        Some(Silence {
            from: run.frames.at(1_000 * since_us),
            frames: (told.limit_ns / run.frames.frame_ns).saturating_add(2),
            members: text.members.unwrap_or(told.members).min(told.members).max(1),
            unmarked: told.unmarked,
        })
    }

    /// Slots that it had told as started, which may be another's.
    pub(crate) fn unmarked(&self) -> u64 {
        self.unmarked
    }

    /// So many slots before a frame it may have started that were another's: its part of those frames
    /// that have the most.
    pub(crate) fn perhaps_twice(&self, frames: Frames, load: &mut Load, until: u64) -> u64 {
        let mut parts: Vec<u64> =
            (self.from..until).map(|frame| self.part(frames, load, frame)).collect();
        parts.sort_unstable_by(|one, other| other.cmp(one));
        let most = usize::try_from(self.frames).unwrap_or(usize::MAX);
        self.unmarked + parts.into_iter().take(most).sum::<u64>()
    }

    /// At most so many slots of a frame lie on its own tracks.
    fn part(&self, frames: Frames, load: &mut Load, frame: u64) -> u64 {
        let slots = load.first(frame + 1) - load.first(frame);
        let own = u64::from(frames.tracks.div_ceil(self.members));
        slots.min(own * slots.div_ceil(u64::from(frames.tracks)))
    }
}
