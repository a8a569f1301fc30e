//! Builds the request that the command-line options describe.

use super::args::ClientArgs;
use super::request::body::Content;
use super::request::form::{self, Piece};
use super::request::targets::TargetSpec;
use crate::http::template;
use anyhow::{Context, ensure};
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;

pub(crate) fn target(url: &str, args: &ClientArgs) -> anyhow::Result<TargetSpec> {
    let url = template::url(url).map_err(anyhow::Error::msg)?;
    let body = match (&args.body, &args.body_file) {
        (Some(text), _) => Bytes::from(text.clone()).into(),
        (_, Some(path)) => Content::of_file(path)
            .with_context(|| format!("--body-file: cannot read {}", path.display()))?,
        _ => Bytes::new().into(),
    };
    let (method, headers, form) = (args.method(), Vec::new(), Vec::new());
    let target = TargetSpec { method, url, headers, body, form, weight: 1 };
    if args.form.is_empty() { Ok(target) } else { with_form(target, args) }
}

fn with_form(mut target: TargetSpec, args: &ClientArgs) -> anyhow::Result<TargetSpec> {
    let is_twice = args.header.iter().any(|header| header.name == CONTENT_TYPE);
    ensure!(!is_twice, "--form and a header {CONTENT_TYPE} are both given: leave one of them out");
    let (form, kind) = form::body(&args.form)?;
    target.headers.push((CONTENT_TYPE, kind));
    if !form.iter().any(Piece::is_filled) {
        let body = form.iter().map(Piece::bytes).collect::<Vec<_>>().concat();
        target.body = Bytes::from(body).into();
    }
    target.form = form;
    Ok(target)
}
