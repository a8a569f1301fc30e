//! Converts limits and states to strings in the format of `script/decide.lua`, and back.

use crate::error::UnsupportedLimit;
use nanopace_limits::custom::LimitsState;
use nanopace_limits::{Limit, LimitKind, Limits};
use nanopace_nanos::Nanos;
use std::sync::Arc;

/// The string of at most this many limits can always be parsed. Parsing takes longer than the rest of a plan, and keys
/// with different limits need a plan for each decision.
const FEW: usize = 8;

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) limits: Arc<Limits>,
    pub(crate) text: String,
    pub(crate) laws: Vec<String>,
}

impl Plan {
    pub(crate) fn new(limits: Arc<Limits>) -> Result<Self, UnsupportedLimit> {
        let laws = limits.each().iter().map(law).collect::<Result<_, _>>()?;
        let text = limits.to_string();
        if limits.each().len() > FEW {
            text.parse::<Limits>()?; // a state with this text could not be read again
        }
        Ok(Self { limits, text, laws })
    }

    pub(crate) fn counts_nothing(&self, costs: &[u64]) -> bool {
        costs.iter().all(|cost| *cost == 0)
            || costs.iter().zip(self.limits.each()).any(|(cost, limit)| *cost > limit.most())
    }
}

fn law(limit: &Limit) -> Result<String, UnsupportedLimit> {
    match law_in_doubles(limit) {
        None => Err(UnsupportedLimit::Log { limit: *limit }),
        Some(('f' | 's', [length, _])) if length < 1.0 => {
            Err(UnsupportedLimit::Period { limit: *limit })
        }
        Some((letter, [a, b])) => Ok(format!("{letter} {a} {b}")),
    }
}

/// Returns the letter of a limit's algorithm and its two numbers. For a rate, these are `r`, the interval and the
/// maximum debt. For windows of the clock, they are `f` or `s`, the length and the count. Times are in microseconds.
/// Returns `None` if the state takes more than three numbers.
///
/// The script rounds its sums for a rate. So the maximum debt is raised by 10^-12 of its value, but by at most 0.5 us.
fn law_in_doubles(limit: &Limit) -> Option<(char, [f64; 2])> {
    let [period, count] = [double(limit.quota().period_ns()) / 1e3, double(limit.quota().count())];
    match limit.kind() {
        LimitKind::Gcra { burst } => {
            let most = period / count * double(burst);
            Some(('r', [period / count, most + (most * 1e-12).min(0.5)]))
        }
        LimitKind::FixedWindow => Some(('f', [period, count])),
        LimitKind::SlidingCounter => Some(('s', [period, count])),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a store calculates with doubles")]
fn double(number: u64) -> f64 {
    number as f64
}

type Numbers = [f64; 3];

pub(crate) fn write_state(plan: &Plan, state: &LimitsState, now: Nanos) -> Option<String> {
    let mut lines = vec![plan.text.clone()];
    for (place, (limit, numbers)) in plan.limits.export(state, now)?.into_iter().enumerate() {
        let numbers = words(numbers);
        let is_in_force = place < plan.limits.each().len();
        let law = law(&limit).ok()?;
        lines.push(if is_in_force { numbers } else { format!("{law} {numbers} {limit}") });
    }
    Some(lines.join("\n"))
}

pub(crate) fn read_state(text: &str) -> Option<(Limits, LimitsState)> {
    let mut lines = text.split('\n');
    let limits: Limits = lines.next()?.parse().ok()?;
    if limits.each().is_empty() {
        return None; // `unlimited` was written by another program, because a limiter without limits stores nothing
    }
    let in_force = limits.each().iter().zip(lines.by_ref());
    let in_force = in_force.map(|(limit, line)| Some((*limit, numbers(line)?)));
    let mut accounts = in_force.collect::<Option<Vec<_>>>()?;
    for line in lines {
        accounts.push(replaced(line)?);
    }
    let state = limits.import(&accounts)?;
    Some((limits, state))
}

fn replaced(line: &str) -> Option<(Limit, Numbers)> {
    let words: Vec<&str> = line.splitn(7, ' ').collect();
    let limit = words.get(6)?.parse().ok()?;
    Some((limit, numbers(&words[3..6].join(" "))?))
}

fn numbers(words: &str) -> Option<Numbers> {
    let numbers = words.split(' ').map(|word| word.parse().ok());
    numbers.collect::<Option<Vec<f64>>>()?.try_into().ok()
}

/// Formats three numbers as the script does.
fn words(numbers: Numbers) -> String {
    let word =
        |number| format!("{number:.12}").trim_end_matches('0').trim_end_matches('.').to_owned();
    numbers.map(word).join(" ")
}
