//! Provides the options of a load and of a search as `clap` groups, for programs with their own command lines.

use super::help::explained;
use super::job::{self, refused};
use super::program::status;
use crate::console::help::hide_rare;
use crate::load::target::Target;
use crate::running::args::RunArgs;
use crate::running::search;
use crate::running::search::Job;
use crate::running::setup::Setup;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use std::process::ExitCode;

/// The options of a load as a `clap` group. Flatten it into the command line of a program that does more than
/// [`main`](crate::main) does. The options are those of `main`, except `--config` and `--print-config`.
///
/// # Examples
///
/// ```no_run
/// use clap::Parser;
/// use nanopace_load::{Done, Failure, LoadArgs, SearchArgs, Slot};
/// use std::process::ExitCode;
///
/// #[derive(Parser)]
/// enum Tool {
///     /// Fill the table
///     Fill { rows: u64 },
///     /// Read rows at a rate
///     Read {
///         #[arg(long)]
///         table: String,
///         #[command(flatten)]
///         load: LoadArgs,
///     },
///     /// Find the highest rate of reads
///     Limit {
///         #[command(flatten)]
///         search: SearchArgs,
///     },
/// }
///
/// fn read(_slot: Slot) -> Result<Done, Failure> {
///     Ok(Done::new())
/// }
///
/// fn main() -> ExitCode {
///     match Tool::parse() {
///         Tool::Fill { rows: _ } => ExitCode::SUCCESS,
///         Tool::Read { table: _, load } => load.run(read),
///         Tool::Limit { search } => search.run(read),
///     }
/// }
/// ```
#[derive(Debug)]
pub struct LoadArgs(RunArgs);

impl LoadArgs {
    /// Runs the load, shows its progress, and writes the results as the options require. Returns the exit status that
    /// [`main`](crate::main) describes.
    ///
    /// This call blocks, and its threads create Tokio runtimes. Call it outside other runtimes.
    #[must_use]
    pub fn run<T: Target>(self, target: T) -> ExitCode {
        status(Setup::new(self.0, &[], |_| Ok(target)).map_err(refused).and_then(job::run))
    }
}

impl FromArgMatches for LoadArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<LoadArgs, Error> {
        let mut args = RunArgs::from_arg_matches(matches)?;
        args.settle(&RunArgs::augment_args(Command::new("load")), matches);
        Ok(LoadArgs(args))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = LoadArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for LoadArgs {
    fn augment_args(command: Command) -> Command {
        explained(hide_rare(RunArgs::augment_args(command.clone()), &command))
    }

    fn augment_args_for_update(command: Command) -> Command {
        RunArgs::augment_args_for_update(command)
    }
}

/// The options of a search for the highest rate that meets an objective, as a `clap` group like [`LoadArgs`].
#[derive(Debug)]
pub struct SearchArgs(search::args::SearchArgs);

impl SearchArgs {
    /// Runs the search, shows its progress, and writes the results as the options require. Returns the exit status
    /// that [`main`](crate::main) describes.
    ///
    /// This call blocks, like [`LoadArgs::run`].
    #[must_use]
    pub fn run<T: Target>(self, target: T) -> ExitCode {
        status(Job::new(self.0, &[], |_| Ok(target)).map_err(refused).and_then(job::search))
    }
}

impl FromArgMatches for SearchArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<SearchArgs, Error> {
        search::args::SearchArgs::from_arg_matches(matches).map(SearchArgs)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl Args for SearchArgs {
    fn augment_args(command: Command) -> Command {
        explained(hide_rare(search::args::SearchArgs::augment_args(command.clone()), &command))
    }

    fn augment_args_for_update(command: Command) -> Command {
        search::args::SearchArgs::augment_args_for_update(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::job::REFUSED;
    use crate::load::target::{Done, Failure, Slot};
    use clap::Parser;
    use std::fs;

    #[derive(Debug, Parser)]
    struct Tool {
        #[arg(long)]
        table: String,
        #[command(flatten)]
        load: LoadArgs,
    }

    #[derive(Debug, Parser)]
    struct Finder {
        #[command(flatten)]
        search: SearchArgs,
    }

    #[expect(clippy::unnecessary_wraps, reason = "a call that could fail")]
    fn answers(_: Slot) -> Result<Done, Failure> {
        Ok(Done::new())
    }

    #[test]
    fn a_program_of_its_own_runs_the_load_that_its_options_say() {
        let folder = tempfile::tempdir().unwrap();
        let json = folder.path().join("run.json");
        let line = ["tool", "--table", "a", "--rate", "1k/s", "--requests", "50", "--no-tui"];
        let json_option = ["--json", json.to_str().unwrap()];
        let tool = Tool::parse_from(line.iter().chain(&json_option));
        assert_eq!(tool.table, "a");
        assert_eq!(tool.load.run(answers), ExitCode::SUCCESS);
        let results: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
        assert_eq!(results["completed"], 50);
        assert_eq!(results["settings"]["requests"], 50);
    }

    #[test]
    fn the_page_of_a_program_of_its_own_has_the_grammars() {
        let page = |word| Tool::try_parse_from(["tool", word]).unwrap_err().to_string();
        let (short, long) = (page("-h"), page("--help"));
        assert!(short.contains("--table") && !short.contains("--shard"), "{short}");
        assert!(long.contains("ladder 100/s..500/s") && long.contains("exact-poisson"), "{long}");
        let long = Finder::try_parse_from(["finder", "--help"]).unwrap_err().to_string();
        assert!(long.contains("p99 first-item < 500ms"), "{long}");
    }

    #[test]
    fn what_a_load_cannot_be_is_refused() {
        let tool = Tool::parse_from(["tool", "--table", "a", "--json", "/no/such/folder/x"]);
        assert_eq!(tool.load.run(answers), ExitCode::from(REFUSED));
        assert!(Tool::try_parse_from(["tool", "--table", "a", "--rate", "0"]).is_err());
        let finder = Finder::parse_from(["finder", "--from", "9/s", "--max", "1/s"]);
        assert_eq!(finder.search.run(answers), ExitCode::from(REFUSED));
    }
}
