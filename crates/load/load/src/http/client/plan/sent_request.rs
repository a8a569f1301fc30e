//! Describes the request that is sent for a slot.

use super::{FilledRequest, Plan, Prepared, Values};
use serde_json::{Value, json};
use std::time::UNIX_EPOCH;

const SHOWN: usize = 200;

impl Plan {
    /// Returns the request of a slot as a JSON object. Placeholders for the current time are filled with the beginning
    /// of 1970, so that the object is the same in all runs.
    pub(crate) fn sent_request(&self, number: u64) -> Value {
        let Prepared { index, endpoint, .. } = self.of_slot(number);
        let mut filled = FilledRequest::default();
        let mut values = Values::of_slot(number, self.seed, self.data.as_ref());
        values.time = || UNIX_EPOCH;
        let plain = self.requests.get(index);
        let templates = self.requests.templates(index);
        let parts = templates.map_or(plain, |it| it.fill(plain.method, &mut values, &mut filled));
        let scheme = self.common[endpoint].url.scheme_str().unwrap_or_default();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let body: String = text(&parts.body.concat()).chars().take(SHOWN).collect();
        json!({
            "method": text(parts.method),
            "server": format!("{scheme}://{}", self.endpoints[endpoint].authority),
            "path": text(parts.path),
            "row": self.data.as_ref().map(|data| data.row_of_slot(number) + 1),
            "body": (!body.is_empty()).then_some(body),
        })
    }
}
