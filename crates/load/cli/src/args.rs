//! Defines the command line of the program, and parses it.

use crate::habits;
use crate::manual::{self, CompletionsArgs, ManArgs};
use crate::target::args::TargetArgs;
use clap::Subcommand;
use nanopace_load::commands;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
enum Command {
    /// Print a script that completes commands and options in a shell.
    #[command(after_help = manual::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Print a manual page.
    #[command(after_help = manual::MAN)]
    Man(ManArgs),
}

pub(crate) fn perform(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let definition = definition();
    let words = habits::with_url(&definition, with_negatives(words));
    commands::perform::<Command, TargetArgs>(
        &definition,
        words,
        |command, definition| match command {
            Command::Completions(args) => Ok(manual::completions(&args, definition)),
            Command::Man(args) => manual::man(&args, definition).map_err(|error| error.to_string()),
        },
    )
}

pub(crate) fn check(words: impl IntoIterator<Item = OsString>) -> Result<(), clap::Error> {
    let definition = definition();
    let words = habits::with_url(&definition, with_negatives(words));
    commands::check::<Command, TargetArgs>(&definition, words)
}

pub(crate) fn definition() -> clap::Command {
    habits::added(commands::definition::<Command, TargetArgs>())
}

/// Joins each negative number to the option before it, so that an error is about the value, not an unknown option.
fn with_negatives(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    for word in words {
        match joined.last_mut().filter(|option| is_negative(&word) && takes_next(option)) {
            Some(option) => option.extend([OsString::from("="), word]),
            None => joined.push(word),
        }
    }
    joined
}

fn is_negative(word: &OsStr) -> bool {
    let number = word.to_str().and_then(|word| word.strip_prefix('-'));
    let number = number.map(|number| number.strip_prefix('.').unwrap_or(number));
    number.is_some_and(|number| number.starts_with(|digit: char| digit.is_ascii_digit()))
}

fn takes_next(word: &OsStr) -> bool {
    let name = word.to_str().map(|word| word.trim_start_matches('-')).unwrap_or_default();
    let is_option = word.as_encoded_bytes().starts_with(b"-") && !name.is_empty();
    is_option && !name.contains('=') && !is_negative(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        definition().debug_assert();
    }

    fn words(line: &str) -> Vec<String> {
        let command = line.split(" | ").next().unwrap_or_default();
        let command = command.split(" > ").next().unwrap_or_default();
        let command = command.split("  ").next().unwrap_or_default();
        let parts = command.split('"').enumerate();
        let words = |(index, part): (usize, &str)| match index % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        };
        parts.flat_map(words).collect()
    }

    #[test]
    fn the_examples_of_the_help_pages_are_commands() {
        let mut definition = definition();
        let mut pages = vec![definition.render_long_help().to_string()];
        pages.extend(definition.get_subcommands_mut().map(|it| it.render_long_help().to_string()));
        let whole = |page: String| page.split("\\\n").map(str::trim).collect::<Vec<_>>().join(" ");
        let text: String = pages.into_iter().map(whole).collect::<Vec<_>>().join("\n");
        let mut examples = 0;
        for line in text.lines().filter_map(|line| line.strip_prefix("  nanopace")) {
            let words = words(&format!("nanopace{line}"));
            let words: Vec<_> = words.iter().map(OsString::from).collect();
            let told =
                check(words.clone()).err().map(|error| error.to_string()).unwrap_or_default();
            // The files of the examples do not exist here.
            assert!(told.is_empty() || told.contains("run.toml"), "{words:?}: {told}");
            examples += 1;
        }
        assert!(examples > 20, "{examples}");
    }

    #[test]
    fn a_negative_number_is_a_value_and_not_an_option() {
        for (line, joined) in [
            ("nanopace --rate -5", "nanopace --rate=-5"),
            ("nanopace run --rate -5k/s --pin", "nanopace run --rate=-5k/s --pin"),
            ("nanopace run -c -3 --strictness -.5", "nanopace run -c=-3 --strictness=-.5"),
            ("nanopace --rate=5 -3 -4", "nanopace --rate=5 -3 -4"),
            ("nanopace fleet rate x -5", "nanopace fleet rate x -5"),
            ("nanopace -- -5", "nanopace -- -5"),
            ("nanopace --csv - -c", "nanopace --csv - -c"),
        ] {
            let words = with_negatives(line.split_whitespace().map(OsString::from));
            assert_eq!(words.join(OsStr::new(" ")), joined);
        }
    }

    #[test]
    fn invalid_command_lines_are_rejected() {
        for options in [
            "--rate 0",
            "--rate nan",
            "--rate fast",
            "--connections 0",
            "--threads 0",
            "--proxy socks5://localhost:3128/",
            "--proxy http://localhost:3128/ --unix-socket x",
            "--method G=T",
            "--header nonsense",
            "--cacert a.pem --insecure",
            "--http2 --disable-keepalive",
            "--body x --body-file y",
            "--requests 0",
            "--duration 0s",
            "--duration 5",
            "--timeout 0ms",
            "--strictness -1",
            "--fail-below nan",
            "--fail-below 1.5",
            "--target-stall 2s",
            "--url http://localhost/ --target-latency 1ms",
        ] {
            let line = format!("nanopace run {options}");
            let words = line.split_whitespace().map(OsString::from);
            assert!(check(words).is_err(), "{options}");
        }
    }
}
