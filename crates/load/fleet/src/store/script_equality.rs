//! Checks that the scripts give the same responses in this process as on a real server.

use crate::frames::Frames;
use crate::message::{
    Answer, Ask, Claim, FleetRun, Join, LoadText, Portion, Reply, Request, Take, Version,
};
use crate::store::{Played, RedisStore, Store};
use nanopace_services::{Product, Server};
use std::thread;
use std::time::Duration;

struct Both {
    server: RedisStore,
    played: Played,
    sequence: u64,
}

impl Both {
    fn ask(&mut self, request: &Request) -> Answer {
        self.reply(request).answer
    }

    fn reply(&mut self, request: &Request) -> Reply {
        let reply = self.server.call(request).unwrap();
        let played = self.played.call(request, reply.now_us);
        assert_eq!(played, reply, "{request:?}");
        reply
    }

    fn join(&mut self, shape: &str) -> (u16, FleetRun) {
        let (shape, arrivals) = (shape.to_owned(), "even".to_owned());
        let load = LoadText { shape, arrivals, seed: u64::MAX };
        let frames = Frames { frame_ns: 20_000_000, tracks: 5 };
        let (name, id) = ("a node".to_owned(), format!("{:016x}", self.sequence));
        let (load, ends) = (Some(load), Some(58));
        let join = Join { name, id, awaited: 2, frames, lead: 4, load, ends };
        match self.ask(&Request::Join(join)) {
            Answer::Joined(node, run) => (node, *run),
            other => panic!("{other:?}"),
        }
    }

    fn claims(&mut self, run: &FleetRun, takes: &[Take]) {
        for take in takes {
            self.sequence += 1;
            let node = 1 + (self.sequence % 2) as u16;
            let frame = self.frame(run);
            let asks = (frame..frame + 6).map(|frame| Ask { frame, take: *take }).collect();
            self.ask(&Request::Claim(self.claim(run, node, asks)));
            thread::sleep(Duration::from_millis(7));
        }
    }

    fn claim(&self, run: &FleetRun, node: u16, asks: Vec<Ask>) -> Claim {
        Claim {
            id: run.id.clone(),
            node,
            sequence: self.sequence,
            answered: 0,
            epoch: run.epoch,
            lead: 5,
            until_us: if self.sequence.is_multiple_of(7) { 0 } else { 1_000_000_000 },
            versions: run.versions.len() as u64,
            change: if self.sequence.is_multiple_of(5) { 3 } else { run.change() },
            roster: run.roster.version,
            counted: 0,
            progress: format!("{} 0 0 0 0", self.sequence),
            asks,
        }
    }

    fn frame(&mut self, run: &FleetRun) -> u64 {
        let now_us = self.reply(&Request::Look { node: None }).now_us;
        run.frames.at(1_000 * (now_us - run.origin_us).unsigned_abs())
    }

    fn now(&mut self, id: &str) -> FleetRun {
        match self.ask(&Request::Look { node: Some((id.to_owned(), 1)) }) {
            Answer::Run(run) => *run,
            other => panic!("{other:?}"),
        }
    }
}

/// Sends every kind of request to a server and to the store in this process, and compares the responses.
#[test]
#[ignore = "needs Redis and Valkey"]
fn played_scripts_decide_as_those_of_a_server() {
    for product in Product::ALL {
        let real = Server::start(product).unwrap();
        let server = RedisStore::new(&real.url(), "played").unwrap();
        let mut both = Both { server, played: Played::new(), sequence: 2 };
        assert_eq!(both.ask(&Request::Nodes), Answer::Gone);
        a_run(&mut both);
        // A new run can take the name two seconds after the end of the previous run.
        thread::sleep(Duration::from_secs(2));
        a_run(&mut both);
    }
}

fn a_run(both: &mut Both) {
    both.join("hold 1k/s 1s");
    let (node, run) = both.join("hold 1k/s 1s");
    let id = run.id.clone();
    let own = |rank| Take::Own { rank, nodes: 2, most: 2 };
    let part = |nodes, most| Take::Share { nodes, most };
    let takes = [own(0), own(1), part(2, 4), part(1, 1), part(1, 99), Take::Missed];
    let first = both.frame(&run);
    both.claims(&run, &[takes, takes].concat());
    let frame = both.frame(&run);
    // The portions include all tracks that may have been claimed, even if this machine was stalled for some frames.
    let portions: Vec<Portion> = (first..frame + 9)
        .map(|frame| Portion { frame, tracks: [0, 2, 4].into_iter().collect() })
        .collect();
    both.sequence += 1;
    let (sequence, epoch) = (both.sequence, run.epoch);
    // The store has not given a response with this number, so it concludes that it has lost data.
    let answered = sequence + 5;
    let mark = Request::Mark {
        id: id.clone(),
        node,
        sequence,
        answered,
        epoch,
        portions: portions.clone(),
    };
    assert!(matches!(both.ask(&mark), Answer::Portions(_, others) if !others.is_empty()));
    let shape = || Some("hold 2/s 1s".to_owned());
    let version = |from| Version { change: from + 1, from, shape: shape(), rest: None };
    for from in [frame, frame + 500] {
        let (id, version) = (id.clone(), version(from));
        both.ask(&Request::Change { id, known: 1, behind: 0, version, ends: None });
    }
    let known = both.now(&id);
    assert_eq!(known.versions.len(), 2);
    both.claims(&known, &takes);
    let run = Box::new(FleetRun { epoch: known.epoch + 1, ..known });
    both.ask(&Request::Restore { node, run });
    let now = both.now(&id);
    assert!(
        matches!(both.ask(&Request::Owners { id: id.clone(), chunks: 0..3 }), Answer::Owners(_, all)
            if all.iter().any(|owners| !owners.of(node).is_empty()))
    );
    let firsts = vec![0, 3, 10, 10, 15];
    for from in [0, 0, 4] {
        both.ask(&Request::Count { id: id.clone(), from, firsts: firsts.clone() });
    }
    both.claims(&now, &takes);
    both.ask(&Request::Leave { id: id.clone(), node, from: frame + 9, portions });
    for node in [1, 2] {
        both.ask(&Request::Tell { id: id.clone(), node, results: vec![13, 0] });
        both.ask(&Request::Results);
        let (progress, results) = ("1 2 3 4 5".to_owned(), vec![0, 255, 10]);
        both.ask(&Request::Finish { id: id.clone(), node, progress, results });
    }
    assert!(matches!(both.ask(&Request::Results), Answer::Results(all)
        if all.iter().all(|of| of.is_final)));
    assert!(matches!(both.ask(&Request::Nodes), Answer::Nodes(nodes) if nodes.len() >= 2));
    let other = Request::Tell { id: "other".to_owned(), node, results: Vec::new() };
    assert_eq!(both.ask(&other), Answer::Other);
}
