//! Runs the steps of a command in order, and prints the result and the duration of each step.

use std::time::{Duration, Instant};

pub(crate) struct Step {
    name: String,
    run: Box<dyn FnOnce() -> bool>,
    is_required: bool,
}

impl Step {
    pub(crate) fn new(name: impl Into<String>, run: impl FnOnce() -> bool + 'static) -> Step {
        Step { name: name.into(), run: Box::new(run), is_required: false }
    }

    pub(crate) fn telling(
        name: impl Into<String>,
        run: impl FnOnce() -> Result<(), String> + 'static,
    ) -> Step {
        Step::new(name, || run().map_err(|error| eprintln!("{error}")).is_ok())
    }

    pub(crate) fn required(self) -> Step {
        Step { is_required: true, ..self }
    }
}

pub(crate) fn run_all(steps: Vec<Step>) -> bool {
    let (count, began) = (steps.len(), Instant::now());
    let mut lines = Vec::new();
    let mut all_succeeded = true;
    for (number, Step { name, run, is_required }) in (1..).zip(steps) {
        eprintln!("\n[{number}/{count}] {name} ({} so far)", shown(began.elapsed()));
        let step_began = Instant::now();
        let succeeded = run();
        all_succeeded &= succeeded;
        let outcome = if succeeded { "ok" } else { "FAILED" };
        lines.push(format!("{:>8}  {outcome:<6}  {name}", shown(step_began.elapsed())));
        if is_required && !succeeded {
            break;
        }
    }
    let outcome = if all_succeeded { "ok" } else { "FAILED" };
    eprintln!("\n{}\n{:>8}  {outcome:<6}  in all", lines.join("\n"), shown(began.elapsed()));
    all_succeeded
}

/// Returns true, because a step that is skipped on this machine is not a failure.
pub(crate) fn leave_out(what: &str, why: &str) -> bool {
    eprintln!("LEFT OUT: {what}, because {why}");
    true
}

pub(crate) fn shown(time: Duration) -> String {
    match time.as_secs() {
        ..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{}:{:02} min", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_runs_and_one_failure_fails_all() {
        let step = |succeeds| Step::new("a step", move || succeeds);
        assert!(run_all(vec![step(true), step(true)]));
        assert!(!run_all(vec![step(false), step(true)]));
        let ran = std::rc::Rc::new(std::cell::Cell::new(false));
        let flag = ran.clone();
        let last = Step::new("the last step", move || {
            flag.set(true);
            true
        });
        assert!(!run_all(vec![step(false), last]));
        assert!(ran.take());
        let flag = ran.clone();
        let after = Step::new("a step after", move || flag.replace(true));
        assert!(!run_all(vec![step(false).required(), after]));
        assert!(!ran.get());
    }

    #[test]
    fn times_are_short() {
        for (ms, text) in [(50, "0.1 s"), (59_900, "59.9 s"), (61_000, "1:01 min")] {
            assert_eq!(shown(Duration::from_millis(ms)), text);
        }
    }
}
