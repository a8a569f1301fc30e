//! Defines the options of a search. Their doc comments are `--help` texts.

use crate::console::human::positive_duration;
use crate::console::is_stdout;
use crate::judged::criteria::Criterion;
use crate::load::schedule::arrivals::ArrivalProcess;
use crate::running::args::RunArgs;
use crate::running::pool_size::{PoolSize, connections};
use anyhow::ensure;
use clap::Args;
use nanopace::Rate;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) const HELP: &str = "\
Examples:
  nanopace search http://127.0.0.1:8080/ --until \"p99 response < 20ms\"
  nanopace search http://127.0.0.1:8080/ --until \"p99 response < 50ms\" --until \"errors < 0.1%\"
  nanopace search http://127.0.0.1:8080/ --from 1k/s --max 20k/s --arrivals poisson --svg rates.svg
  nanopace search --target-latency 10ms -c 8 --until \"p99 response < 20ms\"
  nanopace search --for 5min --json - | jq .conclusion

Each step is a run at a constant rate over new connections. The rate is doubled until a step
misses the objective, or halved until a step meets it; then the gap is halved until it is within
--precision. Both rates of the result are tried again. In each step, 99 % of the requests must
start and 99 % must succeed; an objective on ratio replaces the first limit, and an objective on
errors replaces the second. A step that the generator spoiled is repeated up to twice. The search
ends if even requests sent alone fail.

'nanopace search --help' lists all options; 'nanopace help' lists topics.";

/// The options of a search for the highest rate, as a group for command lines with other options.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// Meet this objective, as in "p99 response < 20ms" or "errors < 0.1%"; repeatable [see: help requirements]
    #[arg(long, value_name = "REQUIREMENT", default_value = "p99 response < 50ms", value_parser = promise, help_heading = "The search")]
    pub(crate) until: Vec<Criterion>,

    /// Begin the search at this rate
    #[arg(long, value_name = "RATE", default_value = "100/s", help_heading = "The search")]
    pub(crate) from: Rate,

    /// Do not try rates below this rate [default: a tenth of --from]
    #[arg(long, value_name = "RATE", help_heading = "The search")]
    pub(crate) min: Option<Rate>,

    /// Do not try rates above this rate [default: no limit]
    #[arg(long, value_name = "RATE", help_heading = "The search")]
    pub(crate) max: Option<Rate>,

    /// End when the lowest failing rate is at most this far above the highest passing rate, as in 2% or 0.02
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = precision, help_heading = "The search")]
    pub(crate) precision: f64,

    /// Plan each step for this time, or longer for enough requests (1000 for a p99); a decided step ends early
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = positive_duration, help_heading = "The search")]
    pub(crate) step: Duration,

    /// Exclude this much time at the start of each step from the step's results
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = humantime::parse_duration, help_heading = "The search")]
    pub(crate) settle: Duration,

    /// End after this number of steps
    #[arg(long, value_name = "COUNT", default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..), help_heading = "The search")]
    pub(crate) max_steps: u16,

    /// Do not start a step that would end more than this time after the search began [default: no limit]
    #[arg(long = "for", value_name = "TIME", value_parser = positive_duration, help_heading = "The search")]
    pub(crate) longest: Option<Duration>,

    /// Space requests by this arrival process, such as poisson, gamma:0.25 or jitter:0.3 [see: help arrivals]
    #[arg(long, value_name = "PROCESS", default_value = "even", value_parser = process, help_heading = "The search")]
    pub(crate) arrivals: ArrivalProcess,

    /// Seed the random arrivals and the random request data; the arrivals differ from step to step
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "The search")]
    pub(crate) seed: u64,

    /// Allow this number of requests in flight, one per connection
    #[arg(long, short = 'c', value_name = "COUNT", default_value_t = 16, value_parser = fixed_connections, help_heading = "Connections")]
    pub(crate) connections: u32,

    /// Abort a request after this time and count it as failed
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = positive_duration, help_heading = "Connections")]
    pub(crate) timeout: Duration,

    /// Send from this number of threads [default: one per core; fewer for few connections, a local server or a low
    /// rate]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Connections")]
    pub(crate) threads: Option<u16>,

    /// Pin each load thread to one of the available cores, in turn
    #[arg(long, help_heading = "Connections")]
    pub(crate) pin: bool,

    /// Write all steps and the result as JSON; with -, write them to standard output and the report to standard error
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) json: Option<PathBuf>,

    /// Draw the first time that the objective names (or the p99 response time) at each tried rate as SVG
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) svg: Option<PathBuf>,
}

/// Slightly more than the lowest possible rate, which is one request per day.
const LOWEST: f64 = 1.2e-5;

impl SearchArgs {
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let (min, from) = (self.min_hz(), self.from.as_hz());
        ensure!(min <= from, "--min is above --from: write a lower --min, or a higher --from");
        let max = self.max.map_or(f64::INFINITY, Rate::as_hz);
        ensure!(from <= max, "--from is above --max: write a lower --from, or a higher --max");
        ensure!(
            self.arrivals.is_even() || !self.until.iter().any(Criterion::names_gaps),
            "--until: gaps are measured only between even arrivals: leave out this requirement or --arrivals"
        );
        let to_stdout = self.svg.as_deref().is_some_and(is_stdout);
        ensure!(
            !to_stdout,
            "--svg -: the picture needs a file; only --json goes to standard output"
        );
        Ok(())
    }

    pub(crate) fn min_hz(&self) -> f64 {
        let from = self.from.as_hz();
        self.min.map_or((from / 10.0).max(LOWEST).min(from), Rate::as_hz)
    }

    pub(crate) fn into_run(self) -> RunArgs {
        let mut run = RunArgs::by_default();
        run.schedule.rate = Some(self.from);
        run.schedule.arrivals = self.arrivals;
        run.schedule.seed = self.seed;
        run.threads = self.threads;
        run.pin = self.pin;
        run.warmup = self.settle;
        run.connections = PoolSize::fixed(self.connections);
        run.timeout = self.timeout;
        run.json = self.json;
        run.svg = self.svg;
        run
    }
}

fn fixed_connections(text: &str) -> Result<u32, String> {
    connections(text).map_err(|told| format!("{told}; in a search, the number does not grow"))
}

fn promise(text: &str) -> Result<Criterion, String> {
    let criterion: Criterion = text.parse().map_err(|error| format!("{error}"))?;
    if criterion.breaks_above_a_rate() {
        return Ok(criterion);
    }
    Err("a search needs a requirement that can fail because the rate is too high; write for example \
         p99 response < 50ms, errors < 0.1% or ratio > 0.99"
        .to_owned())
}

fn precision(text: &str) -> Result<f64, String> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse().map(|percent: f64| percent / 100.0),
        None => text.parse(),
    };
    let allowed = number.ok().filter(|share| (0.005..=0.5).contains(share));
    allowed.ok_or_else(|| "write a share from 0.5% to 50%, as in 2% or 0.02".to_owned())
}

fn process(text: &str) -> Result<ArrivalProcess, String> {
    match text.parse()? {
        ArrivalProcess::Replay(_) => {
            Err("a recording has its own rate; write even, poisson, gamma:0.25 or jitter:0.3"
                .to_owned())
        }
        named @ ArrivalProcess::Named(_) => Ok(named),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::running::files;
    use clap::Parser;

    #[derive(Debug, Parser)]
    #[command(no_binary_name = true)]
    struct CommandLine {
        #[command(flatten)]
        search: SearchArgs,
    }

    fn read(options: &[&str]) -> Result<SearchArgs, String> {
        let line = CommandLine::try_parse_from(options).map_err(|error| error.to_string())?;
        line.search.check().map_err(|error| error.to_string())?;
        let run = CommandLine::try_parse_from(options).unwrap().search.into_run();
        files::check(&run, &[]).map_err(|error| error.to_string())?;
        Ok(line.search)
    }

    #[test]
    fn the_defaults() {
        let args = read(&[]).unwrap();
        assert_eq!((args.from.as_hz(), args.min_hz(), args.precision), (100.0, 10.0, 0.02));
        assert_eq!(
            args.until.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["p99 response < 50ms"]
        );
        let run = args.into_run();
        assert_eq!((run.connections.most, run.warmup), (16, Duration::from_millis(500)));
        assert!(run.fail_if.is_empty() && run.requests.is_none());
    }

    #[test]
    fn an_impossible_search_is_refused_with_what_to_write() {
        for (options, told) in [
            (&["--until", "p99 response > 50ms"][..], "write for example p99 response < 50ms"),
            (&["--until", "completed > 5"], "write for example"),
            (&["--until", "p99 respnse < 50ms"], "write wait, service, response, setup"),
            (&["--precision", "0"], "write a share from 0.5% to 50%"),
            (&["--precision", "nan"], "write a share"),
            (&["--arrivals", "replay:x"], "write even, poisson"),
            (
                &["--until", "gaps > 9%", "--arrivals", "poisson"],
                "gaps are measured only between even arrivals",
            ),
            (&["--min", "200"], "write a lower --min"),
            (&["--max", "50"], "write a lower --from"),
            (&["--svg", "-"], "needs a file"),
            (&["--svg", "x", "--json", "x"], "same file"),
            (&["--svg", "x", "--json", "src/../x"], "same file"),
            (&["--max-steps", "0"], "--max-steps"),
            (&["--step", "0s"], "longer than zero"),
            (&["--from", "0"], "--from"),
            (&["-c", "1..8"], "write a number from 1 to 1000000; in a search"),
            (&["-c", "0"], "write a number from 1"),
        ] {
            let error = read(options).expect_err(&options.join(" "));
            assert!(error.contains(told), "{options:?}: {error}");
        }
    }

    #[test]
    fn promises_and_shares_are_read() {
        let options =
            ["--until", "p99.9 wait < 1s", "--until", "errors < 0.1%", "--precision", "5 %"];
        let args = read(&options).unwrap();
        assert_eq!(args.until.len(), 2);
        assert!((args.precision - 0.05).abs() < 1e-12);
    }
}
