//! Collects what all workers record, while they go on.

use super::recorder::Recorder;
use super::stats::OperationStats;
use crate::gaps::{Gaps, Quality};
use nanopace::{Nanos, Pacer, Rate};

/// Collects from the recorders of all workers.
#[derive(Debug)]
pub(crate) struct Collector<'run> {
    recorders: &'run [Recorder],
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

impl<'run> Collector<'run> {
    /// A collector for the workers of `recorders`, who are paced by `pacer`.
    pub(crate) fn new(pacer: &Pacer, recorders: &'run [Recorder]) -> Collector<'run> {
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

    /// Collects what was recorded since the last time, and returns it.
    pub(crate) fn collect(&mut self) -> &OperationStats {
        self.judge_starts();
        self.interval.clear();
        for recorder in self.recorders {
            recorder.swap_stats(&mut self.spare);
            self.interval.add(&self.spare);
            self.spare.clear();
        }
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

    /// Judges the gaps between the starts of all workers, in order.
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
    use crate::run::recording::operation::Operation;

    fn record(recorder: &Recorder, clock: &Pacer) {
        let start = recorder.start();
        let operation = Operation {
            intended_start: start,
            worker_free: start,
            start,
            end: clock.now(),
            outcome: Ok(()),
        };
        recorder.finish(&operation);
    }

    #[test]
    fn every_operation_is_collected_once() {
        let pacer = Pacer::new(Rate::per_second(1_000).unwrap());
        let recorders = [Recorder::new(&pacer), Recorder::new(&pacer)];
        let mut collector = Collector::new(&pacer, &recorders);
        for (first, second) in [(3, 1), (0, 0), (0, 5)] {
            (0..first).for_each(|_| record(&recorders[0], &pacer));
            (0..second).for_each(|_| record(&recorders[1], &pacer));
            assert_eq!(collector.collect().started(), first + second);
        }
        assert_eq!(collector.total().started(), 9);
        assert_eq!(collector.starts, []);
    }
}
