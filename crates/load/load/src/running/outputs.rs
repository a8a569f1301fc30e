//! The outputs of a run while it runs: logs, terminal and snapshots.

use crate::shown::live::Live;
use crate::shown::logs::Logs;
use crate::shown::snapshot::Snapshot;
use std::sync::Arc;
use tokio::sync::watch;

/// Logs, people and programs.
#[derive(Debug)]
pub(crate) struct Outputs {
    pub(crate) logs: Logs,
    pub(crate) live: Live,
    /// Publishes the snapshots of the run to programs.
    pub(crate) watch: watch::Sender<Option<Arc<Snapshot>>>,
}

impl Outputs {
    /// Only a terminal.
    pub(crate) fn only(live: Live) -> Outputs {
        Outputs { logs: Logs::default(), live, watch: watch::channel(None).0 }
    }
}
