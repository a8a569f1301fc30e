//! Defines the goal of a run that continues until the confidence interval of a percentile is narrow enough.

use super::Criterion;
use crate::results::confidence::Confidence;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

const FORM: &str =
    "write a percentile and the accuracy that you need, as in \"p99 5%\" or \"p99.9 service 10%\"";

/// A goal such as `p99 5%`. It is reached when the criterion `confidence p99 <= 5%` holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Goal(Criterion);

impl Goal {
    pub(crate) fn is_reached(&self, confidence: &Confidence<'_>) -> bool {
        self.0.figure.reach(confidence).is_some_and(|reach| self.0.holds(reach))
    }

    pub(crate) fn told(&self, confidence: &Confidence<'_>) -> String {
        let unit = self.0.figure.unit();
        let is_same_side = |reach| move |shown| self.0.holds(shown) == self.0.holds(reach);
        let shown = |reach| unit.show(reach, &self.0.limit, is_same_side(reach));
        match self.0.figure.reach(confidence) {
            Some(reach) => format!("{self}, and is known to within {}", shown(reach)),
            None => format!("{self}, but there were too few requests"),
        }
    }
}

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Goal, String> {
        read(text).map(Goal).ok_or_else(|| format!("{text:?} is not a goal: {FORM}"))
    }
}

fn read(text: &str) -> Option<Criterion> {
    let number = text.trim_end().trim_end_matches('%').trim_end();
    let (figure, share) = text.split_at(number.rfind(char::is_whitespace)?);
    let criterion: Criterion = format!("confidence {figure} <= {share}").parse().ok()?;
    Some(criterion).filter(|criterion| criterion.limit.value > 0.0)
}

impl Display for Goal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = self.0.name();
        let of = name.strip_prefix("confidence ").unwrap_or(&name);
        write!(f, "{of} was to be known to within {}", self.0.limit.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::confidence::simulated::Queue;
    use crate::results::over_time::OverTime;
    use crate::results::stats::OperationStats;

    fn goal(text: &str) -> Goal {
        text.parse().unwrap()
    }

    #[test]
    fn a_goal_is_a_percentile_and_a_share() {
        for (text, told) in [
            ("p99 5%", "p99 response was to be known to within 5%"),
            (" P99.90  Service   2 % ", "p99.9 service was to be known to within 2 %"),
            ("wait p50 0.1", "p50 wait was to be known to within 0.1"),
        ] {
            assert_eq!(goal(text).to_string(), told, "{text}");
        }
        for text in
            ["", "p99", "5%", "p99 0%", "p99 5ms", "mean 5%", "p100 5%", "p99 setup 5%", "p99 < 5%"]
        {
            assert!(text.parse::<Goal>().is_err_and(|told| told.ends_with(FORM)), "{text}");
        }
    }

    /// Simulates a run until the goal is reached. Returns how often the goal was checked, and whether the interval
    /// contained the true percentile at the end.
    fn run(goal: &Goal, seed: u64) -> (u32, bool) {
        let truth = 1e3 * 2.0_f64.ln() / 0.5;
        let mut looks = 0;
        let (stats, over_time) = Queue::new(0.5).grow(200.0, seed, |stats, over_time| {
            looks += 1;
            goal.is_reached(&Confidence::new(stats, over_time))
        });
        let range = Confidence::new(&stats, &over_time).response().range(0.5).unwrap();
        let [low, high] = [range.low, range.high.unwrap()].map(crate::console::human::float);
        (looks, low <= truth && truth <= high)
    }

    /// A run must not end too early only because the goal is checked repeatedly.
    #[test]
    fn where_it_ends_the_interval_has_the_truth_as_often_as_it_says() {
        let goal = goal("p50 10%");
        let runs: Vec<_> = (0..300).map(|seed| run(&goal, seed * 7_919 + 1)).collect();
        let covered = runs.iter().filter(|(_, is_covered)| *is_covered).count();
        assert!((273..=295).contains(&covered), "{covered} of 300");
    }

    #[test]
    fn a_goal_that_is_nearer_takes_longer() {
        let [near, far] = ["p50 10%", "p50 30%"].map(|text| run(&goal(text), 1).0);
        assert!(far < near, "{far} {near}");
    }

    #[test]
    fn nothing_is_known_without_requests() {
        let (stats, over_time) = (OperationStats::new(), OverTime::new());
        let confidence = Confidence::new(&stats, &over_time);
        assert!(!goal("p50 100%").is_reached(&confidence));
        let told = "p50 response was to be known to within 100%, but there were too few requests";
        assert_eq!(goal("p50 100%").told(&confidence), told);
    }
}
