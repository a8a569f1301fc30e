//! Defines the histograms in a result file, with which other runs can be compared.

use super::confidence::Confidence;
use super::over_time::Interval;
use super::percentiles::GROWS;
use super::stats::OperationStats;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct RetainedHistograms {
    /// The times of the whole run. Their histograms have three significant digits.
    pub(crate) all: Times,
    /// The times in each batch, with at most two significant digits.
    pub(crate) batches: Vec<Batch>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Batch {
    pub(crate) from_seconds: f64,
    pub(crate) to_seconds: f64,
    pub(crate) started: u64,
    pub(crate) failed: u64,
    #[serde(flatten)]
    pub(crate) times: Times,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Times {
    #[serde(with = "packed")]
    pub(crate) service: Histogram<u64>,
    #[serde(with = "packed")]
    pub(crate) response: Histogram<u64>,
    #[serde(with = "packed")]
    pub(crate) lower_bounds: Histogram<u64>,
}

impl RetainedHistograms {
    pub(crate) fn new(confidence: &Confidence<'_>) -> RetainedHistograms {
        RetainedHistograms {
            all: Times::new(confidence.stats),
            batches: confidence.batches.iter().map(Batch::new).collect(),
        }
    }
}

impl Batch {
    fn new(Interval { from, to, brief, due, .. }: &Interval) -> Batch {
        Batch {
            from_seconds: from.as_secs_f64(),
            to_seconds: to.as_secs_f64(),
            started: brief.started(),
            failed: brief.failed,
            times: Times {
                service: brief.service.clone(),
                response: due.response.clone(),
                lower_bounds: due.bounds.clone(),
            },
        }
    }

    pub(crate) fn join(&mut self, next: &Batch) {
        self.to_seconds = next.to_seconds;
        self.started += next.started;
        self.failed += next.failed;
        self.times.add(&next.times);
    }
}

impl Times {
    pub(crate) fn add(&mut self, other: &Times) {
        self.service += &other.service;
        self.response += &other.response;
        self.lower_bounds += &other.lower_bounds;
    }

    fn new(stats: &OperationStats) -> Times {
        let OperationStats { service, response, bounds, .. } = stats.clone();
        Times { service, response, lower_bounds: bounds }
    }

    pub(crate) fn set_lower_bounds(&mut self, time: u64) {
        let count = self.lower_bounds.len();
        if count > 0 {
            self.response.subtract(&self.lower_bounds).expect("lower bounds are among the times");
            self.lower_bounds = Histogram::new_from(&self.response);
            self.lower_bounds.auto(true);
            for times in [&mut self.response, &mut self.lower_bounds] {
                times.record_n(time, count).expect(GROWS);
            }
        }
    }

    pub(crate) fn has_its_bounds(&self) -> bool {
        self.response.clone().subtract(&self.lower_bounds).is_ok()
    }
}

/// Uses the compressed format V2 of HDR histograms, as a base64 string.
mod packed {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
    use serde::{Deserialize, de, ser};

    pub(super) fn serialize<S: ser::Serializer>(
        times: &Histogram<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        let packed = V2DeflateSerializer::new().serialize(times, &mut bytes);
        packed.map_err(|error| ser::Error::custom(format!("{error:?}")))?;
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: de::Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Histogram<u64>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(de::Error::custom)?;
        let times: Result<Histogram<u64>, _> = Deserializer::new().deserialize(&mut &bytes[..]);
        let mut times = times.map_err(|_| de::Error::custom("a histogram that can't be read"))?;
        times.auto(true);
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown::fixture::long;

    #[test]
    fn retained_histograms_are_read_back_and_are_small() {
        for (seconds, most) in [(1, 10_000), (300, 250_000)] {
            let summary = long(seconds, 5_000);
            let kept = RetainedHistograms::new(&summary.confidence());
            let text = serde_json::to_string(&kept).unwrap();
            assert!(text.len() < most, "{}", text.len());
            let read: RetainedHistograms = serde_json::from_str(&text).unwrap();
            assert_eq!(read.all.response, kept.all.response);
            assert_eq!(read.batches.len(), kept.batches.len());
            assert_eq!(read.batches[0].times.service, kept.batches[0].times.service);
        }
    }

    #[test]
    fn text_that_is_not_a_histogram_is_refused() {
        for damaged in ["", "AAAA", "?", "HISTFAAAABZ42pNpmSzMwMDAxAABzFCaEUoz2X8AsgAmHQMr"] {
            let text = format!(r#"{{"service": "{damaged}", "response": "", "lower_bounds": ""}}"#);
            assert!(serde_json::from_str::<Times>(&text).is_err(), "{damaged}");
        }
    }
}
