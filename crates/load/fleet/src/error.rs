//! The errors of a fleet.

use crate::start_barrier::Waits;
use nanopace::{ArrivalsError, ShapeError, ShapeSyntaxError};
use std::time::Duration;
use thiserror::Error;

/// Why a fleet can't be joined or changed, or why a node can't go on. No message contains the store's password.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The text is no address of a store.
    #[error(
        "that is no address of a store: write redis://HOST:PORT/, or rediss:// for TLS, with :PASSWORD@ before the host if there is one, and %23 for # in it"
    )]
    Address,
    /// The address asks for TLS, which was not built in.
    #[error("rediss:// asks for TLS: build nanopace-fleet with its feature tls")]
    Tls,
    /// Stores were left out.
    #[error("there is no store without Redis: build nanopace-fleet with its feature redis")]
    NotBuilt,
    /// The store does not let the user in.
    #[error(
        "the store's password is wrong, missing or not asked for: write redis://:PASSWORD@HOST:PORT/, with USER before the colon if there is one"
    )]
    Password,
    /// The store's user lacks rights.
    #[error(
        "the store's user may not do what a fleet does: give it the rights that docs/FLEET.md lists, on keys ~nanopace:*"
    )]
    Permission,
    /// The server is a replica.
    #[error("the store is a replica, which takes no changes: write the address of its primary")]
    Replica,
    /// The server's memory is full.
    #[error(
        "the store's memory is full: give it more, and set its maxmemory-policy to noeviction, or it forgets parts of the run"
    )]
    Full,
    /// The server throws keys away when its memory is full.
    #[error(
        "the store may throw away parts of the run when its memory is full, by its maxmemory-policy {0}: write CONFIG SET maxmemory-policy noeviction there"
    )]
    Evicts(String),
    /// The server belongs to a cluster, and the one that has the run can't be reached.
    #[error("the store is a cluster, whose server {0} has the run and can't be reached from here")]
    Cluster(String),
    /// The store can't be reached, or does not answer.
    #[error("the store does not answer: {0}")]
    Store(String),
    /// The data that the store has under the run's name is not a run.
    #[error("what the store has under the run's name is damaged: use another name")]
    Damaged,
    /// The run has another load.
    #[error(
        "the run has another load, {0}: start with the same one, or without one to take part in it"
    )]
    Differs(String),
    /// The run was started by another version. Only nodes and readers of one version understand each other.
    #[error(
        "the run was started by version {run}, and this is version {own}: use {run} here or {own} on all machines, or another name"
    )]
    Version {
        /// The version of the node that started the run.
        run: String,
        /// The version of this crate.
        own: &'static str,
    },
    /// There is no run of this name.
    #[error("there is no run of this name at the store: give a load to start it")]
    NoRun,
    /// The name is no name of a run.
    #[error("a run's name has 1 to 100 letters, digits, '-', '_' or '.': write such as checkout-7")]
    Name,
    /// More nodes than can be.
    #[error("a run has 1 to 1000 nodes: write such as --nodes 4")]
    Nodes,
    /// Another run has the name now.
    #[error("another run has this name now")]
    Replaced,
    /// The store has been away for too long.
    #[error("the store has been away for longer than a node goes on without it")]
    Lost,
    /// The run has not started.
    #[error("the run has not started yet: {0}")]
    Waiting(Waits),
    /// The run has not started in the time for which a node waits.
    #[error(
        "after {0:?} the run has not started, {1}: look at what the other nodes say, or write a longer --join-timeout"
    )]
    NotStarted(Duration, Waits),
    /// The run is over.
    #[error("the run is over")]
    Over,
    /// The store has the change, and no node has reported that it knows of it.
    #[error("the store has the change, but no node has heard of it in {0:?}: look at the status")]
    Unheard(Duration),
    /// Others change the run all the time.
    #[error("others have changed the run at the same moment: try again")]
    Contended,
    /// The run is paused, or is not.
    #[error("the run is {0}")]
    Paused(&'static str),
    /// Shapes that can't be joined.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A text that is no shape.
    #[error(transparent)]
    ShapeSyntax(#[from] ShapeSyntaxError),
    /// A text that is no arrival process.
    #[error(transparent)]
    Arrivals(#[from] ArrivalsError),
    /// The thread of the node can't be started.
    #[error("the thread of the node can't be started: {0}")]
    Thread(#[from] std::io::Error),
}

impl FleetError {
    /// The run is of this other version.
    pub(crate) fn of_version(run: String) -> FleetError {
        FleetError::Version { run, own: env!("CARGO_PKG_VERSION") }
    }
}
