//! The state of a subject as text. `script/decide.lua` reads and writes the same.

use crate::plan::{Plan, specification_of};
use nanopace_limits::internal::{LimitsState, PortableAccount, PortableState};
use nanopace_limits::{Limit, Limits};

/// The kind's letter and three numbers.
const SPECIFICATION: usize = 55;

/// The state of these limits as text. None if one of the limits is not kept in a store.
pub(crate) fn show(plan: &Plan, state: &LimitsState) -> Option<String> {
    let accounts = plan.limits.to_portable(state)?;
    let (in_force, replaced) = accounts.split_at(plan.limits.each().len());
    let in_force: Vec<String> = in_force.iter().map(|account| words(&account.state)).collect();
    let mut lines = vec![plan.text.clone(), in_force.join(",")];
    for PortableAccount { limit, state } in replaced {
        lines.push(format!("{}{}{limit}", specification_of(limit)?, words(state)));
    }
    Some(lines.join("\n"))
}

/// Limits and their state from text. None if it is no such text.
pub(crate) fn read(text: &str) -> Option<(Limits, LimitsState)> {
    let mut lines = text.split('\n');
    let limits: Limits = lines.next()?.parse().ok()?;
    let states = lines.next()?.split(',');
    let in_force = limits.each().iter().zip(states).map(|(limit, state)| account(limit, state));
    let mut accounts: Vec<PortableAccount> = in_force.collect::<Option<_>>()?;
    for line in lines {
        accounts.push(replaced(line)?);
    }
    let state = limits.from_portable(&accounts)?;
    Some((limits, state))
}

fn replaced(line: &str) -> Option<PortableAccount> {
    let kind = line.get(..1)?;
    let state = line.get(SPECIFICATION..)?;
    let (state, limit) = state.split_at_checked(if kind == "r" { 26 } else { 54 })?;
    account(&limit.parse().ok()?, state)
}

fn account(limit: &Limit, state: &str) -> Option<PortableAccount> {
    let number = |at: usize| u64::from_str_radix(state.get(at..at + 18)?, 16).ok();
    let state = match state.len() {
        26 => PortableState::Rate {
            owed: number(0)?,
            back: u32::from_str_radix(state.get(18..)?, 16).ok()?,
        },
        54 => PortableState::Windows { number: number(0)?, before: number(18)?, now: number(36)? },
        _ => return None,
    };
    Some(PortableAccount { limit: *limit, state })
}

fn words(state: &PortableState) -> String {
    match *state {
        PortableState::Rate { owed, back } => format!("{owed:018x}{back:08x}"),
        PortableState::Windows { number, before, now } => {
            format!("{number:018x}{before:018x}{now:018x}")
        }
    }
}
