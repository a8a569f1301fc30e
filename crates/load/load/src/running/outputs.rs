//! Groups the outputs of a run in progress: logs, live display and snapshots.

use crate::shown::live::Live;
use crate::shown::logs::Logs;
use crate::shown::snapshot::Snapshot;
use std::sync::Arc;
use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Outputs {
    pub(crate) logs: Logs,
    pub(crate) live: Live,
    pub(crate) watch: watch::Sender<Option<Arc<Snapshot>>>,
}

impl Outputs {
    pub(crate) fn only(live: Live) -> Outputs {
        Outputs { logs: Logs::default(), live, watch: watch::channel(None).0 }
    }
}
