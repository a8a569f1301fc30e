//! Statistics for callers without a lane.

use crate::stats::{Notebook, StartTimes};
use crate::{Grant, Nanos, Pacer};

/// Records what became of slots: wait, service and response times, and how late the generator
/// itself was. Make one for each worker or task, with [`Pacer::recorder`].
///
/// [`Pacer::stats`] has what all recorders and lanes have recorded; dropping one loses nothing. A
/// lane records its starts by itself, so an operation that was started through a lane needs only
/// [`completed`](Recorder::completed).
///
/// ```
/// use nanopace::{ManualClock, Pacer};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
/// let mut recorder = pacer.recorder();
///
/// let asked = pacer.now();
/// let grant = pacer.acquire()?; // slot 0
/// recorder.started(grant, asked);
/// clock.advance(Duration::from_millis(150)); // the target stalls
/// recorder.completed(grant, pacer.now());
///
/// let asked = pacer.now();
/// let grant = pacer.acquire()?; // slot 1, 50 ms late
/// recorder.started(grant, asked);
/// clock.advance(Duration::from_millis(1));
/// recorder.completed(grant, pacer.now());
///
/// let stats = pacer.stats();
/// let is_about = |value: u64, ms: u64| value.abs_diff(ms * 1_000_000) < ms * 1_000;
/// assert!(is_about(stats.wait_time().max(), 50));
/// assert!(is_about(stats.service_time().min(), 1)); // looks good,
/// assert!(is_about(stats.response_time().min(), 51)); // but is not what a user sees
/// assert_eq!(stats.oversleep().len(), 0); // the generator was not late: nothing waited for it
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Recorder {
    notebook: Notebook,
}

impl Pacer {
    /// A handle to record operations by that are started without a [`Lane`](crate::Lane), and when
    /// operations are complete; see [`Recorder`].
    #[must_use]
    pub fn recorder(&self) -> Recorder {
        Recorder { notebook: Notebook::new(&self.0.statistics) }
    }
}

impl Recorder {
    /// An operation starts whose slot was asked for at `asked`, on the pacer's clock.
    ///
    /// Its wait time is recorded. If the slot was asked for before it was due, so is how long that
    /// took ([`delay`](crate::Stats::delay)), and by how much it was late although it had been
    /// asked for in time ([`oversleep`](crate::Stats::oversleep)): that is the generator's own
    /// lateness. Any other lateness is that of workers that were busy, and so of the target.
    pub fn started(&mut self, grant: Grant, asked: Nanos) {
        let delay_ns = span_ns(asked, grant.intended_start());
        let oversleep_ns = if delay_ns > 0 { grant.wait_nanos() } else { 0 };
        self.notebook.record(&StartTimes { grant, delay_ns, oversleep_ns });
    }

    /// An operation is complete at `end`, on the pacer's clock. Its service and response times are
    /// recorded.
    pub fn completed(&mut self, grant: Grant, end: Nanos) {
        let service_ns = span_ns(grant.actual_start(), end);
        self.notebook.record_times(service_ns, span_ns(grant.intended_start(), end));
    }
}

fn span_ns(from: Nanos, to: Nanos) -> u64 {
    to.as_nanos().saturating_sub(from.as_nanos())
}
