//! Defines the content of a scenario file. Positions in the file are kept for error messages.

use crate::console::input;
use crate::console::position::{line_and_column, utf8};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Spanned, Value};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    pub(super) scenario: Vec<ScenarioSpec>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "[[scenario]]")]
pub(super) struct ScenarioSpec {
    pub(super) name: Spanned<String>,
    #[serde(default = "once")]
    pub(super) weight: Spanned<u32>,
    #[serde(default)]
    pub(super) step: Vec<StepSpec>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "[[scenario.step]]")]
pub(super) struct StepSpec {
    pub(super) name: Spanned<String>,
    pub(super) method: Option<Spanned<String>>,
    pub(super) url: Spanned<String>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, Spanned<String>>,
    pub(super) body: Option<Spanned<String>>,
    pub(super) think: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) take: BTreeMap<String, Spanned<LookSpec>>,
    #[serde(default)]
    pub(super) check: BTreeMap<String, Spanned<LookSpec>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, as in { json = \"/id\" }")]
pub(super) struct LookSpec {
    pub(super) status: Option<u16>,
    pub(super) header: Option<String>,
    pub(super) json: Option<String>,
    pub(super) regex: Option<String>,
    pub(super) equals: Option<Value>,
}

fn once() -> Spanned<u32> {
    Spanned::new(0..0, 1)
}

#[derive(Debug)]
pub(super) struct Wrong {
    at: usize,
    told: String,
}

pub(super) fn wrong(at: usize, told: impl Into<String>) -> Wrong {
    Wrong { at, told: told.into() }
}

pub(super) fn read(
    path: &Path,
    take: impl FnOnce(&File) -> Result<(), Wrong>,
) -> anyhow::Result<u64> {
    let file = path.display();
    let text = input::read(path);
    let text = text.map_err(|error| anyhow::anyhow!("--scenario: cannot read {file}: {error}"))?;
    let hash = hash(&text);
    let read = utf8(&text).map_err(|at| wrong(at, "this is not UTF-8")).and_then(|text| {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            wrong(error.span().map_or(0, |span| span.start), error.message().replace('\n', ", "))
        })
    });
    read.and_then(|file| take(&file)).map(|()| hash).map_err(|Wrong { at, told }| {
        let (line, column) = line_and_column(&text, at);
        anyhow::anyhow!("--scenario: {file} line {line} column {column}: {told}")
    })
}

/// Returns the FNV-1a hash (Fowler, Noll and Vo), which is the same in every version of the program.
fn hash(text: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    text.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

impl StepSpec {
    pub(super) fn told(&self, error: &anyhow::Error) -> Wrong {
        let (told, part) = (format!("{error:#}"), error.to_string());
        let header = part.strip_prefix("header ");
        let header = header.and_then(|name| {
            self.headers.iter().find(|(its, _)| its.eq_ignore_ascii_case(name)).map(|(_, it)| it)
        });
        let body = self.body.as_ref().filter(|_| part == "body");
        wrong(header.or(body).unwrap_or(&self.url).span().start, told)
    }
}
