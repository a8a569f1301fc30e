//! Which limiters are tried, and how they are set up.

use crate::limit::args::LimitArgs;
use crate::limit::kind::Kind;
use crate::limit::limiter::Settings;
use anyhow::{bail, ensure};
use clap::ValueEnum;
use nanopace::Nanos;

/// The limiters to try. Each of them can be made.
pub(crate) struct Chosen {
    /// What they are made with.
    pub(crate) settings: Settings,
    /// The limiters, in the order in which they are shown.
    pub(crate) kinds: Vec<Kind>,
    /// The limiters that cannot keep this limit, and why.
    pub(crate) dropped: Vec<Dropped>,
}

/// A limiter that could not be tried.
#[derive(Clone, Debug)]
pub(crate) struct Dropped {
    /// The limiter.
    pub(crate) kind: Kind,
    /// Why it cannot keep the limit.
    pub(crate) reason: String,
}

impl Chosen {
    /// The limiters that are asked for. Makes each of them once.
    pub(crate) fn by(args: &LimitArgs) -> anyhow::Result<Chosen> {
        let settings = args.settings();
        let kinds = kinds(args)?;
        check_settings(args, &kinds)?;
        let (kinds, dropped) = try_out(&settings, &kinds)?;
        Ok(Chosen { settings, kinds, dropped })
    }
}

/// The limiters that are asked for.
fn kinds(args: &LimitArgs) -> anyhow::Result<Vec<Kind>> {
    let side_by_side = args.compare || args.retry.is_some();
    match args.limiter[..] {
        _ if args.retry.is_some() && !args.limit.is_plain() => {
            bail!("--retry tries limiters one by one: write --limit as a number per time")
        }
        [] if side_by_side => Ok(all(args)),
        [] if !args.limit.is_plain() => Ok(vec![Kind::AsWritten]),
        [] => Ok(vec![Kind::Cooldown]),
        [_, _, ..] if !side_by_side => {
            bail!("--limiter: only one limiter decides; to see several side by side, add --compare")
        }
        _ => Ok(args.limiter.clone()),
    }
}

/// All limiters; what a plain limit says as it is written is the cooldown again.
fn all(args: &LimitArgs) -> Vec<Kind> {
    let is_new = |kind: &&Kind| **kind != Kind::AsWritten || !args.limit.is_plain();
    Kind::value_variants().iter().filter(is_new).copied().collect()
}

/// Refuses settings that would change nothing: they are mistakes.
fn check_settings(args: &LimitArgs, kinds: &[Kind]) -> anyhow::Result<()> {
    let check = |given: bool, name: &str, is_for: fn(Kind) -> bool| {
        let users = Kind::value_variants().iter().filter(|&&kind| is_for(kind));
        let users = users.map(Kind::to_string).collect::<Vec<_>>().join(", ");
        ensure!(
            !given || kinds.iter().any(|&kind| is_for(kind)),
            "{name} is only for {users}: leave it out"
        );
        Ok(())
    };
    check(args.capacity.is_some(), "--capacity", Kind::has_capacity)?;
    check(args.slots.is_some(), "--slots", Kind::has_slots)?;
    check(args.backfill.is_some(), "--backfill", |kind| kind == Kind::Pool)?;
    check(args.refill_every.is_some(), "--refill-every", |kind| kind == Kind::Pool)
}

/// Separates the limiters that can keep the limit from those that can't.
fn try_out(settings: &Settings, kinds: &[Kind]) -> anyhow::Result<(Vec<Kind>, Vec<Dropped>)> {
    let (mut able, mut dropped) = (Vec::new(), Vec::new());
    for &kind in kinds {
        match settings.limiter(kind, Nanos::ZERO) {
            Ok(_) => able.push(kind),
            Err(error) if kinds.len() == 1 => {
                return Err(error.context(format!("--limiter {kind}")));
            }
            Err(error) => dropped.push(Dropped { kind, reason: error.to_string() }),
        }
    }
    ensure!(!able.is_empty(), "no limiter is left: {}", dropped[0].reason);
    Ok((able, dropped))
}
