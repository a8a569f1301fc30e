//! Counts the requests and the header fields of a HAR file that are not sent.

use std::collections::BTreeMap;

pub(super) const UNSENDABLE: &str = "that cannot be sent";

type Counts = BTreeMap<String, usize>;

#[derive(Debug, Default)]
pub(super) struct LeftOut {
    requests: Counts,
    fields: Counts,
    first_unsendable: Option<String>,
}

impl LeftOut {
    pub(super) fn add_request(&mut self, why: &str) {
        *self.requests.entry(why.to_owned()).or_default() += 1;
    }

    pub(super) fn add_unsendable(&mut self, number: usize, told: &str) {
        self.first_unsendable.get_or_insert_with(|| format!("entry {number}: {told}"));
        self.add_request(UNSENDABLE);
    }

    pub(super) fn add_field(&mut self, why: &str) {
        *self.fields.entry(why.to_owned()).or_default() += 1;
    }

    pub(super) fn line(&self, requests: usize) -> Option<String> {
        let plural = if requests == 1 { "" } else { "s" };
        let of_requests = format!("left out of {requests} request{plural}");
        let lists =
            [(of_requests, &self.requests), ("left out of header fields".into(), &self.fields)];
        let lists = lists.into_iter().filter(|(_, counts)| !counts.is_empty());
        let lines: Vec<_> =
            lists.map(|(of, counts)| format!("{of}: {}", self.list(counts))).collect();
        (!lines.is_empty()).then(|| lines.join("; "))
    }

    fn list(&self, counts: &Counts) -> String {
        let one = |(why, count): (&String, &usize)| match &self.first_unsendable {
            Some(first) if why == UNSENDABLE => format!("{count} {why} ({first})"),
            _ => format!("{count} {why}"),
        };
        counts.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}
