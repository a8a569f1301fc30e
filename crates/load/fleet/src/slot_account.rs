//! Accounts for the slots of a run: how many were started, skipped, lost or started twice. If reports of nodes are
//! missing, the account contains bounds of these numbers.

use crate::error::FleetError;
use crate::load::{Load, head_frames};
use crate::lost_node::LostNode;
use crate::message::{Answer, Counted, FleetRun, NodeText, Request};
use crate::progress::Progress;
use crate::store::{CHUNK, Store};
use crate::track_ownership::{NodeId, Owners};
use std::time::Duration;

const CHUNKS: u64 = 64;

/// The account of all slots of a run. It [closes](Account::closes) if `expected = started + skipped + lost - twice`, for
/// each node and in total. For a node, [`claimed`](NodeAccount::claimed) takes the place of `expected`.
///
/// If a node was killed or stays cut off, reports can be missing. The account then does not close. The true numbers
/// then lie between bounds: from [`started`](Account::started) to [`started_at_most`](Account::started_at_most), from
/// [`lost_at_least`](Account::lost_at_least) to [`lost`](Account::lost), and from [`twice`](Account::twice) to
/// [`twice_at_most`](Account::twice_at_most).
///
/// During the run, started slots of the last frames may count as lost, because nodes report their started slots only a
/// few times per second. After the end of the load, the numbers have bounds until all nodes have reported their
/// results.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    /// The part of the load that the account covers, as a time from the load's beginning. During the run, this part
    /// ends at the end of a frame.
    pub span: Duration,
    /// The number of slots that the load has in that time.
    pub expected: u64,
    /// The number of slots that no node owns, or that a [forgotten](Account::forgotten) node owns. They count as lost.
    pub unclaimed: u64,
    /// The number of nodes that the store has forgotten, because its data was lost after these nodes had died or left.
    /// They may have owned slots that now have no owner.
    pub forgotten: u64,
    /// The nodes, in the order in which they have joined.
    pub nodes: Vec<NodeAccount>,
}

/// The account of a node's slots.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeAccount {
    /// The node's number, counted from 1.
    pub number: u16,
    /// The node's name, chosen by the user.
    pub name: String,
    /// The number of slots that the node owned in the time that the account covers.
    pub claimed: u64,
    /// The number of slots that the node started.
    pub started: u64,
    /// The number of slots that the node's late policy skipped.
    pub skipped: u64,
    /// The number of slots that the node started although another node owned them.
    pub twice: u64,
    /// The number of slots that the node owned but neither started nor skipped. The number is negative if the node has
    /// started more slots than it owned. In this case, the account does not close.
    pub lost: i64,
    /// The largest number of lost slots that the node may have started without reporting them. The number is above 0
    /// only if the node has reported no results, and it is silent, the load has ended, or all nodes have left.
    pub untold: u64,
    /// The largest number of slots of other nodes that the node may have started without reporting them. The number is
    /// above 0 only under the conditions of [`untold`](NodeAccount::untold). Such a node may have run its part of the
    /// load without the store for a limited time.
    pub perhaps_twice: u64,
    /// The lateness of the node's oldest slot that had not started, according to the node's last report.
    pub late: Duration,
    /// The time for which the node had been without the store, according to its last report.
    pub blind: Duration,
    /// The sum of the steps, forward or backward, by which the node's clock was set to the store's clock. If the sum is
    /// above 0, the machine's clock or the store's clock was set during the run, or the machine was suspended.
    pub stepped: Duration,
    /// The time since the store last received a claim or another sign of life of the node.
    pub silent: Duration,
    /// Whether the node has left or finished. If it has not, and has been silent for a long time, it is dead or cut
    /// off.
    pub is_finished: bool,
}

impl Account {
    /// Returns the number of slots that were started.
    #[must_use]
    pub fn started(&self) -> u64 {
        self.nodes.iter().map(|node| node.started).sum()
    }

    /// Returns the number of slots that late policies have skipped.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.nodes.iter().map(|node| node.skipped).sum()
    }

    /// Returns the number of slots that nodes have started although other nodes owned them.
    #[must_use]
    pub fn twice(&self) -> u64 {
        self.nodes.iter().map(|node| node.twice).sum()
    }

    /// Returns the number of slots that their owner neither started nor skipped, or that had no owner.
    #[must_use]
    pub fn lost(&self) -> i64 {
        self.unclaimed.cast_signed() + self.nodes.iter().map(|node| node.lost).sum::<i64>()
    }

    /// Returns the largest possible value of [`started`](Account::started), which it has if silent and
    /// [forgotten](Account::forgotten) nodes have started as many slots as they can have started.
    #[must_use]
    pub fn started_at_most(&self) -> u64 {
        let unclaimed = if self.forgotten > 0 { self.unclaimed } else { 0 };
        let untold = self.nodes.iter().map(|node| node.untold).sum::<u64>();
        self.started() + unclaimed + untold + self.perhaps_twice()
    }

    /// Returns the largest number of slots that may have been started twice without a report. A
    /// [forgotten](Account::forgotten) node may have started the whole load.
    fn perhaps_twice(&self) -> u64 {
        let silent = self.nodes.iter().map(|node| node.perhaps_twice).sum::<u64>();
        silent + self.forgotten * self.expected
    }

    /// Returns the smallest possible value of [`lost`](Account::lost), which it has if silent and
    /// [forgotten](Account::forgotten) nodes have started all slots that they owned.
    #[must_use]
    pub fn lost_at_least(&self) -> i64 {
        let unclaimed = if self.forgotten > 0 { self.unclaimed } else { 0 };
        let untold: u64 = self.nodes.iter().map(|node| node.untold).sum();
        self.lost() - (unclaimed + untold).cast_signed()
    }

    /// Returns the largest possible value of [`twice`](Account::twice), which it has if silent nodes have continued
    /// without the store for as long as they can, and if each [forgotten](Account::forgotten) node has started the
    /// whole load.
    #[must_use]
    pub fn twice_at_most(&self) -> u64 {
        self.twice() + self.perhaps_twice()
    }

    /// Returns whether the numbers of the account are exact: the store has [forgotten](Account::forgotten) no node, and
    /// no node may have started slots without reporting them. Otherwise, only bounds of the numbers are known.
    #[must_use]
    pub fn is_told(&self) -> bool {
        let untold = self.nodes.iter().map(|node| node.untold).sum::<u64>();
        self.forgotten == 0 && untold + self.perhaps_twice() == 0
    }

    /// Returns whether the account is complete and each slot was either started once, by its owner, or skipped by a
    /// late policy.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.closes() && (self.lost(), self.twice()) == (0, 0)
    }

    /// Returns whether the account adds up: its numbers are [exact](Account::is_told), no node has started more slots
    /// than it owned, and `expected = started + skipped + lost - twice`.
    #[must_use]
    pub fn closes(&self) -> bool {
        let claimed: u64 = self.nodes.iter().map(|node| node.claimed).sum();
        let fates = (self.started() + self.skipped()).cast_signed() + self.lost();
        self.is_told()
            && self.nodes.iter().all(|node| node.lost >= 0)
            && self.expected == claimed + self.unclaimed
            && self.expected.cast_signed() == fates - self.twice().cast_signed()
    }
}

/// Reads the account from the store. Returns `None` if more frames have been counted since `run` was read.
pub(crate) fn account(
    store: &mut impl Store,
    run: &FleetRun,
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

fn span(run: &FleetRun, load: &Load, until: u64) -> Duration {
    let begins = |frame| Duration::from_nanos(run.frames.begins(frame));
    let ends = load.shape().duration().unwrap_or(Duration::MAX);
    begins(until).min(ends).saturating_sub(begins(head_frames()))
}

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
    (run, load, until): (&FleetRun, &mut Load, u64),
    now_us: i64,
) -> NodeAccount {
    let progress = Progress::read(&text.progress).unwrap_or_default();
    let Progress { started, skipped, twice, late_ns, blind_ns, stepped_ns, .. } = progress;
    let silent_us = u64::try_from(now_us - text.seen_us).unwrap_or(0);
    let is_past = load.end().is_some_and(|end| until >= end);
    let lost_node = LostNode::of(text, run, silent_us, is_past);
    // If a silent node has started more slots than it owned, as far as it has reported, the excess slots belong to
    // other nodes.
    let more = (started + skipped).saturating_sub(claimed);
    let twice = if lost_node.is_some() { twice.max(more) } else { twice };
    // The node has not marked `unmarked` of the slots that it has reported, so other nodes may own these slots.
    let unmarked = lost_node.map_or(0, |lost_node| lost_node.unmarked());
    let lost = (claimed + twice + unmarked).cast_signed() - (started + skipped).cast_signed();
    NodeAccount {
        number: text.node,
        name: text.name.clone(),
        claimed,
        started,
        skipped,
        twice,
        lost,
        untold: lost_node.map_or(0, |_| lost.unsigned_abs()),
        perhaps_twice: lost_node
            .map_or(0, |lost_node| lost_node.perhaps_twice(run.frames, load, until)),
        late: Duration::from_nanos(late_ns),
        blind: Duration::from_nanos(blind_ns),
        stepped: Duration::from_nanos(stepped_ns),
        silent: Duration::from_micros(silent_us),
        is_finished: text.is_finished,
    }
}

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
        assert_eq!((account.started(), account.started_at_most()), (0, 230));
        assert_eq!((account.lost_at_least(), account.lost()), (0, 30));
        assert!(!account.is_told() && !account.closes());
    }
}
