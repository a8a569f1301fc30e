//! Groups the outputs of a run in progress: logs, live display and snapshots.

use crate::shown::live::Live;
use crate::shown::logs::Logs;
use crate::shown::snapshot::ObservedState;
use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Outputs {
    pub(crate) logs: Logs,
    pub(crate) live: Live,
    pub(crate) watch: watch::Sender<ObservedState>,
}

impl Outputs {
    pub(crate) fn only(live: Live) -> Outputs {
        let watch = watch::channel(ObservedState::Preparing { is_paused: false }).0;
        Outputs { logs: Logs::default(), live, watch }
    }
}
