//! Provides the snapshots of each load to the control server and to pushed metrics.

use crate::shown::metrics::{self, Family};
use crate::shown::snapshot::ObservedState;
use tokio::sync::watch;

#[derive(Clone, Debug)]
pub(crate) struct Observed {
    /// The name of the load, or `None` if the run consists of this load alone.
    pub(crate) name: Option<String>,
    pub(crate) url: String,
    pub(crate) states: watch::Receiver<ObservedState>,
}

impl Observed {
    pub(crate) fn new(
        name: Option<String>,
        url: String,
    ) -> (watch::Sender<ObservedState>, Observed) {
        let (watch, states) = watch::channel(ObservedState::Preparing { is_paused: false });
        (watch, Observed { name, url, states })
    }

    pub(crate) fn snapshot(&self) -> (Option<&str>, ObservedState) {
        (self.name.as_deref(), self.states.borrow().clone())
    }
}

pub(crate) fn families<'run>(states: &'run [(Option<&str>, ObservedState)]) -> Vec<Family<'run>> {
    metrics::joined(states.iter().map(|(name, state)| (*name, metrics::families(state))))
}
