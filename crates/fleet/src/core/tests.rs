//! What a node does, on times and answers of the tests' own.

use super::*;
use crate::blind::WhenBlind;
use crate::message::{Answer, Ask, Claimed, Roster, State, Take, Version};
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
        assert!(core.asks(now).contains(&missed));
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
        // Others look for what is left more than a frame later.
        assert!(other.due_at(from, Stage::Rest) > now + FRAME_NS, "{now}");
        assert!(from <= other.frames().at(now) + LEAD + 1, "it stays no longer than it must");
    }
}

fn claimed(core: &Core) -> Claimed {
    Claimed {
        state: State::Running,
        origin_us: 0,
        floor: 0,
        epoch: core.run.epoch,
        known: core.run.versions.len() as u64,
        versions: Vec::new(),
        roster: None,
        owners: Vec::new(),
    }
}

/// A core that has run all its tracks without the store up to this frame.
fn blind_until(frame: u64) -> Core {
    let mut core = core();
    for at in 2..frame {
        core.failed(at * FRAME_NS);
        core.turn(at * FRAME_NS);
        core.settle(at * FRAME_NS, FRAME_NS);
        core.change().into_iter().for_each(|change| core.told(&change, true));
    }
    core
}

#[test]
fn all_is_told_again_when_others_have_repaired_the_store() {
    let mut core = blind_until(40);
    let request = core.sign("");
    core.unmarked.clear();
    let answer = Claimed { epoch: core.run.epoch + 1, ..claimed(&core) };
    core.answered(&request, Answer::Claimed(answer), 40 * FRAME_NS).unwrap();
    assert!(core.unmarked.len() > 30 && core.urgent.is_none());
}

#[test]
fn a_store_that_knows_less_versions_is_told_them() {
    let mut core = core();
    let request = core.sign("");
    let answer = Claimed { known: 0, ..claimed(&core) };
    core.answered(&request, Answer::Claimed(answer), FRAME_NS).unwrap();
    assert!(matches!(core.urgent, Some(Request::Restore { .. })));
}

/// What was started by the old load counts as started twice, and is not marked.
#[test]
fn what_was_started_by_an_old_load_is_counted() {
    let mut core = blind_until(30);
    let request = core.sign("");
    let shape = "hold 1k/s 100ms, hold 10/s 9s".to_owned();
    let versions = vec![Version { from: 20, shape, rest: None }];
    let answer = Claimed { known: 2, versions, ..claimed(&core) };
    core.answered(&request, Answer::Claimed(answer), 30 * FRAME_NS).unwrap();
    let cut = core.cut().unwrap();
    core.came_to_a_frame(cut);
    // Eight of 16 tracks in up to eleven frames, each of 20 slots.
    assert!((80..=121).contains(&core.twice()), "{}", core.twice());
    assert!(core.unmarked.iter().all(|piece| !(20..31).contains(&piece.frame)));
    assert!(core.resumes > 31);
}

/// A pacer takes the end wherever it has come to, so it is not asked for ever.
#[test]
fn the_end_is_told_once() {
    let mut core = core();
    core.leaves = Some(core.book.next());
    let change = core.change().unwrap();
    assert!(change.is_rest);
    core.told(&change, true);
    assert!(core.change().is_none());
}

/// It has run without the store what was another's: that counts if its pacer had it in time.
#[test]
fn only_what_the_pacer_had_was_started_twice() {
    for (is_taken, slots) in [(true, 10), (false, 0)] {
        let mut core = core();
        core.request(30 * FRAME_NS, false, "");
        core.failed(30 * FRAME_NS);
        let frame = core.book.next() - 1;
        core.settle(core.frames().closes(frame), FRAME_NS);
        while let Some(change) = core.change() {
            core.told(&change, is_taken);
        }
        let tracks = (0..16).collect();
        core.clash(&Piece { frame, tracks }, core.frames().begins(frame + 1));
        assert_eq!(core.twice(), slots, "{is_taken}");
    }
}

/// The load becomes another one from a frame on, and the node hears of it.
fn hears_of(core: &mut Core, from: u64, shape: &str, now: u64) -> Cut {
    let request = core.sign("");
    let versions = vec![Version { from, shape: shape.to_owned(), rest: None }];
    let known = core.run.versions.len() as u64 + 1;
    let answer = Claimed { known, versions, ..claimed(core) };
    core.answered(&request, Answer::Claimed(answer), now).unwrap();
    core.cut().unwrap()
}

const SLOWER: &str = "hold 1k/s 100ms, hold 10/s 9s";

/// A change while it sits out does not bring its pacer back.
#[test]
fn a_node_that_has_come_too_far_sits_out_whatever_the_load_becomes() {
    let mut core = blind_until(30);
    let cut = hears_of(&mut core, 20, SLOWER, 30 * FRAME_NS);
    let slot = cut.old.slot_at(31 * FRAME_NS);
    core.came_to(cut, slot);
    let twice = core.twice();
    let shape = "hold 1k/s 100ms, hold 10/s 500ms, hold 1k/s 9s";
    let cut = hears_of(&mut core, 45, shape, 40 * FRAME_NS);
    let same = cut.slot;
    core.came_to(cut, same);
    assert_eq!(core.twice(), twice, "it has started nothing since");
    let resumes = core.resumes;
    assert!(core.load.first(resumes) >= slot, "its pacer has nothing in frame {resumes}");
    assert!(core.load.first(resumes - 1) < slot, "it waits no longer than it must");
}
