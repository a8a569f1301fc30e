//! Groups the outputs of a run in progress: logs, live display and snapshots.

use crate::shown::live::Live;
use crate::shown::logs::Logs;
use crate::shown::snapshot::Snapshot;
use std::sync::Arc;
use tokio::sync::watch;

/// The outputs of a run in progress.
#[derive(Debug)]
pub(crate) struct Outputs {
    pub(crate) logs: Logs,
    pub(crate) live: Live,
    /// The channel that publishes the snapshots of the run to programs.
    pub(crate) watch: watch::Sender<Option<Arc<Snapshot>>>,
}

impl Outputs {
    /// Creates outputs that consist only of a live display.
    pub(crate) fn only(live: Live) -> Outputs {
        Outputs { logs: Logs::default(), live, watch: watch::channel(None).0 }
    }
}
