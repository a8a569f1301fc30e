//! Divides a run with two targets into two sides, A and B, which run at the same time. Each side runs half of the
//! slots.

use super::args::RunArgs;
use super::pool_size::PoolSize;
use super::setup::part_of;
use crate::load::schedule::args::ScheduleArgs;
use crate::load::schedule::halves::halves;
use crate::load::unsupported::RunKind::TwoSides;
use anyhow::{bail, ensure};
use nanopace::Shard;
use toml::Value;

pub(crate) fn divided(mut args: RunArgs) -> anyhow::Result<(RunArgs, [RunArgs; 2])> {
    check(&args)?;
    args.is_versus = true;
    let [first, second] = halves(args.schedule.seed)?;
    let sides = [side(&args, "A", first)?, side(&args, "B", second)?];
    Ok((args, sides))
}

fn check(args: &RunArgs) -> anyhow::Result<()> {
    let option = Some("rate max").filter(|_| args.schedule.is_closed);
    if let Some(name) = option.or_else(|| TwoSides.unsupported(&args.given)) {
        bail!("--{name} cannot be used with --versus: leave it out");
    }
    let size @ PoolSize { first, most } = args.connections;
    let even = PoolSize { first: first.next_multiple_of(2), most: most.next_multiple_of(2) };
    ensure!(
        size == even,
        "--connections {size}: each side gets half of the connections: write an even number, such as {even}"
    );
    Ok(())
}

fn side(args: &RunArgs, name: &str, half: Shard) -> anyhow::Result<RunArgs> {
    let PoolSize { first, most } = args.connections;
    let mut side = RunArgs {
        name: name.to_owned(),
        schedule: ScheduleArgs { shard: Some(half), ..args.schedule.clone() },
        duration: args.duration,
        connections: PoolSize { first: first / 2, most: most / 2 },
        timeout: args.timeout,
        strictness: args.strictness,
        max_backlog: args.max_backlog,
        skip_later_than: args.skip_later_than,
        warmup: args.warmup,
        settings: args.settings.clone(),
        given: args.given.clone(),
        start: args.start,
        is_versus: true,
        ..RunArgs::by_default()
    };
    side.settings.insert("connections".to_owned(), connections(side.connections));
    if let Some(requests) = args.requests {
        let own = own_requests(requests, &side)?;
        side.requests = Some(own);
        side.settings.insert("requests".to_owned(), i64::try_from(own)?.into());
    }
    Ok(side)
}

/// Returns the value of `--connections` in the settings of a run.
fn connections(size: PoolSize) -> Value {
    if size.grows() { size.to_string().into() } else { i64::from(size.most).into() }
}

/// Returns how many of the `requests` requests after the warm-up belong to the side.
fn own_requests(requests: u64, side: &RunArgs) -> anyhow::Result<u64> {
    let schedule = &side.schedule;
    let whole = Shard::new(0, 1)?;
    let end = schedule.starts_before(side.warmup, whole)?.saturating_add(requests);
    let own = part_of(end, side)? - schedule.starts_before(side.warmup, schedule.shard()?)?;
    ensure!(
        own > 0,
        "--requests {requests}: side {} gets no requests: write a larger number",
        side.name
    );
    Ok(own)
}
