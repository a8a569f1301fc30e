//! Tests the decisions of a node, with times and responses that the tests choose.

use super::*;
use crate::message::{Answer, Ask, Claim, Claimed, Counted, Roster, State, Take, Version};
use crate::store_outage::WhenBlind;
use crate::track_ownership::Owners;
use std::time::Duration;

const FRAME_NS: u64 = 20_000_000;

/// Returns the core of the first of two nodes, one frame after the beginning of the run.
pub(crate) fn core() -> Core {
    let version = Version::first("hold 1k/s 10s".to_owned());
    let run = FleetRun {
        id: "run".to_owned(),
        state: State::Running,
        awaited: 2,
        frames: Frames { frame_ns: FRAME_NS, tracks: 16 },
        lead: 4,
        origin_us: 0,
        floor: 0,
        epoch: 0,
        arrivals: "even".to_owned(),
        seed: 0,
        ends: None,
        versions: vec![version],
        roster: Roster { version: 1, nodes: vec![1, 2] },
        joined: 2,
        heard: [1, 2].into(),
        left: 0,
        counted: Counted::default(),
    };
    let blind = StoreOutage::new(Duration::from_secs(10), WhenBlind::Hold);
    Core::new(1, run, (blind, RoundTrips::new(0)), FRAME_NS).unwrap()
}

fn all_that_is_left() -> Take {
    Take::Share { nodes: 1, most: 16 }
}

fn look_around(core: &mut Core, now: u64) {
    let looks = (core.awake_at..now).step_by(usize::try_from(FRAME_NS / 2).unwrap());
    looks.for_each(|at| core.decide(at));
    core.decide(now);
}

pub(super) fn answered(core: &mut Core, request: &Request, answer: Answer, now: u64) {
    core.hears_answer(request, answer, 0, now).unwrap();
}

#[test]
fn the_last_that_is_asked_for_is_all_that_is_left() {
    let core = core();
    assert_eq!(core.wanted(30, Stage::Rest), all_that_is_left());
}

#[test]
fn a_node_that_asks_before_its_turn_leaves_the_others_their_part() {
    let core = core();
    assert_eq!(core.wanted(30, Stage::Share), Take::Share { nodes: 2, most: 8 });
}

#[test]
fn tracks_that_a_leaving_node_gives_back_can_still_be_claimed() {
    for now in (20 * FRAME_NS..22 * FRAME_NS).step_by(1_000_000) {
        let (mut leaver, other) = (core(), core());
        let last = leaver.last_update(now);
        let Request::Leave { from, .. } = leaver.leave(&last) else {
            panic!("expected a request to leave")
        };
        assert!(other.moments(from).asks_for(Stage::Rest) > now + FRAME_NS, "{now}");
        assert!(
            from <= other.frames().at(now) + LEAD + 1,
            "the leaver stays no longer than it must"
        );
    }
}

pub(super) fn claimed(core: &Core) -> Claimed {
    Claimed {
        state: State::Running,
        floor: 0,
        epoch: core.run.epoch,
        lead: 4,
        known: core.run.versions.len() as u64,
        versions: Vec::new(),
        roster: None,
        counted: None,
        owners: Vec::new(),
    }
}

/// Returns a node that got no responses, and has run all its tracks without the store up to `frame`.
pub(super) fn blind_until(frame: u64) -> Core {
    let mut core = core();
    for at in 2..frame {
        core.hears_no_answer(at * FRAME_NS);
        core.advance(at * FRAME_NS);
        core.decide(at * FRAME_NS);
        core.update().into_iter().for_each(|update| core.told(&update, true));
    }
    core
}

#[test]
fn a_node_marks_all_again_when_others_have_repaired_the_store() {
    let mut core = blind_until(40);
    let request = core.sign_of_life("");
    core.unclaimed.to_mark.clear();
    let answer = Claimed { epoch: core.run.epoch + 1, ..claimed(&core) };
    answered(&mut core, &request, Answer::Claimed(answer), 40 * FRAME_NS);
    assert!(core.unclaimed.to_mark.len() > 30 && core.urgent.is_none());
}

#[test]
fn a_store_that_knows_fewer_versions_gets_them() {
    let mut core = core();
    let request = core.sign_of_life("");
    let answer = Claimed { known: 0, ..claimed(&core) };
    answered(&mut core, &request, Answer::Claimed(answer), FRAME_NS);
    assert!(matches!(core.urgent, Some(Request::Restore { .. })));
}

#[test]
fn slots_started_by_an_old_load_are_counted() {
    let mut core = blind_until(30);
    let request = core.sign_of_life("");
    let versions =
        vec![Version { change: 1, from: 20, shape: Some(SLOWER.to_owned()), rest: None }];
    let answer = Claimed { known: 2, versions, ..claimed(&core) };
    answered(&mut core, &request, Answer::Claimed(answer), 30 * FRAME_NS);
    let cut = core.take_cut().unwrap();
    core.gave_up_whole_frames(cut);
    // The node ran eight of 16 tracks in up to eleven frames of 20 slots each.
    assert!((80..=121).contains(&core.twice()), "{}", core.twice());
    assert!(core.unclaimed.to_mark.iter().all(|portion| !(20..31).contains(&portion.frame)));
    assert!(core.resumes_in > 31);
}

#[test]
fn a_node_that_hears_in_time_of_a_change_sits_out_nothing() {
    let mut core = blind_until(30);
    let now = 30 * FRAME_NS;
    let cut = hears_of(&mut core, 40, SLOWER, now);
    let slot = cut.slot;
    core.gave_up(cut, slot);
    assert_eq!((core.twice(), core.resumes_in), (0, 0));
}

/// Slots that were no longer due would count as lost in the account of the run.
#[test]
fn slots_due_by_an_old_load_stay_due() {
    let mut core = blind_until(30);
    let now = 30 * FRAME_NS + FRAME_NS / 2;
    while let Some(update) = core.update() {
        core.told(&update, true);
    }
    let before = core.due_slots(now);
    let cut = hears_of(&mut core, 25, SLOWER, now);
    let slot = cut.old.slot_at(now);
    core.gave_up(cut, slot);
    assert!(before > 0 && core.due_slots(now) == before, "{before}, {}", core.due_slots(now));
}

/// A pacer accepts the end of the load at any time, so the node has to avoid sending it repeatedly.
#[test]
fn the_pacer_gets_the_end_once() {
    let mut core = core();
    core.leaves_in = Some(core.book.next());
    let update = core.update().unwrap();
    assert!(update.may_begin_later);
    core.told(&update, true);
    assert!(core.update().is_none());
}

#[test]
fn the_pacer_gets_no_end_before_the_last_frame_is_sealed() {
    let mut core = core();
    let first = core.book.next();
    core.leaves_in = Some(first + 3);
    core.book.extend(first + 3);
    for frame in first..first + 3 {
        core.book.entry(frame).unwrap().tracks = Some(TrackSet::default());
    }
    let sealed_at = core.frames().sealed_at(first + 2);
    for (now, leases) in [(sealed_at - 1, 3), (sealed_at, 4)] {
        core.awake_at = now;
        assert_eq!(core.update().unwrap().leases.len(), leases);
    }
}

/// When the pacer receives new leases for frames before the node's last frame, they replace all its later leases,
/// including the end.
#[test]
fn the_pacer_of_a_leaving_node_gets_the_end_again() {
    let mut core = core();
    let last = core.last_update(0);
    let _ = core.leave(&last);
    let first = core.book.next();
    core.book.extend(last.frame);
    for frame in first..last.frame {
        core.book.entry(frame).unwrap().tracks = Some(TrackSet::default());
    }
    let given = core.update().unwrap();
    core.told(&given, true);
    core.awake_at = core.frames().sealed_at(last.frame);
    assert_eq!(core.update().unwrap().leases.len(), 1);
}

#[test]
fn only_what_the_pacer_had_was_started_twice() {
    for (is_taken, slots) in [(true, 10), (false, 0)] {
        let mut core = core();
        core.request(30 * FRAME_NS, false, "");
        core.hears_no_answer(30 * FRAME_NS);
        let frame = core.book.next() - 1;
        let sealed_at = core.frames().sealed_at(frame);
        look_around(&mut core, sealed_at);
        while let Some(update) = core.update() {
            core.told(&update, is_taken);
        }
        let tracks = (0..16).collect();
        core.clash(&Portion { frame, tracks }, core.frames().begins(frame + 1));
        assert_eq!(core.twice(), slots, "{is_taken}");
    }
}

/// A thread may already be waiting for a slot when the node drops the slot's track.
#[test]
fn tracks_dropped_too_late_for_the_pacer_were_started_twice() {
    for (is_taken, slots) in [(true, 0), (false, 20)] {
        let (mut core, frame) = (core(), 23);
        core.book = FrameWindow::new(frame, core.frames());
        core.book.extend(frame + 1);
        core.book.entry(frame).unwrap().tracks = Some((0..16).collect());
        let given = core.update().unwrap();
        core.told(&given, true);
        let tracks = (0..16).collect();
        core.clash(&Portion { frame, tracks }, core.frames().sealed_at(frame) - 1);
        let update = core.update().unwrap();
        core.told(&update, is_taken);
        assert_eq!((update.frame, core.twice()), (frame, slots), "{is_taken}");
    }
}

#[test]
fn tracks_run_while_a_mark_is_under_way_are_marked_next() {
    let mut core = blind_until(30);
    let request = core.next_repair().unwrap();
    core.sent(30 * FRAME_NS);
    core.advance(31 * FRAME_NS);
    look_around(&mut core, 32 * FRAME_NS);
    let run = core.unclaimed.to_mark.front().cloned().unwrap();
    answered(&mut core, &request, Answer::Portions(0, Vec::new()), 32 * FRAME_NS);
    assert!(run.frame >= 30, "it ran frame {}", run.frame);
    assert_eq!(core.unclaimed.to_mark.front(), Some(&run));
}

fn hears_of(core: &mut Core, from: u64, shape: &str, now: u64) -> Cut {
    let request = core.sign_of_life("");
    let versions = vec![Version { change: 1, from, shape: Some(shape.to_owned()), rest: None }];
    let known = core.run.versions.len() as u64 + 1;
    let answer = Claimed { known, versions, ..claimed(core) };
    answered(core, &request, Answer::Claimed(answer), now);
    core.take_cut().unwrap()
}

const SLOWER: &str = "hold 10/s 9s";

#[test]
fn by_an_old_load_only_slots_that_the_pacer_has_come_to_were_started() {
    for (came_to, strays) in [(20, 0), (21, 10), (23, 30)] {
        let mut core = blind_until(30);
        let cut = hears_of(&mut core, 20, SLOWER, 30 * FRAME_NS);
        let slot = cut.old.slot_at(came_to * FRAME_NS);
        core.gave_up(cut, slot);
        assert_eq!(core.twice(), strays, "came to frame {came_to}");
    }
}

#[test]
fn a_node_that_has_started_nothing_by_an_old_load_goes_on_at_once() {
    let mut core = core();
    core.advance(30 * FRAME_NS);
    let cut = hears_of(&mut core, 20, SLOWER, 30 * FRAME_NS);
    let (slot, next) = (cut.slot, cut.next);
    core.gave_up(cut, slot);
    assert_eq!((core.twice(), core.resumes_in), (0, next));
}

#[test]
fn a_node_that_has_come_too_far_sits_out_whatever_the_load_becomes() {
    for shape in ["hold 1k/s 9s", "hold 1/min 99h"] {
        let mut core = blind_until(30);
        let cut = hears_of(&mut core, 20, SLOWER, 30 * FRAME_NS);
        let slot = cut.old.slot_at(31 * FRAME_NS);
        core.gave_up(cut, slot);
        let twice = core.twice();
        let cut = hears_of(&mut core, 45, shape, 40 * FRAME_NS);
        let same = cut.slot;
        core.gave_up(cut, same);
        assert_eq!(core.twice(), twice, "the node has started nothing since");
        let resumes = core.resumes_in;
        assert!(core.load.first(resumes) >= slot, "its pacer has nothing in frame {resumes}");
        assert!(core.load.first(resumes - 1) < slot, "the node waits no longer than it must");
    }
}

#[test]
fn tracks_run_by_an_old_load_are_not_marked() {
    let mut core = blind_until(30);
    let cut = hears_of(&mut core, 20, SLOWER, 30 * FRAME_NS);
    core.gave_up_whole_frames(cut);
    let request = core.sign_of_life("");
    answered(&mut core, &request, Answer::Gone, 31 * FRAME_NS);
    assert!(core.unclaimed.to_mark.iter().any(|portion| portion.frame < 20));
    assert!(core.unclaimed.to_mark.iter().all(|portion| !(20..31).contains(&portion.frame)));
}

#[test]
fn a_node_that_sits_out_runs_and_claims_nothing() {
    let mut core = core();
    core.resumes_in = 1_000;
    core.request(20 * FRAME_NS, false, "");
    core.hears_no_answer(20 * FRAME_NS);
    let last = core.book.next() - 1;
    let sealed_at = core.frames().sealed_at(last);
    look_around(&mut core, sealed_at);
    assert_eq!(core.book.entry(last).unwrap().tracks, Some(TrackSet::default()));
    assert!(core.unclaimed.to_mark.is_empty());
    for stage in [Stage::Own, Stage::Share, Stage::Rest] {
        assert_eq!(core.wanted(last, stage), Take::Nothing);
    }
}

/// If the node did not know its tracks in sealed frames, it would never send the end of the load to its pacer.
#[test]
fn a_node_that_sits_out_knows_what_it_has_in_frames_that_are_sealed() {
    let mut core = core();
    core.resumes_in = 1_000;
    let request = core.request(20 * FRAME_NS, false, "").unwrap();
    let Request::Claim(claim) = &request else { panic!("it claims") };
    let now = 60 * FRAME_NS;
    let owners = vec![Owners::default(); claim.asks.len()];
    let answer = Answer::Claimed(Claimed { owners, ..claimed(&core) });
    core.hears_answer(&request, answer, 40 * FRAME_NS, now).unwrap();
    for ask in &claim.asks {
        let entry = core.book.entry(ask.frame).unwrap();
        assert_eq!(entry.tracks, Some(TrackSet::default()), "{}", ask.frame);
    }
}

/// If the last update had to begin at its own slot, the pacer would always reject it as too late, and the node would
/// never leave.
#[test]
fn a_node_that_sits_out_can_leave() {
    for (resumes, may_begin_later) in [(0, false), (1_000, true)] {
        let mut core = core();
        core.resumes_in = resumes;
        assert_eq!(core.last_update(20 * FRAME_NS).may_begin_later, may_begin_later);
    }
}

#[test]
fn a_node_that_leaves_has_nothing_after_its_last_frame() {
    let mut core = blind_until(30);
    let last = core.last_update(28 * FRAME_NS);
    core.advance(29 * FRAME_NS);
    let tracks = core.own(last.frame);
    core.runs_blind(last.frame, tracks);
    assert!(core.unclaimed.to_mark.iter().any(|portion| portion.frame >= last.frame));
    core.leave(&last);
    assert_eq!(core.book.next(), last.frame);
    assert!(core.unclaimed.to_mark.iter().all(|portion| portion.frame < last.frame));
    let due = core.due_slots(last.frame * FRAME_NS);
    assert_eq!(core.due_slots((last.frame + 4) * FRAME_NS), due);
}

/// The claims grow in small steps, so that the node does not fall behind again.
#[test]
fn a_node_that_lagged_claims_more_by_a_sixteenth_per_frame() {
    let mut core = core();
    core.advance(20 * FRAME_NS);
    core.is_lagging = true;
    core.advance(21 * FRAME_NS);
    core.is_lagging = false;
    let own = |core: &Core| match core.wanted(30, Stage::Own) {
        Take::Own { most, .. } => most,
        other => panic!("{other:?}"),
    };
    let mut most = vec![own(&core)];
    for frame in 22..32 {
        core.advance(frame * FRAME_NS);
        most.push(own(&core));
    }
    assert_eq!(
        most,
        [4, 5, 5, 6, 6, 7, 7, 8, 8, 8, 8],
        "half, and then half a track more per frame"
    );
}

/// After a second mark, the slots that were started twice would be counted again.
#[test]
fn tracks_run_without_the_store_are_marked_once() {
    let mut core = core();
    let request = core.request(30 * FRAME_NS, false, "").unwrap();
    core.hears_no_answer(30 * FRAME_NS);
    let frame = core.book.next() - 1;
    let sealed_at = core.frames().sealed_at(frame);
    look_around(&mut core, sealed_at);
    assert!(core.unclaimed.to_mark.iter().any(|portion| portion.frame == frame));
    core.unclaimed.to_mark.clear();
    let Request::Claim(claim) = &request else { panic!("it claims") };
    let owners = claim.asks.iter().map(|_| Owners([0, 2].repeat(16))).collect();
    let answer = Claimed { owners, ..claimed(&core) };
    answered(&mut core, &request, Answer::Claimed(answer), sealed_at + 1);
    assert_eq!(core.unclaimed.to_mark, []);
}

#[test]
fn a_blind_node_that_lags_still_runs_its_own() {
    let mut core = blind_until(30);
    core.advance(31 * FRAME_NS);
    let last = core.book.next() - 1;
    look_around(&mut core, (last + 2) * FRAME_NS);
    assert_eq!(core.book.entry(last).unwrap().tracks.as_ref().map(TrackSet::len), Some(8));
}

#[test]
fn a_lagging_node_claims_less_and_less_of_its_own_and_more_again_on_time() {
    let mut core = core();
    let mut most = |frames: std::ops::Range<u64>, is_lagging| {
        let most = frames.map(|frame| {
            core.request(frame * FRAME_NS, is_lagging, "");
            match core.wanted(frame, Stage::Own) {
                Take::Own { most, .. } => most,
                other => panic!("{other:?}"),
            }
        });
        most.collect::<Vec<u32>>()
    };
    assert_eq!(most(20..25, true), [4, 2, 1, 1, 1]);
    assert_eq!(most(25..45, false).last(), Some(&8));
}

#[test]
fn an_error_does_not_make_a_clock_that_was_set_right() {
    let mut core = core();
    core.refuses_answer(20 * FRAME_NS);
    core.hears_no_answer(20 * FRAME_NS);
    let request = core.request(22 * FRAME_NS, false, "");
    assert!(matches!(request, Some(Request::Claim(claim)) if claim.asks.is_empty()));
}

/// When the pacer drops the leases of the old load, it also drops the end of the old load, so it needs the end of the
/// new load.
#[test]
fn the_pacer_gets_the_end_of_each_load() {
    let mut core = blind_until(30);
    core.is_told_of_end = true;
    let cut = hears_of(&mut core, 20, "hold 1k/s 100ms", 30 * FRAME_NS);
    core.gave_up_whole_frames(cut);
    let update = core.update().unwrap();
    assert_eq!((update.leases.len(), update.may_begin_later), (1, true));
    core.told(&update, true);
    assert!(core.update().is_none());
}

#[test]
fn a_clash_by_an_old_load_counts_once() {
    let mut core = blind_until(30);
    for frame in [19, 25] {
        core.clash(&Portion { frame, tracks: (0..16).collect() }, 30 * FRAME_NS);
    }
    assert_eq!(core.twice(), 20);
    let cut = hears_of(&mut core, 20, SLOWER, 30 * FRAME_NS);
    let slot = cut.old.slot_at(21 * FRAME_NS);
    core.gave_up(cut, slot);
    assert_eq!(core.twice(), 10 + 10);
}

#[test]
fn portions_that_the_store_has_forgotten_are_marked_once() {
    let mut core = core();
    core.advance(30 * FRAME_NS);
    let frame = core.book.next() - 1;
    core.book.entry(frame).unwrap().tracks = Some((0..8).collect());
    let ask = Ask { frame, take: all_that_is_left() };
    for _ in 0..2 {
        let Request::Claim(claim) = core.sign_of_life("") else {
            panic!("a sign of life is a claim without frames")
        };
        let request = Request::Claim(Claim { asks: vec![ask], ..claim });
        let answer = Claimed { owners: vec![Owners::default()], ..claimed(&core) };
        answered(&mut core, &request, Answer::Claimed(answer), 30 * FRAME_NS);
        assert_eq!(core.unclaimed.to_mark, [Portion { frame, tracks: (0..8).collect() }]);
    }
}

#[test]
fn a_lagging_node_asks_in_time_for_what_is_left() {
    let mut core = core();
    core.request(30 * FRAME_NS, true, "");
    for stage in [Stage::Share, Stage::Rest] {
        let due = core.moments(40).asks_for(stage);
        assert!(due < core.frames().sealed_at(40) && due > 39 * FRAME_NS, "{stage:?}");
    }
}

#[test]
fn a_node_is_blind_until_a_claim_is_answered() {
    let mut core = blind_until(40);
    assert!(core.blind_since().is_some());
    let request = core.sign_of_life("");
    let answer = Answer::Claimed(claimed(&core));
    answered(&mut core, &request, answer, 40 * FRAME_NS);
    assert_eq!(core.blind_since(), None);
}

#[test]
fn a_node_that_leaves_lagging_asks_for_all_that_it_has_put_off() {
    let (mut core, now) = (core(), 30 * FRAME_NS);
    let leaves_lagging = |core: &mut Core| match core.request_before_it_leaves(now, true, "") {
        Some(Request::Claim(claim)) => claim.asks,
        _ => panic!("it claims"),
    };
    let asks = leaves_lagging(&mut core);
    for frame in 31..core.last_update(now).frame {
        assert!(asks.contains(&Ask { frame, take: all_that_is_left() }), "{frame}");
    }
    core.resumes_in = 32;
    let asks = leaves_lagging(&mut core);
    assert_eq!(
        asks.iter().map(|ask| ask.frame).min(),
        Some(32),
        "the node claims nothing before that frame"
    );
}

/// If the node claimed tracks now, the store could grant it tracks that other nodes are running without the store.
/// Their slots would then count both as lost and as started twice.
#[test]
fn a_node_that_leaves_lagging_claims_nothing_while_the_clock_of_the_store_is_off() {
    let (mut core, now) = (core(), 30 * FRAME_NS);
    let leaves_lagging = |core: &mut Core| match core.request_before_it_leaves(now, true, "") {
        Some(Request::Claim(claim)) => claim,
        _ => panic!("it claims"),
    };
    core.refuses_answer(now - FRAME_NS);
    assert!(core.must_wait(now - 1) && !core.must_wait(now), "the node waits before it asks");
    let claim = leaves_lagging(&mut core);
    assert_eq!(claim.asks, []);
    let answer = Answer::Claimed(claimed(&core));
    answered(&mut core, &Request::Claim(claim), answer, now);
    assert_ne!(leaves_lagging(&mut core).asks, [], "the clock is right again");
}

/// If the node claimed before it repaired the store, its claims would fail until its time for leaving has passed.
#[test]
fn a_node_that_leaves_lagging_repairs_the_store_before_it_claims() {
    let now = 30 * FRAME_NS;
    let next = |core: &mut Core| core.request_before_it_leaves(now, true, "");
    let mut emptied = core();
    let request = next(&mut emptied).unwrap();
    answered(&mut emptied, &request, Answer::Gone, now);
    let restore = next(&mut emptied).unwrap();
    assert!(matches!(restore, Request::Restore { .. }), "{restore:?}");
    answered(&mut emptied, &restore, Answer::Done, now);
    assert!(matches!(next(&mut emptied), Some(Request::Claim(_))));
    let mut replaced = core();
    let request = next(&mut replaced).unwrap();
    answered(&mut replaced, &request, Answer::Other, now);
    assert!(next(&mut replaced).is_none(), "the store has another run");
}

/// If a node that has failed and marked all its tracks sent more requests, its thread would loop without a pause.
#[test]
fn a_node_that_has_failed_and_marked_all_asks_no_more() {
    let now = 30 * FRAME_NS;
    for failure in [FleetError::Replaced, FleetError::Lost] {
        let mut core = core();
        core.failure = Some(failure);
        assert!(core.request(now, false, "").is_none());
        assert!(core.due(now) > now, "{:?}", core.failure());
    }
}

fn granted(core: &Core, claim: &Claim) -> Claimed {
    let owned_by = |is_own: bool| {
        let owners = (0..core.frames().tracks).map(|track| u16::from(!is_own || track % 2 == 0));
        Owners(owners.flat_map(u16::to_be_bytes).collect())
    };
    let owners = claim.asks.iter().map(|ask| owned_by(matches!(ask.take, Take::Own { .. })));
    Claimed { owners: owners.collect(), lead: claim.lead, ..claimed(core) }
}

/// While its responses are pending, the node takes part in more frames, for which it has not asked yet.
#[test]
fn a_node_that_leaves_over_a_slow_link_knows_what_it_has() {
    for (trip_frames, is_lagging) in
        [0, 1, 3, 7].into_iter().flat_map(|trip| [(trip, false), (trip, true)])
    {
        let (mut core, mut now, trip_ns) = (core(), 30 * FRAME_NS, trip_frames * FRAME_NS);
        core.trips = RoundTrips::new(trip_ns);
        core.book = FrameWindow::new(30, core.frames());
        let mut rounds = 0;
        while let Some(request) = core.request_before_it_leaves(now, is_lagging, "") {
            let Request::Claim(claim) = &request else { panic!("the node has nothing to mark") };
            now += trip_ns;
            let answer = Answer::Claimed(granted(&core, claim));
            core.hears_answer(&request, answer, trip_ns, now).unwrap();
            rounds += 1;
            while core.must_wait(now) {
                now += 1_000_000;
                core.decide(now);
            }
        }
        assert!(rounds <= 4, "{rounds} rounds over {trip_frames} frames, lags: {is_lagging}");
        for frame in core.frames().at(now) + 1..core.last_update(now).frame {
            let entry = core.book.entry(frame).expect("the node has asked for each frame");
            assert!(
                entry.tracks.is_some() && (entry.stage == Stage::Done) == is_lagging,
                "{frame} {trip_frames} {is_lagging} {entry:?}"
            );
        }
    }
}
