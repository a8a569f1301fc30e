//! Defines the requests of nodes to the store, and its answers. Each request is one round trip, and the store decides
//! it in one step.
//!
//! A *frame* is a short part of the schedule, and a *track* some of its slots; nodes claim tracks of frames. The
//! *roster* is the list of nodes that are there. `docs/FLEET-PROTOCOL.md` explains the other terms.

use crate::frames::Frames;
use crate::progress::Progress;
use crate::start_barrier::Waits;
use crate::track_ownership::{NodeId, Owners, TrackSet};
use nanopace::Shape;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A request about a run.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    /// A new node joins. The first one makes the run.
    Join(Join),
    /// Reads the status of the run; also a sign of life, if a node of this run asks.
    Look {
        node: Option<(String, NodeId)>,
    },
    /// The reports of the nodes.
    Nodes,
    /// The results of the nodes, final or interim.
    Results,
    /// The owners of all frames from the chunk on, up to another chunk: a chunk has 64 frames.
    Owners {
        id: String,
        chunks: Range<u64>,
    },
    Claim(Claim),
    /// The node has run these portions. Those that are free become the node's.
    Mark {
        id: String,
        node: NodeId,
        sequence: u64,
        /// The sequence of the last claim or mark that was answered, as in a [`Claim`].
        answered: u64,
        epoch: u64,
        portions: Vec<Portion>,
    },
    /// The store has lost the run, or a part of it, and the node writes back what it knows. Nothing is claimed from then
    /// on in frames that may have been open before.
    Restore {
        node: NodeId,
        run: Box<Run>,
    },
    /// A new version of the load, after those known.
    Change {
        id: String,
        known: u64,
        /// The number of the last known change.
        behind: u64,
        version: Version,
        /// The first frame after the load; none if it never ends.
        ends: Option<u64>,
    },
    /// The slots of consecutive frames are counted for their owners, and the owner of each track is forgotten.
    Count {
        id: String,
        from: u64,
        /// The first slot of each frame, and of the one after them.
        firsts: Vec<u64>,
    },
    /// The node takes no part from a frame on, and gives these portions back.
    Leave {
        id: String,
        node: NodeId,
        from: u64,
        portions: Vec<Portion>,
    },
    /// The node's results so far, which replace those that it reported before.
    Tell {
        id: String,
        node: NodeId,
        results: Vec<u8>,
    },
    /// The node is done. Its results are kept, to be merged with those of the others. Empty results keep those of its
    /// last report.
    Finish {
        id: String,
        node: NodeId,
        progress: String,
        results: Vec<u8>,
    },
}

/// Some tracks of one frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Portion {
    pub(crate) frame: u64,
    pub(crate) tracks: TrackSet,
}

#[derive(Clone, Debug)]
pub(crate) struct Join {
    /// A name for the node, which people choose.
    pub(crate) name: String,
    /// A number for the run, if this makes it.
    pub(crate) id: String,
    /// How many nodes have to be there before it starts.
    pub(crate) awaited: u32,
    /// The frame that the round trip of this node needs.
    pub(crate) frames: Frames,
    /// How many frames ahead the node has to ask, as in a [`Claim`].
    pub(crate) lead: u64,
    /// The load; `None` to take the run's.
    pub(crate) load: Option<LoadText>,
}

/// A load as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadText {
    pub(crate) shape: String,
    pub(crate) arrivals: String,
    pub(crate) seed: u64,
    /// The first frame after the load; none if it never ends.
    pub(crate) ends: Option<u64>,
}

/// Claims in several frames.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) id: String,
    pub(crate) node: NodeId,
    /// Higher than that of any request of this node before.
    pub(crate) sequence: u64,
    /// The sequence of the last claim or mark that was answered. A store that does not know of it has
    /// forgotten something.
    pub(crate) answered: u64,
    /// The last epoch that the node knows.
    pub(crate) epoch: u64,
    /// How many frames ahead the node has to ask, because its round trips take so long.
    pub(crate) lead: u64,
    /// A claim that reaches the store after this moment of the run takes nothing: its answer might come
    /// too late.
    pub(crate) until_us: u64,
    /// How many versions of the load the node knows.
    pub(crate) versions: u64,
    /// The number of the change that made the last of these versions.
    pub(crate) change: u64,
    /// The version of the roster that the node knows.
    pub(crate) roster: u64,
    /// Up to which frame slots have been counted, as far as the node knows.
    pub(crate) counted: u64,
    /// The progress of the node, for observers.
    pub(crate) progress: String,
    pub(crate) asks: Vec<Ask>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) frame: u64,
    pub(crate) take: Take,
}

/// The tracks that a node asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Take {
    /// Up to `most` of the own tracks of number `rank` of `nodes` nodes.
    Own { rank: u32, nodes: u32, most: u32 },
    /// A share of what is free, as one of this many nodes, but at most so much.
    Share { nodes: u32, most: u32 },
    /// All that is free in a frame that the node has missed.
    Missed,
    /// No tracks: the node only needs the owners.
    Nothing,
}

/// The state of the other nodes when a node is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    /// All are done or have died, and this node is the first to know.
    Done,
    /// The load is over, or its last frames have begun, and some have given no results. They may have died.
    Awaited,
    GoOn,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not all nodes are there.
    Waiting,
    Running,
    /// All nodes are done.
    Ended,
}

/// The store's data of a run, except the owners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) state: State,
    pub(crate) awaited: u32,
    pub(crate) frames: Frames,
    /// How many frames before they begin frames can be claimed.
    pub(crate) lead: u64,
    /// When the run began, in microseconds of the store's clock.
    pub(crate) origin_us: i64,
    /// Nothing is claimed in frames before this one.
    pub(crate) floor: u64,
    /// How often the run was restored.
    pub(crate) epoch: u64,
    pub(crate) arrivals: String,
    pub(crate) seed: u64,
    /// The first frame after the load; none if it never ends.
    pub(crate) ends: Option<u64>,
    /// The versions of the load. The first is the load with which the run began.
    pub(crate) versions: Vec<Version>,
    pub(crate) roster: Roster,
    /// How many nodes have joined so far.
    pub(crate) joined: u64,
    /// The nodes that there were at any time, as far as is known. The store may have forgotten some.
    pub(crate) heard: BTreeSet<NodeId>,
    /// No node that has left or died has started anything from this frame on.
    pub(crate) left: u64,
    pub(crate) counted: Counted,
}

/// Frames whose slots have been counted for their owners. The owners of the tracks are forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// The first frame after them.
    pub(crate) until: u64,
    /// Slots of each node; `None`: those without an owner.
    pub(crate) slots: BTreeMap<Option<NodeId>, u64>,
}

/// The load from a frame on. Up to that frame, the earlier versions apply.
///
/// A change that few nodes know of may be lost with the store's data, and another one made in its place. Then
/// nodes know as many versions as the store, and not the same ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// No other change has this number; 0 is what the run began with.
    pub(crate) change: u64,
    pub(crate) from: u64,
    /// The load from there on; none if it is over.
    pub(crate) shape: Option<String>,
    /// The shape that continues after a pause; `None` unless the run is paused.
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

/// The nodes that are there, in the order in which they have joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roster {
    pub(crate) version: u64,
    pub(crate) nodes: Vec<NodeId>,
}

impl Run {
    /// Whether a node has been silent for long enough to count as dead or cut off. The store's script has the same rule
    /// for the roster.
    pub(crate) fn is_absent(&self, silent_us: u64) -> bool {
        silent_us > self.absent_us()
    }

    pub(crate) fn absent_us(&self) -> u64 {
        (25 * self.frames.frame_ns / 1_000).max(500_000)
    }

    /// The number of the last change.
    pub(crate) fn change(&self) -> u64 {
        self.versions.last().map_or(0, |latest| latest.change)
    }

    /// The condition that its nodes wait for.
    pub(crate) fn waits(&self) -> Waits {
        let here = u32::try_from(self.roster.nodes.len()).unwrap_or(u32::MAX);
        Waits::ForNodes { here, awaited: self.awaited }
    }

    /// The first frame that no node can have claimed by a moment of the run.
    pub(crate) fn first_unopened(&self, moment_ns: u64) -> u64 {
        self.frames.at(moment_ns) + self.lead + 1
    }
}

impl Roster {
    /// The place of a node, and how many there are: one more, if it is not among them.
    pub(crate) fn rank(&self, node: NodeId) -> (u32, u32) {
        let place = self.nodes.iter().position(|&other| other == node);
        let nodes = self.nodes.len() + usize::from(place.is_none());
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        (number(place.unwrap_or(self.nodes.len())), number(nodes))
    }
}

/// An answer, and the store's clock in microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) now_us: i64,
    pub(crate) answer: Answer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// There is no such run.
    Gone,
    /// The name is now another run's.
    Other,
    /// The run is of this other version.
    Foreign(String),
    /// The load is not the requested one.
    Differs(Box<Run>),
    Joined(NodeId, Box<Run>),
    /// No node can join any more, and no new run can begin yet: the load is over and some nodes are not done, or all of
    /// them are, since just now.
    Ending,
    Run(Box<Run>),
    Nodes(Vec<NodeText>),
    Results(Vec<NodeResults>),
    /// The owners of one chunk after the other, and up to which frame they have been forgotten.
    Owners(u64, Vec<Owners>),
    Claimed(Claimed),
    /// For a mark: the portions that belong to others. For a leave: the portions that were given back. Owners of frames
    /// before this one are no longer known.
    Portions(u64, Vec<Portion>),
    Done,
    Counted(Counted),
    /// The node is done.
    Finished(Others),
    /// The change comes too late, or another one came first.
    TooLate,
}

/// The last report of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeText {
    pub(crate) node: NodeId,
    pub(crate) name: String,
    /// When it was heard of last, in microseconds of the store's clock.
    pub(crate) seen_us: i64,
    pub(crate) progress: String,
    /// How many nodes the roster had that was sent to it last, if that was not the roster before.
    pub(crate) members: Option<u32>,
    /// Whether the node has left or is done.
    pub(crate) is_finished: bool,
    /// Whether the node has given its results.
    pub(crate) has_results: bool,
}

/// The results of a node, in the form that its program gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeResults {
    /// The node's number, from 1 on.
    pub number: u16,
    /// The results as the node gave them.
    pub bytes: Vec<u8>,
    /// Whether they are final: the node was [done](crate::Node::finish). Otherwise they are those that it
    /// [reported](crate::Node::tell) last.
    pub is_final: bool,
}

impl NodeText {
    /// Whether it has reported that it knows a version of the load that comes after `before` others.
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
    /// How many versions there are.
    pub(crate) known: u64,
    /// The last of the versions: those that the node did not know, or all.
    pub(crate) versions: Vec<Version>,
    /// The roster, if the node did not know it.
    pub(crate) roster: Option<Roster>,
    /// The counted frames, if they are at least a chunk (64 frames) more than the node knew, or fewer than it knew.
    pub(crate) counted: Option<Counted>,
    /// The owners for each ask, in order.
    pub(crate) owners: Vec<Owners>,
}
