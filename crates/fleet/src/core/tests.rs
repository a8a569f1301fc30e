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
fn a_node_that_has_not_asked_in_time_asks_late_and_is_not_blind() {
    for is_unanswered in [false, true] {
        let mut core = core();
        let asked = 20 * FRAME_NS;
        assert!(core.request(asked, false, "").is_some());
        if is_unanswered {
            core.failed(asked);
        }
        let last = core.book.next() - 1;
        let now = last * FRAME_NS - 1;
        core.settle(now, 0);
        let known = core.book.entry(last).unwrap().tracks.clone();
        assert_eq!(known.map(|tracks| tracks.len()), is_unanswered.then_some(8));
        assert_eq!(core.blind_frames(), u64::from(is_unanswered));
        let missed = Ask { frame: last, take: Take::Missed };
        assert!(core.asks(now, false).contains(&missed));
    }
}

/// A request takes longer than a frame stays undecided. So it is decided before the request.
#[test]
fn a_blind_node_decides_before_it_asks_again() {
    let mut core = core();
    core.request(20 * FRAME_NS, false, "");
    core.failed(20 * FRAME_NS);
    let last = core.book.next() - 1;
    core.settle((last - 1) * FRAME_NS, FRAME_NS);
    assert_eq!(core.book.entry(last).unwrap().tracks.as_ref().map(Tracks::len), Some(8));
}

/// Late nodes leave nothing.
#[test]
fn the_last_that_is_asked_for_is_all_that_is_left() {
    let core = core();
    assert_eq!(core.take(30, Stage::Rest), Take::Share { nodes: 1 });
}

#[test]
fn what_a_node_that_leaves_gives_back_can_still_be_claimed() {
    for now in (20 * FRAME_NS..22 * FRAME_NS).step_by(1_000_000) {
        let (mut leaver, other) = (core(), core());
        let last = leaver.last_change(now);
        let Request::Leave { from, .. } = leaver.leave(&last) else { panic!("it leaves") };
        // Others look for what is left half a frame later at the earliest.
        assert!(other.due_at(from, Stage::Rest, false) > now + FRAME_NS / 2, "{now}");
        assert!(from <= other.frames().at(now) + LEAD, "it stays no longer than it must");
    }
}
