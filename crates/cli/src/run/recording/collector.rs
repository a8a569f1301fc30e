//! Collects what all threads record, while they go on.

use super::recorder::Recorder;
use super::stats::OperationStats;
use crate::gaps::{Gaps, Quality};
use nanopace::{Nanos, Pacer, Rate};
use std::sync::Arc;
use std::time::Duration;

/// Collects from the recorders of all threads.
#[derive(Debug)]
pub(crate) struct Collector<'run> {
    recorders: &'run [Arc<Recorder>],
    clock: Pacer,
    /// What was collected last.
    interval: OperationStats,
    /// Everything that was collected.
    total: OperationStats,
    /// Empty. It takes the place of the stats that are being collected.
    spare: OperationStats,
    gaps: Gaps,
    /// Starts that were collected but not judged yet: an earlier start may still come.
    starts: Vec<Nanos>,
}

/// What happened beside the operations since the last collection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beside {
    /// Slots that were skipped.
    pub(crate) skipped: u64,
    /// They were later than this.
    pub(crate) skip_limit: Duration,
    /// Time that a policy gave up: no slot has it, but starts were late by it.
    pub(crate) forfeited: Duration,
    /// Whether the load threads had too little processor time.
    pub(crate) lacks_processor: bool,
}

impl<'run> Collector<'run> {
    /// A collector for the threads of `recorders`, which are paced by `pacer`.
    pub(crate) fn new(pacer: &Pacer, recorders: &'run [Arc<Recorder>]) -> Collector<'run> {
        Collector {
            recorders,
            clock: pacer.clone(),
            interval: OperationStats::new(),
            total: OperationStats::new(),
            spare: OperationStats::new(),
            gaps: Gaps::new(pacer.rate()),
            starts: Vec::new(),
        }
    }

    /// Collects what was recorded since the last time.
    pub(crate) fn collect(&mut self, beside: Beside) -> &OperationStats {
        self.judge_starts();
        self.interval.clear();
        for recorder in self.recorders {
            recorder.swap_stats(&mut self.spare);
            self.interval.add(&self.spare);
            self.spare.clear();
        }
        self.interval.skipped(beside.skipped, beside.skip_limit);
        let lateness = self.interval.lateness.stretched_by(beside.forfeited.as_secs_f64());
        self.interval.lateness =
            if beside.lacks_processor { lateness.all_generator() } else { lateness };
        self.total.add(&self.interval);
        &self.interval
    }

    /// From now on, gaps between starts are measured against `rate`.
    pub(crate) fn change_rate(&mut self, rate: Rate) {
        self.judge_starts();
        self.gaps.change(rate);
    }

    /// Everything collected so far.
    pub(crate) fn total(&self) -> &OperationStats {
        &self.total
    }

    /// The gap quality of the starts collected so far.
    pub(crate) fn gap_quality(&self) -> Option<Quality> {
        self.gaps.quality()
    }

    /// Judges the gaps between the starts of all threads, in order.
    fn judge_starts(&mut self) {
        // A start is stamped and recorded in one step, so no start up to this moment can come
        // later.
        let complete_until = self.clock.now();
        for recorder in self.recorders {
            recorder.take_starts(&mut self.starts);
        }
        self.starts.sort_unstable();
        let complete = self.starts.partition_point(|start| *start <= complete_until);
        self.starts.drain(..complete).for_each(|start| self.gaps.start(start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u64 = 1_000;

    fn recorders(pacer: &Pacer) -> [Arc<Recorder>; 2] {
        [1, 2].map(|connections| Arc::new(Recorder::new(pacer, connections)))
    }

    #[test]
    fn every_operation_is_collected_once() {
        let pacer = Pacer::new(Rate::per_second(RATE).unwrap());
        let recorders = recorders(&pacer);
        let mut collector = Collector::new(&pacer, &recorders);
        for (first, second) in [(3, 1), (0, 0), (0, 5)] {
            (0..first).for_each(|_| drop(recorders[0].start(pacer.now(), pacer.now(), true)));
            (0..second).for_each(|_| drop(recorders[1].start(pacer.now(), pacer.now(), true)));
            (0..7).for_each(|_| drop(recorders[1].start(pacer.now(), pacer.now(), false)));
            let stats = collector.collect(Beside::default());
            assert_eq!((stats.started(), stats.unfinished), (first + second, first + second));
        }
        assert_eq!((collector.total().started(), collector.total().due()), (9, 9));
        assert_eq!(collector.starts, []);
    }

    #[test]
    fn what_policies_gave_up_is_put_down_to_who_was_late() {
        let pacer = Pacer::new(Rate::per_second(RATE).unwrap());
        let recorders = recorders(&pacer);
        let mut collector = Collector::new(&pacer, &recorders);
        recorders[0].unstarted([Nanos::ZERO], Nanos::ZERO + Duration::from_secs(1));
        let second = Duration::from_secs(1);
        let beside =
            Beside { skipped: 2, skip_limit: second, forfeited: second, ..Beside::default() };
        let lateness = collector.collect(beside).lateness;
        assert!((lateness.generator - 4.0).abs() < 1e-9, "{lateness:?}");
        assert_eq!(collector.total().due(), 3);
    }

    #[test]
    fn without_processor_time_nobody_else_is_to_blame() {
        let pacer = Pacer::new(Rate::per_second(RATE).unwrap());
        let recorders = recorders(&pacer);
        let mut collector = Collector::new(&pacer, &recorders);
        let flight = recorders[0].start(pacer.now(), pacer.now(), true);
        recorders[0].unstarted([Nanos::ZERO], Nanos::ZERO + Duration::from_secs(1));
        drop(flight);
        let beside = Beside { lacks_processor: true, ..Beside::default() };
        let lateness = collector.collect(beside).lateness;
        assert!(lateness.generator >= 1.0 && lateness.target == 0.0, "{lateness:?}");
    }
}
