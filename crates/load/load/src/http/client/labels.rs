//! Labels requests by method, URL and response status.

use super::request::targets::TargetSpec;
use hyper::StatusCode;
use percent_encoding::percent_decode_str;
use std::collections::HashMap;
use std::sync::OnceLock;

/// The maximum number of distinct names. All further names share one additional name.
const MOST: u8 = 100;
const MOST_RECORDED: u8 = 50;
const SHORTEST_ID: usize = 16;
const OTHERS: &str = "others";
const NO_ANSWER: &str = "without an answer";
const LONGEST: usize = 120;
const STATUSES: usize = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Labels {
    names: Vec<Name>,
    known: HashMap<String, u8>,
}

#[derive(Debug)]
struct Name {
    text: String,
    /// The label for each status; index 0 is the label for requests without a response. A label is created when it is
    /// first needed, and is never freed, because operations are counted by `&'static str`.
    by_status: Vec<OnceLock<&'static str>>,
}

impl Labels {
    pub(crate) fn number(&mut self, target: &TargetSpec) -> u8 {
        self.number_of(name(target, target.url.path()), MOST)
    }

    /// Returns the number of the label. In the label, placeholders replace the numbers and identifiers of the path.
    pub(crate) fn number_of_recorded(&mut self, target: &TargetSpec) -> u8 {
        let parts: Vec<_> = target.url.path().split('/').map(grouped).collect();
        self.number_of(name(target, &parts.join("/")), MOST_RECORDED)
    }

    fn number_of(&mut self, name: String, most: u8) -> u8 {
        let Labels { names, known } = self;
        let next = u8::try_from(names.len()).unwrap_or(most);
        let is_new = !known.contains_key(&name);
        let name = if is_new && next >= most { OTHERS.to_owned() } else { name };
        *known.entry(name).or_insert_with_key(|name| {
            names.push(Name::new(name));
            next
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn may_have(&self, label: &str) -> bool {
        self.names.iter().any(|name| name.may_have(label))
    }

    pub(crate) fn label(&self, number: u8, status: Option<StatusCode>) -> &'static str {
        self.names[usize::from(number)].label(status)
    }
}

impl Name {
    fn new(text: &str) -> Name {
        let by_status = (0..STATUSES).map(|_| OnceLock::new()).collect();
        Name { text: text.to_owned(), by_status }
    }

    fn may_have(&self, label: &str) -> bool {
        let end = label.strip_prefix(&self.text).and_then(|rest| rest.strip_prefix(' '));
        end.is_some_and(|end| end == NO_ANSWER || end.parse::<StatusCode>().is_ok())
    }

    fn label(&self, status: Option<StatusCode>) -> &'static str {
        let code = status.map_or(0, |status| status.as_u16());
        self.by_status[usize::from(code)].get_or_init(|| {
            let end = status.as_ref().map_or(NO_ANSWER, StatusCode::as_str);
            format!("{} {end}", self.text).leak()
        })
    }
}

fn grouped(part: &str) -> &str {
    let text = percent_decode_str(part).decode_utf8_lossy();
    match &*text {
        text if is_number(text) => "{n}",
        text if is_id(text) => "{id}",
        _ => part,
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    is_digits(whole) && is_digits(fraction)
}

fn is_id(text: &str) -> bool {
    let mut digits = text.chars().filter(|c| *c != '-');
    digits.clone().count() >= SHORTEST_ID && digits.all(|c| c.is_ascii_hexdigit())
}

/// Returns the name of the label. It does not contain the user name and the password of the URL, and a long name is
/// truncated.
fn name(TargetSpec { method, url, .. }: &TargetSpec, path: &str) -> String {
    let (scheme, host) = (url.scheme_str().unwrap_or_default(), url.host().unwrap_or_default());
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    let name = format!("{method} {scheme}://{host}{port}{path}");
    name.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Method;
    use hyper::body::Bytes;

    fn target(url: &str) -> TargetSpec {
        let url = url.parse().unwrap();
        let (headers, body, form) = (Vec::new(), Bytes::new().into(), Vec::new());
        TargetSpec { method: Method::GET, url, headers, body, form, weight: 1 }
    }

    #[test]
    fn a_label_is_a_name_and_a_status() {
        let mut labels = Labels::default();
        let urls = ["http://u:p@[::1]:8/a?b=c", "http://h", "http://[::1]:8/a?b=d"];
        assert_eq!(urls.map(|url| labels.number(&target(url))), [0, 1, 0]);
        let told = |number, code: u16| labels.label(number, StatusCode::from_u16(code).ok());
        assert_eq!(told(0, 200), "GET http://[::1]:8/a 200");
        assert_eq!(told(1, 999), "GET http://h/ 999");
        assert_eq!(told(1, 0), "GET http://h/ without an answer");
        assert_eq!(told(0, 200).as_ptr(), told(0, 200).as_ptr());
    }

    #[test]
    fn the_number_of_names_is_limited() {
        let mut labels = Labels::default();
        let numbers = (0..300).map(|path| labels.number(&target(&format!("http://h/{path}"))));
        assert_eq!(numbers.max(), Some(MOST));
        assert_eq!(labels.number(&target("http://h/7")), 7);
        assert_eq!((labels.count(), labels.label(MOST, None)), (101, "others without an answer"));
    }

    #[test]
    fn recorded_urls_are_grouped_by_the_identifiers_in_their_paths() {
        let mut labels = Labels::default();
        let mut label = |path: &str| {
            let number = labels.number_of_recorded(&target(&format!("http://h{path}")));
            labels.label(number, None).replace("GET http://h", "").replace(" without an answer", "")
        };
        for (path, grouped) in [
            ("/items/17?a=1", "/items/{n}"),
            ("/items/18/parts/0", "/items/{n}/parts/{n}"),
            ("/u/2f1e4b9c-7a3d-4c55-9b1e-0123456789ab", "/u/{id}"),
            ("/u/2F1E4B9C7A3D4C55/x", "/u/{id}/x"),
            ("/u/2f1e4b9c7a3d4c5/x", "/u/2f1e4b9c7a3d4c5/x"),
            ("/v1/item-17/17.json", "/v1/item-17/17.json"),
            ("/cafe/deadbeefdeadbeef/2f1e", "/cafe/{id}/2f1e"),
            ("/ffffffffffffffffffffffffffffffff", "/{id}"),
            ("/deadbeefdeadbee/deadbeef-dead-bee", "/deadbeefdeadbee/deadbeef-dead-bee"),
            ("/----------------/-", "/----------------/-"),
            ("/12.5/-3/+7.25/%31%32/%2D3", "/{n}/{n}/{n}/{n}/{n}"),
            ("/1.2.3/.5/5./--1/-/1-2", "/1.2.3/.5/5./--1/-/1-2"),
            ("/a%31%FF/x%20y", "/a%31%FF/x%20y"),
            ("/", "/"),
        ] {
            assert_eq!(label(path), grouped, "{path}");
        }
        (0..300).for_each(|path| drop(label(&format!("/item-{path}"))));
        assert_eq!((&*label("/item-500"), &*label("/items/19")), ("others", "/items/{n}"));
        assert_eq!(labels.count(), 51);
    }
}
