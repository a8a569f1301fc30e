//! Prints options as a configuration file.
//!
//! Options that were given become values. Defaults become comments: as values, they would conflict with other options,
//! and the file would keep them even if a later version had better defaults.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::ffi::OsStr;
use toml::{Table, Value};

/// Returns the text of the file. The options are in the order of the help page. A path that is not valid Unicode is an
/// error, because TOML cannot contain it.
pub(crate) fn toml(options: &Command, run: &ArgMatches) -> Result<String, String> {
    let shown = options.get_arguments().filter(|option| !option.is_hide_set());
    let named = shown.filter_map(|option| option.get_long().zip(Some(option)));
    named.map(|(name, option)| line(name, option, run)).collect()
}

pub(crate) fn settings(options: &Command, run: &ArgMatches) -> Table {
    let named = options.get_arguments().filter_map(|option| option.get_long().zip(Some(option)));
    let valued = named.filter_map(|(name, option)| {
        let value = value(option, run).ok().flatten()?;
        Some((name.to_owned(), value))
    });
    valued.collect()
}

fn line(name: &str, option: &Arg, run: &ArgMatches) -> Result<String, String> {
    let id = option.get_id().as_str();
    let value = value(option, run).map_err(|value| {
        format!("--{name}: {} is not Unicode and cannot be in a file", value.display())
    })?;
    let value = value.unwrap_or_else(|| placeholder(option));
    let is_given = run.value_source(id) == Some(ValueSource::CommandLine);
    let comment = if is_given { "" } else { "# " };
    Ok(format!("{comment}{name} = {value}\n"))
}

fn value<'run>(option: &Arg, run: &'run ArgMatches) -> Result<Option<Value>, &'run OsStr> {
    let values = values(option, run)?;
    Ok(match option.get_action() {
        ArgAction::SetTrue => Some(Value::Boolean(run.get_flag(option.get_id().as_str()))),
        ArgAction::Append => Some(Value::Array(values)),
        _ => values.into_iter().next_back(),
    })
}

fn values<'run>(option: &Arg, run: &'run ArgMatches) -> Result<Vec<Value>, &'run OsStr> {
    let raw = run.get_raw(option.get_id().as_str()).into_iter().flatten();
    raw.map(|value| value.to_str().map(readable).ok_or(value)).collect()
}

fn readable(text: &str) -> Value {
    let integer = text.parse().map(Value::Integer).ok();
    let float = || text.parse().map(Value::Float).ok();
    let number = integer.or_else(float).filter(|number| number.to_string() == text);
    number.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn placeholder(option: &Arg) -> Value {
    let names = option.get_value_names().unwrap_or_default();
    Value::String(names.first().map_or_else(String::new, ToString::to_string))
}
