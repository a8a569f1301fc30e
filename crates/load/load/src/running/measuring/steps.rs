//! Records the steps of calls, with the recorder of the session's thread.

use super::recorder::Recorder;
use crate::load::backend::Steps;
use crate::load::target::{Done, Failure, Slot};
use crate::results::operation::{Answer, Operation};
use nanopace::Nanos;
use std::iter;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct StepRecorders(Vec<Arc<Recorder>>);

impl StepRecorders {
    /// Creates a recorder of steps. `sessions` contains the number of sessions of each thread.
    pub(crate) fn new(recorders: &[Arc<Recorder>], sessions: &[usize]) -> StepRecorders {
        let each = recorders.iter().zip(sessions);
        StepRecorders(each.flat_map(|(it, count)| iter::repeat_n(Arc::clone(it), *count)).collect())
    }
}

impl Steps for StepRecorders {
    fn end(&self, session: usize, due: Nanos, end: Nanos, called: Result<Done, Failure>) {
        let answer = Answer::new(due, called);
        self.0[session].step(&Operation { intended_start: due, end, answer });
    }

    fn rest(&self, session: usize, slot: Slot, until: Nanos) {
        self.0[session].rest(slot.place, until);
    }

    fn go_on(&self, session: usize, slot: Slot) -> Nanos {
        self.0[session].go_on(slot.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::stats::OperationStats;
    use nanopace::{Pacer, Rate};

    #[test]
    fn steps_are_counted_by_their_labels_and_are_no_operations() {
        let pacer = Pacer::new(Rate::per_second(1).unwrap());
        let recorders = Recorder::all(&pacer, &[1, 2], false);
        let steps = StepRecorders::new(&recorders, &[1, 2]);
        let at = |ms: u64| Nanos::from_nanos(ms * 1_000_000);
        for (session, status, due) in [(0, 200, 3), (1, 503, 5), (2, 200, 7)] {
            let done = Done::new().label("log in").status(status).bytes(10, 1).sent(at(9), None);
            let called = if status == 200 { Ok(done) } else { Err(Failure::new("x").with(done)) };
            steps.end(session, at(due), at(19), called);
        }
        let mut all = OperationStats::new();
        for recorder in &recorders {
            let mut stats = OperationStats::new();
            recorder.swap_stats(&mut stats);
            assert!(!stats.statuses.is_empty());
            all.add(&stats);
        }
        assert_eq!((all.due(), all.completed(), all.failed()), (0, 0, 0));
        assert_eq!((all.statuses[&200], all.statuses[&503], all.traffic.read), (2, 1, 30));
        let label = all.labels_apart().pop().unwrap();
        assert_eq!((label.completed(), label.failed(), label.label.as_str()), (2, 1, "log in"));
        assert!(label.service.equivalent(label.service.max(), 10_000_000));
        assert!(label.response.equivalent(label.response.max(), 16_000_000));
    }
}
