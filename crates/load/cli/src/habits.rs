//! Accepts command lines in the style of oha, hey, wrk and vegeta, with bare URLs and short options.

use clap::Command;
use std::ffi::{OsStr, OsString};

const SHORT: [(&str, &[(&str, char)]); 2] = [
    ("run", &[("requests", 'n'), ("duration", 'z'), ("timeout", 't')]),
    ("search", &[("timeout", 't')]),
];

pub(crate) fn added(definition: Command) -> Command {
    let short = |name: &str| SHORT.into_iter().find(|(it, _)| *it == name).map(|(_, short)| short);
    with_short(definition, short("run").unwrap_or_default())
        .override_usage("nanopace [OPTIONS] [URL]\n       nanopace [OPTIONS] <COMMAND>")
        .mut_subcommands(|command| match short(command.get_name()) {
            Some(short) => {
                let usage = format!("nanopace {} [OPTIONS] [URL]", command.get_name());
                with_short(command, short).override_usage(usage)
            }
            None => command,
        })
}

fn with_short(command: Command, short: &[(&'static str, char)]) -> Command {
    let add = |command: Command, (id, short): &(&'static str, char)| {
        command.mut_arg(id, |option| option.short(*short))
    };
    short.iter().fold(command, add)
}

/// Adds the second dash of long options. If the command takes `--url`, also puts `--url=` before each word that looks
/// like a URL, is no option's value and is not after `--`.
pub(crate) fn with_url(definition: &Command, words: Vec<OsString>) -> Vec<OsString> {
    let named = words.get(1).and_then(|word| definition.find_subcommand(word));
    let command = named.unwrap_or(definition);
    let words = with_two_dashes(command, words);
    if command.get_arguments().all(|option| option.get_id() != "url") {
        return words;
    }
    let (mut is_value, mut is_behind_dashes) = (true, false);
    let url = |word: OsString| {
        let is_alone = !is_value && !is_behind_dashes && !word.as_encoded_bytes().starts_with(b"-");
        is_behind_dashes |= word == "--";
        is_value = !is_value && takes_next(command, &word);
        if is_alone && looks_like_url(&word) { joined("--url=", &word) } else { word }
    };
    words.into_iter().map(url).collect()
}

/// Adds the second dash: as in vegeta, `-duration=5s` means `--duration=5s` instead of `-d uration=5s`.
fn with_two_dashes(command: &Command, words: Vec<OsString>) -> Vec<OsString> {
    let is_long = |name: &str| {
        name.len() > 1 && command.get_arguments().any(|option| option.get_long() == Some(name))
    };
    let rewrite = |word: OsString| {
        let option = word.to_str().and_then(|word| word.strip_prefix('-'));
        let name = option.map(|option| option.split('=').next().unwrap_or(option));
        if name.is_some_and(is_long) { joined("-", &word) } else { word }
    };
    words.into_iter().map(rewrite).collect()
}

fn joined(option: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(option);
    word.push(value);
    word
}

/// Returns whether a word looks like a URL. No command's name contains a colon, a slash or a dot, so a word with one of
/// these characters is taken for a URL.
fn looks_like_url(word: &OsStr) -> bool {
    word.as_encoded_bytes().iter().any(|byte| b":/.".contains(byte))
}

fn takes_next(command: &Command, word: &OsStr) -> bool {
    let Some(word) = word.to_str().and_then(|word| word.strip_prefix('-')) else { return false };
    match word.strip_prefix('-') {
        Some(long) => command.get_arguments().any(|option| {
            let aliases = option.get_all_aliases().unwrap_or_default();
            let is_named = option.get_long() == Some(long) || aliases.contains(&long);
            is_named && option.get_action().takes_values() || ABOUT_FILES.contains(&long)
        }),
        // In a group of short options, the first one with a value uses the remaining letters as its value.
        None => word
            .char_indices()
            .find(|(_, short)| has_value(command, *short))
            .is_some_and(|(at, short)| at + short.len_utf8() == word.len()),
    }
}

/// Options that take a value but are missing from the definition: the library adds them when it parses a command line.
const ABOUT_FILES: [&str; 1] = ["config"];

fn has_value(command: &Command, short: char) -> bool {
    command.get_arguments().any(|option| {
        let aliases = option.get_all_short_aliases().unwrap_or_default();
        let is_named = option.get_short() == Some(short) || aliases.contains(&short);
        is_named && option.get_action().takes_values()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::definition;

    #[test]
    fn a_url_that_stands_alone_is_the_value_of_its_option() {
        for (line, expected) in [
            ("nanopace http://h/", "nanopace --url=http://h/"),
            ("nanopace h:80 -c 5", "nanopace --url=h:80 -c 5"),
            ("nanopace -c 5 http://h/", "nanopace -c 5 --url=http://h/"),
            ("nanopace -c5 --pin http://h/ -z 1s", "nanopace -c5 --pin --url=http://h/ -z 1s"),
            ("nanopace -kc 5 http://h/", "nanopace -kc 5 --url=http://h/"),
            ("nanopace -kc5 http://h/", "nanopace -kc5 --url=http://h/"),
            ("nanopace run http://h/ --no-pin", "nanopace run --url=http://h/ --no-pin"),
            ("nanopace search http://h/", "nanopace search --url=http://h/"),
            ("nanopace -rate=50 -duration 5s h:80", "nanopace --rate=50 --duration 5s --url=h:80"),
            ("nanopace -d -rates http://h/", "nanopace -d -rates --url=http://h/"),
            ("nanopace --url http://h/", "nanopace --url http://h/"),
            ("nanopace --url=http://h/", "nanopace --url=http://h/"),
            ("nanopace -H a:b --json a.json", "nanopace -H a:b --json a.json"),
            ("nanopace -m GET -kH a:b", "nanopace -m GET -kH a:b"),
            (
                "nanopace --require x=1.5 --config a.toml",
                "nanopace --require x=1.5 --config a.toml",
            ),
            ("nanopace --csv - http://h/", "nanopace --csv - --url=http://h/"),
            ("nanopace serch", "nanopace serch"),
            ("nanopace plan a.b", "nanopace plan a.b"),
            ("nanopace fleet rate x 1.5", "nanopace fleet rate x 1.5"),
            ("nanopace -- http://h/", "nanopace -- http://h/"),
        ] {
            let words = line.split(' ').map(OsString::from).collect();
            let read = with_url(&definition(), words).join(OsStr::new(" "));
            assert_eq!(read, expected, "{line}");
        }
    }
}
