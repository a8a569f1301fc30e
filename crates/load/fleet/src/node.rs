//! A node that takes part in a run.

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

/// A node that takes part in a run, from [`Fleet::join`](crate::Fleet::join). Its
/// [`pacer`](Node::pacer) starts this node's slots of the run's one schedule.
///
/// Dropping it is [leaving](Node::leave). That takes some seconds if the store does not answer.
#[derive(Debug)]
pub struct Node {
    pub(crate) pacer: Pacer,
    pub(crate) shared: Arc<Shared>,
    pub(crate) words: Option<Sender<ThreadMessage>>,
    pub(crate) telling: ResultsThread,
    pub(crate) thread: Option<JoinHandle<()>>,
    pub(crate) id: u16,
    /// When the first slot of the run can start, on the pacer's clock.
    pub(crate) head: Duration,
}

/// The state that a node's thread shares with its callers.
#[derive(Debug)]
pub(crate) struct Shared(Mutex<(NodeStatus, Run)>);

/// The status of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeStatus {
    /// How many nodes there are, by the store's last answer.
    pub nodes: u32,
    /// Whether it is the first of them in the order in which they have joined: one node of a fleet, for
    /// what is done once.
    pub is_first: bool,
    /// For how long the node has been without the store; none while it is there.
    pub blind: Option<Duration>,
    /// In how many frames so far the node has started its own slots by the last roster, because it could not know the
    /// claims of others. Only then slots can start twice.
    pub blind_frames: u64,
    /// How late the oldest slot is that has not started.
    pub late: Duration,
    /// Slots started so far.
    pub fired: u64,
    /// Slots skipped by a late policy.
    pub shed: u64,
    /// Slots that this node has started while they were another's.
    pub twice: u64,
    /// Whether the run is paused.
    pub is_paused: bool,
    /// Whether the node has ended: the run has another load now, or the store was away for too long.
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
    /// The pacer of this node's slots: blocking, by lanes, by claims, or through `nanopace-async`. Its
    /// callers get [`Ended::Finished`](nanopace::Ended::Finished) when the load is over, and when
    /// the node leaves.
    ///
    /// Take slots one at a time. If you take a row, which starts with its first slot, its later slots may go to another
    /// node and start twice.
    ///
    /// Its schedule belongs to the run. Change it by [`Control`](crate::Control); what you change here
    /// changes this node alone, and then its slots are not those of the run.
    #[must_use]
    pub fn pacer(&self) -> &Pacer {
        &self.pacer
    }

    /// The node's number in the run, from 1 on.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.id
    }

    /// The run's own number, as in [`RunStatus::id`](crate::RunStatus::id).
    #[must_use]
    pub fn run_id(&self) -> String {
        self.shared.lock().1.id.clone()
    }

    /// When the load begins, on the pacer's clock: a run begins a little ahead of it.
    #[must_use]
    pub fn begins(&self) -> Duration {
        self.head
    }

    /// The status of the node.
    #[must_use]
    pub fn status(&self) -> NodeStatus {
        self.shared.lock().0
    }

    /// The shape of the whole load as text, with all changes so far.
    #[must_use]
    pub fn shape(&self) -> String {
        let run = self.shared.lock().1.clone();
        Load::of(&run).map_or_else(|_| String::new(), |load| load.text())
    }

    /// Takes part no more: the slots of frames that others still ask for go back, and other nodes get
    /// them. Callers get the slots of two or three frames more, and then
    /// [`Ended::Finished`](nanopace::Ended::Finished). Then call [`finish`](Node::finish).
    ///
    /// # Errors
    /// [`FleetError::Store`] if the store does not answer.
    pub fn leave(&self) -> Result<(), FleetError> {
        self.order(Command::Leave)
    }

    /// Reports how many slots that the [`pacer`](Node::pacer) has granted were not started after all, because the
    /// callers stopped: they count as lost, and not as fired. Call it before [`finish`](Node::finish).
    ///
    /// # Errors
    /// [`FleetError::Over`] if the node's thread has ended.
    pub fn not_started(&self, slots: u64) -> Result<(), FleetError> {
        self.order(|reply| Command::NotStarted(slots, reply))
    }

    /// Reports the node's interim results to the store, for observers of the run and in case the node dies:
    /// [`Control::results`](crate::Control::results) returns the last ones until the node is done. Once a second is
    /// often enough. The call does not wait for the store, and claims do not wait for it. The next report makes up for
    /// one that fails.
    ///
    /// ```no_run
    /// # fn example(node: &nanopace_fleet::Node, done: u64) {
    /// node.tell(done.to_string().into_bytes());
    /// # }
    /// ```
    pub fn tell(&self, results: Vec<u8>) {
        self.telling.tell(results);
    }

    /// Ends the node: reports what became of its slots. `results` are stored, so that
    /// [`Control::results`](crate::Control::results) can return those of all nodes. Empty ones keep what the node
    /// [reported](Node::tell) last.
    ///
    /// Call it when no caller takes slots any more. Slots that were leased and not started count as
    /// lost.
    ///
    /// Returns whether it was the last one: then all others are done, or have died. One node of a run is the last. After
    /// the end of the load it waits up to 32 frames, and 625 ms at least, for nodes that are silent: they may have died.
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
