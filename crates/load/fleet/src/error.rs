//! Defines the errors of a fleet.

use crate::start_barrier::Waits;
use nanopace::{ArrivalsError, ShapeError, ShapeSyntaxError};
use std::time::Duration;
use thiserror::Error;

/// The reason why a fleet cannot be joined or changed, or why a node cannot continue. No message contains the store's
/// password.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The string is not a valid store address.
    #[error(
        "the store's address is not valid: write redis://HOST:PORT/, or rediss:// for TLS, with :PASSWORD@ before the host if there is one, and %23 for # in it"
    )]
    Address,
    /// The address requires TLS, but this build does not support it.
    #[error("rediss:// needs TLS: build nanopace-fleet with its feature tls")]
    Tls,
    /// The crate was built without Redis.
    #[error("this build has no Redis client: build nanopace-fleet with its feature redis")]
    NotBuilt,
    /// The store rejects the user name or the password.
    #[error(
        "the store's password is wrong, missing or not needed: write redis://:PASSWORD@HOST:PORT/, with USER before the colon if there is one"
    )]
    Password,
    /// The store's user lacks permissions.
    #[error(
        "the store's user lacks permissions: grant it those that docs/FLEET.md lists, on keys ~nanopace:*"
    )]
    Permission,
    /// The server is a replica.
    #[error("the store is a read-only replica: write the address of its primary")]
    Replica,
    /// The server's memory is full.
    #[error(
        "the store's memory is full: increase maxmemory, and set maxmemory-policy to noeviction, or the store loses parts of the run"
    )]
    Full,
    /// The server may evict keys when its memory is full.
    #[error(
        "the store's maxmemory-policy is {0}, so it may evict parts of the run when its memory is full: run CONFIG SET maxmemory-policy noeviction there"
    )]
    Evicts(String),
    /// The server belongs to a cluster, and the server with the run's data cannot be reached.
    #[error(
        "the store is a cluster, and its server {0}, which has the run, can't be reached from here"
    )]
    Cluster(String),
    /// The store cannot be reached, or does not answer.
    #[error("the store does not answer: {0}")]
    Store(String),
    /// The data under the run's name is not a valid run.
    #[error("the store's data under the run's name is damaged: use another name")]
    Damaged,
    /// The run has a different load.
    #[error("the run has another load, {0}: write the same load, or none to join the run")]
    Differs(String),
    /// The run was started by another version. All nodes and readers of a run must have the same version.
    #[error(
        "the run was started by version {run}, and this is version {own}: use one version on all machines, or another name"
    )]
    Version {
        /// The version of the node that started the run.
        run: String,
        /// The version of this crate.
        own: &'static str,
    },
    /// There is no run with this name.
    #[error("there is no run of this name at the store: give a load to start it")]
    NoRun,
    /// The name is not valid for a run.
    #[error(
        "a run's name has 1 to 100 letters, digits, '-', '_' or '.': write for example checkout-7"
    )]
    Name,
    /// The number of nodes is out of range.
    #[error("a run has 1 to 1000 nodes: write for example --nodes 4")]
    Nodes,
    /// The name now belongs to another run.
    #[error("another run has this name now")]
    Replaced,
    /// The node has had no connection to the store for too long.
    #[error("the store has been away for longer than a node goes on without it")]
    Lost,
    /// The run has not started yet.
    #[error("the run has not started yet: {0}")]
    Waiting(Waits),
    /// The run has not started within the time for which a node waits.
    #[error(
        "after {0:?} the run has not started, {1}: check the output of the other nodes, or write a longer --join-timeout"
    )]
    NotStarted(Duration, Waits),
    /// The run has ended.
    #[error("the run is over")]
    Over,
    /// The store has received the change, but no node has confirmed it.
    #[error("the store has the change, but no node has confirmed it in {0:?}: check the status")]
    Unheard(Duration),
    /// All attempts at a change failed, because others changed the run at the same moments.
    #[error("others changed the run at the same moment: try again")]
    Contended,
    /// The run is already paused, or is not paused.
    #[error("the run is {0}")]
    Paused(&'static str),
    /// The shapes cannot be joined.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The string is not a valid shape.
    #[error(transparent)]
    ShapeSyntax(#[from] ShapeSyntaxError),
    /// The string is not a valid arrival process.
    #[error(transparent)]
    Arrivals(#[from] ArrivalsError),
    /// The thread of the node cannot be started.
    #[error("the thread of the node can't be started: {0}")]
    Thread(#[from] std::io::Error),
}

impl FleetError {
    pub(crate) fn of_version(run: String) -> FleetError {
        FleetError::Version { run, own: env!("CARGO_PKG_VERSION") }
    }
}
