//! Defines the requests of nodes to the store, and its answers. Each request takes one round trip, and the store
//! decides it in one step.
//!
//! A *frame* is a short part of the schedule, and a *track* is some of its slots. Nodes claim tracks of frames. The
//! *roster* is the list of current nodes. `docs/FLEET-PROTOCOL.md` explains the other terms.

use crate::frames::Frames;
use crate::progress::Progress;
use crate::start_barrier::Waits;
use crate::track_ownership::{NodeId, Owners, TrackSet};
use nanopace::Shape;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

#[derive(Clone, Debug)]
pub(crate) enum Request {
    /// Lets a new node join. The first node creates the run.
    Join(Join),
    /// Reads the status of the run. If a node of this run sends it, it is also a sign of life.
    Look {
        node: Option<(String, NodeId)>,
    },
    Nodes,
    /// Reads the results of the nodes, final or interim.
    Results,
    /// Reads the owners of all frames in a range of chunks. A chunk has 64 frames.
    Owners {
        id: String,
        chunks: Range<u64>,
    },
    Claim(Claim),
    /// Reports that the node has run these portions. Free tracks among them become the node's.
    Mark {
        id: String,
        node: NodeId,
        sequence: u64,
        /// The sequence number of the last answered claim or mark, as in a [`Claim`].
        answered: u64,
        epoch: u64,
        portions: Vec<Portion>,
    },
    /// Restores a run of which the store has lost all or a part, from what the node knows. Afterwards, frames that may
    /// have been open before cannot be claimed.
    Restore {
        node: NodeId,
        run: Box<Run>,
    },
    /// Adds a new version of the load after the known ones.
    Change {
        id: String,
        known: u64,
        behind: u64,
        version: Version,
        ends: Option<u64>,
    },
    /// Counts the slots of consecutive frames for their owners, and forgets the owners of the single tracks.
    Count {
        id: String,
        from: u64,
        /// The first slot of each frame, and of the frame after them.
        firsts: Vec<u64>,
    },
    /// Lets the node leave from a frame on, and gives these portions back.
    Leave {
        id: String,
        node: NodeId,
        from: u64,
        portions: Vec<Portion>,
    },
    /// Stores the node's interim results, which replace its earlier ones.
    Tell {
        id: String,
        node: NodeId,
        results: Vec<u8>,
    },
    /// Ends the node, and stores its results for the merged report. Empty results keep the last interim results.
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
    /// The frames that the round-trip time of this node requires.
    pub(crate) frames: Frames,
    /// The lead, as in a [`Claim`].
    pub(crate) lead: u64,
    /// `None` stands for the load of the run.
    pub(crate) load: Option<LoadText>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadText {
    pub(crate) shape: String,
    pub(crate) arrivals: String,
    pub(crate) seed: u64,
    pub(crate) ends: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) id: String,
    pub(crate) node: NodeId,
    /// The sequence number, which is higher than that of any earlier request of this node.
    pub(crate) sequence: u64,
    /// The sequence number of the last answered claim or mark. A store that does not know this number has lost data.
    pub(crate) answered: u64,
    pub(crate) epoch: u64,
    /// The number of frames before the beginning of a frame at which the node must ask for it, because of the node's
    /// round-trip time.
    pub(crate) lead: u64,
    /// The time of the run at which the claim expires. After that, the store grants nothing, because the answer might
    /// be late.
    pub(crate) until_us: u64,
    pub(crate) versions: u64,
    /// The number of the change that created the last of these versions.
    pub(crate) change: u64,
    pub(crate) roster: u64,
    /// The first frame that has not been counted, as far as the node knows.
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
    /// Up to `most` tracks of those that belong to the node with rank `rank` among `nodes` nodes.
    Own { rank: u32, nodes: u32, most: u32 },
    /// One of `nodes` equal shares of the free tracks, but at most `most` tracks.
    Share { nodes: u32, most: u32 },
    /// All free tracks of a frame that the node has missed.
    Missed,
    /// No tracks. The node needs only the owners.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    /// All other nodes have finished or died, and this node is the first one to learn this.
    Done,
    /// The load has ended, or its last frames have begun, and some nodes have not reported results. They may have died.
    Awaited,
    GoOn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Waiting,
    Running,
    Ended,
}

/// The store's data about a run, except the owners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) state: State,
    pub(crate) awaited: u32,
    pub(crate) frames: Frames,
    /// Frames can be claimed from this number of frames before they begin.
    pub(crate) lead: u64,
    /// The beginning of the run, in microseconds of the store's clock.
    pub(crate) origin_us: i64,
    pub(crate) floor: u64,
    /// The number of times that the run was restored.
    pub(crate) epoch: u64,
    pub(crate) arrivals: String,
    pub(crate) seed: u64,
    pub(crate) ends: Option<u64>,
    /// The first version is the load with which the run began.
    pub(crate) versions: Vec<Version>,
    pub(crate) roster: Roster,
    pub(crate) joined: u64,
    /// All nodes that have ever joined, as far as this is known. The store may have forgotten some of them.
    pub(crate) heard: BTreeSet<NodeId>,
    /// The frame from which no node that has left or died has started anything.
    pub(crate) left: u64,
    pub(crate) counted: Counted,
}

/// The counted slots of each owner. The owners of the single tracks have been forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// The first frame that has not been counted.
    pub(crate) until: u64,
    /// The key `None` stands for slots without an owner.
    pub(crate) slots: BTreeMap<Option<NodeId>, u64>,
}

/// The load from a frame on. The earlier versions apply before this frame.
///
/// A change that only few nodes know can be lost with the store's data, and another change can be made in its place. A
/// node may then know as many versions as the store, but not the same ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// The unique number of the change. 0 is the load with which the run began.
    pub(crate) change: u64,
    pub(crate) from: u64,
    /// The load from the frame `from` on. `None` if the load ends before that frame.
    pub(crate) shape: Option<String>,
    /// The shape that continues after a pause. `None` unless the run is paused.
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

/// Nodes are in the order in which they have joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roster {
    pub(crate) version: u64,
    pub(crate) nodes: Vec<NodeId>,
}

impl Run {
    /// Returns whether a node that has been silent for this time counts as dead or cut off. The store's script applies
    /// the same rule to the roster.
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

    /// Returns the first frame that no node can have claimed at this time of the run.
    pub(crate) fn first_unopened(&self, moment_ns: u64) -> u64 {
        self.frames.at(moment_ns) + self.lead + 1
    }
}

impl Roster {
    /// Returns the rank of a node, and the number of nodes. A node that is not in the roster comes after the others.
    pub(crate) fn rank(&self, node: NodeId) -> (u32, u32) {
        let place = self.nodes.iter().position(|&other| other == node);
        let nodes = self.nodes.len() + usize::from(place.is_none());
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        (number(place.unwrap_or(self.nodes.len())), number(nodes))
    }
}

/// `now_us` is the time of the store's clock in microseconds.
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
    Differs(Box<Run>),
    Joined(NodeId, Box<Run>),
    /// No node can join, and no new run can begin yet. The load has ended, and some nodes have not finished, or all
    /// have finished only recently.
    Ending,
    Run(Box<Run>),
    Nodes(Vec<NodeText>),
    Results(Vec<NodeResults>),
    /// The owners of consecutive chunks, and the frame up to which owners have been forgotten.
    Owners(u64, Vec<Owners>),
    Claimed(Claimed),
    /// The answer to a mark or a leave: the first frame whose owners are still known, and portions. A mark returns the
    /// portions that belong to other nodes; a leave returns those that were given back.
    Portions(u64, Vec<Portion>),
    Done,
    Counted(Counted),
    Finished(Others),
    /// The change was made too late, or another change was made first.
    TooLate,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeText {
    pub(crate) node: NodeId,
    pub(crate) name: String,
    /// The time of the last sign of life, in microseconds of the store's clock.
    pub(crate) seen_us: i64,
    pub(crate) progress: String,
    /// The number of nodes in the roster that was last sent to the node, if this roster differs from the previous one.
    pub(crate) members: Option<u32>,
    pub(crate) is_finished: bool,
    pub(crate) has_results: bool,
}

/// The results of a node, in the format of the program that reported them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeResults {
    /// The node's number, counted from 1.
    pub number: u16,
    /// The results as the node reported them.
    pub bytes: Vec<u8>,
    /// Whether the results are final, because the node has [finished](crate::Node::finish). Otherwise, they are the
    /// last ones that it [reported](crate::Node::tell).
    pub is_final: bool,
}

impl NodeText {
    /// Returns whether the node has reported that it knows this version of the load. `before` is the number of earlier
    /// versions.
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
    /// The counts. `None` unless they are at least a chunk (64 frames) ahead of those that the node knew, or behind
    /// them.
    pub(crate) counted: Option<Counted>,
    /// The owners for each ask, in the same order.
    pub(crate) owners: Vec<Owners>,
}
