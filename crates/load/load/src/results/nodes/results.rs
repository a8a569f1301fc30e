//! Defines the results that a node reports to the store every second and at the end.

use super::timeline::{MOST, Part, Timeline};
use crate::load::details::Traffic;
use crate::load::kind::FailureKind;
use crate::load::own_times::{self, OwnTimes, Part as OfAnswer};
use crate::results::labels::{Labelled, Labels};
use crate::results::lateness::Lateness;
use crate::results::outcome::{Due, Ending};
use crate::results::over_time::{Backlog, Brief, OverTime};
use crate::results::stats::{OperationStats, SetUps};
use crate::results::think_times::ThinkTimes;
use anyhow::{Context, ensure};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::time::Duration;

/// The version of the format of the results. Results in another version are not added up.
const FORM: u32 = 10;

/// The maximum size of results that are accepted, in bytes before compression.
const LONGEST: u64 = 64 << 20;

#[derive(Clone, Debug)]
pub(crate) struct Results {
    /// The time of the load up to which these results are complete.
    pub(crate) until: Duration,
    pub(crate) stats: OperationStats,
    pub(crate) own_times: Vec<OwnTimes>,
    pub(crate) timeline: Timeline,
}

/// The first part of the results, which is one line in JSON. The histograms follow it in version 2 of their interchange
/// format. Both parts are compressed together.
#[derive(Debug, Deserialize, Serialize)]
struct Head {
    form: u32,
    until: Duration,
    counts: Counts,
    /// The parts for which the target has times or counters of its own, each with its `untimed` number.
    own: Vec<(OfAnswer, u64)>,
    width: u64,
    span: (Duration, Duration),
    parts: Vec<PartHead>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Counts {
    failures: Vec<(FailureKind, u64)>,
    unfinished: u64,
    unstarted: u64,
    skipped: u64,
    answered: u64,
    statuses: BTreeMap<u16, u64>,
    traffic: Traffic,
    lateness: Lateness,
    rests: ThinkTimes,
    labels: Vec<LabelHead>,
}

#[derive(Debug, Deserialize, Serialize)]
struct LabelHead {
    label: String,
    traffic: Traffic,
    is_expected: bool,
}

#[derive(Debug, Deserialize, Serialize)]
struct PartHead {
    number: u64,
    backlog: (u64, Duration),
    asked: f64,
    failed: u64,
    answered: u64,
    endings: Vec<(Ending, u64)>,
}

impl Results {
    /// Creates the results of a node whose recorded part of the run lasted until `until`.
    pub(crate) fn of(
        until: Duration,
        stats: &OperationStats,
        own_times: &[OwnTimes],
        over_time: &OverTime,
    ) -> Results {
        let (stats, own_times) = (stats.clone(), own_times.to_vec());
        Results { until, stats, own_times, timeline: Timeline::of(over_time) }
    }

    pub(crate) fn to_bytes(&self) -> anyhow::Result<Vec<u8>> {
        let mut bytes = ZlibEncoder::new(Vec::new(), Compression::fast());
        serde_json::to_writer(&mut bytes, &self.head())?;
        bytes.write_all(b"\n")?;
        let mut serializer = V2Serializer::new();
        let parts = self.timeline.parts.values().flat_map(histograms_of);
        let labels = self.stats.labels.iter().flat_map(histograms_by_label);
        let own = self.own_times.iter().map(|own| &own.times);
        let sums = histograms(&self.stats).into_iter().chain(labels).chain(own);
        for histogram in sums.chain(parts) {
            let written = serializer.serialize(histogram, &mut bytes);
            written.ok().context("cannot write a histogram")?;
        }
        Ok(bytes.finish()?)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> anyhow::Result<Results> {
        let (head, mut rest) = Head::read(bytes)?;
        let stats = head.counts.stats(&mut rest)?;
        let own_times = head.own.into_iter().map(|(part, untimed)| {
            let [times] = read(&mut rest)?;
            Ok(OwnTimes { part, times, untimed })
        });
        let own_times = own_times.collect::<anyhow::Result<_>>()?;
        let mut parts = BTreeMap::new();
        for part in head.parts {
            parts.insert(part.number, part.part(&mut rest)?);
        }
        let timeline = Timeline { width: head.width, parts, span: head.span };
        Ok(Results { until: head.until, stats, own_times, timeline })
    }

    pub(crate) fn sum_from_bytes(bytes: &[u8]) -> anyhow::Result<(Duration, OperationStats)> {
        let (head, mut rest) = Head::read(bytes)?;
        Ok((head.until, head.counts.stats(&mut rest)?))
    }

    fn head(&self) -> Head {
        let Results { until, stats, own_times, timeline } = self;
        Head {
            form: FORM,
            until: *until,
            counts: Counts::of(stats),
            own: own_times.iter().map(|own| (own.part, own.untimed)).collect(),
            width: timeline.width,
            span: timeline.span,
            parts: timeline
                .parts
                .iter()
                .map(|(&number, part)| PartHead::of(number, part))
                .collect(),
        }
    }

    pub(crate) fn plus(mut self, other: Results) -> Results {
        self.stats.add(&other.stats);
        own_times::add(&mut self.own_times, other.own_times);
        let (until, timeline) = (self.until.max(other.until), self.timeline.plus(other.timeline));
        Results { until, timeline, ..self }
    }
}

impl Head {
    fn read(bytes: &[u8]) -> anyhow::Result<(Head, impl Read)> {
        let mut text = BufReader::new(ZlibDecoder::new(bytes).take(LONGEST));
        let mut line = Vec::new();
        text.read_until(b'\n', &mut line)?;
        let head: Head = serde_json::from_slice(&line)?;
        ensure!(
            head.form == FORM,
            "another version of nanopace wrote its results: use the same version for all"
        );
        ensure!(head.has_parts_as_all(), "its time intervals are not valid");
        ensure!(head.counts.is_late_in_time(), "its lateness is not a valid time");
        Ok((head, text))
    }

    /// Returns whether other nodes can add this timeline to theirs: its width and the numbers of its parts must be
    /// valid.
    fn has_parts_as_all(&self) -> bool {
        let is_width = self.width.is_power_of_two() && self.width <= 1 << 32;
        is_width && self.parts.iter().all(|part| part.number < MOST)
    }
}

impl Counts {
    fn of(stats: &OperationStats) -> Counts {
        Counts {
            failures: stats.failures.iter().map(|(kind, count)| (*kind, *count)).collect(),
            unfinished: stats.unfinished,
            unstarted: stats.unstarted,
            skipped: stats.skipped,
            answered: stats.answered,
            statuses: stats.statuses.clone(),
            traffic: stats.traffic,
            lateness: stats.lateness,
            rests: stats.think_times,
            labels: stats.labels.iter().map(LabelHead::of).collect(),
        }
    }

    fn is_late_in_time(&self) -> bool {
        let Lateness { target, generator, queued, held, resting } = self.lateness;
        [target, generator, queued, held, resting]
            .map(Duration::try_from_secs_f64)
            .iter()
            .all(Result::is_ok)
    }

    fn stats(self, rest: &mut impl Read) -> anyhow::Result<OperationStats> {
        let [wait, service, response, bounds, all, connect, tls] = read(rest)?;
        let mut failures = BTreeMap::new();
        failures.extend(self.failures);
        let mut by_label = Labels::default();
        for label in self.labels {
            by_label.add_one(&label.labelled(rest)?);
        }
        let Counts {
            unfinished,
            unstarted,
            skipped,
            answered,
            statuses,
            traffic,
            lateness,
            rests,
            ..
        } = self;
        Ok(OperationStats {
            labels: by_label,
            wait,
            service,
            response,
            bounds,
            set_ups: SetUps { all, connect, tls },
            failures,
            unfinished,
            unstarted,
            skipped,
            answered,
            statuses,
            traffic,
            lateness,
            think_times: rests,
            ..OperationStats::new()
        })
    }
}

impl LabelHead {
    fn of(labelled: &Labelled) -> LabelHead {
        let Labelled { label, traffic, is_expected, .. } = labelled;
        LabelHead { label: label.clone(), traffic: *traffic, is_expected: *is_expected }
    }

    fn labelled(self, rest: &mut impl Read) -> anyhow::Result<Labelled> {
        let [service, response, bounds] = read(rest)?;
        let LabelHead { label, traffic, is_expected } = self;
        Ok(Labelled { label, service, response, bounds, traffic, is_expected })
    }
}

impl PartHead {
    fn of(number: u64, part: &Part) -> PartHead {
        PartHead {
            number,
            backlog: (part.backlog.slots, part.backlog.time),
            asked: part.asked,
            failed: part.brief.failed,
            answered: part.brief.answered,
            endings: part.due.endings.iter().map(|(ending, slots)| (*ending, *slots)).collect(),
        }
    }

    fn part(self, rest: &mut impl Read) -> anyhow::Result<Part> {
        let [wait, service, response, bounds] = read(rest)?;
        let PartHead { backlog: (slots, time), asked, failed, answered, endings, .. } = self;
        let brief = Brief { wait, service, response, bounds, failed, answered };
        let [wait, response, bounds] = read(rest)?;
        let mut due = Due { endings: BTreeMap::new(), wait, response, bounds };
        due.endings.extend(endings);
        Ok(Part { backlog: Backlog { slots, time }, asked, brief, due })
    }
}

/// Returns the histograms of the statistics in the order in which they are serialized.
fn histograms(stats: &OperationStats) -> [&Histogram<u64>; 7] {
    let SetUps { all, connect, tls } = &stats.set_ups;
    [&stats.wait, &stats.service, &stats.response, &stats.bounds, all, connect, tls]
}

fn histograms_by_label(labelled: &Labelled) -> [&Histogram<u64>; 3] {
    [&labelled.service, &labelled.response, &labelled.bounds]
}

fn histograms_of(part: &Part) -> [&Histogram<u64>; 7] {
    let Part { brief: Brief { wait, service, response, bounds, .. }, due, .. } = part;
    [wait, service, response, bounds, &due.wait, &due.response, &due.bounds]
}

fn read<const N: usize>(rest: &mut impl Read) -> anyhow::Result<[Histogram<u64>; N]> {
    let mut deserializer = Deserializer::new();
    let mut histogram = || {
        let mut histogram: Histogram<u64> =
            deserializer.deserialize(rest).ok().context("no histogram")?;
        // Other nodes may have recorded longer times, so the histogram must be able to grow.
        histogram.auto(true);
        anyhow::Ok(histogram)
    };
    let histograms = (0..N).map(|_| histogram()).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(histograms.try_into().unwrap_or_else(|_| unreachable!("N of them")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::own_times::Name;
    use crate::results::labels::tests::ended;
    use crate::results::over_time::Interval;
    use crate::shown::fixture::long;

    const LOCK: OfAnswer = OfAnswer::Trend(Name("lock wait"));

    fn results(seconds: u64, hz: u64) -> Results {
        let mut summary = long(seconds, hz);
        for (label, is_well) in [("read", true), ("write", false), ("read", true)] {
            summary.stats.labels.end(&ended(label, is_well, 3));
        }
        summary.stats.labels.expect(&["never"]);
        summary.stats.think_times.end(Duration::from_millis(hz));
        let mut timeline = Timeline::new();
        for interval in summary.over_time.intervals() {
            timeline.add(interval.from, interval);
        }
        let own_times = [(OfAnswer::FirstItem, 40), (LOCK, 3)].map(|(part, count)| {
            let mut times = Histogram::new(3).unwrap();
            times.record_n(hz, count).unwrap();
            OwnTimes { part, times, untimed: count + 1 }
        });
        let until = Duration::from_secs(seconds);
        Results { until, stats: summary.stats, own_times: own_times.into(), timeline }
    }

    fn intervals(results: Results) -> Vec<Interval> {
        results.timeline.intervals()
    }

    #[test]
    fn the_sum_of_what_was_sent_is_what_all_have_recorded() {
        let sent = results(70, 500).to_bytes().unwrap();
        let read = || Results::from_bytes(&sent).unwrap();
        let (one, mut twice) = (results(70, 500), results(70, 500).stats);
        assert_eq!(histograms(&read().stats), histograms(&one.stats));
        assert_eq!((read().until, &read().stats.failures), (one.until, &one.stats.failures));
        twice.add(&one.stats);
        let sum = read().plus(read());
        assert_eq!(histograms(&sum.stats), histograms(&twice));
        assert_eq!((sum.stats.failed(), &sum.stats.statuses), (twice.failed(), &twice.statuses));
        let labels = |stats: &OperationStats| -> Vec<(String, u64, u64, Traffic, u64)> {
            let of = |it: &Labelled| {
                let (completed, failed) = (it.completed(), it.failed());
                (it.label.clone(), completed, failed, it.traffic, it.response.max())
            };
            stats.labels.iter().map(of).collect()
        };
        assert_eq!(labels(&sum.stats), labels(&twice));
        assert_eq!(labels(&sum.stats)[2].0, "never");
        let late = ThinkTimes { begun: 0, over: 2, late: 2, most: Duration::from_millis(500) };
        assert_eq!((sum.stats.think_times, twice.think_times), (late, late));
        let own = |results: &Results| {
            let own = results.own_times.iter();
            own.map(|own| (own.part, own.times.len(), own.untimed, own.times.max()))
                .collect::<Vec<_>>()
        };
        assert_eq!(own(&read()), own(&one));
        assert_eq!(own(&sum), [(OfAnswer::FirstItem, 80, 82, 500), (LOCK, 6, 8, 500)]);
        let (sum, one) = (intervals(sum), intervals(one));
        assert_eq!(sum.len(), one.len());
        for (both, one) in sum.iter().zip(one) {
            assert_eq!((both.from, both.to), (one.from, one.to));
            assert_eq!(both.brief.started(), 2 * one.brief.started());
            assert_eq!(both.brief.response.max(), one.brief.response.max());
        }
    }

    /// Each report also contains all earlier seconds, but the length of a report must not be proportional to their
    /// number.
    #[test]
    fn a_report_hardly_grows_with_the_length_of_the_run() {
        let length = |seconds| results(seconds, 100).to_bytes().unwrap().len();
        assert!(length(1_200) < 2 * length(120));
    }

    #[test]
    fn damaged_results_are_refused() {
        let whole = results(1, 7).to_bytes().unwrap();
        let packed = |text: &[u8]| {
            let mut bytes = ZlibEncoder::new(Vec::new(), Compression::fast());
            bytes.write_all(text).unwrap();
            bytes.finish().unwrap()
        };
        let mut text = Vec::new();
        ZlibDecoder::new(&whole[..]).read_to_end(&mut text).unwrap();
        let end = text.iter().position(|&byte| byte == b'\n').unwrap();
        let with = |old: &str, new: &str| {
            let head = String::from_utf8(text[..end].to_vec()).unwrap();
            assert!(head.contains(old), "{head}");
            packed(&[head.replace(old, new).as_bytes(), &text[end..]].concat())
        };
        assert!(Results::from_bytes(&packed(&text)).is_ok());
        for damaged in [
            Vec::new(),
            b"{}".to_vec(),
            whole[1..].to_vec(),
            whole[..whole.len() / 2].to_vec(),
            packed(&text[..text.len() - 1]),
            packed(&text[..end]),
            with("\"form\":10", "\"form\":9"),
            with("\"width\":4", "\"width\":3"),
            with("\"number\":0", "\"number\":120"),
            with("\"target\":0.0", "\"target\":-1.0"),
        ] {
            assert!(Results::from_bytes(&damaged).is_err(), "{}", damaged.len());
        }
    }

    #[test]
    fn kinds_of_failures_are_read_back() {
        let kinds = ["status 503", "connection refused", "", "\"a: b\"\n"].map(FailureKind::new);
        let sent = serde_json::to_string(&kinds.map(Ending::Failed)).unwrap();
        let read: Vec<Ending> = serde_json::from_str(&sent).unwrap();
        assert_eq!(read, kinds.map(Ending::Failed));
    }
}
