//! Reads a configuration file and converts it into arguments.

use crate::console::refusal::one_line;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, Error};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

#[derive(Debug)]
pub(crate) struct ConfigFile<'options> {
    entries: Vec<Entry<'options>>,
}

#[derive(Debug)]
struct Entry<'options> {
    option: &'options Arg,
    arguments: Vec<String>,
}

#[derive(Debug, PartialEq)]
struct Wrong {
    at: usize,
    told: String,
}

type Key<'text> = Spanned<std::borrow::Cow<'text, str>>;
type Value<'text> = Spanned<DeValue<'text>>;

impl ConfigFile<'_> {
    /// Reads the file at `path` and returns its arguments. Each option is checked separately. An error message is one
    /// line and names the file.
    pub(crate) fn read<'options>(
        path: &Path,
        options: &'options Command,
    ) -> Result<ConfigFile<'options>, String> {
        let file = path.display();
        let text = fs::read_to_string(path).map_err(|error| format!("cannot read {file}: {error}"));
        let text = text?;
        ConfigFile::parse(&text, options).map_err(|Wrong { at, told }| {
            let line = 1 + text.bytes().take(at).filter(|&byte| byte == b'\n').count();
            format!("{file} line {line}: {told}")
        })
    }

    fn parse<'options>(
        text: &str,
        options: &'options Command,
    ) -> Result<ConfigFile<'options>, Wrong> {
        let table = DeTable::parse(text).map_err(|error| Wrong {
            at: error.span().map_or(0, |span| span.start),
            told: format!("this is not TOML: {}", error.message().replace('\n', ", ")),
        })?;
        let mut lines: Vec<_> = table.get_ref().iter().collect();
        lines.sort_unstable_by_key(|(key, _)| key.span().start);
        let entries = lines.into_iter().map(|(key, value)| entry(key, value, options));
        Ok(ConfigFile { entries: entries.collect::<Result<_, _>>()? })
    }

    /// Returns the names of the options that are set.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let set = self.entries.iter().filter(|entry| !entry.arguments.is_empty());
        set.filter_map(|entry| entry.option.get_long())
    }

    pub(crate) fn arguments(&self, given: impl Fn(&Arg) -> bool) -> Vec<OsString> {
        let entries = self.entries.iter().filter(|entry| !given(entry.option));
        entries.flat_map(|entry| &entry.arguments).map(OsString::from).collect()
    }
}

fn entry<'options>(
    key: &Key<'_>,
    value: &Value<'_>,
    options: &'options Command,
) -> Result<Entry<'options>, Wrong> {
    let (name, at) = (key.get_ref().as_ref(), key.span().start);
    let wrong = |told| Wrong { at, told };
    let option = find(options, name).ok_or_else(|| wrong(unknown(options, name, value)))?;
    let values = values(option, value.get_ref()).map_err(|told| wrong(format!("{name} {told}")))?;
    let flag = |value| if option.get_action().takes_values() { value } else { String::new() };
    let argument = |value| format!("--{name}{}", flag(format!("={value}")));
    let arguments: Vec<_> = values.into_iter().map(argument).collect();
    // Only keys that are not options of the command line have no name for their value. The message names the key.
    let told = |told: String| told.replace(&format!("'--{name} <{name}>'"), name);
    check(options, &arguments).map_err(|error| wrong(told(error)))?;
    Ok(Entry { option, arguments })
}

fn find<'options>(options: &'options Command, name: &str) -> Option<&'options Arg> {
    let named = |option: &Arg| {
        let aliases = option.get_all_aliases().unwrap_or_default();
        option.get_long() == Some(name) || aliases.contains(&name)
    };
    options.get_arguments().find(|option| named(option))
}

fn unknown(options: &Command, name: &str, value: &Value<'_>) -> String {
    if value.get_ref().is_table() {
        return format!("{name:?} is a table; write each option as NAME = VALUE, without tables");
    }
    if matches!(name, "name" | "start") && find(options, "load").is_some() {
        return format!("{name:?} is an option for the files of --load only");
    }
    if let Some(option) = find(options, &nearest(options, name)) {
        let nearest = option.get_long().unwrap_or_default();
        return format!("{name:?} is not an option; write {nearest}");
    }
    let command = options.get_bin_name().unwrap_or(options.get_name());
    format!("{name:?} is not an option for a file; {command} --help lists the options")
}

fn nearest(options: &Command, name: &str) -> String {
    let name = name.trim_start_matches('-').to_lowercase();
    let error = options.clone().try_get_matches_from(["", &format!("--{name}")]).err();
    match error.as_ref().and_then(|error| error.get(ContextKind::SuggestedArg)) {
        Some(ContextValue::String(nearest)) => nearest.trim_start_matches('-').to_owned(),
        _ => name,
    }
}

/// Returns the values of an option. A flag that is set has one empty value, and a flag that is not set has no value.
fn values(option: &Arg, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    match (option.get_action(), value) {
        (ArgAction::SetTrue, DeValue::Boolean(set)) => {
            Ok(set.then(String::new).into_iter().collect())
        }
        (ArgAction::SetTrue, other) => Err(format!("is true or false, not {}", kind(other))),
        (ArgAction::Append, DeValue::Array(items)) => {
            items.iter().map(|item| scalar(item.get_ref())).collect()
        }
        (_, value) => scalar(value).map(|value| vec![value]),
    }
}

fn scalar(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(decimal(number)),
        DeValue::Float(number) => Ok(number.as_str().trim_start_matches('+').to_owned()),
        other => Err(format!("takes a string or a number, not {}", kind(other))),
    }
}

/// Returns the number in decimal notation. An integer that does not fit into an `i128` is returned unchanged, and clap
/// rejects it later.
fn decimal(number: &DeInteger<'_>) -> String {
    i128::from_str_radix(number.as_str(), number.radix())
        .map_or_else(|_| number.to_string(), |number| number.to_string())
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time of day: put it in quotes",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Parses the arguments of one option. Conflicts between options are checked later.
fn check(options: &Command, arguments: &[String]) -> Result<(), String> {
    let words = std::iter::once("").chain(arguments.iter().map(String::as_str));
    let elsewhere = |error: &Error| {
        matches!(error.kind(), ErrorKind::ArgumentConflict | ErrorKind::MissingRequiredArgument)
    };
    match options.clone().try_get_matches_from(words) {
        Err(error) if !elsewhere(&error) => Err(one_line(&error)),
        _ => Ok(()),
    }
}
