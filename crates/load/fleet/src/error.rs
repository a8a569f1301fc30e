//! Defines the errors of a fleet.

use crate::start_barrier::Waits;
use nanopace::{ArrivalsError, ShapeError, ShapeSyntaxError};
use std::time::Duration;
use thiserror::Error;

/// The reason why a node cannot join or continue, or why a run cannot be read or changed. No message contains the
/// store's password.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The store's address is not valid.
    #[error(
        "the store's address is not valid: write redis://HOST:PORT/, with rediss:// for TLS, with USER:PASSWORD@ before the host if the store has users (%23 for # in the password), or redis+sentinel://HOST:PORT/NAME for sentinels"
    )]
    Address,
    /// The address requires TLS, but this build does not support it.
    #[error("rediss:// needs TLS: build nanopace-fleet with its feature tls")]
    Tls,
    /// The crate was built without a Redis client.
    #[error("this build has no Redis client: build nanopace-fleet with its feature redis")]
    NotBuilt,
    /// The store rejects the user name or the password.
    #[error(
        "the store's password is wrong, missing or not needed: write redis://:PASSWORD@HOST:PORT/, with a user's name before the colon if the store has users"
    )]
    Password,
    /// The store's user lacks permissions that a fleet needs.
    #[error(
        "the store's user lacks permissions: grant the user the permissions that docs/FLEET.md lists, on keys ~nanopace:*"
    )]
    Permission,
    /// The server is a read-only replica.
    #[error("the store is a read-only replica: write the address of its primary")]
    Replica,
    /// The server's memory is full.
    #[error(
        "the store's memory is full: increase maxmemory, and set maxmemory-policy to noeviction, or the store loses parts of the run"
    )]
    Full,
    /// The server may evict keys when its memory is full, so the run could lose data.
    #[error(
        "the store's maxmemory-policy is {0}, so the store may evict parts of the run when its memory is full: run CONFIG SET maxmemory-policy noeviction on the store"
    )]
    Evicts(String),
    /// The store is a cluster, and its server that has the run's data cannot be reached.
    #[error(
        "the store is a cluster, and this machine cannot reach the cluster's server {0}, which has the run's data"
    )]
    Cluster(String),
    /// The store cannot be reached, does not respond, or returns an error without a variant of its own.
    #[error("the store cannot be used: {0}")]
    Store(String),
    /// The data under the run's name is not a valid run.
    #[error("the store's data under the run's name is damaged: use another name")]
    Damaged,
    /// The load of the node that tries to join differs from the load of the run.
    #[error("the run has a different load, {0}: give the same load, or no load, to join the run")]
    Differs(String),
    /// The run was started by a different version of this crate. All nodes and readers of a run must have the same
    /// version.
    #[error(
        "the run was started by version {run}, and this is version {own}: use the same version on all machines, or start a run with another name"
    )]
    Version {
        /// The version of the node that started the run.
        run: String,
        /// The version of this crate.
        own: &'static str,
    },
    /// The store has no run with this name.
    #[error("the store has no run with this name: check the name, or start the run with a load")]
    NoRun,
    /// The string is not a valid name for a run.
    #[error(
        "a run's name has 1 to 100 ASCII letters, digits, '-', '_' or '.': write for example checkout-7"
    )]
    Name,
    /// The number of nodes is outside the range from 1 to 1000.
    #[error("a run has 1 to 1000 nodes: write for example --nodes 4")]
    Nodes,
    /// Another run has taken the run's name.
    #[error("another run has this name now")]
    Replaced,
    /// The node was without the store for longer than its limit.
    #[error("the store was unreachable for longer than the node may continue without it")]
    Lost,
    /// The run has not started yet.
    #[error("the run has not started yet: {0}")]
    Waiting(Waits),
    /// The run has not started within the time for which the node waits.
    #[error(
        "the run did not start within {0:?}, because {1}: check the output of the other nodes, or raise --join-timeout"
    )]
    NotStarted(Duration, Waits),
    /// The load of the run or the thread of the node has ended.
    #[error("the run is over")]
    Over,
    /// The store has received the change of the load, but no node has confirmed it in time.
    #[error(
        "the store has the change, but no node confirmed the change within {0:?}: check the status of the run"
    )]
    Unheard(Duration),
    /// All attempts at a change or an account failed, because the run changed at the same time.
    #[error("the run changed during every attempt: try again")]
    Contended,
    /// The run cannot be paused, because it is already paused, or cannot be resumed, because it is not paused.
    #[error("the run is {0}")]
    Paused(&'static str),
    /// The new shape cannot be combined with the load so far.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The string is not a valid shape.
    #[error(transparent)]
    ShapeSyntax(#[from] ShapeSyntaxError),
    /// The string does not name a valid arrival process.
    #[error(transparent)]
    Arrivals(#[from] ArrivalsError),
    /// A thread of the node cannot be started.
    #[error("cannot start a thread of the node: {0}")]
    Thread(#[from] std::io::Error),
}

impl FleetError {
    pub(crate) fn of_version(run: String) -> FleetError {
        FleetError::Version { run, own: env!("CARGO_PKG_VERSION") }
    }
}
