//! Tests: the model and the script decide the same, at real servers.

use super::{Model, RedisStore, Store};
use crate::frames::Frames;
use crate::message::{
    Answer, Ask, Claim, Join, LoadText, Piece, Request, Roster, Run, State, Take, Version,
};
use crate::owners::NodeId;
use nanopace_services::{Engine, Server};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::{Cell, RefCell};
use std::thread;
use std::time::Duration;

/// What is asked next; made a request by what the run is then.
#[derive(Clone, Debug)]
enum Step {
    Join { load: Option<u8>, awaited: u32, frame_ms: u64, tracks: u32 },
    Look(Option<NodeId>),
    Nodes,
    Owners,
    Claim { node: NodeId, late: bool, missing: u64, stale: bool, asks: Vec<(u64, u8, u32)> },
    Mark(NodeId, Vec<(u64, Vec<u32>)>),
    Restore(NodeId, u64),
    Rebase(i64, i64),
    Change(u64, u64),
    Leave(NodeId, Vec<(u64, Vec<u32>)>),
    Finish(NodeId),
    OtherRun,
    Lose,
    Wait(u64),
}

fn pieces() -> impl Strategy<Value = Vec<(u64, Vec<u32>)>> {
    prop::collection::vec((0_u64..9, prop::collection::vec(0_u32..8, 1..4)), 1..4)
}

fn step() -> impl Strategy<Value = Step> {
    // Also those whose low byte is 0, as that of free tracks is.
    let node = || prop_oneof![4 => 1_u16..6, 1 => Just(256), 1 => Just(512)];
    let asks = prop::collection::vec((0_u64..9, 0_u8..3, 1_u32..5), 0..5);
    let claim = (node(), prop::bool::weighted(0.1), 0_u64..2, any::<bool>(), asks);
    let claim = claim.prop_map(|(node, late, missing, stale, asks)| Step::Claim {
        node,
        late,
        missing,
        stale,
        asks,
    });
    let join = (prop::option::weighted(0.8, 0_u8..8), 1_u32..3, 1_u64..6, 1_u32..9);
    let join = join.prop_map(|(load, awaited, frame_ms, tracks)| Step::Join {
        load: load.map(|load| load / 7),
        awaited,
        frame_ms: 4 * frame_ms,
        tracks,
    });
    prop_oneof![
        12 => join,
        4 => prop::option::of(node()).prop_map(Step::Look),
        4 => Just(Step::Nodes),
        4 => Just(Step::Owners),
        60 => claim,
        8 => (node(), pieces()).prop_map(|(node, pieces)| Step::Mark(node, pieces)),
        3 => (node(), 0_u64..2).prop_map(|(node, old)| Step::Restore(node, old)),
        2 => (0_i64..2, -90_000_i64..90_000).prop_map(|(old, by)| Step::Rebase(old, by)),
        5 => (0_u64..2, 0_u64..12).prop_map(|(old, from)| Step::Change(old, from)),
        3 => (node(), pieces()).prop_map(|(node, pieces)| Step::Leave(node, pieces)),
        2 => node().prop_map(Step::Finish),
        1 => Just(Step::OtherRun),
        1 => Just(Step::Lose),
        8 => (0_u64..40).prop_map(Step::Wait),
        1 => Just(Step::Wait(700)),
    ]
}

/// Both, and what was known last.
struct Pair {
    server: Server,
    real: RedisStore,
    model: Model,
    known: Option<Run>,
    now_us: i64,
    sequence: u64,
    runs: u64,
}

impl Pair {
    fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Lose => {
                let client = redis::Client::open(self.server.url()).unwrap();
                let mut connection = client.get_connection().unwrap();
                redis::cmd("FLUSHALL").exec(&mut connection).unwrap();
                self.model = Model::default();
            }
            Step::Wait(ms) => thread::sleep(Duration::from_millis(*ms)),
            _ => self.ask(&self.request(step))?,
        }
        self.sequence += 1;
        self.runs += 1;
        Ok(())
    }

    fn ask(&mut self, request: &Request) -> Result<(), TestCaseError> {
        let real = self
            .real
            .call(request)
            .map_err(|error| TestCaseError::fail(format!("{error}: {request:?}")))?;
        let model = self.model.call(request, real.now_us);
        self.now_us = real.now_us;
        prop_assert_eq!(real, model, "{:?}", request);
        self.known = self.model.run().cloned().or(self.known.take());
        Ok(())
    }

    fn run(&self) -> Run {
        self.known.clone().unwrap_or(Run {
            id: "none".to_owned(),
            state: State::Running,
            awaited: 1,
            frames: Frames { frame_ns: 20_000_000, tracks: 3 },
            origin_us: 1_000_000_000,
            floor: 0,
            epoch: 0,
            arrivals: "even".to_owned(),
            seed: 0,
            versions: vec![Version { from: 0, shape: "hold 1/s 1s".to_owned(), rest: None }],
            roster: Roster::default(),
            joined: 0,
            left: 0,
        })
    }

    fn request(&self, step: &Step) -> Request {
        let run = self.run();
        let id = run.id.clone();
        let passed = u64::try_from(self.now_us - run.origin_us).unwrap_or(0);
        // From three frames ago on.
        let frame = |ahead: &u64| (run.frames.at(1_000 * passed) + ahead).saturating_sub(3);
        let pieces = |pieces: &[(u64, Vec<u32>)]| {
            let piece = |(ahead, tracks): &(u64, Vec<u32>)| Piece {
                frame: frame(ahead),
                tracks: tracks.iter().copied().filter(|&track| track < run.frames.tracks).collect(),
            };
            pieces.iter().map(piece).filter(|piece| !piece.tracks.is_empty()).collect::<Vec<_>>()
        };
        match step {
            Step::Join { load, awaited, frame_ms, tracks } => Request::Join(Join {
                name: format!("node {awaited}"),
                id: format!("{:016x}", self.runs),
                awaited: *awaited,
                frames: Frames { frame_ns: frame_ms * 1_000_000, tracks: *tracks },
                load: load.map(|load| LoadText {
                    shape: format!("hold {}/s 1s", load + 1),
                    arrivals: "poisson".to_owned(),
                    seed: u64::MAX,
                }),
            }),
            Step::Look(node) => Request::Look { node: *node },
            Step::Nodes => Request::Nodes,
            Step::Owners => {
                Request::Owners { id, chunks: 0..run.frames.at(1_000 * passed) / 64 % 50 + 2 }
            }
            Step::Claim { node, late, missing, stale, asks } => Request::Claim(Claim {
                id,
                node: *node,
                sequence: if *late { 1 } else { self.sequence },
                // The store has gone back if it has not heard of that one.
                answered: if *stale { self.sequence.saturating_sub(2) } else { 0 },
                epoch: run.epoch.saturating_sub(*missing),
                versions: (run.versions.len() as u64).saturating_sub(*missing),
                roster: run.roster.version.saturating_sub(u64::from(*stale)),
                progress: format!("{} 0 0 0 0", self.sequence),
                asks: asks
                    .iter()
                    .map(|ask| Ask { frame: frame(&ask.0), take: take(ask) })
                    .collect(),
            }),
            Step::Mark(node, list) => {
                let (sequence, answered) = (self.sequence, list.len() as u64);
                let (node, epoch, pieces) = (*node, run.epoch, pieces(list));
                Request::Mark { id, node, sequence, answered, epoch, pieces }
            }
            Step::Leave(node, list) => {
                Request::Leave { id, node: *node, from: list.len() as u64, pieces: pieces(list) }
            }
            Step::Restore(node, old) => {
                let epoch = run.epoch.saturating_sub(*old);
                Request::Restore { node: *node, run: Box::new(Run { epoch, ..run }) }
            }
            Step::Rebase(old, by) => {
                let from_us = run.origin_us - old;
                Request::Rebase { id, from_us, to_us: from_us + by }
            }
            Step::Change(old, from) => Request::Change {
                id,
                known: (run.versions.len() as u64).saturating_sub(*old),
                version: Version {
                    from: frame(from),
                    shape: "hold 2/s 1s".to_owned(),
                    rest: (*from > 6).then(|| "hold 3/s 1s".to_owned()),
                },
            },
            Step::Finish(node) => Request::Finish {
                id,
                node: *node,
                progress: "1 2 3 4 5".to_owned(),
                results: vec![0, 255, 10],
            },
            Step::OtherRun | Step::Lose | Step::Wait(_) => {
                Request::Rebase { id: "other".to_owned(), from_us: 0, to_us: 1 }
            }
        }
    }
}

fn take(&(_, what, number): &(u64, u8, u32)) -> Take {
    match what {
        0 => Take::Own { rank: number % 3, nodes: 3, most: number },
        1 => Take::Share { nodes: number },
        _ => Take::Nothing,
    }
}

/// What has to be among what is answered, so that the comparison means something.
fn has_claims(model: &mut Model, now_us: i64) -> bool {
    let id = model.run().map_or_else(String::new, |run| run.id.clone());
    let answer = model.call(&Request::Owners { id, chunks: 0..50 }, now_us).answer;
    matches!(answer, Answer::Owners(all) if all.iter().any(|owners| owners.iter().any(|owner| owner.is_some())))
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn the_model_decides_as_the_script() {
    // Most of the time they wait.
    thread::scope(|scope| {
        for engine in Engine::ALL {
            scope.spawn(move || compare(engine));
        }
    });
}

fn compare(engine: Engine) {
    let server = Server::start(engine).unwrap();
    let real = RedisStore::new(&server.url(), "agreement").unwrap();
    let (model, known) = (Model::default(), None);
    let pair = Pair { server, real, model, known, now_us: 0, sequence: 2, runs: 0 };
    // All sequences in a row, at one store.
    let pair = RefCell::new(pair);
    let with_claims = Cell::new(0);
    let config = ProptestConfig {
        cases: 10,
        max_shrink_iters: 0,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let steps = prop::collection::vec(step(), 60..120);
    TestRunner::new(config)
        .run(&steps, |steps| {
            let mut pair = pair.borrow_mut();
            steps.iter().try_for_each(|step| pair.take(step))?;
            let now_us = pair.now_us;
            with_claims.update(|number| number + u32::from(has_claims(&mut pair.model, now_us)));
            Ok(())
        })
        .unwrap();
    assert!(with_claims.get() >= 3, "{engine}: claims in {} sequences", with_claims.get());
}
