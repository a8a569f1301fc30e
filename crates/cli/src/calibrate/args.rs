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

What the report tells, from top to bottom:
  oversleep    by how much sleeps take longer than asked for, and their processor time
  spinning     gaps in the sight of a thread that never sleeps: who else was served
  lateness     of starts at 1 k/s and 10 k/s, for each --pause of nanopace run
  clumps       above which rate starts of a sleeping thread go in one, and how many
  even gaps    the rate up to which 99 % of the starts are late by a quarter of the gap at most
  recommended  the cheapest --pause with even gaps at 10 k/s

Nothing is recommended when more than 5 % of the time was taken by others; the exit status is 0
all the same. Ctrl-C ends it with what was measured so far.";

/// The options of `nanopace calibrate`.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// How long to measure; less is less certain
    #[arg(long, value_name = "NUMBER", default_value = "24", value_parser = seconds)]
    pub(crate) seconds: Duration,

    /// Write the results as one JSON object; - is standard output, and moves the report to standard
    /// error
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write the percentiles as a plot
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// A day is as much as anybody can want.
const MOST_SECONDS: f64 = 86_400.0;

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= MOST_SECONDS => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err("it is a number of seconds above 0 and up to 86400".to_owned()),
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
