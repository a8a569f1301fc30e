//! `--until-confident`: a run that goes on until a percentile is known well enough, and what does not go with that.

use super::args::RunArgs;
use anyhow::ensure;
use std::time::Duration;

/// How long it goes on at most, if nothing else is said.
const LONGEST: Duration = Duration::from_secs(600);

/// How long such a run is at most, without the warm-up.
pub(crate) fn longest(args: &RunArgs) -> Option<Duration> {
    args.until_confident.as_ref().map(|_| args.longest.unwrap_or(LONGEST))
}

/// Refuses what ends a run in other ways, and a load whose times can't become surer.
pub(crate) fn check(args: &RunArgs) -> anyhow::Result<()> {
    if args.until_confident.is_none() {
        return Ok(());
    }
    for (name, is_given) in
        [("duration", args.duration.is_some()), ("requests", args.requests.is_some())]
    {
        ensure!(
            !is_given,
            "--until-confident: the run ends when the percentile is sure: leave out --{name}, and write --longest TIME"
        );
    }
    ensure!(
        args.fleet.run_name.is_none(),
        "--until-confident: no node of a fleet knows the times of all: leave it out, or --run"
    );
    ensure!(
        args.schedule.shard.is_none(),
        "--until-confident: the parts of a load would end at different times: leave it out, or --shard"
    );
    ensure!(
        args.schedule.constant_hz()?.is_some(),
        "--until-confident: times of a load that changes do not become surer: write --rate RATE, without --shape or a recording"
    );
    Ok(())
}
