//! The options of `nanopace calibrate`; the texts here are its `--help` page.

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// What `--help` shows below the options.
pub(crate) const HELP: &str = "\
Examples:
  nanopace calibrate                           the report, after 24 s
  nanopace calibrate --seconds 60 --json results.json --svg percentiles.svg
  nanopace calibrate --json - | jq .recommended.pause

The report has, from top to bottom:
  oversleep    how much longer sleeps take than asked for, and their processor time
  spinning     how often a thread that never sleeps is interrupted
  lateness     how late starts are at 1 k/s and 10 k/s, for each --pause of nanopace run
  clumps       the rate above which a sleeping thread starts several at a time, and how many
  even gaps    the rate up to which 99 % of the starts are late by at most a quarter of the gap
  recommended  the cheapest --pause with even gaps at 10 k/s

If more than 5 % of the time was taken by other programs, nothing is recommended; the exit
status is still 0. Ctrl-C ends the measurements and reports what was measured so far.";

/// The options of `nanopace calibrate`.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// How many seconds to measure; shorter is less certain
    #[arg(long, value_name = "NUMBER", default_value = "24", value_parser = seconds)]
    pub(crate) seconds: Duration,

    /// Write the results as one JSON object; with - it goes to standard output, and the report to
    /// standard error
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write the percentiles as a plot
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// A day.
const MOST_SECONDS: f64 = 86_400.0;

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= MOST_SECONDS => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err("write a number of seconds above 0 and up to 86400".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_may_be_parts_of_one() {
        for (text, parsed) in
            [("0.5", Some(500)), ("24", Some(24_000)), ("0", None), ("-1", None), ("nan", None)]
        {
            assert_eq!(seconds(text).ok(), parsed.map(Duration::from_millis), "{text}");
        }
    }
}
