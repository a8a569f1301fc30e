//! The store as plain data: what the scripts decide, without a server. For tests and simulations.
//! The time is an argument, and nothing expires.

mod row;

use crate::frames::LEAD;
use crate::message::{
    Answer, Ask, Claim, Claimed, Join, NodeText, Piece, Reply, Request, Run, State, Take, Version,
};
use crate::owners::{NodeId, Owners};
use row::{Chunks, Row};
use std::collections::BTreeMap;
use std::ops::Range;

/// A store with one run, or none. Moments are microseconds of its clock.
#[derive(Debug, Default)]
pub(crate) struct Model {
    stored: Option<Stored>,
    nodes: BTreeMap<NodeId, Told>,
    owners: Chunks,
}

#[derive(Debug)]
struct Stored {
    run: Run,
    tended_us: i64,
}

/// What a node has told, and its last request.
#[derive(Clone, Debug, Default)]
struct Told {
    text: NodeText,
    sequence: u64,
}

impl Model {
    /// The run, if there is one.
    pub(crate) fn run(&self) -> Option<&Run> {
        self.stored.as_ref().map(|stored| &stored.run)
    }

    /// Decides a request.
    pub(crate) fn call(&mut self, request: &Request, now_us: i64) -> Reply {
        let answer = match request {
            Request::Join(join) => self.join(join, now_us),
            Request::Restore { node, run } => self.restore(*node, run, now_us),
            _ => match self.stored.as_mut() {
                None => Answer::Gone,
                Some(stored) if id(request).is_some_and(|id| *id != stored.run.id) => Answer::Other,
                Some(stored) => stored.decide(&mut self.nodes, &mut self.owners, request, now_us),
            },
        };
        Reply { now_us, answer }
    }

    fn join(&mut self, join: &Join, now_us: i64) -> Answer {
        if let Some(stored) = &mut self.stored {
            stored.tend(&self.nodes, now_us);
        }
        let known = self.stored.as_ref().map(|stored| &stored.run);
        let is_known = known
            .is_some_and(|run| run.state != State::Ended && !self.is_deserted(run.joined, now_us));
        match (&join.load, known) {
            (Some(load), Some(run)) if is_known => {
                let first = Version { from: 0, shape: load.shape.clone(), rest: None };
                let is_same = run.versions.first() == Some(&first)
                    && (&run.arrivals, run.seed) == (&load.arrivals, load.seed);
                if !is_same {
                    return Answer::Differs(Box::new(run.clone()));
                }
            }
            (Some(_), _) => *self = Model::new(join, now_us),
            (None, _) if !is_known => return Answer::Gone,
            _ => {}
        }
        self.stored
            .as_mut()
            .map_or(Answer::Gone, |stored| stored.enter(&mut self.nodes, join, now_us))
    }

    /// Whether no node has been heard of for half a minute.
    fn is_deserted(&self, joined: u64, now_us: i64) -> bool {
        let is_counted = |told: &&Told| u64::from(told.text.node) <= joined;
        let heard = self.nodes.values().filter(is_counted).map(|told| told.text.seen_us).max();
        joined > 0 && now_us - heard.unwrap_or(0) > 30_000_000
    }

    /// A run that nobody has joined.
    fn new(join: &Join, now_us: i64) -> Model {
        let load = join.load.clone();
        let versions = load.iter().map(|load| load.shape.clone());
        let versions = versions.map(|shape| Version { from: 0, shape, rest: None }).collect();
        let run = Run {
            id: join.id.clone(),
            state: State::Waiting,
            awaited: join.awaited,
            frames: join.frames,
            origin_us: 0,
            floor: 0,
            epoch: 0,
            arrivals: load.as_ref().map_or_else(String::new, |load| load.arrivals.clone()),
            seed: load.map_or(0, |load| load.seed),
            versions,
            roster: crate::message::Roster::default(),
            joined: 0,
            left: 0,
        };
        Model { stored: Some(Stored { run, tended_us: now_us }), ..Model::default() }
    }

    fn restore(&mut self, node: NodeId, known: &Run, now_us: i64) -> Answer {
        let stored = self.stored.get_or_insert_with(|| {
            // Nothing yet: what is known takes its place.
            let run = Run { versions: Vec::new(), joined: 0, ..known.clone() };
            Stored { run, tended_us: now_us }
        });
        if stored.run.id != known.id {
            return Answer::Other;
        }
        told(&mut self.nodes, node).text.seen_us = now_us;
        stored.restore(known, now_us);
        Answer::Done
    }
}

/// The run that a request is about, if it says so.
fn id(request: &Request) -> Option<&String> {
    match request {
        Request::Join(_) | Request::Look { .. } | Request::Nodes | Request::Restore { .. } => None,
        Request::Claim(Claim { id, .. })
        | Request::Owners { id, .. }
        | Request::Mark { id, .. }
        | Request::Rebase { id, .. }
        | Request::Change { id, .. }
        | Request::Leave { id, .. }
        | Request::Finish { id, .. } => Some(id),
    }
}

type Nodes = BTreeMap<NodeId, Told>;

impl Stored {
    fn decide(
        &mut self,
        nodes: &mut Nodes,
        owners: &mut Chunks,
        request: &Request,
        now_us: i64,
    ) -> Answer {
        match request {
            Request::Look { node: Some(node) } => self.hear(nodes, *node, now_us),
            Request::Look { node: None } => self.tend(nodes, now_us),
            Request::Nodes => {
                return Answer::Nodes(nodes.values().map(|told| told.text.clone()).collect());
            }
            Request::Owners { chunks, .. } => return Answer::Owners(read(owners, chunks)),
            Request::Claim(claim) => return self.claim(nodes, owners, claim, now_us),
            Request::Mark { node, sequence, answered, epoch, pieces, .. } => {
                let told = told(nodes, *node);
                self.compare(told.sequence, *answered, *epoch, now_us);
                told.sequence = told.sequence.max(*sequence);
                return self.mark(owners, *node, pieces);
            }
            Request::Rebase { from_us, to_us, .. } => self.rebase(*from_us, *to_us),
            Request::Change { known, version, .. } => return self.change(*known, version, now_us),
            Request::Leave { node, from, pieces, .. } => {
                let pieces = self.give_back(owners, *node, pieces, now_us);
                self.left_by(from.cast_signed());
                self.part(nodes, *node);
                return Answer::Pieces(pieces);
            }
            Request::Finish { node, progress, results, .. } => {
                let text = &mut told(nodes, *node).text;
                text.progress.clone_from(progress);
                text.results = Some(results.clone());
                if !text.is_finished {
                    self.left_by(self.frame_at(now_us) + 1);
                }
                self.part(nodes, *node);
                let is_last = self.is_complete(nodes, now_us);
                if is_last {
                    self.run.state = State::Ended;
                }
                return Answer::Finished { is_last };
            }
            Request::Join(_) | Request::Restore { .. } => unreachable!("decided before"),
        }
        match request {
            Request::Look { .. } => Answer::Run(Box::new(self.run.clone())),
            _ => Answer::Done,
        }
    }

    fn frame_us(&self) -> i64 {
        (self.run.frames.frame_ns / 1_000).cast_signed()
    }

    /// A node has joined.
    fn enter(&mut self, nodes: &mut Nodes, join: &Join, now_us: i64) -> Answer {
        let run = &mut self.run;
        if run.state == State::Waiting {
            run.frames.frame_ns = run.frames.frame_ns.max(join.frames.frame_ns);
        }
        run.joined += 1;
        let node = NodeId::try_from(run.joined).unwrap_or(NodeId::MAX);
        told(nodes, node).text.name.clone_from(&join.name);
        self.hear(nodes, node, now_us);
        let run = &mut self.run;
        if run.state == State::Waiting && run.roster.nodes.len() >= run.awaited as usize {
            (run.state, run.origin_us) = (State::Running, now_us);
        }
        Answer::Joined(node, Box::new(run.clone()))
    }

    /// A sign of life.
    fn hear(&mut self, nodes: &mut Nodes, node: NodeId, now_us: i64) {
        let told = told(nodes, node);
        told.text.seen_us = now_us;
        let run = &mut self.run;
        let is_there = run.roster.nodes.contains(&node);
        if !is_there && run.state != State::Ended && !told.text.is_finished {
            run.roster.nodes.push(node);
            run.roster.version += 1;
        }
        self.tend(nodes, now_us);
    }

    fn absent_us(&self) -> i64 {
        let times = if self.run.state == State::Waiting { 4 } else { 1 };
        times * (25 * self.frame_us()).max(500_000)
    }

    /// Takes nodes out of the roster that have been silent for too long.
    fn tend(&mut self, nodes: &Nodes, now_us: i64) {
        let absent_us = self.absent_us();
        if 8 * (now_us - self.tended_us) < absent_us {
            return;
        }
        self.tended_us = now_us;
        let roster = &mut self.run.roster;
        let before = roster.nodes.len();
        let seen = |node: &NodeId| nodes.get(node).map_or(0, |told| told.text.seen_us);
        roster.nodes.retain(|node| now_us - seen(node) <= absent_us);
        if roster.nodes.len() < before {
            roster.version += 1;
            self.left_by(self.frame_at(now_us) + LEAD.cast_signed() + 1);
        }
    }

    fn frame_at(&self, now_us: i64) -> i64 {
        (now_us - self.run.origin_us).div_euclid(self.frame_us())
    }

    /// No node that has left or died has started anything from this frame on.
    fn left_by(&mut self, frame: i64) {
        if self.run.state == State::Running {
            self.run.left = self.run.left.max(frame.try_into().unwrap_or(0));
        }
    }

    fn begins(&self, frame: u64) -> i64 {
        self.run.origin_us + frame.cast_signed() * self.frame_us()
    }

    fn is_closed(&self, frame: u64, now_us: i64) -> bool {
        4 * (self.begins(frame) - now_us) <= self.frame_us()
    }

    fn is_open(&self, frame: u64, versions: u64, is_missed: bool, now_us: i64) -> bool {
        let run = &self.run;
        let (version, from) = (run.versions.len() as u64, run.versions.last());
        let from = from.map_or(0, |latest| latest.from);
        let knows = versions == version || (versions + 1 == version && frame < from);
        let opens = self.begins(frame) - LEAD.cast_signed() * self.frame_us();
        knows
            && run.state == State::Running
            && frame >= run.floor
            && now_us >= opens
            && self.is_closed(frame, now_us) == is_missed
    }

    /// A node fills the store again.
    fn restore(&mut self, known: &Run, now_us: i64) {
        let is_repaired = self.run.epoch > known.epoch;
        if is_repaired && self.run.versions.len() >= known.versions.len() {
            return;
        }
        let versions = std::mem::take(&mut self.run.versions);
        if !is_repaired {
            // As the request is written.
            let joined = (known.joined + 64).max(self.run.joined);
            let epoch = known.epoch;
            self.run = Run { joined, epoch, versions: Vec::new(), ..known.clone() };
            self.run.roster.version += 1_000;
            self.tended_us = now_us;
        }
        let is_longer = known.versions.len() > versions.len();
        self.run.versions = if is_longer { known.versions.clone() } else { versions };
        self.repaired(known.epoch, now_us);
    }

    /// A node has had answers to later requests than this store knows: it has gone back.
    fn compare(&mut self, known: u64, answered: u64, epoch: u64, now_us: i64) {
        if known < answered && self.run.epoch <= epoch {
            self.repaired(epoch, now_us);
        }
    }

    /// A new epoch: nodes tell what they have, and nothing is claimed in frames that may have been
    /// open.
    fn repaired(&mut self, epoch: u64, now_us: i64) {
        let floor = self.frame_at(now_us) + LEAD.cast_signed() + 1;
        self.run.floor = floor.try_into().unwrap_or(0);
        self.run.epoch = self.run.epoch.max(epoch) + 1;
    }

    fn claim(
        &mut self,
        nodes: &mut Nodes,
        owners: &mut Chunks,
        claim: &Claim,
        now_us: i64,
    ) -> Answer {
        let told = told(nodes, claim.node);
        let is_fresh = claim.sequence > told.sequence;
        let may_take = is_fresh && !told.text.is_finished;
        self.compare(told.sequence, claim.answered, claim.epoch, now_us);
        if is_fresh && told.text.results.is_none() {
            told.sequence = claim.sequence;
            told.text.progress.clone_from(&claim.progress);
            self.hear(nodes, claim.node, now_us);
        }
        let owners = claim.asks.iter().map(|ask| {
            let is_missed = ask.take == Take::Missed;
            let is_taken = may_take && self.is_open(ask.frame, claim.versions, is_missed, now_us);
            let take = if is_taken { ask.take } else { Take::Nothing };
            self.ask(owners, claim.node, &Ask { take, ..*ask })
        });
        let owners = owners.collect();
        let run = &self.run;
        let news = run.versions.iter().skip(claim.versions.try_into().unwrap_or(usize::MAX));
        Answer::Claimed(Claimed {
            state: run.state,
            origin_us: run.origin_us,
            floor: run.floor,
            epoch: run.epoch,
            known: run.versions.len() as u64,
            versions: news.cloned().collect(),
            roster: (run.roster.version != claim.roster).then(|| run.roster.clone()),
            owners,
        })
    }

    fn ask(&self, owners: &mut Chunks, node: NodeId, ask: &Ask) -> Owners {
        let (frames, tracks) = (self.run.frames, self.run.frames.tracks);
        let mut row = Row::new(owners, ask.frame, tracks);
        let (wanted, most) = match ask.take {
            Take::Own { rank, nodes, most } => {
                (frames.own(ask.frame, rank, nodes).iter().collect(), most as usize)
            }
            Take::Share { nodes } => {
                let free: Vec<u32> = (0..tracks).filter(|&track| row.owner(track) == 0).collect();
                let most = free.len().div_ceil(nodes as usize);
                (free, most)
            }
            Take::Missed => {
                let free: Vec<u32> = (0..tracks).filter(|&track| row.owner(track) == 0).collect();
                (free, tracks as usize)
            }
            Take::Nothing => (Vec::new(), 0),
        };
        let free = wanted.into_iter().filter(|&track| row.owner(track) == 0);
        let free: Vec<u32> = free.take(most).collect();
        row.set(&free, node);
        row.all()
    }

    fn mark(&self, owners: &mut Chunks, node: NodeId, pieces: &[Piece]) -> Answer {
        let mut clashes = BTreeMap::<u64, Vec<u32>>::new();
        for Piece { frame, tracks } in pieces {
            let mut row = Row::new(owners, *frame, self.run.frames.tracks);
            let is_of_others = |&track: &u32| ![0, node].contains(&row.owner(track));
            clashes.entry(*frame).or_default().extend(tracks.iter().filter(is_of_others));
            let free: Vec<u32> = tracks.iter().filter(|&track| row.owner(track) == 0).collect();
            row.set(&free, node);
        }
        Answer::Pieces(pieces_of(clashes))
    }

    fn rebase(&mut self, from_us: i64, to_us: i64) {
        if self.run.origin_us == from_us {
            self.run.origin_us = to_us;
            self.run.epoch += 1;
        }
    }

    fn change(&mut self, known: u64, version: &Version, now_us: i64) -> Answer {
        let run = &self.run;
        let latest = run.versions.last().map_or(0, |latest| latest.from);
        let opens = self.begins(version.from) - LEAD.cast_signed() * self.frame_us();
        let is_next = run.state == State::Running && run.versions.len() as u64 == known;
        if !is_next || version.from <= latest || now_us >= opens {
            return Answer::TooLate;
        }
        self.run.versions.push(version.clone());
        Answer::Done
    }

    fn give_back(
        &self,
        owners: &mut Chunks,
        node: NodeId,
        pieces: &[Piece],
        now_us: i64,
    ) -> Vec<Piece> {
        let mut given = BTreeMap::<u64, Vec<u32>>::new();
        for Piece { frame, tracks } in
            pieces.iter().filter(|piece| !self.is_closed(piece.frame, now_us))
        {
            let mut row = Row::new(owners, *frame, self.run.frames.tracks);
            let own: Vec<u32> = tracks.iter().filter(|&track| row.owner(track) == node).collect();
            row.set(&own, 0);
            given.entry(*frame).or_default().extend(own);
        }
        pieces_of(given)
    }

    /// A node takes part no more.
    fn part(&mut self, nodes: &mut Nodes, node: NodeId) {
        told(nodes, node).text.is_finished = true;
        let run = &mut self.run;
        run.roster.nodes.retain(|&other| other != node);
        run.roster.version += 1;
    }

    /// Whether nobody will give results any more: all are done, or are not heard of.
    fn is_complete(&self, nodes: &Nodes, now_us: i64) -> bool {
        let is_awaited = |node: u64| {
            let told = NodeId::try_from(node).ok().and_then(|node| nodes.get(&node));
            let seen_us = told.map_or(0, |told| told.text.seen_us);
            let has_results = told.is_some_and(|told| told.text.results.is_some());
            !has_results && now_us - seen_us <= self.absent_us()
        };
        self.run.roster.nodes.is_empty() && !(1..=self.run.joined).any(is_awaited)
    }
}

fn told(nodes: &mut Nodes, node: NodeId) -> &mut Told {
    let told = nodes.entry(node).or_default();
    told.text.node = node;
    told
}

fn pieces_of(mut frames: BTreeMap<u64, Vec<u32>>) -> Vec<Piece> {
    frames.retain(|_, tracks| !tracks.is_empty());
    let piece =
        |(frame, tracks): (u64, Vec<u32>)| Piece { frame, tracks: tracks.into_iter().collect() };
    frames.into_iter().map(piece).collect()
}

fn read(owners: &Chunks, chunks: &Range<u64>) -> Vec<Owners> {
    chunks.clone().map(|chunk| Owners(owners.get(&chunk).cloned().unwrap_or_default())).collect()
}
