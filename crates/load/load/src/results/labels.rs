//! Counts operations by label.

use super::operation::Operation;
use super::percentiles::{Sample, record};
use crate::load::details::Traffic;
use hdrhistogram::Histogram;

const MOST: usize = 100;

pub(crate) const OTHERS: &str = "others";

#[derive(Clone, Debug, Default)]
pub(crate) struct Labels(Vec<Labelled>);

/// Times have two significant digits, because the histograms of all threads are added up several times per second.
#[derive(Clone, Debug)]
pub(crate) struct Labelled {
    pub(crate) label: String,
    pub(crate) service: Histogram<u64>,
    pub(crate) response: Histogram<u64>,
    pub(crate) bounds: Histogram<u64>,
    pub(crate) traffic: Traffic,
    pub(crate) is_expected: bool,
}

impl Labels {
    /// Adds labels that reports include even if no operation with these labels has ended.
    pub(crate) fn expect(&mut self, labels: &[&str]) {
        for label in labels {
            self.labelled(label).is_expected = true;
        }
    }

    pub(crate) fn end(&mut self, operation: &Operation) {
        let details = operation.answer.details;
        let Some(label) = details.label else { return };
        let labelled = self.labelled(label);
        if operation.answer.outcome.is_ok() {
            record(&mut labelled.service, operation.service_time(), 1);
        } else {
            record(&mut labelled.bounds, operation.response_time(), 1);
        }
        record(&mut labelled.response, operation.response_time(), 1);
        labelled.traffic += details.traffic;
    }

    pub(crate) fn add(&mut self, others: &Labels) {
        others.iter().for_each(|other| self.add_one(other));
    }

    pub(crate) fn add_one(&mut self, other: &Labelled) {
        let labelled = self.labelled(&other.label);
        for (sum, part) in
            labelled.histograms().into_iter().zip([&other.service, &other.response, &other.bounds])
        {
            // It takes as long to add an empty histogram as to add a full one, so empty ones are skipped.
            if !part.is_empty() {
                *sum += part;
            }
        }
        labelled.traffic += other.traffic;
        labelled.is_expected |= other.is_expected;
    }

    pub(crate) fn clear(&mut self) {
        for labelled in self.0.iter_mut().filter(|labelled| !labelled.response.is_empty()) {
            labelled.histograms().into_iter().for_each(Histogram::reset);
            labelled.traffic = Traffic::default();
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Labelled> {
        self.0.iter().filter(|labelled| labelled.is_expected || !labelled.response.is_empty())
    }

    fn labelled(&mut self, label: &str) -> &mut Labelled {
        let place = |label: &str| self.0.iter().position(|labelled| labelled.label == label);
        let is_full = self.0.len() >= MOST;
        let place = place(label).or_else(|| place(OTHERS).filter(|_| is_full));
        let place = place.unwrap_or_else(|| {
            self.0.push(Labelled::new(if is_full { OTHERS } else { label }));
            self.0.len() - 1
        });
        &mut self.0[place]
    }
}

impl Labelled {
    fn new(label: &str) -> Labelled {
        let histogram = Histogram::new(2).expect("2 is a valid number of digits");
        let (service, response) = (histogram.clone(), histogram.clone());
        Labelled {
            label: label.to_owned(),
            service,
            response,
            bounds: histogram,
            traffic: Traffic::default(),
            is_expected: false,
        }
    }

    fn histograms(&mut self) -> [&mut Histogram<u64>; 3] {
        [&mut self.service, &mut self.response, &mut self.bounds]
    }

    pub(crate) fn completed(&self) -> u64 {
        self.service.len()
    }

    pub(crate) fn failed(&self) -> u64 {
        self.bounds.len()
    }

    pub(crate) fn responses(&self) -> Sample<'_> {
        Sample::bounded(&self.response, &self.bounds)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::load::details::Details;
    use crate::load::kind::FailureKind;
    use crate::results::operation::Answer;
    use nanopace::Nanos;

    pub(crate) fn ended(label: &'static str, is_well: bool, ms: u64) -> Operation {
        let outcome = if is_well { Ok(()) } else { Err(FailureKind::new("refused")) };
        let traffic = Traffic { read: 2, written: 1, items: 4, retried: 1 };
        let details = Details { label: Some(label), traffic, ..Details::default() };
        let answer = Answer { outcome, details, ..Answer::completed(Nanos::ZERO) };
        let end = Nanos::from_nanos(ms * 1_000_000);
        Operation { intended_start: Nanos::ZERO, end, answer }
    }

    fn counts(labels: &Labels) -> Vec<(&str, u64, u64, u64)> {
        fn count(it: &Labelled) -> (&str, u64, u64, u64) {
            (&it.label, it.completed(), it.failed(), it.traffic.items)
        }
        labels.iter().map(count).collect()
    }

    #[test]
    fn each_label_has_its_own_times_and_failures() {
        let mut labels = Labels::default();
        for (label, is_well, ms) in [("read", true, 1), ("write", false, 7), ("read", true, 2)] {
            labels.end(&ended(label, is_well, ms));
        }
        assert_eq!(counts(&labels), [("read", 2, 0, 8), ("write", 0, 1, 4)]);
        let mut sum = labels.clone();
        sum.add(&labels);
        assert_eq!(counts(&sum), [("read", 4, 0, 16), ("write", 0, 2, 8)]);
        assert_eq!(sum.iter().nth(1).unwrap().responses().at_least(), 2);
        sum.clear();
        assert!(counts(&sum).is_empty());
    }

    #[test]
    fn an_expected_label_is_reported_although_none_of_its_operations_has_ended() {
        let mut labels = Labels::default();
        labels.expect(&["read", "write"]);
        labels.end(&ended("read", true, 1));
        assert_eq!(counts(&labels), [("read", 1, 0, 4), ("write", 0, 0, 0)]);
    }

    #[test]
    fn the_number_of_labels_has_a_bound() {
        let mut labels = Labels::default();
        for number in 0..2 * MOST {
            labels.end(&ended(Box::leak(number.to_string().into()), true, 1));
        }
        assert_eq!(labels.iter().count(), MOST + 1);
        assert_eq!(labels.iter().map(|it| it.service.len()).sum::<u64>(), 2 * MOST as u64);
        labels.end(&ended("0", true, 1));
        assert_eq!(labels.iter().next().unwrap().service.len(), 2);
    }
}
