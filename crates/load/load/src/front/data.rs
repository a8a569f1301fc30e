//! Provides the options about data as a `clap` group, for programs with their own targets.

use super::builder::LoadError;
use crate::load::data::args;
use crate::load::data::rows::Rows;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use std::path::Path;

const FILE: &str = "Take a row for each call from this CSV or JSON-lines file";

/// The options `--data`, `--data-order` and `--data-end` as a `clap` group. Flatten it into your own options.
///
/// # Examples
///
/// ```no_run
/// use nanopace_load::{About, DataArgs, Done, Failure, LoadError, Rows, Slot, Target};
/// use std::process::ExitCode;
///
/// /// Looks users up
/// #[derive(Debug, clap::Args)]
/// struct Options {
///     #[command(flatten)]
///     data: DataArgs,
/// }
///
/// struct Lookup {
///     users: Rows,
/// }
///
/// impl Target for Lookup {
///     type Session = ();
///
///     async fn connect(&self, _index: usize) -> Result<(), Failure> {
///         Ok(())
///     }
///
///     async fn call(&self, _session: &mut (), slot: Slot) -> Result<Done, Failure> {
///         let row = self.users.of(slot);
///         let user = row.get("user").ok_or(Failure::new("no column user"))?;
///         println!("look {user} up");
///         Ok(Done::new())
///     }
///
///     fn about(&self) -> About<'_> {
///         // For `--data-end stop`.
///         About::new().rows(&self.users)
///     }
/// }
///
/// fn main() -> ExitCode {
///     nanopace_load::main(|options: &Options| {
///         let users = options.data.rows()?.ok_or("write --data FILE")?;
///         Ok::<_, Box<dyn std::error::Error + Send + Sync>>(Lookup { users })
///     })
/// }
/// ```
#[derive(Clone, Debug)]
pub struct DataArgs(args::DataArgs);

impl DataArgs {
    /// Reads the file that `--data` names. Returns `None` if the option is not given. With `--data-order shuffled` and
    /// `--data-order random`, the order of rows is the same in each run.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, is malformed, contains no row, or contains a value that is not
    /// UTF-8.
    pub fn rows(&self) -> Result<Option<Rows>, LoadError> {
        Ok(Rows::of_args(&self.0)?)
    }
}

impl FromArgMatches for DataArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<DataArgs, Error> {
        args::DataArgs::from_arg_matches(matches).map(DataArgs)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl Args for DataArgs {
    fn augment_args(command: Command) -> Command {
        args::DataArgs::augment_args(command).mut_arg("data", |data| data.help(FILE))
    }

    fn augment_args_for_update(command: Command) -> Command {
        args::DataArgs::augment_args_for_update(command)
    }
}

impl Rows {
    /// Reads a file of rows. Slots use the rows in the order of the file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, is malformed, contains no row, or contains a value that is not
    /// UTF-8.
    pub fn read(path: impl AsRef<Path>) -> Result<Rows, LoadError> {
        Ok(Rows::of_file(path.as_ref())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::slot::Slot;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Tool {
        #[command(flatten)]
        data: DataArgs,
    }

    fn rows(options: &[&str]) -> Result<Option<Rows>, LoadError> {
        Tool::parse_from(["tool"].iter().chain(options)).data.rows()
    }

    #[test]
    fn options_of_a_target_of_its_own_read_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.csv");
        std::fs::write(&path, "user\nada\n").unwrap();
        let file = path.to_str().unwrap();
        let stops = rows(&["--data", file, "--data-end", "stop"]).unwrap().unwrap();
        assert_eq!((stops.columns(), stops.most_slots()), (&["user".to_owned()][..], Some(1)));
        assert_eq!(stops.of(Slot::ALONE).get("user"), Some("ada"));
        assert_eq!(Rows::read(&path).unwrap().most_slots(), None);
        assert!(rows(&[]).unwrap().is_none());
        std::fs::write(&path, "user\n").unwrap();
        let error = Rows::read(&path).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{file} line 2: the file has no rows: ")), "{error}");
        let help = Tool::try_parse_from(["tool", "--help"]).unwrap_err().to_string();
        assert!(help.contains("Take a row for each call"), "{help}");
    }
}
