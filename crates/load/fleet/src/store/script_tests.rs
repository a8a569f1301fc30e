//! Tests the store's scripts. Each test sets the store's clock.
//!
//! `docs/FLEET-PROTOCOL.md` explains the terms.

use super::Played;
use crate::frames::Frames;
use crate::message::{
    Answer, Ask, Claim, Counted, FleetRun, Join, LoadText, NodeResults, Others, Portion, Request,
    State, Take,
};
use crate::track_ownership::NodeId;

const FRAME_US: i64 = 20_000;
const TRACKS: u32 = 8;

const ENDS: u64 = 5_000;

const BEGIN_US: i64 = 1_000_000_000_000;

fn join(store: &Played, shape: &str, now_us: i64) -> Answer {
    join_of(1, store, shape, now_us)
}

fn join_of(awaited: u32, store: &Played, shape: &str, now_us: i64) -> Answer {
    let shape = shape.to_owned();
    let join = Join {
        name: "a node".to_owned(),
        id: format!("{now_us:016x}"),
        awaited,
        frames: Frames { frame_ns: 20_000_000, tracks: TRACKS },
        lead: 4,
        load: Some(LoadText { shape, arrivals: "even".to_owned(), seed: 0 }),
        ends: Some(ENDS),
    };
    store.call(&Request::Join(join), now_us).answer
}

fn joined(store: &Played, shape: &str, now_us: i64) -> (NodeId, FleetRun) {
    match join(store, shape, now_us) {
        Answer::Joined(node, run) => (node, *run),
        other => panic!("{other:?}"),
    }
}

fn claim(store: &Played, run: &FleetRun, (node, sequence): (NodeId, u64), ask: Ask) -> usize {
    claim_at(store, run, (node, sequence), ask, -2 * FRAME_US)
}

fn claim_at(
    store: &Played,
    run: &FleetRun,
    (node, sequence): (NodeId, u64),
    ask: Ask,
    after_us: i64,
) -> usize {
    let claim = Claim {
        id: run.id.clone(),
        node,
        sequence,
        answered: 0,
        epoch: 0,
        lead: 4,
        until_us: u64::MAX >> 1,
        versions: 1,
        change: 0,
        roster: 1,
        counted: 0,
        progress: String::new(),
        asks: vec![ask],
    };
    let now_us = run.origin_us + ask.frame.cast_signed() * FRAME_US + after_us;
    match store.call(&Request::Claim(claim), now_us).answer {
        Answer::Claimed(claimed) => claimed.owners[0].of(node).len(),
        other => panic!("{other:?}"),
    }
}

fn share(frame: u64, nodes: u32) -> Ask {
    Ask { frame, take: Take::Share { nodes, most: TRACKS } }
}

#[test]
fn a_share_of_what_is_left_is_rounded_up() {
    let store = Played::new();
    let (node, run) = joined(&store, "hold 1k/s 10s", BEGIN_US);
    for (sequence, nodes) in (1..).zip(1..=TRACKS + 1) {
        let frame = 10 + u64::from(nodes);
        let taken = claim(&store, &run, (node, sequence), share(frame, nodes));
        assert_eq!(taken, TRACKS.div_ceil(nodes) as usize, "one of {nodes}");
    }
}

#[test]
fn a_node_that_asks_too_early_leaves_the_others_their_part() {
    let store = Played::new();
    let (node, run) = joined(&store, "hold 1k/s 10s", BEGIN_US);
    let last = Ask { frame: 10, take: Take::Share { nodes: 1, most: TRACKS / 4 } };
    assert_eq!(claim(&store, &run, (node, 1), last), 2);
}

#[test]
fn a_request_takes_nothing_when_it_comes_again() {
    let store = Played::new();
    let (node, run) = joined(&store, "hold 1k/s 10s", BEGIN_US);
    for _ in 0..3 {
        assert_eq!(claim(&store, &run, (node, 7), share(10, 4)), 2);
    }
    assert_eq!(claim(&store, &run, (node, 6), share(10, 4)), 2, "an older one");
    assert_eq!(claim(&store, &run, (node, 8), share(10, 4)), 4);
}

/// Other nodes can ask for their own tracks until a frame is sealed. After that, blind nodes run their own tracks.
#[test]
fn a_claimable_frame_is_not_missed_and_a_sealed_frame_is_not_shared() {
    let store = Played::new();
    let (node, run) = joined(&store, "hold 1k/s 10s", BEGIN_US);
    let missed = |frame| Ask { frame, take: Take::Missed };
    let own = |frame| Ask { frame, take: Take::Own { rank: 0, nodes: 1, most: TRACKS } };
    let sealed = -FRAME_US / 4;
    let cases = [
        (missed(10), sealed - 1, 0),
        (missed(11), sealed, 8),
        (share(12, 1), sealed - 1, 8),
        (share(13, 1), sealed, 0),
        (own(14), sealed - 1, 8),
        (own(15), sealed, 0),
    ];
    for (sequence, (ask, after_us, tracks)) in (1..).zip(cases) {
        let taken = claim_at(&store, &run, (node, sequence), ask, after_us);
        assert_eq!(taken, tracks, "{ask:?} at {after_us}");
    }
}

/// After all nodes have finished or left, the account ends with the frame in which the last node finished or left.
#[test]
fn a_node_that_is_done_has_started_nothing_from_the_next_frame_on() {
    let store = Played::new();
    let (node, run) = joined(&store, "hold 1k/s 10s", BEGIN_US);
    let now_us = run.origin_us + 100 * FRAME_US + 1;
    let (id, progress) = (run.id, String::new());
    store.call(&Request::Finish { id, node, progress, results: vec![1] }, now_us);
    assert_eq!(store.run(now_us).unwrap().left, 101);
}

/// If two nodes had the same number, each would start the other one's slots.
#[test]
fn numbers_of_nodes_are_given_once_although_the_run_is_filled_again_from_an_older_copy() {
    let store = Played::new();
    let (node, run) = joined(&store, "hold 1k/s 10s", BEGIN_US);
    let another = |later| joined(&store, "hold 1k/s 10s", BEGIN_US + later).0;
    let last = (1..=100).map(another).max().unwrap();
    store.call(&Request::Restore { node, run: Box::new(run) }, BEGIN_US + FRAME_US);
    assert!(another(2 * FRAME_US) > last);
}

#[test]
fn a_run_that_waits_and_that_all_nodes_have_left_can_be_made_anew() {
    let store = Played::new();
    let Answer::Joined(node, run) = join_of(2, &store, "hold 1k/s 10s", BEGIN_US) else { panic!() };
    let other = |now_us| join_of(2, &store, "hold 2k/s 10s", now_us);
    assert!(matches!(other(BEGIN_US + 1), Answer::Differs(_)));
    let leave = Request::Leave { id: run.id, node, from: 0, portions: Vec::new() };
    store.call(&leave, BEGIN_US + 2);
    assert!(matches!(other(BEGIN_US + 3), Answer::Joined(1, _)));
}

#[test]
fn a_node_of_another_run_is_not_in_the_roster() {
    let store = Played::new();
    let (node, run) = joined(&store, "hold 1k/s 10s", BEGIN_US);
    let look = |id: &str, node| {
        store.call(&Request::Look { node: Some((id.to_owned(), node)) }, BEGIN_US + 1).answer
    };
    assert_eq!(look("another", node + 1), Answer::Other);
    assert_eq!(store.run(BEGIN_US + 2).unwrap().roster.nodes, [node]);
    assert!(matches!(look(&run.id, node), Answer::Run(_)));
}

#[test]
fn a_run_whose_nodes_are_silent_is_replaced_after_half_a_minute() {
    let store = Played::new();
    joined(&store, "hold 1k/s 99s", BEGIN_US);
    let heard = |later_us| join(&store, "hold 2k/s 99s", BEGIN_US + later_us);
    assert!(matches!(heard(30_000_000), Answer::Differs(_)));
    assert!(matches!(heard(30_000_001), Answer::Joined(1, _)));
}

/// One of the two nodes has died. The other node either has finished, or has not reported that it has finished.
#[test]
fn a_run_past_its_end_is_over_when_no_node_is_awaited_any_more() {
    let (end_us, absence_us) = (BEGIN_US + ENDS.cast_signed() * FRAME_US, 500_000);
    for is_done in [false, true] {
        let store = Played::new();
        let (_, run) = joined(&store, "hold 1k/s 99s", BEGIN_US);
        joined(&store, "hold 1k/s 99s", BEGIN_US);
        for node in [1, 2] {
            store.call(&Request::Look { node: Some((run.id.clone(), node)) }, end_us - 1);
        }
        assert!(matches!(join(&store, "hold 2k/s 99s", end_us - 1), Answer::Differs(_)));
        if is_done {
            let (id, progress) = (run.id, String::new());
            let done = Request::Finish { id, node: 1, progress, results: vec![1] };
            let last = store.call(&done, end_us).answer;
            assert_eq!(last, Answer::Finished(Others::Awaited));
        }
        let state = |now_us| store.run(now_us).unwrap().state;
        assert_eq!(join(&store, "hold 2k/s 99s", end_us + 1), Answer::Ending);
        assert_eq!(state(end_us + absence_us - 2), State::Running);
        assert_eq!(state(end_us + absence_us * 9 / 8), State::Ended);
        let ended_us = end_us + absence_us * 9 / 8;
        let just_before = join(&store, "hold 2k/s 99s", ended_us + 1_999_999);
        assert_eq!(
            just_before,
            Answer::Ending,
            "the nodes of the first run may still read its account"
        );
        let again = join(&store, "hold 2k/s 99s", ended_us + 2_000_000);
        assert!(matches!(again, Answer::Joined(1, _)), "{again:?}");
    }
}

#[test]
fn one_node_is_the_last_of_a_run_however_often_they_ask() {
    let end_us = BEGIN_US + ENDS.cast_signed() * FRAME_US;
    for has_died in [false, true] {
        let store = Played::new();
        let (first, run) = joined(&store, "hold 1k/s 99s", BEGIN_US);
        let (second, _) = joined(&store, "hold 1k/s 99s", BEGIN_US);
        let look = |now_us| {
            store.call(&Request::Look { node: Some((run.id.clone(), second)) }, now_us);
        };
        let finish = |node, now_us| {
            let (id, progress) = (run.id.clone(), String::new());
            let done = Request::Finish { id, node, progress, results: vec![1] };
            match store.call(&done, now_us).answer {
                Answer::Finished(others) => others,
                other => panic!("{other:?}"),
            }
        };
        look(end_us - 3 * FRAME_US);
        let early = finish(first, end_us - 3 * FRAME_US);
        assert_eq!(early, Others::GoOn, "the load is not over");
        look(end_us);
        for at_us in [end_us - FRAME_US, end_us + 1] {
            assert_eq!(finish(first, at_us), Others::Awaited);
        }
        let (last, absent_us) = if has_died { (first, 600_000) } else { (second, 2) };
        for later_us in 0..2 {
            assert_eq!(finish(last, end_us + absent_us + later_us), Others::Done);
        }
        assert_eq!(finish(3 - last, end_us + absent_us + 2), Others::GoOn);
        assert_eq!(finish(last, end_us + absent_us + 3), Others::Done);
    }
}

fn count(store: &Played, run: &FleetRun, from: u64, until: u64) -> Counted {
    let firsts = (from..=until).map(|frame| frame * u64::from(TRACKS)).collect();
    let count = Request::Count { id: run.id.clone(), from, firsts };
    match store.call(&count, BEGIN_US + 1_000 * FRAME_US).answer {
        Answer::Counted(counted) => counted,
        other => panic!("{other:?}"),
    }
}

fn counts(until: u64, nobody: u64, node: u64) -> Counted {
    Counted { until, slots: [(None, nobody), (Some(1), node)].into() }
}

#[test]
fn each_slot_is_counted_once_for_its_owner() {
    let store = Played::new();
    let (node, run) = joined(&store, "hold 1k/s 99s", BEGIN_US);
    assert_eq!(claim(&store, &run, (node, 1), share(10, 4)), 2);
    assert_eq!(claim(&store, &run, (node, 2), share(70, 1)), 8);
    let known = store.bytes();
    for _ in 0..2 {
        assert_eq!(count(&store, &run, 0, 64), counts(64, 510, 2));
    }
    assert!(store.bytes() < known, "{} of {known} bytes", store.bytes());
    assert_eq!(count(&store, &run, 64, 74), counts(74, 510 + 72, 10));
    assert_eq!(claim(&store, &run, (node, 3), share(73, 1)), 0, "the frame is counted as unowned");
    assert_eq!(claim(&store, &run, (node, 4), share(74, 1)), 8);
    let portions =
        [73, 75].map(|frame| Portion { frame, tracks: [1].into_iter().collect() }).to_vec();
    let (id, sequence) = (run.id.clone(), 5);
    let mark = Request::Mark { id, node, sequence, answered: 0, epoch: 0, portions };
    let marked = store.call(&mark, BEGIN_US + 1_000 * FRAME_US).answer;
    assert_eq!(marked, Answer::Portions(74, Vec::new()));
    assert_eq!(count(&store, &run, 74, 76), counts(76, 582 + 7, 10 + 8 + 1));
}

/// Nodes that know different counts restore the store's data in different orders.
#[test]
fn counts_are_not_lost_when_the_run_is_filled_again() {
    for order in [[0, 64, 128], [64, 0, 128], [128, 64, 0], [0, 128, 64]] {
        for is_emptied in [false, true] {
            let store = Played::new();
            let (node, run) = joined(&store, "hold 1k/s 99s", BEGIN_US);
            let all = [0, 64].map(|from| count(&store, &run, from, from + 64));
            if is_emptied {
                store.lose();
            }
            for until in order {
                let counted = all.iter().find(|counted| counted.until == until).cloned();
                let run = FleetRun { counted: counted.unwrap_or_default(), ..run.clone() };
                let restore = Request::Restore { node, run: Box::new(run) };
                store.call(&restore, BEGIN_US + 1_000 * FRAME_US);
            }
            let known = store.run(BEGIN_US + 1_000 * FRAME_US).unwrap().counted;
            assert_eq!(known, all[1], "{order:?}");
        }
    }
}

#[test]
fn results_so_far_are_there_until_a_node_has_given_its_results() {
    let store = Played::new();
    let (first, run) = joined(&store, "hold 1k/s 10s", BEGIN_US);
    let (second, _) = joined(&store, "hold 1k/s 10s", BEGIN_US);
    let now_us = BEGIN_US + FRAME_US;
    let tell = |node, results: &[u8]| {
        let (id, results) = (run.id.clone(), results.to_vec());
        store.call(&Request::Tell { id, node, results }, now_us)
    };
    let finish = |node, results: &[u8]| {
        let (id, progress, results) = (run.id.clone(), String::new(), results.to_vec());
        store.call(&Request::Finish { id, node, progress, results }, now_us)
    };
    let results = |expected: &[(NodeId, &[u8], bool)]| {
        let expected = expected.iter().map(|&(number, bytes, is_final)| NodeResults {
            number,
            bytes: bytes.to_vec(),
            is_final,
        });
        let told = store.call(&Request::Results, now_us).answer;
        assert_eq!(told, Answer::Results(expected.collect()));
    };
    tell(first, b"old");
    tell(first, b"new");
    tell(second, b"told");
    results(&[(first, b"new", false), (second, b"told", false)]);
    finish(first, b"all");
    tell(first, b"late");
    results(&[(first, b"all", true), (second, b"told", false)]);
    // The second node has finished without results, so the last results that it has reported count.
    finish(second, b"");
    results(&[(first, b"all", true), (second, b"told", true)]);
    let other = Request::Tell { id: "other".to_owned(), node: first, results: vec![1] };
    assert_eq!(store.call(&other, now_us).answer, Answer::Other);
}
