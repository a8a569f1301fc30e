//! Defines the options of runs and searches over HTTP. Their doc comments are `--help` texts.

use super::client::args::ClientArgs;
use super::embedded::EmbeddedTarget;
use crate::load::data::args::DataArgs;
use crate::load::schedule::arrivals::ArrivalProcess;
use crate::running::args::RunArgs;
use crate::running::files::Input;
use crate::running::search::args::SearchArgs;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct HttpRunArgs<E: EmbeddedTarget> {
    #[command(flatten)]
    pub(crate) load: RunArgs,

    #[command(flatten)]
    pub(crate) requests: RequestArgs<E>,

    /// Replay this HAR file's requests to its first host at their times; append hosts=all or hosts=HOST,HOST to FILE for
    /// other hosts
    #[arg(long, value_name = "FILE", conflicts_with = "arrivals", value_parser = har, help_heading = "Requests")]
    pub(crate) har: Option<ArrivalProcess>,

    /// Run the load in this file, in the format of --config; repeat the option to run several loads at once [see: help
    /// loads]
    #[arg(id = "load_file", long = "load", value_name = "FILE", help_heading = "Load")]
    pub(crate) load_files: Vec<PathBuf>,

    /// Divide the load between --url (A) and this URL (B), and compare them [see: help versus]
    #[arg(
        long,
        value_name = "URL",
        requires = "url",
        conflicts_with_all = ["targets", "scenario", "har", "load_file", "unix_socket"],
        help_heading = "Load"
    )]
    pub(crate) versus: Option<String>,

    /// The options of the requests to the URL of `--versus`, if it is given.
    #[arg(skip)]
    pub(crate) other: Option<Box<RequestArgs<E>>>,
}

fn har(text: &str) -> Result<ArrivalProcess, String> {
    format!("har:{text}").parse()
}

impl<E: EmbeddedTarget> HttpRunArgs<E> {
    pub(crate) fn settle(&mut self, definition: &Command, matches: &ArgMatches) {
        if let Some(har) = &self.har {
            self.load.schedule.arrivals = har.clone();
        }
        self.load.settle(definition, matches);
        if let Some(url) = &self.versus {
            let run = matches.subcommand().map_or(matches, |(_, run)| run);
            let same = RequestArgs::from_arg_matches(run).ok();
            self.other = same.map(|same| Box::new(RequestArgs { url: Some(url.clone()), ..same }));
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct HttpSearchArgs<E: EmbeddedTarget> {
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) requests: RequestArgs<E>,
}

#[derive(Debug, Args)]
pub(crate) struct RequestArgs<E: EmbeddedTarget> {
    /// Send requests to this URL; before the load, one extra request checks the URL [default: the embedded target]
    #[arg(long, value_name = "URL", help_heading = "Requests")]
    pub(crate) url: Option<String>,

    /// Send the requests in this file (vegeta's HTTP or JSON format; - is standard input) in turn, and start over
    /// at its end
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "method", "body", "body_file", "form"], help_heading = "Requests")]
    pub(crate) targets: Option<PathBuf>,

    /// Run the scenarios in this TOML file, one scenario per slot [see: help scenarios]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "targets", "method", "body", "body_file", "form", "items"], help_heading = "Requests")]
    pub(crate) scenario: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) target: E,

    #[command(flatten)]
    pub(crate) client: ClientArgs,

    #[command(flatten)]
    pub(crate) data: DataArgs,
}

impl<E: EmbeddedTarget> RequestArgs<E> {
    pub(crate) fn inputs(&self) -> Vec<Input<'_>> {
        let files = [
            ("--targets", &self.targets),
            ("--scenario", &self.scenario),
            ("--body-file", &self.client.body_file),
            ("--cacert", &self.client.connection.cacert),
            ("--cert", &self.client.connection.cert),
            ("--key", &self.client.connection.key),
            ("--data", &self.data.data),
        ];
        let files = files.into_iter().filter_map(|(option, file)| Some((option, file.as_deref()?)));
        let uploads = self.client.form.iter().filter_map(|field| Some(("--form", field.file()?)));
        files.chain(uploads).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::embedded::NoTarget;
    use crate::running::files;
    use clap::Parser;

    #[derive(Debug, Parser)]
    #[command(no_binary_name = true)]
    struct CommandLine {
        #[command(flatten)]
        run: HttpRunArgs<NoTarget>,
    }

    #[test]
    fn what_is_read_is_not_written() {
        for (options, told) in [
            (["--html", "Cargo.toml", "--body-file", "Cargo.toml"], "--body-file reads this file"),
            (["--json", "./Cargo.toml", "--cacert", "Cargo.toml"], "--cacert reads this file"),
            (
                ["--csv", "src/../Cargo.toml", "--targets", "Cargo.toml"],
                "--targets reads this file",
            ),
        ] {
            let HttpRunArgs { requests, load, .. } = CommandLine::parse_from(options).run;
            let error = files::check(&load, &requests.inputs()).unwrap_err().to_string();
            assert!(error.contains(told), "{options:?}: {error}");
        }
    }
}
