//! What a node does, on times and answers of the tests' own.

use super::*;
use crate::blind::WhenBlind;
use crate::message::{Roster, State, Version};
use std::time::Duration;

const FRAME_NS: u64 = 20_000_000;

/// The first of two nodes, one frame after the run began.
fn core() -> Core {
    let version = Version { from: 0, shape: "hold 1k/s 10s".to_owned(), rest: None };
    let run = Run {
        id: "run".to_owned(),
        state: State::Running,
        awaited: 2,
        frames: Frames { frame_ns: FRAME_NS, tracks: 16 },
        origin_us: 0,
        floor: 0,
        epoch: 0,
        arrivals: "even".to_owned(),
        seed: 0,
        versions: vec![version],
        roster: Roster { version: 1, nodes: vec![1, 2] },
        joined: 2,
        left: 0,
    };
    let blind = Blind::new(Duration::from_secs(10), WhenBlind::Hold);
    Core::new(1, run, blind, FRAME_NS).unwrap()
}

#[test]
fn a_node_that_has_not_asked_in_time_is_not_blind() {
    for is_unanswered in [false, true] {
        let mut core = core();
        let asked = 20 * FRAME_NS;
        assert!(core.request(asked, false, "").is_some());
        if is_unanswered {
            core.failed(asked);
        }
        let last = core.book.next() - 1;
        core.settle(last * FRAME_NS - 1);
        let known = core.book.entry(last).unwrap().tracks.clone().unwrap();
        assert_eq!(known.len(), if is_unanswered { 8 } else { 0 });
        // The one that goes on, too: the request may have taken as long to fail.
        assert_eq!(core.blind_frames(), 2 * u64::from(is_unanswered));
    }
}

#[test]
fn what_a_node_that_leaves_gives_back_can_still_be_claimed() {
    for now in (20 * FRAME_NS..22 * FRAME_NS).step_by(1_000_000) {
        let (mut leaver, other) = (core(), core());
        let Request::Leave { from, .. } = leaver.leave(LEAD, now) else { panic!("it leaves") };
        // Others look for what is left half a frame later at the earliest.
        assert!(other.due_at(from, Stage::Rest, false) > now + FRAME_NS / 2, "{now}");
        assert!(from <= other.frames().at(now) + LEAD, "it stays no longer than it must");
    }
}
