//! Provides the snapshots of each load to the control server and to pushed metrics.

use crate::shown::metrics::{self, Family};
use crate::shown::snapshot::Snapshot;
use std::sync::Arc;
use tokio::sync::watch;

#[derive(Clone, Debug)]
pub(crate) struct Observed {
    /// The name of the load, or `None` if the run consists of this load alone.
    pub(crate) name: Option<String>,
    pub(crate) url: String,
    /// The last snapshot of the load, or `None` before its schedule starts.
    pub(crate) snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
}

impl Observed {
    pub(crate) fn new(
        name: Option<String>,
        url: String,
    ) -> (watch::Sender<Option<Arc<Snapshot>>>, Observed) {
        let (watch, snapshots) = watch::channel(None);
        (watch, Observed { name, url, snapshots })
    }

    pub(crate) fn look(&self) -> (Option<&str>, Option<Arc<Snapshot>>) {
        (self.name.as_deref(), self.snapshots.borrow().clone())
    }
}

pub(crate) fn families<'run>(
    looks: &'run [(Option<&str>, Option<Arc<Snapshot>>)],
) -> Vec<Family<'run>> {
    let each = looks.iter().map(|(name, snapshot)| (*name, metrics::families(snapshot.as_deref())));
    metrics::joined(each)
}
