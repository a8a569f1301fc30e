//! Records the operations of one thread or of all threads.

use super::labels::{Labelled, Labels};
use super::lateness::Lateness;
use super::operation::{Answer, Operation};
use super::percentiles::{GROWS, Sample, record};
use super::think_times::{HICCUP, ThinkTimes};
use crate::console::human::float;
use crate::load::details::{Details, SetUp, Traffic};
use crate::load::kind::FailureKind;
use crate::load::shortage::GENERATOR;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::time::Duration;

/// If a call of an asynchronous target blocks its thread for longer than this, it is counted in `held`.
const LONG: Duration = Duration::from_millis(1);

/// The counts and times of operations. Times are in nanoseconds.
///
/// Each slot counts once as started, skipped or unstarted. Each started slot also counts once as completed, failed or
/// unfinished, when this is known.
#[derive(Clone, Debug)]
pub(crate) struct OperationStats {
    pub(crate) wait: Histogram<u64>,
    /// The service times of completed operations, from the send. A closed-loop tool reports these times.
    pub(crate) service: Histogram<u64>,
    /// The response times, from the intended start. A slot that was not completed has a lower bound: the time until it
    /// failed or was given up or until the run ended, or the limit of the late policy if it was skipped.
    pub(crate) response: Histogram<u64>,
    pub(crate) bounds: Histogram<u64>,
    pub(crate) failures: BTreeMap<FailureKind, u64>,
    pub(crate) unfinished: u64,
    pub(crate) unstarted: u64,
    /// The number of unstarted slots that had been due for longer than a [`HICCUP`].
    pub(crate) overdue: u64,
    pub(crate) skipped: u64,
    /// The number of responses, with any status.
    pub(crate) answered: u64,
    pub(crate) statuses: BTreeMap<u16, u64>,
    pub(crate) labels: Labels,
    pub(crate) set_ups: SetUps,
    pub(crate) traffic: Traffic,
    pub(crate) lateness: Lateness,
    /// The lateness of all starts and of slots that did not start, including those of the warm-up.
    pub(crate) causes: Lateness,
    /// The approximate total time for which responses waited for the CPU.
    pub(crate) queued: Duration,
    /// The number of responses that were awaited while their thread was stopped, and the longest stop.
    pub(crate) stopped: (u64, Duration),
    pub(crate) think_times: ThinkTimes,
    /// The number of calls that blocked their thread for longer than [`LONG`], and the longest of these times.
    pub(crate) held: (u64, Duration),
    /// The total time for which threads spun on the clock before starts. The warm-up is included.
    pub(crate) spun: Duration,
}

#[derive(Clone, Debug)]
pub(crate) struct SetUps {
    pub(crate) all: Histogram<u64>,
    pub(crate) connect: Histogram<u64>,
    pub(crate) tls: Histogram<u64>,
}

impl OperationStats {
    pub(crate) fn new() -> OperationStats {
        let histogram = Histogram::new(3).expect("3 is a valid number of digits");
        OperationStats {
            wait: histogram.clone(),
            service: histogram.clone(),
            response: histogram.clone(),
            bounds: histogram.clone(),
            failures: BTreeMap::new(),
            unfinished: 0,
            unstarted: 0,
            overdue: 0,
            skipped: 0,
            answered: 0,
            statuses: BTreeMap::new(),
            labels: Labels::default(),
            set_ups: SetUps { all: histogram.clone(), connect: histogram.clone(), tls: histogram },
            traffic: Traffic::default(),
            lateness: Lateness::default(),
            causes: Lateness::default(),
            queued: Duration::ZERO,
            stopped: (0, Duration::ZERO),
            think_times: ThinkTimes::default(),
            held: (0, Duration::ZERO),
            spun: Duration::ZERO,
        }
    }

    pub(crate) fn start(&mut self, wait_time: Duration, lateness: Lateness) {
        record(&mut self.wait, wait_time, 1);
        self.lateness = self.lateness.plus(lateness);
    }

    pub(crate) fn cause(&mut self, lateness: Lateness) {
        self.causes = self.causes.plus(lateness);
    }

    pub(crate) fn answer(&mut self, operation: &Operation) {
        let Answer { outcome, details: Details { status, set_up, traffic, .. }, .. } =
            operation.answer;
        self.labels.end(operation);
        self.traffic += traffic;
        self.answered += u64::from(outcome.is_ok() || status.is_some());
        if let Some(status) = status {
            *self.statuses.entry(status).or_default() += 1;
        }
        if let Some(set_up) = set_up {
            self.set_up(set_up);
        }
    }

    pub(crate) fn end(&mut self, operation: &Operation) {
        self.answer(operation);
        self.held(operation.answer.held);
        match operation.answer.outcome {
            Ok(()) => {
                record(&mut self.service, operation.service_time(), 1);
                record(&mut self.response, operation.response_time(), 1);
            }
            Err(failure) => {
                *self.failures.entry(failure).or_default() += 1;
                self.lower_bound(operation.response_time(), 1);
            }
        }
    }

    pub(crate) fn unfinished(&mut self, age: Duration) {
        self.unfinished += 1;
        self.lower_bound(age, 1);
    }

    pub(crate) fn unstarted(&mut self, age: Duration, lateness: Lateness, slots: u64) {
        self.unstarted += slots;
        self.overdue += if age > HICCUP { slots } else { 0 };
        self.lower_bound(age, slots);
        let lateness = lateness.times(float(slots));
        self.lateness = self.lateness.plus(lateness);
        self.causes = self.causes.plus(lateness);
    }

    /// Records skipped slots, without their lateness, which the threads record. `limit` is the lateness beyond which
    /// slots are skipped.
    pub(crate) fn skipped(&mut self, slots: u64, limit: Duration) {
        self.skipped += slots;
        self.lower_bound(limit, slots);
    }

    /// Adds a time that a late policy gave up. This time belongs to no slot, but starts were late because of it.
    pub(crate) fn forfeited(&mut self, time: Duration) {
        self.lateness = self.lateness.plus(self.causes.parts_of(time.as_secs_f64()));
    }

    /// Records a response. `stopped` is the time for which the thread was stopped since the request was sent.
    pub(crate) fn answered(&mut self, queued: Duration, stopped: Duration) {
        self.queued += queued;
        self.stopped.0 += u64::from(stopped > Duration::ZERO);
        self.stopped.1 = self.stopped.1.max(stopped);
    }

    /// Records the lateness of a request after a think time that ended late. The generator caused this lateness.
    pub(crate) fn late_after_rest(&mut self, late: Duration) {
        self.think_times.end(late);
        self.lateness.generator += late.as_secs_f64();
    }

    pub(crate) fn held(&mut self, time: Duration) {
        if time > LONG {
            self.held = (self.held.0 + 1, self.held.1.max(time));
        }
    }

    pub(crate) fn set_up(&mut self, set_up: SetUp) {
        let all = set_up.connect + set_up.tls.unwrap_or_default();
        record(&mut self.set_ups.all, all, 1);
        record(&mut self.set_ups.connect, set_up.connect, 1);
        if let Some(tls) = set_up.tls {
            record(&mut self.set_ups.tls, tls, 1);
        }
    }

    fn lower_bound(&mut self, age: Duration, slots: u64) {
        record(&mut self.response, age, slots);
        record(&mut self.bounds, age, slots);
    }

    pub(crate) fn add(&mut self, other: &OperationStats) {
        for (sum, part) in self.histograms().into_iter().zip([
            &other.wait,
            &other.service,
            &other.response,
            &other.bounds,
            &other.set_ups.all,
            &other.set_ups.connect,
            &other.set_ups.tls,
        ]) {
            sum.add(part).expect(GROWS);
        }
        for (failure, count) in &other.failures {
            *self.failures.entry(*failure).or_default() += count;
        }
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        self.labels.add(&other.labels);
        self.answered += other.answered;
        self.unfinished += other.unfinished;
        self.unstarted += other.unstarted;
        self.overdue += other.overdue;
        self.skipped += other.skipped;
        self.traffic += other.traffic;
        self.lateness = self.lateness.plus(other.lateness);
        self.causes = self.causes.plus(other.causes);
        self.queued += other.queued;
        self.stopped.0 += other.stopped.0;
        self.stopped.1 = self.stopped.1.max(other.stopped.1);
        self.think_times.add(other.think_times);
        self.held.0 += other.held.0;
        self.held.1 = self.held.1.max(other.held.1);
        self.spun += other.spun;
    }

    /// Returns the statistics without the times and failures of `before`. Other counts are not changed. Returns `None`
    /// if `before` is not an earlier state.
    pub(crate) fn since(&self, before: &OperationStats) -> Option<OperationStats> {
        let mut since = self.clone();
        let parts = [&before.wait, &before.service, &before.response, &before.bounds];
        let OperationStats { wait, service, response, bounds, failures, .. } = &mut since;
        for (all, part) in [wait, service, response, bounds].into_iter().zip(parts) {
            all.subtract(part).ok()?;
        }
        for (failure, count) in &before.failures {
            let all = failures.get_mut(failure)?;
            *all = all.checked_sub(*count)?;
        }
        Some(since)
    }

    /// Removes all records, but keeps the allocated memory.
    pub(crate) fn clear(&mut self) {
        self.histograms().into_iter().for_each(Histogram::reset);
        self.failures.clear();
        self.statuses.clear();
        self.labels.clear();
        self.answered = 0;
        (self.unfinished, self.unstarted, self.overdue, self.skipped) = (0, 0, 0, 0);
        self.traffic = Traffic::default();
        (self.lateness, self.causes) = (Lateness::default(), Lateness::default());
        (self.queued, self.spun) = (Duration::ZERO, Duration::ZERO);
        (self.stopped, self.held) = ((0, Duration::ZERO), (0, Duration::ZERO));
        self.think_times = ThinkTimes::default();
    }

    fn histograms(&mut self) -> [&mut Histogram<u64>; 7] {
        let SetUps { all, connect, tls } = &mut self.set_ups;
        let OperationStats { wait, service, response, bounds, .. } = self;
        [wait, service, response, bounds, all, connect, tls]
    }

    pub(crate) fn responses(&self) -> Sample<'_> {
        Sample::bounded(&self.response, &self.bounds)
    }

    /// Returns the results of the labels. The list is empty if all operations have the same label, and this label was
    /// not expected.
    pub(crate) fn labels_apart(&self) -> Vec<&Labelled> {
        let ended = self.completed() + self.failed();
        let mut labels: Vec<_> = self.labels.iter().collect();
        if let [only] = labels[..]
            && only.response.len() == ended
            && !only.is_expected
        {
            labels.clear();
        }
        labels.sort_unstable_by(|a, b| a.label.cmp(&b.label));
        labels
    }

    pub(crate) fn due(&self) -> u64 {
        self.started() + self.skipped + self.unstarted
    }

    /// Returns the mean lateness of the slots that were due.
    pub(crate) fn mean_lateness(&self) -> Duration {
        Duration::from_secs_f64(self.lateness.total() / float(self.due().max(1)))
    }

    pub(crate) fn started(&self) -> u64 {
        self.wait.len()
    }

    pub(crate) fn completed(&self) -> u64 {
        self.service.len()
    }

    pub(crate) fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    pub(crate) fn failed_share(&self) -> f64 {
        float(self.failed()) / float(self.started().max(1))
    }

    pub(crate) fn failed_by_generator(&self) -> u64 {
        let own = self.failures.iter().filter(|(kind, _)| kind.group() == GENERATOR);
        own.map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace::Nanos;

    fn start_at(stats: &mut OperationStats, ms: u64) {
        stats.start(at(ms) - at(100), Lateness::default());
    }

    fn at(ms: u64) -> Nanos {
        Nanos::from_nanos(ms * 1_000_000)
    }

    fn traffic(operations: u64) -> Traffic {
        let [read, written, items, retried] = [10, 20, 3, 1].map(|each| each * operations);
        Traffic { read, written, items, retried }
    }

    /// Counts an operation that was due at 100 ms. `start`, `sent` and `end` are in ms.
    fn count(
        stats: &mut OperationStats,
        [start, sent, end]: [u64; 3],
        outcome: Result<(), FailureKind>,
        code: Option<u16>,
    ) {
        let details = Details { status: code, traffic: traffic(1), ..Details::default() };
        let answer = Answer { outcome, details, ..Answer::completed(at(sent)) };
        start_at(stats, start);
        let operation = Operation { intended_start: at(100), end: at(end), answer };
        stats.end(&operation);
    }

    fn status(code: u16) -> FailureKind {
        FailureKind::new(&format!("status {code}"))
    }

    fn is_ms(histogram: &Histogram<u64>, ms: u64) -> bool {
        histogram.len() == 1 && histogram.equivalent(histogram.max(), ms * 1_000_000)
    }

    #[test]
    fn response_is_wait_and_set_up_and_service() {
        let mut stats = OperationStats::new();
        count(&mut stats, [130, 135, 150], Ok(()), Some(200));
        assert!(is_ms(&stats.wait, 30) && is_ms(&stats.service, 15) && is_ms(&stats.response, 50));
        assert_eq!((stats.responses().at_least(), stats.traffic), (0, traffic(1)));
    }

    #[test]
    fn a_failure_is_never_timed_as_a_success() {
        let mut stats = OperationStats::new();
        count(&mut stats, [130, 130, 150], Err(FailureKind::new("timeout")), None);
        assert_eq!((stats.started(), stats.completed(), stats.failed()), (1, 0, 1));
        assert_eq!((stats.service.len(), stats.responses().at_least()), (0, 1));
        assert!(is_ms(&stats.response, 50));
        count(&mut stats, [130, 130, 150], Err(status(503)), Some(503));
        assert_eq!((stats.failures[&status(503)], stats.statuses[&503]), (1, 1));
        assert_eq!((stats.service.len(), stats.responses().at_least()), (0, 2));
    }

    #[test]
    fn every_slot_that_was_due_has_a_response_time() {
        let mut stats = OperationStats::new();
        count(&mut stats, [100, 100, 101], Ok(()), Some(200));
        start_at(&mut stats, 110);
        assert_eq!((stats.due(), stats.started(), stats.response.len()), (2, 2, 1));
        stats.unfinished(Duration::from_millis(7));
        stats.unstarted(Duration::from_millis(8), Lateness::default(), 1);
        stats.skipped(3, Duration::from_millis(9));
        assert_eq!((stats.due(), stats.unfinished, stats.response.len()), (6, 1, 6));
        assert_eq!(stats.responses().at_least(), 5);
        assert_eq!(stats.response.count_between(8_999_000, u64::MAX), 3);
    }

    #[test]
    fn sums_hold_what_their_parts_hold() {
        let mut stats = OperationStats::new();
        count(&mut stats, [130, 130, 150], Ok(()), Some(200));
        count(&mut stats, [100, 100, 101], Err(status(500)), Some(500));
        stats.unstarted(Duration::from_millis(8), Lateness::default(), 1);
        stats.unstarted(HICCUP + Duration::from_nanos(1), Lateness::default(), 3);
        stats.skipped(2, Duration::from_millis(8));
        for ms in [0, 7, 5] {
            stats.answered(Duration::ZERO, Duration::from_millis(ms));
            stats.held(Duration::from_millis(ms));
        }
        stats.held(LONG);
        let mut sum = stats.clone();
        sum.add(&stats);
        assert_eq!([sum.stopped, sum.held], [(4, Duration::from_millis(7)); 2]);
        assert_eq!((sum.started(), sum.completed(), sum.failed()), (4, 2, 2));
        assert_eq!(
            (sum.due(), sum.skipped, sum.unstarted, sum.overdue, sum.responses().at_least()),
            (16, 4, 8, 6, 14)
        );
        assert_eq!((sum.response.len(), sum.traffic, sum.statuses[&500]), (16, traffic(4), 2));
        sum.clear();
        assert_eq!((sum.due(), sum.responses().at_least(), sum.traffic), (0, 0, traffic(0)));
        assert_eq!((sum.lateness, sum.statuses.len()), (Lateness::default(), 0));
    }
}
