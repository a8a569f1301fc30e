//! The notes of all workers, brought together while they go on writing.

use crate::gaps::{Gaps, Quality};
use crate::recorder::Recorder;
use crate::tally::Tally;
use nanopace::{Nanos, Pacer, Rate};

/// Collects from the recorders of all workers.
#[derive(Debug)]
pub(crate) struct Books<'run> {
    recorders: &'run [Recorder],
    clock: Pacer,
    /// What was collected last.
    interval: Tally,
    /// What was collected altogether.
    total: Tally,
    /// Empty; takes the place of the tally that is being collected.
    spare: Tally,
    gaps: Gaps,
    /// Starts that were collected and not yet judged, because an earlier one may still come.
    starts: Vec<Nanos>,
}

impl<'run> Books<'run> {
    /// Books over `recorders`, whose workers are paced by `pacer`.
    pub(crate) fn new(pacer: &Pacer, recorders: &'run [Recorder]) -> Books<'run> {
        Books {
            recorders,
            clock: pacer.clone(),
            interval: Tally::new(),
            total: Tally::new(),
            spare: Tally::new(),
            gaps: Gaps::new(pacer.rate()),
            starts: Vec::new(),
        }
    }

    /// Collects what was noted since the last time, and returns that.
    pub(crate) fn collect(&mut self) -> &Tally {
        self.judge_starts();
        self.interval.clear();
        for recorder in self.recorders {
            recorder.swap_tally(&mut self.spare);
            self.interval.add(&self.spare);
            self.spare.clear();
        }
        self.total.add(&self.interval);
        &self.interval
    }

    /// The gaps between starts are measured against `rate` from now on.
    pub(crate) fn change_rate(&mut self, rate: Rate) {
        self.judge_starts();
        self.gaps.change(rate);
    }

    /// Everything collected so far.
    pub(crate) fn total(&self) -> &Tally {
        &self.total
    }

    /// The gap quality of the starts collected so far.
    pub(crate) fn gap_quality(&self) -> Option<Quality> {
        self.gaps.quality()
    }

    /// Puts the starts of all workers in order and has the gaps between them judged.
    fn judge_starts(&mut self) {
        // A start is stamped and noted in one step, so none up to this moment can turn up later.
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
    use crate::tally::Operation;

    fn note(recorder: &Recorder, clock: &Pacer) {
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
        let mut books = Books::new(&pacer, &recorders);
        for (first, second) in [(3, 1), (0, 0), (0, 5)] {
            (0..first).for_each(|_| note(&recorders[0], &pacer));
            (0..second).for_each(|_| note(&recorders[1], &pacer));
            assert_eq!(books.collect().started(), first + second);
        }
        assert_eq!(books.total().started(), 9);
        assert_eq!(books.starts, []);
    }
}
