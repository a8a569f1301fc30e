//! Collects what all threads record, while they go on.

use super::recorder::Recorder;
use super::stats::OperationStats;
use crate::gaps::{Gaps, Quality};
use crate::run::asked::AskedLoad;
use nanopace::{Nanos, Pacer};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

/// Collects from the recorders of all threads.
#[derive(Debug)]
pub(crate) struct Collector<'run> {
    recorders: &'run [Arc<Recorder>],
    clock: Pacer,
    /// What was collected last.
    interval: OperationStats,
    /// What was collected in this second. Whose its lateness is has not been judged yet.
    second: OperationStats,
    last_second: OperationStats,
    /// Everything before this second.
    total: OperationStats,
    /// Empty. It takes the place of the stats that are being collected.
    spare: OperationStats,
    gaps: Gaps,
    /// Starts that were collected but not judged yet: an earlier start may still come.
    starts: Vec<Nanos>,
}

impl<'run> Collector<'run> {
    /// A collector for the threads of `recorders`, which are paced by `pacer`.
    pub(crate) fn new(pacer: &Pacer, recorders: &'run [Arc<Recorder>]) -> Collector<'run> {
        Collector {
            recorders,
            clock: pacer.clone(),
            interval: OperationStats::new(),
            second: OperationStats::new(),
            last_second: OperationStats::new(),
            total: OperationStats::new(),
            spare: OperationStats::new(),
            gaps: Gaps::default(),
            starts: Vec::new(),
        }
    }

    /// Collects what was recorded since the last time, of the load that was asked for.
    pub(crate) fn collect(&mut self, asked: &AskedLoad) -> &OperationStats {
        self.judge_starts(asked);
        self.interval.clear();
        for recorder in self.recorders {
            recorder.swap_stats(&mut self.spare);
            self.interval.add(&self.spare);
            self.spare.clear();
        }
        self.second.add(&self.interval);
        &self.interval
    }

    /// Ends the second. All lateness in it is the generator's if it had too little processor time.
    pub(crate) fn end_second(&mut self, lacks_processor: bool) -> &OperationStats {
        if lacks_processor {
            self.second.blame_generator();
        }
        self.total.add(&self.second);
        mem::swap(&mut self.second, &mut self.last_second);
        self.second.clear();
        &self.last_second
    }

    /// Counts what policies took from the run: slots that were skipped because they were later than
    /// `limit`, and time.
    pub(crate) fn settle(&mut self, skipped: u64, limit: Duration, forfeited: Duration) {
        self.total.skipped(skipped, limit);
        self.total.forfeited(forfeited);
    }

    /// From now on, another load is asked for; this one was until now.
    pub(crate) fn change(&mut self, asked: &AskedLoad) {
        self.judge_starts(asked);
        self.gaps.cut();
    }

    /// Everything until the end of the last second.
    pub(crate) fn total(&self) -> &OperationStats {
        &self.total
    }

    /// The gap quality of the starts collected so far.
    pub(crate) fn gap_quality(&self) -> Option<Quality> {
        self.gaps.quality()
    }

    /// Judges the gaps between the starts of all threads, in order.
    fn judge_starts(&mut self, asked: &AskedLoad) {
        // A start is stamped and recorded in one step, so no start up to this moment can come
        // later.
        let complete_until = self.clock.now();
        for recorder in self.recorders {
            recorder.take_starts(&mut self.starts);
        }
        self.starts.sort_unstable();
        let complete = self.starts.partition_point(|start| *start <= complete_until);
        let starts = self.starts.drain(..complete);
        if asked.is_even() {
            starts.for_each(|start| self.gaps.start(start, |from, to| asked.count(from, to)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace::Rate;

    const RATE: u64 = 1_000;

    fn asked() -> AskedLoad {
        AskedLoad::constant(Nanos::ZERO, Rate::per_second(RATE).unwrap())
    }

    fn recorders(pacer: &Pacer) -> [Arc<Recorder>; 2] {
        [1, 2].map(|connections| Arc::new(Recorder::new(pacer, connections)))
    }

    #[test]
    fn every_operation_is_collected_once() {
        let pacer = Pacer::new(Rate::per_second(RATE).unwrap());
        let recorders = recorders(&pacer);
        let mut collector = Collector::new(&pacer, &recorders);
        for (first, second) in [(3, 1), (0, 0), (0, 5)] {
            (0..first).for_each(|_| drop(recorders[0].start(pacer.now(), true)));
            (0..second).for_each(|_| drop(recorders[1].start(pacer.now(), true)));
            (0..7).for_each(|_| drop(recorders[1].start(pacer.now(), false)));
            let stats = collector.collect(&asked());
            assert_eq!((stats.started(), stats.unfinished), (first + second, first + second));
            let stats = collector.end_second(false);
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
        recorders[0].unstarted(&[(Nanos::ZERO, 1)], Nanos::ZERO + Duration::from_secs(1));
        collector.collect(&asked());
        collector.end_second(false);
        let second = Duration::from_secs(1);
        collector.settle(2, second, second);
        let lateness = collector.total().lateness;
        assert!((lateness.generator - 4.0).abs() < 1e-9, "{lateness:?}");
        assert_eq!(collector.total().due(), 3);
    }

    #[test]
    fn without_processor_time_nobody_else_is_to_blame() {
        let pacer = Pacer::new(Rate::per_second(RATE).unwrap());
        let recorders = recorders(&pacer);
        let mut collector = Collector::new(&pacer, &recorders);
        let flight = recorders[0].start(pacer.now(), true);
        recorders[0].unstarted(&[(Nanos::ZERO, 1)], Nanos::ZERO + Duration::from_secs(1));
        drop(flight);
        collector.collect(&asked());
        let lateness = collector.end_second(true).lateness;
        assert!(lateness.generator >= 1.0 && lateness.target == 0.0, "{lateness:?}");
    }
}
