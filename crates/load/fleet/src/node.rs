//! Implements the handle of a node that takes part in a run.

use crate::core::Core;
use crate::error::FleetError;
use crate::load::Load;
use crate::message::FleetRun;
use crate::progress::Progress;
use crate::store_threads::{Command, ResultsThread, ThreadMessage};
use nanopace::Pacer;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A node that takes part in a run, created by [`Fleet::join`](crate::Fleet::join). Its [`pacer`](Node::pacer) starts
/// this node's part of the slots of the run.
///
/// Dropping a node makes it [leave](Node::leave) and finish without new results. The drop can take seconds, for example
/// if the store does not respond.
#[derive(Debug)]
pub struct Node {
    pub(crate) pacer: Pacer,
    pub(crate) shared: Arc<Shared>,
    pub(crate) words: Option<Sender<ThreadMessage>>,
    pub(crate) telling: ResultsThread,
    pub(crate) thread: Option<JoinHandle<()>>,
    pub(crate) id: u16,
    pub(crate) head: Duration,
}

#[derive(Debug)]
pub(crate) struct Shared(Mutex<(NodeStatus, FleetRun)>);

/// The status of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeStatus {
    /// The number of nodes in the run, according to the store's last response.
    pub nodes: u32,
    /// Whether this node is the first in the list of current nodes, as far as it knows. Use this to do something on one
    /// node only. Nodes are listed in the order in which they joined, but a node that was silent for a long time moves
    /// to the end.
    pub is_first: bool,
    /// The time for which the node has been without the store; `None` while the store is available.
    pub blind: Option<Duration>,
    /// The number of frames in which the node has started its own slots according to the last known roster, because it
    /// did not know which slots other nodes had claimed. Slots of these frames can be started twice. A slot can also be
    /// started twice if a change of the load reaches the node late, or if the node was without the store for more than
    /// a minute.
    pub blind_frames: u64,
    /// The lateness of the node's oldest slot that no caller has taken.
    pub late: Duration,
    /// The number of slots started so far.
    pub started: u64,
    /// The number of slots that the late policy of the node's pacer has skipped.
    pub skipped: u64,
    /// The number of slots that this node has started although another node owned them.
    pub twice: u64,
    /// Whether the run is paused.
    pub is_paused: bool,
    /// Whether the node has ended, because another run has taken the run's name, or, with
    /// [`WhenBlind::Stop`](crate::WhenBlind::Stop), because the store was unavailable for longer than the node's limit.
    pub is_over: bool,
}

impl Shared {
    pub(crate) fn new(run: &FleetRun) -> Shared {
        Shared(Mutex::new((NodeStatus::default(), run.clone())))
    }

    fn lock(&self) -> MutexGuard<'_, (NodeStatus, FleetRun)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, core: &Core, progress: &Progress) {
        let is_blind = core.blind_since().is_some();
        let status = NodeStatus {
            nodes: u32::try_from(core.run().roster.nodes.len()).unwrap_or(u32::MAX),
            is_first: core.run().roster.nodes.first() == Some(&core.node()),
            blind: is_blind.then(|| Duration::from_nanos(progress.blind_ns)),
            blind_frames: core.blind_frames(),
            late: Duration::from_nanos(progress.late_ns),
            started: progress.started,
            skipped: progress.skipped,
            twice: progress.twice,
            is_paused: core.load().is_paused(),
            is_over: core.failure().is_some(),
        };
        let mut shared = self.lock();
        shared.0 = status;
        if shared.1.versions.len() < core.run().versions.len() {
            shared.1.versions.clone_from(&core.run().versions);
        }
    }
}

impl Node {
    /// Returns the pacer of this node's slots. Use it like any pacer: blocking, through lanes or claims, or through
    /// `nanopace-async`. When the load has ended or the node has left, its callers get
    /// [`Ended::Finished`](nanopace::Ended::Finished). If the node [is over](NodeStatus::is_over), they get
    /// [`Ended::Closed`](nanopace::Ended::Closed).
    ///
    /// Take slots one at a time. If you take several slots at once and start all of them with the first one, the later
    /// slots may go to another node and be started twice.
    ///
    /// The schedule of the pacer belongs to the run. Change it through [`Control`](crate::Control). If you change the
    /// pacer directly, this node's slots differ from those of the run.
    #[must_use]
    pub fn pacer(&self) -> &Pacer {
        &self.pacer
    }

    /// Returns the node's number in the run, counted from 1.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.id
    }

    /// Returns the run's ID, as in [`RunStatus::id`](crate::RunStatus::id).
    #[must_use]
    pub fn run_id(&self) -> String {
        self.shared.lock().1.id.clone()
    }

    /// Returns the time on the pacer's clock at which the load starts. The run begins some frames before its load.
    #[must_use]
    pub fn begins(&self) -> Duration {
        self.head
    }

    /// Returns the status of the node.
    #[must_use]
    pub fn status(&self) -> NodeStatus {
        self.shared.lock().0
    }

    /// Returns the shape of the whole load as a string, including all changes so far.
    #[must_use]
    pub fn shape(&self) -> String {
        let run = self.shared.lock().1.clone();
        Load::of(&run).map_or_else(|_| String::new(), |load| load.text())
    }

    /// Makes the node leave. The node gives its slots back if other nodes can still claim them. Callers get the slots
    /// of two or three more frames, and then [`Ended::Finished`](nanopace::Ended::Finished). After that, call
    /// [`finish`](Node::finish). Over a link that has become slow, the node may first ask for its slots for up to 20 s,
    /// and callers get these slots too.
    ///
    /// # Errors
    /// Returns [`FleetError::Replaced`] if another run has taken the run's name, and another [`FleetError`] if the
    /// store does not accept the request, for example [`FleetError::Store`] if the store does not respond.
    pub fn leave(&self) -> Result<(), FleetError> {
        self.order(Command::Leave)
    }

    /// Reports the number of slots that the [`pacer`](Node::pacer) has granted but that were not started, because their
    /// callers stopped. In the account, these slots count as lost instead of started. Call this before
    /// [`finish`](Node::finish).
    ///
    /// # Errors
    /// Returns [`FleetError::Over`] if the node's thread has ended.
    pub fn not_started(&self, slots: u64) -> Result<(), FleetError> {
        self.order(|reply| Command::NotStarted(slots, reply))
    }

    /// Reports the node's interim results to the store, so that observers of the run can read them, and so that they
    /// are kept if the node dies. Until the node has finished, [`Control::results`](crate::Control::results) returns
    /// its last interim results. One report per second is enough. This call does not wait for the store, and does not
    /// delay claims. A failed report is not repeated; the next report replaces it.
    pub fn tell(&self, results: Vec<u8>) {
        self.telling.tell(results);
    }

    /// Ends the node, and reports how many of its slots were started, skipped or lost. The store keeps `results`, so
    /// that [`Control::results`](crate::Control::results) can return the results of all nodes. If `results` is empty,
    /// the last interim results that the node has [reported](Node::tell) are kept.
    ///
    /// Call this when no caller takes slots any more. Slots that the node owns and has neither started nor skipped
    /// count as lost.
    ///
    /// Returns whether this was the last node, which means that all other nodes have finished or count as dead. At most
    /// one node of a run is the last one. After the end of the load, this call waits for nodes that have not finished
    /// and may have died, for at most about 31 frames, or 625 ms if that is longer.
    ///
    /// # Errors
    /// Returns [`FleetError::Replaced`] if another run has taken the run's name, and another [`FleetError`] if the
    /// store does not accept the request, for example [`FleetError::Store`] if the store does not respond.
    pub fn finish(mut self, results: Vec<u8>) -> Result<bool, FleetError> {
        let end = self.order(|reply| Command::Finish(results, reply));
        self.words = None;
        end
    }

    fn order<T>(
        &self,
        command: impl FnOnce(Sender<Result<T, FleetError>>) -> Command,
    ) -> Result<T, FleetError> {
        let (reply, answer) = channel();
        let words = self.words.as_ref().ok_or(FleetError::Over)?;
        words.send(ThreadMessage::Command(command(reply))).map_err(|_| FleetError::Over)?;
        answer.recv().map_err(|_| FleetError::Over)?
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(words) = self.words.take() {
            for last in [Command::Leave(channel().0), Command::Drop] {
                let _ = words.send(ThreadMessage::Command(last));
            }
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
