//! Adds the requests of a recording to the plan. Slot n sends request n of the recording.

use super::args::RequestArgs;
use super::client::plan::Draft;
use super::client::request::body::Content;
use super::client::request::targets::{self, TargetSpec};
use super::embedded::EmbeddedTarget;
use super::template;
use crate::console::Progress;
use crate::console::human;
use crate::load::schedule::recording::Recording;
use crate::load::schedule::recording::recorded::Requests;
use crate::load::schedule::recording::request::{RecordedBody, RecordedRequest};
use crate::net::url::{self, Told};
use anyhow::{anyhow, bail};
use hyper::body::Bytes;
use hyper::http::uri::Authority;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;

/// Adds the requests of a recording to the plan, and prints a warning about requests that cannot be sent exactly as
/// they were recorded. Returns the paths of the body files, or `None` if the recording contains only times.
pub(super) fn read<E: EmbeddedTarget>(
    recording: &Recording,
    args: &RequestArgs<E>,
    draft: &mut Draft<'_>,
) -> anyhow::Result<Option<Vec<PathBuf>>> {
    let Requests { different, of_slots, left_out } = recording.read()?.take_requests();
    if of_slots.is_empty() {
        return Ok(None);
    }
    let file = recording.file().display();
    let mut sender =
        Sender { base: args.url.as_deref(), is_base_used: false, bodies: HashMap::new() };
    let mut encoded = Vec::new();
    for (request, place) in different {
        let added = sender.target(request).and_then(|(target, is_encoded)| {
            encoded.push(is_encoded);
            draft.add_recorded(&target).map_err(|error| format!("{error:#}"))
        });
        added.map_err(|told| anyhow!("{file} {place}: {told}"))?;
    }
    let others = others(args, sender.is_base_used);
    if let Some((option, _)) = others.into_iter().find(|(_, is_given)| *is_given) {
        bail!("{file} defines the requests: leave --{option} out");
    }
    for line in left_out.into_iter().chain(encoding(&encoded, &of_slots)) {
        Progress::of_a_job().add_line(&format!("{file}: {line}"));
    }
    for request in of_slots {
        draft.add_slot(request);
    }
    Ok(Some(sender.bodies.into_keys().map(PathBuf::from).collect()))
}

fn encoding(is_encoded: &[bool], of_slots: &[u32]) -> Option<String> {
    let (all, is_one) = (of_slots.len(), |index: &&u32| is_encoded[**index as usize]);
    let count = of_slots.iter().filter(is_one).count();
    let told = "characters that are not valid in a URL are percent-encoded";
    (count > 0).then(|| format!("{told} in {count} of {}", human::count(all, "request")))
}

fn others<E: EmbeddedTarget>(args: &RequestArgs<E>, is_base: bool) -> [(&'static str, bool); 7] {
    let RequestArgs { url, targets, scenario, client, .. } = args;
    [
        ("url", url.is_some() && !is_base),
        ("targets", targets.is_some()),
        ("scenario", scenario.is_some()),
        ("method", client.method.is_some()),
        ("body", client.body.is_some()),
        ("body-file", client.body_file.is_some()),
        ("form", !client.form.is_empty()),
    ]
}

struct Sender<'a> {
    /// The URL of recorded requests without a URL. A request that was recorded with only a path is sent to the server
    /// of this URL.
    base: Option<&'a str>,
    is_base_used: bool,
    bodies: HashMap<String, Content>,
}

impl Sender<'_> {
    /// Returns the target of a recorded request, and whether characters of its URL had to be percent-encoded.
    fn target(&mut self, request: RecordedRequest) -> Told<(TargetSpec, bool)> {
        let RecordedRequest { method, url, headers, body } = request;
        let url = url.unwrap_or_default();
        let (before, address) = match &method {
            Some(_) => (None, url.trim()),
            None => targets::method_and_address(&url),
        };
        let whole = self.absolute(address)?;
        let url = encoded(&whole);
        let body = match body {
            RecordedBody::Bytes(bytes) => bytes.into(),
            RecordedBody::File(path) => targets::body(&mut self.bodies, &path).map_err(told)?,
        };
        let usual = if body.len() == 0 { "GET" } else { "POST" };
        let method = method.as_deref().or(before).unwrap_or(usual);
        let mut target = targets::target(method, &url).map_err(told)?;
        for (name, value) in headers {
            let literal = literal(value.as_bytes());
            target.headers.push(targets::header(&name, literal.as_deref().unwrap_or(&value))?);
        }
        target.body = literal(body.memory()).map_or(body, |text| Bytes::from(text).into());
        Ok((target, url != whole))
    }

    fn absolute<'b>(&mut self, address: &'b str) -> Told<Cow<'b, str>> {
        if !(address.is_empty() || address.starts_with('/')) {
            return Ok(address.into());
        }
        let base = self.base.ok_or_else(|| {
            format!(
                "{address:?} is not a URL: write a URL in each row, or the server's URL in --url"
            )
        })?;
        self.is_base_used = true;
        if address.is_empty() {
            return Ok(base.to_owned().into());
        }
        let url = template::url(base)?;
        let [scheme, server] = [url.scheme_str(), url.authority().map(Authority::as_str)];
        Ok(format!("{}://{}{address}", scheme.unwrap_or_default(), server.unwrap_or_default())
            .into())
    }
}

fn told((_, told): (&str, String)) -> String {
    told
}

/// Percent-encodes the characters in the path and the query of a URL that are not valid there, except in placeholders.
fn encoded(url: &str) -> String {
    let (server, mut rest) = url::server_and_path(url);
    let mut encoded = server.to_owned();
    while let Some((before, inside, behind)) = template::split_place(rest) {
        encoded.extend(url::encoded(before));
        encoded.extend(["{{", inside, "}}"]);
        rest = behind;
    }
    encoded.extend(url::encoded(rest));
    encoded
}

/// Escapes double braces, which are text in a recording. Returns `None` if nothing has to be escaped.
fn literal(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok().filter(|_| template::is_one(text))?;
    Some(text.replace("{{", "{{\"{{\"}}"))
}
