//! Bounds the number of slots that a lost node may have started after its last report.

use crate::frames::Frames;
use crate::load::Load;
use crate::message::{FleetRun, NodeText, State};
use crate::progress::Progress;

/// A node that has reported no results, and that probably never will.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LostNode {
    /// The frame in which the node sent its last report. If the store was stalled, it may have received the report much
    /// later.
    from: u64,
    /// The number of frames that the node may have run without the store after that report.
    frames: u64,
    /// The smallest number of nodes among which the load may have been divided in these frames, as far as this node
    /// knew.
    members: u32,
    /// The number of slots that this node had started without the store, and whose owners it did not know.
    unmarked: u64,
}

impl LostNode {
    /// Returns a node as a lost node. Returns `None` if the node has reported its results, or most likely will.
    pub(crate) fn of(
        text: &NodeText,
        run: &FleetRun,
        silent_us: u64,
        is_past: bool,
    ) -> Option<LostNode> {
        // After the last node has left, no node waits for the results of the others.
        let is_deserted = run.roster.nodes.is_empty();
        let is_over =
            is_past || run.state == State::Ended || is_deserted || run.is_absent(silent_us);
        // If the store has received nothing from a node since the run began, the node does not know that the run has
        // begun.
        let since_us = u64::try_from(text.seen_us - run.origin_us).ok()?;
        if text.has_results || !is_over {
            return None;
        }
        // If the node has never reported its progress, it may have started any number of its slots.
        let anything =
            Progress { limit_ns: u64::MAX, members: 1, told_ns: u64::MAX, ..Progress::default() };
        let told = Progress::read(&text.progress).unwrap_or(anything);
        Some(LostNode {
            from: run.frames.at(told.told_ns.min(1_000 * since_us)),
            frames: (told.limit_ns / run.frames.frame_ns).saturating_add(2),
            members: text.members.unwrap_or(told.members).min(told.members).max(1),
            unmarked: told.unmarked,
        })
    }

    pub(crate) fn unmarked(&self) -> u64 {
        self.unmarked
    }

    /// Returns the largest number of slots that the node may have started without the store. It can have run without
    /// the store for at most `self.frames` frames, so the frames with the most slots count.
    pub(crate) fn perhaps_twice(&self, frames: Frames, load: &mut Load, until: u64) -> u64 {
        let mut parts: Vec<u64> =
            (self.from..until).map(|frame| self.part(frames, load, frame)).collect();
        parts.sort_unstable_by(|one, other| other.cmp(one));
        let most = usize::try_from(self.frames).unwrap_or(usize::MAX);
        self.unmarked + parts.into_iter().take(most).sum::<u64>()
    }

    fn part(&self, frames: Frames, load: &mut Load, frame: u64) -> u64 {
        let slots = load.first(frame + 1) - load.first(frame);
        let own = u64::from(frames.tracks.div_ceil(self.members));
        slots.min(own * slots.div_ceil(u64::from(frames.tracks)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::core;
    use std::time::Duration;

    const SECOND_US: i64 = 1_000_000;

    fn node(told: u64, heard: i64) -> NodeText {
        let limit_ns = 1_000_000_000;
        let progress =
            Progress { limit_ns, members: 2, told_ns: told * 1_000_000_000, ..Progress::default() };
        NodeText {
            node: 1,
            name: String::new(),
            seen_us: heard * SECOND_US,
            progress: progress.text(),
            members: None,
            is_finished: false,
            has_results: false,
        }
    }

    #[test]
    fn a_report_that_a_stalled_store_receives_late_is_old() {
        let run = core().run().clone();
        let silent_us = 20_000_000;
        let perhaps = |told, heard| {
            let lost_node = LostNode::of(&node(told, heard), &run, silent_us, false).unwrap();
            let mut load = Load::of(&run).unwrap();
            let until = run.frames.at(u64::try_from(Duration::from_secs(8).as_nanos()).unwrap());
            lost_node.perhaps_twice(run.frames, &mut load, until)
        };
        assert!((500..2_000).contains(&perhaps(2, 2)), "{}", perhaps(2, 2));
        assert_eq!((perhaps(2, 9), perhaps(9, 9)), (perhaps(2, 2), 0));
    }

    #[test]
    fn the_part_of_a_silent_node_is_that_of_the_fewest_nodes_it_knew_of() {
        let run = core().run().clone();
        let perhaps = |members| {
            let text = NodeText { members, ..node(2, 2) };
            let lost_node = LostNode::of(&text, &run, 20_000_000, false).unwrap();
            let until = run.frames.at(8_000_000_000);
            lost_node.perhaps_twice(run.frames, &mut Load::of(&run).unwrap(), until)
        };
        let (alone, two) = (perhaps(Some(1)), perhaps(None));
        assert!(alone > two, "{alone} and {two}");
        // The store had sent the node a roster with more nodes than the node has reported.
        assert_eq!(perhaps(Some(4)), two);
        assert_eq!(perhaps(Some(0)), alone);
    }

    #[test]
    fn after_the_load_a_node_without_results_has_not_reported_all() {
        let run = core().run().clone();
        let (living, done) = (node(2, 2), NodeText { has_results: true, ..node(2, 2) });
        let is_lost = |node: &_, is_past| LostNode::of(node, &run, 0, is_past).is_some();
        assert!(is_lost(&living, true) && !is_lost(&living, false) && !is_lost(&done, true));
    }
}
