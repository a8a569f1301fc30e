//! The state of a subject as text. `script/decide.lua` reads and writes the same.

use crate::plan::{Plan, law};
use nanopace_limits::internal::{LimitsState, Numbers};
use nanopace_limits::{Limit, Limits};
use nanopace_nanos::Nanos;

/// The state of these limits at `now` as text. None if one of the limits is not kept in a store.
pub(crate) fn show(plan: &Plan, state: &LimitsState, now: Nanos) -> Option<String> {
    let mut lines = vec![plan.text.clone()];
    for (place, (limit, numbers)) in plan.limits.numbers(state, now)?.into_iter().enumerate() {
        let numbers = words(numbers);
        let is_in_force = place < plan.limits.each().len();
        let law = law(&limit).ok()?;
        lines.push(if is_in_force { numbers } else { format!("{law} {numbers} {limit}") });
    }
    Some(lines.join("\n"))
}

/// Limits and their state from text. None if it is no such text.
pub(crate) fn read(text: &str) -> Option<(Limits, LimitsState)> {
    let mut lines = text.split('\n');
    let limits: Limits = lines.next()?.parse().ok()?;
    let in_force = limits.each().iter().zip(lines.by_ref());
    let in_force = in_force.map(|(limit, line)| Some((*limit, numbers(line)?)));
    let mut accounts = in_force.collect::<Option<Vec<_>>>()?;
    for line in lines {
        accounts.push(replaced(line)?);
    }
    let state = limits.state(&accounts)?;
    Some((limits, state))
}

/// A law, a state and the limit as text.
fn replaced(line: &str) -> Option<(Limit, Numbers)> {
    let words: Vec<&str> = line.splitn(7, ' ').collect();
    let limit = words.get(6)?.parse().ok()?;
    Some((limit, numbers(&words[3..6].join(" "))?))
}

fn numbers(words: &str) -> Option<Numbers> {
    let numbers = words.split(' ').map(|word| word.parse().ok());
    numbers.collect::<Option<Vec<f64>>>()?.try_into().ok()
}

/// Three numbers as the script writes them.
fn words(numbers: Numbers) -> String {
    let word =
        |number| format!("{number:.12}").trim_end_matches('0').trim_end_matches('.').to_owned();
    numbers.map(word).join(" ")
}
