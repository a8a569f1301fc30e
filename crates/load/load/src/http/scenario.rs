//! Reads scenarios from a file.

mod file;
pub(crate) mod run;
mod think;

use super::client::plan::Draft;
use super::client::request::targets::{self, TargetSpec};
use super::client::request::templates::Use;
use super::client::response::extraction::{Part, Source, is_pointer};
use super::client::steps::{Check, Condition, Scenario, Step, Take};
use super::template::values::{fits_header, fits_json, fits_path, fits_url};
use super::template::{self, is_one};
use super::template::{Form, Place};
use super::time_distribution::TimeDistribution;
use file::{File, LookSpec, ScenarioSpec, StepSpec, Wrong, wrong};
use hyper::Method;
use hyper::body::Bytes;
use hyper::header::HeaderName;
use regex::bytes::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use toml::{Spanned, Value};

pub(crate) const GROUPS: [&str; 2] = ["check", "take"];

/// The maximum think time. A longer constant time is an error, because its unit is probably wrong. A longer random time
/// is shortened to this maximum.
pub(crate) const LONGEST_THINK: Duration = Duration::from_secs(86_400);

pub(crate) fn read(path: &Path, draft: &mut Draft<'_>) -> anyhow::Result<()> {
    let names = BTreeSet::new();
    let hash = file::read(path, |file| Reader { draft: &mut *draft, names }.file(file))?;
    draft.scenario_hash = Some(hash);
    Ok(())
}

struct Reader<'draft, 'args> {
    draft: &'draft mut Draft<'args>,
    names: BTreeSet<String>,
}

struct Taken {
    step: usize,
    at: usize,
    take: Take,
}

impl Reader<'_, '_> {
    fn file(&mut self, file: &File) -> Result<(), Wrong> {
        let is_only = file.scenario.len() == 1;
        if file.scenario.is_empty() {
            return Err(wrong(0, "the file has no scenarios; write [[scenario]]"));
        }
        file.scenario.iter().try_for_each(|scenario| self.scenario(scenario, is_only))
    }

    fn scenario(&mut self, spec: &ScenarioSpec, is_only: bool) -> Result<(), Wrong> {
        let name = self.name(&spec.name)?;
        let weight = *spec.weight.get_ref();
        if weight == 0 {
            return Err(wrong(spec.weight.span().start, "write a weight of at least 1"));
        }
        let last = spec.step.last();
        let last = last.ok_or_else(|| {
            wrong(spec.name.span().start, "this scenario has no steps; write [[scenario.step]]")
        })?;
        let (mut steps, mut taken, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for (number, step) in spec.step.iter().enumerate() {
            steps.push(self.step(number, step, &mut names, &mut taken)?);
        }
        if let Some(think) = &last.think {
            let told = "no step follows this think time: leave it out; the schedule determines when the next scenario begins";
            return Err(wrong(think.span().start, told));
        }
        self.give(&mut steps, taken, &names)?;
        let label = (!is_only).then(|| &*name.leak());
        self.draft.add_scenario(Scenario { label, steps }, weight);
        Ok(())
    }

    fn name(&mut self, name: &Spanned<String>) -> Result<String, Wrong> {
        let text = name.get_ref().trim().to_owned();
        let at = name.span().start;
        if text.is_empty() || text.contains(char::is_control) {
            return Err(wrong(
                at,
                "this name is empty, or contains a line break or another control character",
            ));
        }
        if !self.names.insert(text.clone()) {
            return Err(wrong(
                at,
                format!(
                    "the name {text:?} occurs twice: rename one of them, because results are counted by name"
                ),
            ));
        }
        Ok(text)
    }

    fn step(
        &mut self,
        number: usize,
        spec: &StepSpec,
        names: &mut Vec<String>,
        taken: &mut Vec<Taken>,
    ) -> Result<Step, Wrong> {
        let label = &*self.name(&spec.name)?.leak();
        let request = self.draft.add_step(&target(spec)?, names);
        let request = request.map_err(|error| spec.told(&error))?;
        for (name, look) in in_order(&spec.take) {
            let at = look.span().start;
            self.check_taken(name, names).map_err(|told| wrong(at, told))?;
            let source = look.get_ref().source(false).map_err(|told| wrong(at, told))?;
            let what = format!("{label}: take {name}");
            let take = Take { name: what, index: names.len(), source, fits: Vec::new() };
            names.push(name.clone());
            taken.push(Taken { step: number, at, take });
        }
        let think = spec
            .think
            .as_ref()
            .map(|text| think_time(text.get_ref()).map_err(|told| wrong(text.span().start, told)));
        let think = think.transpose()?.unwrap_or_default();
        let checks = checks(label, &spec.check, self.draft)?;
        Ok(Step { request, label, think, takes: Vec::new(), checks })
    }

    fn check_taken(&self, name: &str, names: &[String]) -> Result<(), String> {
        let is_word =
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
        match () {
            () if !is_word => {
                Err(format!("{name:?} is not a name; write letters, digits, - and _"))
            }
            () if names.iter().any(|other| other == name) => {
                Err(format!("{name:?} is taken twice in this scenario: rename one of the values"))
            }
            () if self.draft.has_column(name) => {
                Err(format!("{name:?} is a column of --data: rename the value"))
            }
            () if template::is_known(name) => {
                Err(format!("{{{{{name}}}}} is built in: rename the value"))
            }
            () => Ok(()),
        }
    }

    /// Gives each extracted value the conditions that it must meet. They follow from its uses in later requests.
    fn give(
        &mut self,
        steps: &mut [Step],
        taken: Vec<Taken>,
        names: &[String],
    ) -> Result<(), Wrong> {
        let uses = self.draft.take_uses();
        for Taken { step, at, mut take } in taken {
            take.fits = uses.iter().filter(|(index, ..)| *index == take.index).map(fits).collect();
            if take.fits.is_empty() {
                let name = &names[take.index];
                return Err(wrong(
                    at,
                    format!(
                        "no later step contains {{{{{name}}}}}: use this value, or leave it out"
                    ),
                ));
            }
            steps[step].takes.push(take);
        }
        Ok(())
    }
}

fn think_time(text: &str) -> Result<TimeDistribution, String> {
    let think = text.parse().map_err(|error| format!("{text:?} is not a time: {error}"))?;
    match think {
        TimeDistribution::Constant(time) if time > LONGEST_THINK => {
            Err("a think time is at most one day".to_owned())
        }
        think => Ok(think),
    }
}

fn fits((_, place, form): &Use) -> fn(&[u8]) -> bool {
    match (place, form) {
        (Place::Header, _) => fits_header,
        (Place::Url, Form::Plain) => fits_url,
        (Place::Url, _) => fits_path,
        (Place::Body, Form::Json) => fits_json,
        (Place::Body, _) => |_| true,
    }
}

fn target(spec: &StepSpec) -> Result<TargetSpec, Wrong> {
    let told = |at: &Spanned<String>, told| wrong(at.span().start, told);
    let method = match &spec.method {
        Some(method) => targets::method(method.get_ref()).map_err(|why| told(method, why))?,
        None if spec.body.is_some() => Method::POST,
        None => Method::GET,
    };
    if let Some(at) = spec.method.as_ref().filter(|_| method == Method::CONNECT) {
        return Err(told(at, "CONNECT opens a tunnel, which a scenario cannot use".to_owned()));
    }
    let url = template::url(spec.url.get_ref()).map_err(|why| told(&spec.url, why))?;
    let header = |(name, value): (&String, &Spanned<String>)| {
        if name.eq_ignore_ascii_case("transfer-encoding") {
            let why = "leave transfer-encoding out: the length of the body determines how the body is sent";
            return Err(told(value, why.to_owned()));
        }
        targets::header(name, value.get_ref()).map_err(|why| told(value, why))
    };
    let headers = spec.headers.iter().map(header).collect::<Result<_, _>>()?;
    let body = spec.body.as_ref().map_or(String::new(), |body| body.get_ref().clone());
    Ok(TargetSpec {
        method,
        url,
        headers,
        body: Bytes::from(body).into(),
        form: Vec::new(),
        weight: 1,
    })
}

fn checks(
    label: &str,
    specs: &BTreeMap<String, Spanned<LookSpec>>,
    draft: &mut Draft<'_>,
) -> Result<Vec<Check>, Wrong> {
    let check = |(name, spec): (&String, &Spanned<LookSpec>)| {
        let condition = spec.get_ref().condition(draft);
        let condition = condition.map_err(|told| wrong(spec.span().start, told))?;
        Ok(Check { name: format!("{label}: check {name}"), condition })
    };
    in_order(specs).into_iter().map(check).collect()
}

fn in_order<T>(named: &BTreeMap<String, Spanned<T>>) -> Vec<(&String, &Spanned<T>)> {
    let mut all: Vec<_> = named.iter().collect();
    all.sort_unstable_by_key(|(_, it)| it.span().start);
    all
}

impl LookSpec {
    fn condition(&self, draft: &mut Draft<'_>) -> Result<Condition, String> {
        match (self.status, &self.equals) {
            (None, None) => self.source(true).map(|source| Condition::At(source, None)),
            (None, Some(Value::String(text))) if is_one(text.as_bytes()) => {
                let source = self.source(true)?;
                let text = draft.expected(text).map_err(|error| format!("equals: {error:#}"))?;
                let told = "equals cannot contain random values or the time, which are filled in anew each time";
                if text.is_steady() {
                    Ok(Condition::Filled(source, text))
                } else {
                    Err(told.into())
                }
            }
            (None, Some(value)) => {
                let source = self.source(true)?;
                let value = expected(&source, value)?;
                Ok(Condition::At(source, Some(value)))
            }
            (Some(status @ 100..=999), None) if self.is_status() => Ok(Condition::Status(status)),
            (Some(_), _) => {
                Err("write only a status, from 100 to 999, as in { status = 201 }".to_owned())
            }
        }
    }

    fn is_status(&self) -> bool {
        self.header.is_none() && self.json.is_none() && self.regex.is_none()
    }

    fn source(&self, is_check: bool) -> Result<Source, String> {
        let usage = || {
            let status = if is_check { ", or status = 200" } else { "" };
            format!(
                "write header = \"Name\" or json = \"/pointer\", each with or without regex = 'text', or only regex = 'text'{status}"
            )
        };
        if !is_check && (self.equals.is_some() || self.status.is_some()) {
            return Err(usage());
        }
        let regex = self.regex.as_deref().map(Regex::new).transpose();
        let regex = regex.map_err(|error| error.to_string().replace('\n', " "))?;
        let part = match (&self.header, &self.json) {
            (Some(name), None) => {
                HeaderName::from_bytes(name.as_bytes()).map(Part::Header).map_err(|_| usage())?
            }
            (None, Some(text)) if is_pointer(text) => Part::Json(text.clone()),
            (None, None) if regex.is_some() => Part::Body,
            _ => return Err(usage()),
        };
        Ok(Source { part, regex })
    }
}

/// Parses the expected value of a check. It must be a string, unless the check compares JSON at a pointer without a
/// regular expression.
fn expected(source: &Source, value: &Value) -> Result<serde_json::Value, String> {
    let is_json = matches!(source, Source { part: Part::Json(_), regex: None });
    match value {
        Value::String(text) => Ok(text.as_str().into()),
        Value::Integer(number) if is_json => Ok((*number).into()),
        Value::Float(number) if is_json && number.is_finite() => Ok((*number).into()),
        Value::Boolean(is_so) if is_json => Ok((*is_so).into()),
        _ => {
            Err("equals is a string or, with json and without regex, also a number, true or false"
                .to_owned())
        }
    }
}
