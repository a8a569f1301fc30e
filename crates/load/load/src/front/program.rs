//! Implements a complete load generator in one call. Its command line has the options of the program's author and those
//! of the library.

use super::help as pages;
use super::job::{self, Ended, FAILED, refused};
use crate::console::{config, help, refusal};
use crate::load::target::Target;
use crate::running::args::RunArgs;
use crate::running::compare::{self, CompareArgs};
use crate::running::fleet::args::FleetCommand;
use crate::running::member::address::without_secret;
use crate::running::merge::{self, MergeArgs};
use crate::running::search::Job;
use crate::running::search::args::SearchArgs;
use crate::running::setup::Setup;
use clap::builder::Resettable;
use clap::{Args, FromArgMatches, Subcommand};
use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

const RUN: &str = "run";
const SEARCH: &str = "search";
const FLEET: &str = "fleet";
const COMPARE: &str = "compare";
const MERGE: &str = "merge";

const ABOUT_RUN: &str =
    "Run the load and report wait, service and response times; this is the default command";
const ABOUT_SEARCH: &str =
    "Find the highest rate that meets an objective, such as p99 response < 20ms";
const ABOUT_COMPARE: &str =
    "Compare the --json files of runs: which differences are larger than chance explains?";
const ABOUT_MERGE: &str = "Merge the --json files of all parts of a load";
const ABOUT_FLEET: &str = "Watch and control a run that several machines share";

const MORE: &str = "\
--help lists all options; 'help' lists topics, such as rates, shapes and exit-codes.";

enum Command<A: Args> {
    Run(Box<RunCommand<A>>),
    Search(SearchCommand<A>),
    Fleet(FleetCommand),
    Compare(CompareArgs),
    Merge(MergeArgs),
    Print(String),
}

#[derive(Args)]
struct RunCommand<A: Args> {
    #[command(flatten)]
    own: A,
    #[command(flatten)]
    load: RunArgs,
}

#[derive(Args)]
struct SearchCommand<A: Args> {
    #[command(flatten)]
    own: A,
    #[command(flatten)]
    search: SearchArgs,
}

/// Runs a complete load generator: reads the command line, creates the target and performs the command.
///
/// The options are those of the program's author and those of a load, such as rate, duration, requirements and reports.
/// `--help` lists them, and `--config` reads them from a file. The command `search` finds the highest rate that meets
/// an objective, `compare` compares runs, `merge` merges the parts of a load, `fleet` watches and controls a fleet, and
/// `help` explains how to write rates, shapes, arrivals and requirements. On a terminal, a run shows a full-screen view
/// by default. Ctrl-C ends the run, and its report goes to standard output.
///
/// The exit status is 0 for success, 1 if the command failed after its start, for example because results could not be
/// written, 2 if the command line is invalid or names a file that cannot be used, 3 if a requirement was missed, no
/// rate met the objective of a search, or a fleet lost slots or started slots twice, 4 if the load is incomplete or a
/// search has no result, 5 if the target or the store of a fleet cannot be reached, and 130 after an interrupt without
/// a report. See `help exit-codes` for details.
///
/// This call blocks, and its threads create Tokio runtimes. Call it outside other runtimes.
///
/// # Examples
///
/// ```no_run
/// use nanopace_load::{Done, Failure, Slot, Target};
/// use std::process::ExitCode;
/// use tokio::net::TcpStream;
///
/// /// Opens connections.
/// #[derive(Debug, clap::Args)]
/// struct Options {
///     /// Where to
///     #[arg(long, default_value = "127.0.0.1:7")]
///     address: String,
/// }
///
/// struct Connections(String);
///
/// impl Target for Connections {
///     type Session = ();
///
///     async fn connect(&self, _index: usize) -> Result<(), Failure> {
///         Ok(())
///     }
///
///     async fn call(&self, _session: &mut (), _slot: Slot) -> Result<Done, Failure> {
///         TcpStream::connect(&self.0).await?;
///         Ok(Done::new())
///     }
/// }
///
/// fn main() -> ExitCode {
///     nanopace_load::main(|options: &Options| Ok::<_, String>(Connections(options.address.clone())))
/// }
/// ```
pub fn main<A, T, E>(make: impl FnOnce(&A) -> Result<T, E>) -> ExitCode
where
    A: Args,
    T: Target,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    status(perform(env::args_os().collect(), make))
}

pub(crate) fn status(ended: Ended) -> ExitCode {
    ended.unwrap_or_else(|(status, error)| {
        let _ = writeln!(io::stderr(), "error: {error:#}");
        ExitCode::from(status)
    })
}

fn perform<A, T, E>(words: Vec<OsString>, make: impl FnOnce(&A) -> Result<T, E>) -> Ended
where
    A: Args,
    T: Target,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let target = |own: &A| make(own).map_err(|error| anyhow::Error::from_boxed(error.into()));
    match read(words) {
        Ok(Command::Run(run)) => {
            let RunCommand { own, load } = *run;
            job::run(Setup::new(load, &[], |_| target(&own)).map_err(refused)?)
        }
        Ok(Command::Search(SearchCommand { own, search })) => {
            job::search(Job::new(search, &[], |_| target(&own)).map_err(refused)?)
        }
        Ok(Command::Fleet(command)) => job::fleet(&command),
        Ok(Command::Compare(args)) => job::compare(&args),
        Ok(Command::Merge(args)) => job::merge(&args),
        Ok(Command::Print(text)) => print(text.as_bytes()),
        Err(error) => usage(&error),
    }
}

pub(crate) fn print(text: &[u8]) -> Ended {
    io::stdout().write_all(text).map_err(|error| (FAILED, error.into()))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn usage(error: &clap::Error) -> Ended {
    if error.use_stderr() {
        return Err(refused(anyhow::Error::msg(refusal::text(error))));
    }
    match error.print() {
        // A closed pipe is not an error: its reader has read as much of the page as it needs.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err((FAILED, error.into())),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn read<A: Args>(words: Vec<OsString>) -> Result<Command<A>, clap::Error> {
    let definition = definition::<A>(words.first());
    let matches = config::matches(&definition, words)?;
    if let Some(page) = pages::asked_for(&definition, &matches)? {
        return Ok(Command::Print(page));
    }
    if let Some(config) = config::asked_for(&definition, &matches)? {
        return Ok(Command::Print(without_secret(&config)));
    }
    match matches.subcommand() {
        Some((SEARCH, search)) => SearchCommand::from_arg_matches(search).map(Command::Search),
        Some((FLEET, fleet)) => FleetCommand::from_arg_matches(fleet).map(Command::Fleet),
        Some((COMPARE, files)) => CompareArgs::from_arg_matches(files).map(Command::Compare),
        Some((MERGE, files)) => MergeArgs::from_arg_matches(files).map(Command::Merge),
        run => {
            let mut run = RunCommand::<A>::from_arg_matches(run.map_or(&matches, |(_, run)| run))?;
            run.load.settle(&definition, &matches);
            Ok(Command::Run(Box::new(run)))
        }
    }
}

/// Returns the command line. The options of a run may follow the word `run`, or may be given without it. If another
/// command is named, the required options of a run may be missing.
fn definition<A: Args>(program: Option<&OsString>) -> clap::Command {
    let name = program.and_then(|path| Path::new(path).file_stem()?.to_str().map(str::to_owned));
    let new = |name: &str| clap::Command::new(name.to_owned());
    // clap keeps the description of the group of options that was joined last, but the program needs the author's
    // description.
    let own = A::augment_args(new(RUN));
    let run = RunCommand::<A>::augment_args(new(RUN));
    let search = SearchCommand::<A>::augment_args(new(SEARCH));
    let fleet = FleetCommand::augment_subcommands(new(FLEET)).subcommand_required(true);
    let compare = CompareArgs::augment_args(new(COMPARE)).after_help(compare::HELP);
    let merge = MergeArgs::augment_args(new(MERGE)).after_help(merge::HELP);
    let whole = RunCommand::<A>::augment_args(new(name.as_deref().unwrap_or("load")));
    let [whole, run, search] = [whole, run, search].map(|it| help::hide_rare(it, &own));
    whole
        .about(Resettable::from(own.get_about().cloned()))
        .long_about(Resettable::from(own.get_long_about().cloned()))
        .args_conflicts_with_subcommands(true)
        .subcommand_negates_reqs(true)
        .disable_help_subcommand(true)
        .after_help(MORE)
        .subcommands([run.about(ABOUT_RUN), search.about(ABOUT_SEARCH), fleet.about(ABOUT_FLEET)])
        .subcommands([compare.about(ABOUT_COMPARE), merge.about(ABOUT_MERGE), pages::command()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::job::REFUSED;
    use crate::load::target::{Done, Failure, Slot};
    use std::fs;

    /// Sends a text
    #[derive(Debug, Args)]
    struct Own {
        /// A text
        #[arg(long)]
        text: String,
    }

    #[test]
    fn help_says_what_the_program_is_for() {
        let mut definition = definition::<Own>(Some(&"dir/tool".into()));
        let help = definition.render_long_help().to_string();
        assert!(help.starts_with("Sends a text\n\nUsage: tool "), "{help}");
        let abouts = [RUN, SEARCH, FLEET]
            .map(|name| definition.find_subcommand(name).unwrap().get_about().unwrap().to_string());
        let [run, search, fleet] = abouts;
        assert!(run.starts_with("Run the load"), "{run}");
        assert!(search.starts_with("Find the highest rate"), "{search}");
        assert!(fleet.starts_with("Watch and control"), "{fleet}");
    }

    struct Thirds;

    impl Target for Thirds {
        type Session = ();

        async fn connect(&self, _index: usize) -> Result<(), Failure> {
            Ok(())
        }

        async fn call(&self, _session: &mut (), slot: Slot) -> Result<Done, Failure> {
            if slot.number() % 3 == 2 {
                return Err(Failure::new("a third").with(Done::new().label("third")));
            }
            Ok(Done::new().bytes(2, 1).label("others of three"))
        }
    }

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn the_short_page_has_the_own_options_and_a_few_more() {
        let page = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            read::<Own>(words).err().unwrap().to_string()
        };
        let short = page(&["tool", "-h"]);
        assert!(short.lines().count() <= 45, "{short}");
        assert!(short.contains("--text") && short.contains("--rate"), "{short}");
        assert!(!short.contains("--shard"), "{short}");
        assert!(page(&["tool", "--help"]).contains("--shard"));
        assert!(page(&["tool", "search", "-h"]).contains("--until"));
    }

    #[test]
    fn the_definition_is_sound() {
        definition::<Own>(None).debug_assert();
    }

    #[test]
    fn own_options_stand_beside_those_of_the_load() {
        let read = |line: &str| read::<Own>(words(line));
        let Ok(Command::Run(run)) = read("dir/tool --text a --rate 7/s") else {
            panic!("it is a run")
        };
        assert_eq!((run.own.text.as_str(), run.load.connections.most), ("a", 16));
        let Ok(Command::Search(search)) = read("tool search --text b -c 3") else {
            panic!("it is a search")
        };
        assert_eq!((search.own.text.as_str(), search.search.connections), ("b", 3));
        assert!(matches!(
            read("tool fleet pause x --store redis://127.0.0.1/"),
            Ok(Command::Fleet(_))
        ));
        for wrong in ["tool", "tool --rate 7/s", "tool --text a --rate 0", "tool --other"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_run_writes_its_results_and_says_how_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let json = folder.path().join("run.json");
        let line = format!(
            "tool --text a --rate 1k/s --requests 300 --no-tui --fail-if errors<50% --json {}",
            json.display()
        );
        let status = perform(words(&line), |own: &Own| {
            assert_eq!(own.text, "a");
            Ok::<_, String>(Thirds)
        });
        assert_eq!(status.unwrap(), ExitCode::SUCCESS);
        let json: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
        assert_eq!(json["url"], "Thirds");
        assert_eq!((&json["completed"], &json["failures"]["a third"]), (&200.into(), &100.into()));
        let counts = |label: &str| {
            let label = &json["labels"][label];
            (label["completed"].as_u64(), label["failed"].as_u64())
        };
        assert_eq!(counts("third"), (Some(0), Some(100)));
        assert_eq!(counts("others of three"), (Some(200), Some(0)));
        assert_eq!((&json["bytes_read"], &json["bytes_written"]), (&400.into(), &200.into()));
    }

    #[test]
    fn what_the_author_refuses_is_refused() {
        let refused = perform(words("tool --text a"), |_: &Own| Err::<Thirds, _>("no such server"));
        let (status, error) = refused.unwrap_err();
        assert_eq!((status, error.to_string().as_str()), (REFUSED, "no such server"));
    }
}
