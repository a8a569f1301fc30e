//! Accounts for each slot of a run: started, skipped, lost or started twice, with bounds where reports are missing.

use crate::error::FleetError;
use crate::load::{Load, head_frames};
use crate::lost_node::LostNode;
use crate::message::{Answer, Counted, NodeText, Request, Run};
use crate::progress::Progress;
use crate::store::{CHUNK, Store};
use crate::track_ownership::{NodeId, Owners};
use std::time::Duration;

/// How many chunks of owners are read at once.
const CHUNKS: u64 = 64;

/// The account of each slot of a run. It [closes](Account::closes) if `expected = fired + shed + lost - twice`, for
/// each node and in total. A node is expected to start the slots that the store knows it to own.
///
/// The account of a run with a node that was killed, or stays cut off, is incomplete. Then it does not close, and has
/// bounds: [`fired`](Account::fired) to [`fired_at_most`](Account::fired_at_most),
/// [`lost_at_least`](Account::lost_at_least) to [`lost`](Account::lost), and [`twice`](Account::twice) to
/// [`twice_at_most`](Account::twice_at_most).
///
/// During the run, slots of the last frames count as lost, because nodes report their started slots a few times per
/// second. After the end of the load, the account has bounds until all nodes have given their results.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    /// The time of the load that it covers. While the run goes on, it ends with a frame.
    pub span: Duration,
    /// Slots of the load in that time.
    pub expected: u64,
    /// Slots that no node owns, or one that was [forgotten](Account::forgotten). They count as lost.
    pub unclaimed: u64,
    /// Nodes of which the store has forgotten all, because it was emptied after they had died or left.
    /// Slots that no node owns may be theirs.
    pub forgotten: u64,
    /// The nodes, in the order in which they have joined.
    pub nodes: Vec<NodeAccount>,
}

/// The account of a node's slots.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeAccount {
    /// The node's number, from 1 on.
    pub number: u16,
    /// A name for the node, which people choose.
    pub name: String,
    /// Slots that it owned.
    pub claimed: u64,
    /// Slots that it started.
    pub fired: u64,
    /// Slots that its late policy skipped.
    pub shed: u64,
    /// Slots that it started while another node owned them.
    pub twice: u64,
    /// Slots that it owned and never started; negative if it has started more than it had, and then
    /// the account does not close.
    pub lost: i64,
    /// How many of the lost slots a silent node without results may have started after all.
    pub untold: u64,
    /// How many slots of other nodes a silent node may have started, because it may have gone on without the store. It
    /// does so for a bounded time, and with its part of the load.
    pub perhaps_twice: u64,
    /// How late the node's oldest slot was in its last report.
    pub late: Duration,
    /// For how long the node had been without the store in its last report.
    pub blind: Duration,
    /// By how much the node's clock was set to follow the store's clock, in total. More than 0 means that one of the
    /// two clocks was set during the run, or that the node's machine was suspended.
    pub stepped: Duration,
    /// How long ago the last message of the node arrived.
    pub silent: Duration,
    /// Whether the node has left or is done. One that has not, and has been silent for long, is dead.
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

    /// The value of [`fired`](Account::fired) if silent nodes have started all that they may have.
    #[must_use]
    pub fn fired_at_most(&self) -> u64 {
        let unclaimed = if self.forgotten > 0 { self.unclaimed } else { 0 };
        let untold = self.nodes.iter().map(|node| node.untold).sum::<u64>();
        self.fired() + unclaimed + untold + self.perhaps_twice()
    }

    /// How many slots silent and [forgotten](Account::forgotten) nodes may have started twice. It is not known how long
    /// a forgotten one goes on without the store, and with which part of the load.
    fn perhaps_twice(&self) -> u64 {
        let silent = self.nodes.iter().map(|node| node.perhaps_twice).sum::<u64>();
        silent + self.forgotten * self.expected
    }

    /// The value of [`lost`](Account::lost) if silent nodes have started all that they owned.
    #[must_use]
    pub fn lost_at_least(&self) -> i64 {
        let unclaimed = if self.forgotten > 0 { self.unclaimed } else { 0 };
        let untold: u64 = self.nodes.iter().map(|node| node.untold).sum();
        self.lost() - (unclaimed + untold).cast_signed()
    }

    /// The value of [`twice`](Account::twice) if silent nodes have gone on without the store as long as they may, and
    /// [forgotten](Account::forgotten) ones have started the whole load.
    #[must_use]
    pub fn twice_at_most(&self) -> u64 {
        self.twice() + self.perhaps_twice()
    }

    /// Whether all nodes have given their results.
    #[must_use]
    pub fn is_told(&self) -> bool {
        let untold = self.nodes.iter().map(|node| node.untold).sum::<u64>();
        self.forgotten == 0 && untold + self.perhaps_twice() == 0
    }

    /// Whether all slots were started once by their owners, or skipped by a late policy.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.closes() && (self.lost(), self.twice()) == (0, 0)
    }

    /// Whether all nodes have given their results, `expected = fired + shed + lost - twice`, and no node has started
    /// more slots than it had.
    #[must_use]
    pub fn closes(&self) -> bool {
        let claimed: u64 = self.nodes.iter().map(|node| node.claimed).sum();
        let fates = (self.fired() + self.shed()).cast_signed() + self.lost();
        self.is_told()
            && self.nodes.iter().all(|node| node.lost >= 0)
            && self.expected == claimed + self.unclaimed
            && self.expected.cast_signed() == fates - self.twice().cast_signed()
    }
}

/// The account of a run up to a frame. `None` if frames have been counted since the run was read.
pub(crate) fn account(
    store: &mut impl Store,
    run: &Run,
    load: &mut Load,
    until: u64,
) -> Result<Option<Account>, FleetError> {
    let (texts, now_us) = nodes(store)?;
    let mut owned = run.counted.clone();
    while owned.until < until {
        let chunk = owned.until / CHUNK;
        let chunks = chunk..(chunk + CHUNKS).min(until.div_ceil(CHUNK));
        let request = Request::Owners { id: run.id.clone(), chunks };
        let Answer::Owners(counted, all) = store.call(&request)?.answer else {
            return Err(FleetError::Replaced);
        };
        if counted > run.counted.until {
            return Ok(None);
        }
        for owners in all {
            add(&owners, load, run.frames.tracks, until, &mut owned);
        }
    }
    let claimed = |node| owned.slots.get(&Some(node)).copied().unwrap_or(0);
    let is_known = |node: NodeId| texts.iter().any(|text| text.node == node);
    let forgotten = run.heard.iter().filter(|&&node| !is_known(node)).count();
    let is_unclaimed = |node: Option<NodeId>| node.is_none_or(|node| !is_known(node));
    let unclaimed = owned.slots.iter().filter(|(node, _)| is_unclaimed(**node));
    let node = |text: &NodeText| of_node(text, claimed(text.node), (run, load, until), now_us);
    Ok(Some(Account {
        nodes: texts.iter().map(node).collect(),
        span: span(run, load, until),
        expected: load.first(until),
        unclaimed: unclaimed.map(|(_, slots)| slots).sum(),
        forgotten: forgotten as u64,
    }))
}

/// The time of the load before a frame.
fn span(run: &Run, load: &Load, until: u64) -> Duration {
    let begins = |frame| Duration::from_nanos(run.frames.begins(frame));
    let ends = load.shape().duration().unwrap_or(Duration::MAX);
    begins(until).min(ends).saturating_sub(begins(head_frames()))
}

/// Adds what is left of a chunk.
fn add(owners: &Owners, load: &mut Load, tracks: u32, until: u64, owned: &mut Counted) {
    let (from, ends) = (owned.until, (owned.until / CHUNK + 1) * CHUNK);
    let known = usize::try_from(from % CHUNK * u64::from(tracks)).unwrap_or(usize::MAX);
    let mut whose = owners.iter().skip(known);
    for frame in from..ends.min(until) {
        for track in 0..tracks {
            let node = whose.next().flatten();
            *owned.slots.entry(node).or_default() += load.slots_on(frame, track);
        }
    }
    owned.until = ends;
}

fn of_node(
    text: &NodeText,
    claimed: u64,
    (run, load, until): (&Run, &mut Load, u64),
    now_us: i64,
) -> NodeAccount {
    let progress = Progress::read(&text.progress).unwrap_or_default();
    let Progress { fired, shed, twice, late_ns, blind_ns, stepped_ns, .. } = progress;
    let silent_us = u64::try_from(now_us - text.seen_us).unwrap_or(0);
    let is_past = load.end().is_some_and(|end| until >= end);
    let silence = LostNode::of(text, run, silent_us, is_past);
    // Slots that a silent node has started without owning them, and has not reported, are more than it had.
    let more = (fired + shed).saturating_sub(claimed);
    let twice = if silence.is_some() { twice.max(more) } else { twice };
    // Just as many of the slots that it has reported may belong to another node.
    let unsaid = silence.map_or(0, |silence| silence.unmarked());
    let lost = (claimed + twice + unsaid).cast_signed() - (fired + shed).cast_signed();
    NodeAccount {
        number: text.node,
        name: text.name.clone(),
        claimed,
        fired,
        shed,
        twice,
        lost,
        untold: silence.map_or(0, |_| lost.unsigned_abs()),
        perhaps_twice: silence.map_or(0, |silence| silence.perhaps_twice(run.frames, load, until)),
        late: Duration::from_nanos(late_ns),
        blind: Duration::from_nanos(blind_ns),
        stepped: Duration::from_nanos(stepped_ns),
        silent: Duration::from_micros(silent_us),
        is_finished: text.is_finished,
    }
}

/// The last reports of the nodes, and when they were read.
pub(crate) fn nodes(store: &mut impl Store) -> Result<(Vec<NodeText>, i64), FleetError> {
    let reply = store.call(&Request::Nodes)?;
    match reply.answer {
        Answer::Nodes(nodes) => Ok((nodes, reply.now_us)),
        Answer::Gone => Err(FleetError::NoRun),
        _ => Err(FleetError::Damaged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_forgotten_node_may_have_started_the_whole_load_besides() {
        let (span, nodes) = (Duration::from_secs(1), Vec::new());
        let account = Account { span, expected: 100, unclaimed: 30, forgotten: 2, nodes };
        assert_eq!((account.twice(), account.twice_at_most()), (0, 200));
        assert_eq!((account.fired(), account.fired_at_most()), (0, 230));
        assert_eq!((account.lost_at_least(), account.lost()), (0, 30));
        assert!(!account.is_told() && !account.closes());
    }
}
