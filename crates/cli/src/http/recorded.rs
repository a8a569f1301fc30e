//! What a recording of arrivals says of requests: each slot is sent that of its own line.

use super::args::RequestArgs;
use super::client::plan::Draft;
use super::client::targets;
use anyhow::bail;
use nanopace_load::load::schedule::recording;
use std::collections::HashMap;
use std::path::Path;

/// Adds the requests of a recording, if it has any. Those that are alike are there once.
///
/// # Errors
/// What is wrong, with the line and the column; or another option says what is sent.
pub(super) fn read(path: &Path, args: &RequestArgs, draft: &mut Draft<'_>) -> anyhow::Result<bool> {
    let mut known = HashMap::new();
    let has_requests = recording::targets(path, |text| {
        let request = if let Some(request) = known.get(text) {
            *request
        } else {
            let target = targets::method_and_url(text)?;
            let added = draft.add_for_slots(&target).map_err(|error| format!("{error:#}"))?;
            *known.entry(text.to_owned()).or_insert(added)
        };
        draft.add_slot(request);
        Ok(())
    })?;
    let other = others(args).into_iter().find(|(_, is_given)| has_requests && *is_given);
    match other {
        Some((option, _)) => bail!("{} says what is sent: leave --{option} out", path.display()),
        None => Ok(has_requests),
    }
}

/// Options that say what is sent, and whether they are given.
fn others(args: &RequestArgs) -> [(&'static str, bool); 7] {
    let RequestArgs { url, targets, scenario, client, .. } = args;
    [
        ("url", url.is_some()),
        ("targets", targets.is_some()),
        ("scenario", scenario.is_some()),
        ("method", client.method.is_some()),
        ("body", client.body.is_some()),
        ("body-file", client.body_file.is_some()),
        ("form", !client.form.is_empty()),
    ]
}
