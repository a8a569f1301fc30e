//! Tests runs that continue until the confidence interval of a percentile is narrow enough.

use super::{CommandLine, Told, done, run_with};
use crate::judged::checks::Finding;
use crate::judged::summary::Summary;
use crate::running::setup::Setup;
use clap::Parser;
use std::sync::mpsc;

/// Returns the setup of a run. In `options`, underscores stand for spaces.
fn set_up(options: &str) -> Result<Setup, String> {
    let words = "test -c 4 --threads 1".split(' ').map(str::to_owned);
    let options = options.split(' ').map(|word| word.replace('_', " "));
    let line =
        CommandLine::try_parse_from(words.chain(options)).map_err(|error| error.to_string())?;
    let target = Told::new(|_| Ok(()), |_| done());
    Setup::new(line.run, &[], |_| Ok(target)).map_err(|error| error.to_string())
}

fn run(options: &str) -> Summary {
    let setup = set_up(options).unwrap();
    let (sender, messages) = mpsc::channel();
    run_with(&setup, &sender, &messages)
}

fn sure(summary: &Summary) -> &Finding {
    summary.findings.iter().find(|finding| finding.check == "sure").unwrap()
}

#[test]
fn a_run_ends_when_its_percentile_is_sure() {
    let summary = run("--rate 200/s --until-confident p50_wait_100% --longest 1h");
    let Finding { text, .. } = sure(&summary);
    assert!(text.ends_with(": that ended the run"), "{text}");
    assert_eq!((summary.incomplete, summary.missed), (None, Vec::new()));
}

#[test]
fn a_run_that_does_not_get_there_is_as_long_as_it_may_be() {
    let summary = run("--rate 200/s --until-confident p99.99_1% --longest 300ms");
    let Finding { is_well, text, .. } = sure(&summary);
    let told = "p99.99 response was to be known to within 1%, but there were too few requests: \
                the load ended";
    assert_eq!((*is_well, &text[..], summary.stats.due()), (false, told, 60));
}

#[test]
fn contradicting_options_are_refused_with_what_to_write() {
    for (options, told) in [
        (
            "--rate 1k/s --until-confident p99_5% --duration 5s",
            "leave out --duration, or write --longest TIME instead",
        ),
        (
            "--rate 1k/s --until-confident p99_5% --requests 5",
            "leave out --requests, or write --longest TIME instead",
        ),
        (
            "--shape ramp_1/s..5/s_10s --until-confident p99_5%",
            "write --rate RATE, without --shape",
        ),
        ("--rate 1k/s --until-confident p99_5% --run x", "leave out --until-confident or --run"),
        ("--rate 1k/s --until-confident p99", "write a percentile and the accuracy that you need"),
        ("--rate 1k/s --longest 5s", "--until-confident"),
    ] {
        let refused = set_up(options).err().unwrap_or_default();
        assert!(refused.contains(told), "{options}: {refused}");
    }
    assert!(set_up("--rate max --until-confident p99_5%").is_ok());
}
