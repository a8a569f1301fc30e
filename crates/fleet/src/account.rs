//! The account of a run: what became of each slot.

use crate::error::FleetError;
use crate::load::{Load, head_frames};
use crate::message::{Answer, NodeText, Request, Run};
use crate::owners::{NodeId, Owners};
use crate::progress::Progress;
use crate::store::{CHUNK, Store};
use std::collections::BTreeMap;
use std::time::Duration;

/// So many chunks of owners are read at once.
const CHUNKS: u64 = 64;

/// What became of each slot of a run. It [closes](Account::closes) if
/// `expected = fired + shed + lost - twice`, for each node and in total, where what a node was
/// expected to start is what the store knows it to own.
///
/// While the run goes on, slots of the last frames count as lost, because nodes tell what they have
/// started a few times per second.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    /// Slots of the load up to then.
    pub expected: u64,
    /// Slots that no node owns. They count as lost.
    pub unclaimed: u64,
    /// In the order in which they have joined.
    pub nodes: Vec<NodeAccount>,
}

/// What became of a node's slots.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeAccount {
    /// The node's number, from 1 on.
    pub number: u16,
    /// What people call it.
    pub name: String,
    /// Slots that it owned.
    pub claimed: u64,
    /// Slots that it started.
    pub fired: u64,
    /// Slots that its late policy skipped.
    pub shed: u64,
    /// Slots that it started while they were another's.
    pub twice: u64,
    /// Slots that it owned and never started; negative if it has started more than it had, and then
    /// the account does not close.
    pub lost: i64,
    /// How late its oldest slot was when it was heard of last.
    pub late: Duration,
    /// For how long it had been without the store then.
    pub blind: Duration,
    /// How long ago it was heard of.
    pub silent: Duration,
    /// It has left, or is done. A node that is not, and has been silent for long, is dead.
    pub is_finished: bool,
}

impl Account {
    /// Slots that were started.
    #[must_use]
    pub fn fired(&self) -> u64 {
        self.nodes.iter().map(|node| node.fired).sum()
    }

    /// Slots that were skipped by a late policy.
    #[must_use]
    pub fn shed(&self) -> u64 {
        self.nodes.iter().map(|node| node.shed).sum()
    }

    /// Slots that were started by a node that did not own them.
    #[must_use]
    pub fn twice(&self) -> u64 {
        self.nodes.iter().map(|node| node.twice).sum()
    }

    /// Slots that were never started by their owner, or had none.
    #[must_use]
    pub fn lost(&self) -> i64 {
        self.unclaimed.cast_signed() + self.nodes.iter().map(|node| node.lost).sum::<i64>()
    }

    /// Whether `expected = fired + shed + lost - twice`, and no node has started more than it had.
    #[must_use]
    pub fn closes(&self) -> bool {
        let claimed: u64 = self.nodes.iter().map(|node| node.claimed).sum();
        let fates = (self.fired() + self.shed()).cast_signed() + self.lost();
        self.nodes.iter().all(|node| node.lost >= 0)
            && self.expected == claimed + self.unclaimed
            && self.expected.cast_signed() == fates - self.twice().cast_signed()
    }
}

/// The account of a run up to a frame.
pub(crate) fn account(
    store: &mut impl Store,
    run: &Run,
    load: &mut Load,
    until: u64,
) -> Result<Account, FleetError> {
    let (texts, now_us) = nodes(store)?;
    let mut owned = BTreeMap::<Option<NodeId>, u64>::new();
    let mut chunk = head_frames() / CHUNK;
    while chunk * CHUNK < until {
        let chunks = chunk..(chunk + CHUNKS).min(until.div_ceil(CHUNK));
        let request = Request::Owners { id: run.id.clone(), chunks };
        let Answer::Owners(all) = store.call(&request)?.answer else {
            return Err(FleetError::Replaced);
        };
        for (chunk, owners) in (chunk..).zip(all) {
            add(chunk, &owners, load, run.frames.tracks, until, &mut owned);
        }
        chunk += CHUNKS;
    }
    let claimed = |node| owned.get(&Some(node)).copied().unwrap_or(0);
    let nodes = texts.into_iter().map(|text| of_node(&text, claimed(text.node), now_us));
    Ok(Account {
        expected: load.first(until),
        unclaimed: owned.get(&None).copied().unwrap_or(0),
        nodes: nodes.collect(),
    })
}

/// Adds the slots of a chunk to those of their owners.
fn add(
    chunk: u64,
    owners: &Owners,
    load: &mut Load,
    tracks: u32,
    until: u64,
    slots: &mut BTreeMap<Option<NodeId>, u64>,
) {
    let mut whose = owners.iter();
    for frame in chunk * CHUNK..((chunk + 1) * CHUNK).min(until) {
        for track in 0..tracks {
            let owner = whose.next().flatten();
            *slots.entry(owner).or_default() += load.slots_on(frame, track);
        }
    }
}

fn of_node(text: &NodeText, claimed: u64, now_us: i64) -> NodeAccount {
    let progress = Progress::read(&text.progress).unwrap_or_default();
    let Progress { fired, shed, twice, late_ns, blind_ns } = progress;
    let silent_us = u64::try_from(now_us - text.seen_us).unwrap_or(0);
    NodeAccount {
        number: text.node,
        name: text.name.clone(),
        claimed,
        fired,
        shed,
        twice,
        lost: (claimed + twice).cast_signed() - (fired + shed).cast_signed(),
        late: Duration::from_nanos(late_ns),
        blind: Duration::from_nanos(blind_ns),
        silent: Duration::from_micros(silent_us),
        is_finished: text.is_finished,
    }
}

/// What the nodes have told, and when that was asked.
pub(crate) fn nodes(store: &mut impl Store) -> Result<(Vec<NodeText>, i64), FleetError> {
    let reply = store.call(&Request::Nodes)?;
    match reply.answer {
        Answer::Nodes(nodes) => Ok((nodes, reply.now_us)),
        Answer::Gone => Err(FleetError::NoRun),
        _ => Err(FleetError::Damaged),
    }
}
