//! Defines the requests that nodes send to the store, and the store's responses. Each request takes one round trip, and
//! the store handles it as one atomic step.
//!
//! `docs/FLEET-PROTOCOL.md` explains the terms.

use crate::frames::Frames;
use crate::progress::Progress;
use crate::start_barrier::Waits;
use crate::track_ownership::{NodeId, Owners, TrackSet};
use nanopace::Shape;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

#[derive(Clone, Debug)]
pub(crate) enum Request {
    Join(Join),
    /// Reads the run. If a node of the run sends this request, it is also a sign of life of that node.
    Look {
        node: Option<(String, NodeId)>,
    },
    Nodes,
    Results,
    Owners {
        id: String,
        chunks: Range<u64>,
    },
    Claim(Claim),
    /// Reports that the node runs or has run these portions. The node becomes the owner of their free tracks, except in
    /// counted frames.
    Mark {
        id: String,
        node: NodeId,
        sequence: u64,
        answered: u64,
        epoch: u64,
        portions: Vec<Portion>,
    },
    /// Restores the run from what the node knows about it, after the store has lost some or all of its data. Frames
    /// that may have been claimable before the loss cannot be claimed afterwards.
    Restore {
        node: NodeId,
        run: Box<FleetRun>,
    },
    /// Adds a new version of the load after the `known` versions.
    Change {
        id: String,
        known: u64,
        behind: u64,
        version: Version,
        ends: Option<u64>,
    },
    /// Adds the slots of consecutive frames to the count of their owners.
    Count {
        id: String,
        from: u64,
        /// The first slot of each frame, followed by the first slot after all of these frames.
        firsts: Vec<u64>,
    },
    /// Makes the node leave: it takes no part from the frame `from` on, and gives these portions back.
    Leave {
        id: String,
        node: NodeId,
        from: u64,
        portions: Vec<Portion>,
    },
    /// Stores interim results of the node, which replace its earlier interim results.
    Tell {
        id: String,
        node: NodeId,
        results: Vec<u8>,
    },
    /// Makes the node finish. If `results` is empty, the last interim results of the node count.
    Finish {
        id: String,
        node: NodeId,
        progress: String,
        results: Vec<u8>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Portion {
    pub(crate) frame: u64,
    pub(crate) tracks: TrackSet,
}

#[derive(Clone, Debug)]
pub(crate) struct Join {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) awaited: u32,
    pub(crate) frames: Frames,
    pub(crate) lead: u64,
    /// The load that the node requires, or `None` if it uses the load of the run.
    pub(crate) load: Option<LoadText>,
    /// The end of the load in these frames, if it ends.
    pub(crate) ends: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadText {
    pub(crate) shape: String,
    pub(crate) arrivals: String,
    pub(crate) seed: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) id: String,
    pub(crate) node: NodeId,
    /// The sequence number, which is higher than that of any earlier request of this node.
    pub(crate) sequence: u64,
    /// The sequence number of the last claim or mark that was answered. A store that does not know this number has lost
    /// data.
    pub(crate) answered: u64,
    pub(crate) epoch: u64,
    /// The [`lead`](FleetRun::lead) that this node needs because of its round-trip time.
    pub(crate) lead: u64,
    /// The time of the run at which the claim expires. If the claim arrives later, the store grants nothing, because
    /// the response might be too late.
    pub(crate) until_us: u64,
    pub(crate) versions: u64,
    /// The number of the change that created the last of the `versions` versions that the node knows.
    pub(crate) change: u64,
    pub(crate) roster: u64,
    pub(crate) counted: u64,
    pub(crate) progress: String,
    pub(crate) asks: Vec<Ask>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) frame: u64,
    pub(crate) take: Take,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Take {
    /// Up to `most` of the tracks that belong to the node with rank `rank` among `nodes` nodes.
    Own { rank: u32, nodes: u32, most: u32 },
    /// One of `nodes` equal parts of the free tracks, but at most `most` tracks.
    Share { nodes: u32, most: u32 },
    /// All free tracks of a frame that was sealed before the node learned of its tracks.
    Missed,
    /// No tracks. The node needs only to know the owners.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    /// All other nodes have finished or died. Only one node gets this response.
    Done,
    /// Some nodes have not reported results, although the load has ended or its last frames have begun. These nodes may
    /// have died.
    Awaited,
    GoOn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Waiting,
    Running,
    Ended,
}

/// The store's data about a run, except the owners of tracks and the reports of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FleetRun {
    pub(crate) id: String,
    pub(crate) state: State,
    pub(crate) awaited: u32,
    pub(crate) frames: Frames,
    /// The number of frames by which the store accepts claims for a frame before the frame begins.
    pub(crate) lead: u64,
    /// The beginning of the run, in microseconds of the store's clock.
    pub(crate) origin_us: i64,
    pub(crate) floor: u64,
    /// The number of times that the store's data was restored, or found to be incomplete.
    pub(crate) epoch: u64,
    pub(crate) arrivals: String,
    pub(crate) seed: u64,
    pub(crate) ends: Option<u64>,
    /// The versions of the load. The first one is the initial load of the run.
    pub(crate) versions: Vec<Version>,
    pub(crate) roster: Roster,
    pub(crate) joined: u64,
    /// The nodes that are known to have joined at any time. The store may have forgotten some of them.
    pub(crate) heard: BTreeSet<NodeId>,
    /// The first frame in which no node that has left or died can have started a slot.
    pub(crate) left: u64,
    pub(crate) counted: Counted,
}

/// The counts of old frames. The store no longer knows which track of a counted frame had which owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) until: u64,
    /// The number of slots of each owner. The key `None` stands for slots without an owner.
    pub(crate) slots: BTreeMap<Option<NodeId>, u64>,
}

/// A version of the load, which is in force from the frame `from` on.
///
/// If only a few nodes know a change, it can be lost with the store's data, and another change can be made in its
/// place. A node may then know as many versions as the store, but a different last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// The unique number of the change that created this version. It is 0 for the initial load of the run.
    pub(crate) change: u64,
    pub(crate) from: u64,
    /// The load from the frame `from` on, or `None` if the load ends before that frame.
    pub(crate) shape: Option<String>,
    /// The shape that continues after the pause, or `None` if the run is not paused.
    pub(crate) rest: Option<String>,
}

impl Version {
    pub(crate) fn first(shape: String) -> Version {
        Version { change: 0, from: 0, shape: Some(shape), rest: None }
    }

    pub(crate) fn new(change: u64, from: u64, shape: &Shape, rest: Option<&Shape>) -> Version {
        let (shape, rest) = (Some(shape.to_string()), rest.map(Shape::to_string));
        Version { change, from, shape, rest }
    }
}

/// The nodes that take part. A node that joins, or that is heard again after it was removed, is added at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roster {
    pub(crate) version: u64,
    pub(crate) nodes: Vec<NodeId>,
}

impl FleetRun {
    /// Returns whether a node that has been silent for this time counts as absent. After the start of the run, the
    /// store's script removes silent nodes from the roster by the same rule.
    pub(crate) fn is_absent(&self, silent_us: u64) -> bool {
        silent_us > self.absent_us()
    }

    pub(crate) fn absent_us(&self) -> u64 {
        (25 * self.frames.frame_ns / 1_000).max(500_000)
    }

    pub(crate) fn change(&self) -> u64 {
        self.versions.last().map_or(0, |latest| latest.change)
    }

    pub(crate) fn waits(&self) -> Waits {
        let here = u32::try_from(self.roster.nodes.len()).unwrap_or(u32::MAX);
        Waits::ForNodes { here, awaited: self.awaited }
    }

    /// Returns the first frame for which the store does not accept claims yet at this time of the run.
    pub(crate) fn first_unopened(&self, moment_ns: u64) -> u64 {
        self.frames.at(moment_ns) + self.lead + 1
    }
}

impl Roster {
    /// Returns the rank of a node and the number of nodes. A node that is not in the roster counts as its last node.
    pub(crate) fn rank(&self, node: NodeId) -> (u32, u32) {
        let place = self.nodes.iter().position(|&other| other == node);
        let nodes = self.nodes.len() + usize::from(place.is_none());
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        (number(place.unwrap_or(self.nodes.len())), number(nodes))
    }
}

/// A response of the store. `now_us` is the time of the store's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) now_us: i64,
    pub(crate) answer: Answer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Gone,
    Other,
    Foreign(String),
    Differs(Box<FleetRun>),
    Joined(NodeId, Box<FleetRun>),
    /// The node cannot join, and no new run can begin yet, as [`Waits::ForTheEnd`] describes.
    Ending,
    Run(Box<FleetRun>),
    Nodes(Vec<NodeText>),
    Results(Vec<NodeResults>),
    /// The first frame whose owners are still known, and the owners of each chunk in a range.
    Owners(u64, Vec<Owners>),
    Claimed(Claimed),
    /// The response to a mark or a leave: the first frame whose owners are still known, and portions. After a mark,
    /// these are the portions that other nodes own. After a leave, they are the portions that were given back.
    Portions(u64, Vec<Portion>),
    Done,
    Counted(Counted),
    Finished(Others),
    /// The change is rejected, because it came too late, another change was made first, or the run has ended.
    TooLate,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeText {
    pub(crate) node: NodeId,
    pub(crate) name: String,
    /// The time at which the store last received a sign of life of the node, in microseconds of the store's clock.
    /// Reports such as marks and results are not signs of life.
    pub(crate) seen_us: i64,
    pub(crate) progress: String,
    /// The number of nodes in the roster that the store last sent to the node in response to a claim, or `None` if it
    /// has not sent a roster to this node.
    pub(crate) members: Option<u32>,
    pub(crate) is_finished: bool,
    pub(crate) has_results: bool,
}

/// The results of a node, in a format that the program on the node chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeResults {
    /// The node's number, counted from 1.
    pub number: u16,
    /// The results in the form in which the node has reported them.
    pub bytes: Vec<u8>,
    /// Whether the results are final, because the node has [finished](crate::Node::finish). If not, they are the last
    /// interim results that it has [reported](crate::Node::tell).
    pub is_final: bool,
}

impl NodeText {
    /// Returns whether the node knows `version`. `before` is the number of versions before `version`.
    pub(crate) fn knows(&self, version: &Version, before: u64) -> bool {
        let knows = |Progress { versions, change, .. }| {
            versions > before + 1 || (versions == before + 1 && change == version.change)
        };
        Progress::read(&self.progress).is_some_and(knows)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claimed {
    pub(crate) state: State,
    pub(crate) floor: u64,
    pub(crate) epoch: u64,
    pub(crate) lead: u64,
    pub(crate) known: u64,
    pub(crate) versions: Vec<Version>,
    pub(crate) roster: Option<Roster>,
    /// The counts of the run, if the store's counts are at least one chunk (64 frames) ahead of those that the node
    /// knew, or if the node's counts are ahead of the store's.
    pub(crate) counted: Option<Counted>,
    /// The owners of the tracks of the frame of each ask, in the order of the asks.
    pub(crate) owners: Vec<Owners>,
}
