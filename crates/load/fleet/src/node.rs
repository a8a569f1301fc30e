//! Implements the handle of a node that takes part in a run.

use crate::core::Core;
use crate::error::FleetError;
use crate::load::Load;
use crate::message::Run;
use crate::progress::Progress;
use crate::store_threads::{Command, ResultsThread, ThreadMessage};
use nanopace::Pacer;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A node that takes part in a run, created by [`Fleet::join`](crate::Fleet::join). Its [`pacer`](Node::pacer) starts
/// this node's slots of the run's common schedule.
///
/// Dropping a node makes it [leave](Node::leave). This takes some seconds if the store does not answer.
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
pub(crate) struct Shared(Mutex<(NodeStatus, Run)>);

/// The status of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeStatus {
    /// The number of nodes, according to the store's last answer.
    pub nodes: u32,
    /// Whether this is the first of the current nodes in the order in which they have joined. Use this to do something
    /// on one node only.
    pub is_first: bool,
    /// The time for which the node has been without the store; `None` while the store is available.
    pub blind: Option<Duration>,
    /// The number of frames in which the node has started its own slots according to the last roster, because it could
    /// not know the claims of other nodes. Only in these frames can slots start twice.
    pub blind_frames: u64,
    /// The lateness of the oldest slot that has not started.
    pub late: Duration,
    /// The number of slots started so far.
    pub fired: u64,
    /// The number of slots that a late policy has skipped.
    pub shed: u64,
    /// The number of slots that this node has started although another node owned them.
    pub twice: u64,
    /// Whether the run is paused.
    pub is_paused: bool,
    /// Whether the node has ended, because the name belongs to another run now, or because the store was unavailable
    /// for too long.
    pub is_over: bool,
}

impl Shared {
    pub(crate) fn new(run: &Run) -> Shared {
        Shared(Mutex::new((NodeStatus::default(), run.clone())))
    }

    fn lock(&self) -> MutexGuard<'_, (NodeStatus, Run)> {
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
            fired: progress.fired,
            shed: progress.shed,
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
    /// Returns the pacer of this node's slots. It can be used in any way: blocking, through lanes or claims, or through
    /// `nanopace-async`. Its callers get [`Ended::Finished`](nanopace::Ended::Finished) when the load has ended, and
    /// when the node leaves.
    ///
    /// Take slots one at a time. If you take several slots at once, which start with the first one, the later ones may
    /// go to another node and start twice.
    ///
    /// The schedule of the pacer belongs to the run. Change it through [`Control`](crate::Control). A direct change of
    /// the pacer affects only this node, whose slots then differ from those of the run.
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

    /// Returns the start of the load, on the pacer's clock. A run begins slightly before its load.
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

    /// Makes the node leave. Slots of frames for which other nodes still ask are given back, and other nodes get them.
    /// Callers get the slots of two or three more frames, and then [`Ended::Finished`](nanopace::Ended::Finished).
    /// After that, call [`finish`](Node::finish).
    ///
    /// # Errors
    /// [`FleetError::Store`] if the store does not answer.
    pub fn leave(&self) -> Result<(), FleetError> {
        self.order(Command::Leave)
    }

    /// Reports a number of slots that the [`pacer`](Node::pacer) has granted but that were not started, because their
    /// callers stopped. These slots count as lost instead of fired. Call this before [`finish`](Node::finish).
    ///
    /// # Errors
    /// [`FleetError::Over`] if the node's thread has ended.
    pub fn not_started(&self, slots: u64) -> Result<(), FleetError> {
        self.order(|reply| Command::NotStarted(slots, reply))
    }

    /// Reports the node's interim results to the store, for observers of the run, and in case the node dies.
    /// [`Control::results`](crate::Control::results) returns the last interim results until the node has finished. One
    /// report per second is enough. This call does not wait for the store, and does not delay claims. If a report
    /// fails, the next one replaces it.
    ///
    /// ```no_run
    /// # fn example(node: &nanopace_fleet::Node, done: u64) {
    /// node.tell(done.to_string().into_bytes());
    /// # }
    /// ```
    pub fn tell(&self, results: Vec<u8>) {
        self.telling.tell(results);
    }

    /// Ends the node, and reports the fate of its slots. `results` are stored, so that
    /// [`Control::results`](crate::Control::results) can return the results of all nodes. Empty results keep the last
    /// ones that the node has [reported](Node::tell).
    ///
    /// Call this when no caller takes slots any more. Slots that were leased but not started count as lost.
    ///
    /// Returns whether this was the last node, which means that all other nodes have finished or died. Exactly one node
    /// of a run is the last one. After the end of the load, this call waits for silent nodes, which may have died, for
    /// up to 32 frames and at least 625 ms.
    ///
    /// # Errors
    /// [`FleetError::Store`] if the store does not answer.
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
