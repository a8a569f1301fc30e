//! What a node gives the store when it is done, for whoever puts the results of all together.

use crate::percentiles::Sample;
use anyhow::{Context, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The form of the results. Nodes of other forms are not added up.
const FORM: u32 = 2;

/// A node's operations, as they are sent.
#[derive(Debug, Deserialize, Serialize)]
struct Sent {
    form: u32,
    counts: Counts,
    /// Histograms in the second version of their interchange format, compressed, in base64.
    wait: String,
    service: String,
    response: String,
    bounds: String,
}

/// How many operations there were, the warm-up's not included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Counts {
    pub(crate) started: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) unfinished: u64,
    /// Why operations have failed.
    pub(crate) failures: BTreeMap<String, u64>,
    /// How many answers had which status.
    pub(crate) statuses: BTreeMap<u16, u64>,
}

/// The results of a node, or of several together. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Results {
    pub(crate) counts: Counts,
    pub(crate) wait: Histogram<u64>,
    pub(crate) service: Histogram<u64>,
    pub(crate) response: Histogram<u64>,
    /// The response times that are lower bounds.
    pub(crate) bounds: Histogram<u64>,
}

impl Results {
    /// The response times, with what is known of their lower bounds.
    pub(crate) fn responses(&self) -> Sample<'_> {
        Sample::bounded(&self.response, &self.bounds)
    }

    /// As they are sent.
    pub(crate) fn to_bytes(&self) -> anyhow::Result<Vec<u8>> {
        let sent = Sent {
            form: FORM,
            counts: self.counts.clone(),
            wait: text(&self.wait)?,
            service: text(&self.service)?,
            response: text(&self.response)?,
            bounds: text(&self.bounds)?,
        };
        Ok(serde_json::to_vec(&sent)?)
    }

    /// What was sent.
    pub(crate) fn from_bytes(bytes: &[u8]) -> anyhow::Result<Results> {
        let sent: Sent = serde_json::from_slice(bytes)?;
        ensure!(sent.form == FORM, "these are results of another version of nanopace");
        let Sent { counts, wait, service, response, bounds, .. } = sent;
        let [wait, service, response, bounds] =
            [wait, service, response, bounds].map(|text| histogram(&text));
        let (wait, service) = (wait?, service?);
        Ok(Results { counts, wait, service, response: response?, bounds: bounds? })
    }

    /// With those of other nodes.
    #[expect(clippy::needless_pass_by_value, reason = "it reduces an iterator")]
    pub(crate) fn plus(mut self, other: Results) -> Results {
        self.wait += &other.wait;
        self.service += &other.service;
        self.response += &other.response;
        self.bounds += &other.bounds;
        let (sum, part) = (&mut self.counts, &other.counts);
        sum.started += part.started;
        sum.completed += part.completed;
        sum.failed += part.failed;
        sum.unfinished += part.unfinished;
        add_all(&mut sum.failures, &part.failures);
        add_all(&mut sum.statuses, &part.statuses);
        self
    }
}

fn add_all<K: Clone + Ord>(sums: &mut BTreeMap<K, u64>, parts: &BTreeMap<K, u64>) {
    for (name, count) in parts {
        *sums.entry(name.clone()).or_default() += count;
    }
}

fn text(histogram: &Histogram<u64>) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let serialized = V2DeflateSerializer::new().serialize(histogram, &mut bytes);
    serialized.ok().context("a histogram can't be written")?;
    Ok(STANDARD.encode(bytes))
}

fn histogram(text: &str) -> anyhow::Result<Histogram<u64>> {
    let bytes = STANDARD.decode(text)?;
    let mut histogram: Histogram<u64> =
        Deserializer::new().deserialize(&mut bytes.as_slice()).ok().context("no histogram")?;
    // Other nodes may have longer times.
    histogram.auto(true);
    Ok(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(times: &[u64]) -> Results {
        let mut wait = Histogram::new(3).unwrap();
        for &ns in times {
            wait.record(ns).unwrap();
        }
        let started = wait.len();
        Results {
            counts: Counts { started, statuses: [(200, started)].into(), ..Counts::default() },
            service: wait.clone(),
            response: wait.clone(),
            bounds: wait.clone(),
            wait,
        }
    }

    #[test]
    fn the_sum_of_what_was_sent_is_what_all_have_recorded() {
        let (fast, slow) = (results(&[0, 1_000, 2_000]), results(&[3, u64::MAX / 4]));
        let [first, second] =
            [&fast, &slow].map(|sent| Results::from_bytes(&sent.to_bytes().unwrap()).unwrap());
        assert_eq!((&first, &second), (&fast, &slow));
        let sum = first.plus(second);
        let all = results(&[0, 1_000, 2_000, 3, u64::MAX / 4]);
        assert_eq!((&sum.counts, &sum.wait), (&all.counts, &all.wait));
        assert_eq!((sum.service, sum.response), (all.service, all.response));
        assert_eq!(sum.bounds, all.bounds);
    }

    #[test]
    fn what_is_damaged_is_refused() {
        let whole = results(&[7]).to_bytes().unwrap();
        let other = String::from_utf8(whole.clone()).unwrap().replace("\"form\":2", "\"form\":1");
        for damaged in [&b""[..], b"{}", &whole[1..], other.as_bytes()] {
            assert!(Results::from_bytes(damaged).is_err());
        }
    }
}
