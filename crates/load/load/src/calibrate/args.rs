//! Defines the options of `nanopace calibrate`. Their doc comments are its `--help` page.

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) const HELP: &str = "\
Examples:
  nanopace calibrate
  nanopace calibrate --seconds 60 --json results.json --svg percentiles.svg
  nanopace calibrate --json - | jq .recommended.pause

The report has, from top to bottom:
  machine             number of cores
  clock               time to read the engine's clock and the system's clock
  starts              time of a start at full speed
  timers              how much later the system may end a sleep (timer slack)
  oversleep           how much longer than requested sleeps take, and their CPU time
  a spinning thread   how often a thread that never sleeps is interrupted
  lateness of starts  lateness at 1 k/s and 10 k/s, for each way to pause
  a sleep costs       CPU time; the rate above which starts come in clumps, and their size
  highest rate with even gaps
                      the rate up to which 99 % of the starts are late by at most a quarter of
                      the gap; less if the cost of sleeping, spinning or a start limits it
  recommended         the cheapest way to pause with even gaps at 10 k/s; if there is none, the
                      one with the highest rate

Nothing is recommended if other programs, interrupts or a hypervisor took more than 5 % of the
time, or after Ctrl-C, which ends the measurements and reports the results so far. The exit status
is 0 in both cases.";

#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Measure for this number of seconds; longer measurements give more precise results
    #[arg(long, value_name = "NUMBER", default_value = "24", value_parser = seconds)]
    pub(crate) seconds: Duration,

    /// Write the results as JSON; with -, write them to standard output and the report to standard error
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Draw the percentiles of all measurements as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

const MAX_SECONDS: f64 = 86_400.0;

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds <= MAX_SECONDS);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|time| !time.is_zero())
        .ok_or_else(|| format!("must be more than 0 and at most {MAX_SECONDS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_of_a_second_are_allowed() {
        for (text, parsed) in [
            ("0.5", Some(500)),
            ("24", Some(24_000)),
            ("86400", Some(86_400_000)),
            ("86400.1", None),
            ("inf", None),
            ("0", None),
            ("1e-10", None),
            ("-1", None),
            ("nan", None),
            ("soon", None),
        ] {
            assert_eq!(seconds(text).ok(), parsed.map(Duration::from_millis), "{text}");
        }
        assert_eq!(seconds("0").unwrap_err(), "must be more than 0 and at most 86400");
    }
}
