//! Reads the options of a run from a TOML file: `nanopace run --config run.toml`.
//!
//! The keys are the names of the long options. The entries become arguments that precede those of the command line, and
//! clap parses and checks all of them, so a new option needs no change here. An option on the command line replaces any
//! option with the same name, or of the same group, in the file; `--no-pin` cancels `pin = true`. Paths are relative to
//! the working directory, so the output of `--print-config` can be saved anywhere.

mod file;
mod print;

use super::help::pages;
use super::refusal::one_line;
use clap::builder::ValueParser;
use clap::error::{ErrorKind, Result};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, Error};
use file::ConfigFile;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::iter;
use std::path::{Path, PathBuf};
use toml::Table;

const RUN: &str = "run";
const CONFIG: &str = "config";
const PRINT_CONFIG: &str = "print-config";

pub(crate) fn matches(definition: &Command, mut words: Vec<OsString>) -> Result<ArgMatches> {
    let mut command = pages(extended(definition), &words);
    let given = without_file(&command, &words)?;
    let file = run_matches(&given).and_then(|run| run.get_one::<PathBuf>(CONFIG).zip(Some(run)));
    let Some((path, run)) = file else { return command.try_get_matches_from(words) };
    let options = named_options(definition);
    let file = ConfigFile::read(path, &options).map_err(refused)?;
    let begin = if given.subcommand().is_some() { 2 } else { 1 };
    let is_replaced = |option: &Arg| {
        let instead = alternatives(&options, option);
        instead.into_iter().chain([option]).any(|option| is_given(option, run))
    };
    words.splice(begin..begin, file.arguments(is_replaced));
    let refuse = |error| refused(format!("{}: {}", path.display(), one_line(&error)));
    command.try_get_matches_from_mut(words).map_err(refuse)
}

/// Reads the options of a file. `check` is called with the name of each of them before clap checks which options can be
/// used together.
pub(crate) fn of_file(
    definition: &Command,
    own: impl IntoIterator<Item = Arg>,
    path: &Path,
    check: impl Fn(&str) -> anyhow::Result<()>,
) -> Result<(Command, ArgMatches)> {
    let command = named_options(definition).args(own);
    let file = ConfigFile::read(path, &command).map_err(refused)?;
    file.names().try_for_each(check).map_err(|error| refused(error.to_string()))?;
    let words = iter::once(OsString::new()).chain(file.arguments(|_| false));
    let refuse = |error| refused(format!("{}: {}", path.display(), one_line(&error)));
    let matches = command.clone().try_get_matches_from(words).map_err(refuse)?;
    Ok((command, matches))
}

/// Parses the command line without the configuration file. Missing required options are accepted, because the file may
/// contain them.
fn without_file(command: &Command, words: &[OsString]) -> Result<ArgMatches> {
    match command.clone().try_get_matches_from(words) {
        Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => {
            command.clone().ignore_errors(true).try_get_matches_from(words)
        }
        result => result,
    }
}

pub(crate) fn asked_for(command: &Command, matches: &ArgMatches) -> Result<Option<String>> {
    match run_matches(matches) {
        Some(run) if run.get_flag(PRINT_CONFIG) => {
            print::toml(options(command), run).map(Some).map_err(refused)
        }
        _ => Ok(None),
    }
}

pub(crate) fn file_of(matches: &ArgMatches) -> Option<PathBuf> {
    run_matches(matches)?.try_get_one(CONFIG).ok()?.cloned()
}

pub(crate) fn settings(command: &Command, matches: &ArgMatches) -> Table {
    run_matches(matches).map_or_else(Table::new, |run| print::settings(options(command), run))
}

/// Returns the names of the options of a run that were given on the command line, in the file or in the environment.
pub(crate) fn given(command: &Command, matches: &ArgMatches) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let Some(run) = run_matches(matches) else { return names };
    let is_given = |option: &&Arg| {
        let source = run.value_source(option.get_id().as_str());
        source.is_some_and(|source| source != ValueSource::DefaultValue)
    };
    let given = options(command).get_arguments().filter(is_given);
    names.extend(given.filter_map(|option| option.get_long().map(str::to_owned)));
    names
}

pub(crate) fn is_set(matches: &ArgMatches, id: &str) -> bool {
    let command = matches.subcommand().map_or(matches, |(_, command)| command);
    command.value_source(id) == Some(ValueSource::CommandLine)
}

fn refused(told: String) -> Error {
    Error::raw(ErrorKind::ValueValidation, told)
}

pub(crate) fn extended(command: &Command) -> Command {
    let extend = |command: Command| {
        let negations: Vec<_> = command.get_arguments().filter_map(negation).collect();
        command.next_help_heading(None).args(negations).args(about_files())
    };
    let extended = extend(command.clone());
    match command.find_subcommand(RUN) {
        Some(_) => extended.mut_subcommand(RUN, extend),
        None => extended,
    }
}

fn about_files() -> [Arg; 2] {
    let config = Arg::new(CONFIG)
        .long(CONFIG)
        .value_name("FILE")
        .value_parser(ValueParser::path_buf())
        .hide_short_help(true)
        .help(
            "Read options by their long names from this TOML file, as in rate = \"5k/s\"; the command \
             line overrides the file, and --no-NAME cancels a flag",
        );
    let print = Arg::new(PRINT_CONFIG)
        .long(PRINT_CONFIG)
        .action(ArgAction::SetTrue)
        .hide_short_help(true)
        .help("Print all options in the format of --config, and exit");
    [config, print]
}

fn negation(flag: &Arg) -> Option<Arg> {
    let name = negation_of(flag)?;
    let negation = Arg::new(&name).long(&name).action(ArgAction::SetTrue).hide(true);
    Some(negation.overrides_with(flag.get_id()))
}

fn negation_of(flag: &Arg) -> Option<String> {
    let name = flag.get_long().filter(|_| matches!(flag.get_action(), ArgAction::SetTrue));
    name.map(|name| format!("no-{name}"))
}

/// Returns all options of the group of this option, if only one option of the group can be given.
fn alternatives<'options>(options: &'options Command, option: &Arg) -> Vec<&'options Arg> {
    let mut groups = options.get_groups().cloned();
    let group = groups.find(|group| {
        !group.clone().is_multiple() && group.get_args().any(|id| id == option.get_id())
    });
    let is_in = |id| group.iter().any(|group| group.get_args().any(|other| other == id));
    options.get_arguments().filter(|other| is_in(other.get_id())).collect()
}

fn is_given(option: &Arg, run: &ArgMatches) -> bool {
    let ids = negation_of(option).into_iter().chain([option.get_id().to_string()]);
    ids.into_iter().any(|id| run.value_source(&id) == Some(ValueSource::CommandLine))
}

fn options(command: &Command) -> &Command {
    command.find_subcommand(RUN).unwrap_or(command)
}

/// Returns the same as [`options`], with the program's name before the name of the subcommand.
fn named_options(command: &Command) -> Command {
    let program = command.get_name();
    let name = command
        .find_subcommand(RUN)
        .map_or_else(|| program.to_owned(), |run| format!("{program} {}", run.get_name()));
    options(command).clone().bin_name(name)
}

fn run_matches(matches: &ArgMatches) -> Option<&ArgMatches> {
    match matches.subcommand() {
        None => Some(matches),
        Some((name, run)) => (name == RUN).then_some(run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use tempfile::TempDir;

    fn command() -> Command {
        let value = |name: &'static str| Arg::new(name).long(name).value_name("VALUE");
        let options = [
            value("rate").default_value("5000/s"),
            value("connections").alias("workers").value_parser(clap::value_parser!(u16)),
            value("header").action(ArgAction::Append),
            value("pin").action(ArgAction::SetTrue),
            value("url").conflicts_with("latency"),
            value("latency").default_value("0s"),
            value("key").requires("certificate"),
            value("certificate"),
        ];
        let run = Command::new(RUN).args(&options);
        Command::new("test").args(options).subcommand(run).args_conflicts_with_subcommands(true)
    }

    /// Returns the configuration that a command line prints. FILE in the line stands for the path of a file with the
    /// content `file`.
    fn effective(line: &str, file: &str) -> std::result::Result<String, String> {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("run.toml");
        fs::write(&path, file).unwrap();
        let word = |word| if word == "FILE" { path.clone().into() } else { OsString::from(word) };
        let words = line.split_whitespace().map(word).collect();
        let told = |error: Error| one_line(&error).replace(path.to_str().unwrap(), "FILE");
        let matches = matches(&command(), words).map_err(told)?;
        Ok(asked_for(&command(), &matches).map_err(told)?.expect("--print-config was given"))
    }

    fn values(line: &str, file: &str) -> Vec<String> {
        let config = effective(&format!("{line} --print-config"), file).unwrap();
        config.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }

    fn told(line: &str, file: &str) -> String {
        effective(&format!("{line} --print-config"), file).expect_err(file)
    }

    #[test]
    fn the_extended_definition_is_sound() {
        extended(&command()).debug_assert();
    }

    #[test]
    fn values_are_those_of_the_command_line_and_then_of_the_file() {
        let file = "rate = '1/s'\nworkers = 0x10\npin = true\nheader = ['a: b', 'c: d']\n";
        for (line, expected) in [
            (
                "",
                &[
                    "rate = \"1/s\"",
                    "connections = 16",
                    "header = [\"a: b\", \"c: d\"]",
                    "pin = true",
                ][..],
            ),
            (
                "--rate 2/s --header e",
                &["rate = \"2/s\"", "connections = 16", "header = [\"e\"]", "pin = true"],
            ),
            (
                "--connections 1 --no-pin",
                &["rate = \"1/s\"", "connections = 1", "header = [\"a: b\", \"c: d\"]"],
            ),
            (
                "--workers 1 --pin --header=",
                &["rate = \"1/s\"", "connections = 1", "header = [\"\"]", "pin = true"],
            ),
        ] {
            for command in ["test run", "test"] {
                assert_eq!(
                    values(&format!("{command} --config FILE {line}"), file),
                    expected,
                    "{line}"
                );
            }
        }
    }

    #[test]
    fn every_option_is_shown_and_defaults_are_comments() {
        let shown = "# rate = \"5000/s\"\n# connections = \"VALUE\"\n# header = []\n# pin = false\n\
                     url = \"x\"\n# latency = \"0s\"\n# key = \"VALUE\"\n\
                     # certificate = \"VALUE\"\n";
        assert_eq!(effective("test run --url x --print-config", ""), Ok(shown.to_owned()));
    }

    #[test]
    fn what_was_given_is_told_from_defaults() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("run.toml");
        fs::write(&path, "workers = 7\n").unwrap();
        for (line, expected) in [
            ("test", &[][..]),
            ("test --pin", &["pin"]),
            ("test run --rate 5000/s --header a:b", &["header", "rate"]),
            ("test run --rate 1/s --config", &["connections", "rate"]),
        ] {
            let words = line.split_whitespace().map(OsString::from);
            let file = line.ends_with("--config").then(|| path.clone().into_os_string());
            let matches = matches(&command(), words.chain(file).collect()).unwrap();
            assert!(given(&command(), &matches).iter().eq(expected), "{line}");
        }
    }

    #[test]
    fn what_one_place_needs_may_be_in_the_other() {
        let both = ["key = \"k\"", "certificate = \"c\""];
        for command in ["test run", "test"] {
            let values = |line, file| values(&format!("{command} --config FILE {line}"), file);
            assert_eq!(values("--key k", "certificate = 'c'"), both, "{command}");
            assert_eq!(values("--certificate c", "key = 'k'"), both, "{command}");
            let told = told(&format!("{command} --config FILE --key k"), "");
            assert!(told.starts_with("FILE: the following required"), "{told}");
        }
    }

    #[test]
    fn what_excludes_what_is_told_with_the_file() {
        let told = told("test --config FILE --url x", "latency = '1s'");
        assert_eq!(
            told,
            "FILE: the argument '--latency <VALUE>' cannot be used with '--url <VALUE>'"
        );
    }

    #[test]
    fn an_error_in_the_file_has_its_line() {
        for (file, expected) in [
            ("rat = 1", "FILE line 1: \"rat\" is not an option; write rate"),
            ("\r\n\r\nRATE = 1\r\n", "FILE line 3: \"RATE\" is not an option; write rate"),
            ("--pin = true", "FILE line 1: \"--pin\" is not an option; write pin"),
            ("x = 1", "FILE line 1: \"x\" is not an option for a file; test run --help lists"),
            ("'' = 1", "FILE line 1: \"\" is not an option for a file"),
            ("'rate=5' = 1", "FILE line 1: \"rate=5\" is not an option"),
            ("\"a\\nb\" = 1", "FILE line 1: \"a\\nb\" is not an option"),
            ("config = 'x'", "FILE line 1: \"config\" is not an option"),
            ("print-config = true", "FILE line 1: \"print-config\" is not an option"),
            ("no-pin = true", "FILE line 1: \"no-pin\" is not an option"),
            ("help = true", "FILE line 1: \"help\" is not an option"),
            (
                "[run]\nrate = 1",
                "FILE line 1: \"run\" is a table; write each option as NAME = VALUE",
            ),
            ("['a\\nb']", "FILE line 1: \"a\\\\nb\" is a table"),
            ("run.rate = 1", "FILE line 1: \"run\" is a table; write each option as NAME = VALUE"),
            ("rate = 1\nrate = 2", "FILE line 2: this is not TOML: duplicate key"),
            ("rate =", "FILE line 1: this is not TOML: "),
            ("\n\nrate = '", "FILE line 3: this is not TOML: "),
            ("größe = 1", "FILE line 1: this is not TOML: "),
            ("rate = true", "FILE line 1: rate takes a string or a number, not true or false"),
            ("rate = [1]", "FILE line 1: rate takes a string or a number, not a list"),
            ("rate = 10:00:00", "FILE line 1: rate takes a string or a number, not a date or time"),
            ("header = [[1]]", "FILE line 1: header takes a string or a number, not a list"),
            ("pin = 1", "FILE line 1: pin is true or false, not a number"),
            ("pin = 'true'", "FILE line 1: pin is true or false, not a string"),
            (
                "connections = 70000",
                "FILE line 1: invalid value '70000' for '--connections <VALUE>'",
            ),
            ("workers = -1", "FILE line 1: invalid value '-1' for '--connections <VALUE>'"),
            ("workers = nan", "FILE line 1: invalid value 'nan' for '--connections <VALUE>'"),
            (
                "workers = 0xfffffffffffffffffffffffffffffffffff",
                "FILE line 1: invalid value '0xfff",
            ),
            (
                "workers = 1\nconnections = 2",
                "FILE: the argument '--connections <VALUE>' cannot be",
            ),
        ] {
            let told = told("test --config FILE", file);
            assert!(told.starts_with(expected) && told.lines().count() == 1, "{file:?}: {told}");
        }
    }

    #[test]
    fn an_error_of_the_command_line_is_its_own() {
        for (line, expected) in [
            ("test run --config FILE --nonsense", "unexpected argument '--nonsense' found"),
            ("test run --config FILE --connections x", "invalid value 'x' for '--connections"),
            ("test run --config", "a value is required for '--config <FILE>'"),
            (
                "test --config FILE run",
                "the subcommand 'run' cannot be used with '--config <FILE>'",
            ),
        ] {
            assert!(told(line, "rat = 1").starts_with(expected), "{line}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(
            rate in "(?s).*",
            headers in proptest::collection::vec("(?s).*", 0..3),
            pin: bool,
            connections: Option<u16>,
        ) {
            let header = headers.iter().map(|header| format!("--header={header}"));
            let connections = connections.map(|count| format!("--connections={count}"));
            let mut words: Vec<_> = ["test".to_owned(), "--print-config".to_owned()].into();
            words.extend([format!("--rate={rate}")].into_iter().chain(header).chain(connections));
            words.extend(pin.then(|| "--pin".to_owned()));
            let matches = matches(&command(), words.into_iter().map(OsString::from).collect())?;
            let printed = asked_for(&command(), &matches)?.unwrap_or_default();
            let again = effective("test run --config FILE --print-config", &printed);
            prop_assert_eq!(again, Ok(printed));
        }

        #[test]
        fn no_file_panics_and_every_error_is_one_line(file in prop_oneof![
            ".*",
            "((rate|pin|workers|header|x| |\\[|\\]|=|'|\"|\n|#|[0-9.-]|true|0x|,|é)){0,12}",
        ]) {
            if let Err(told) = effective("test --config FILE --print-config", &file) {
                prop_assert_eq!(told.lines().count(), 1, "{}", told);
                prop_assert!(told.contains("FILE"), "{}", told);
            }
        }
    }
}
