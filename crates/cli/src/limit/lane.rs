//! One limiter's way through the requests: what it lets in, and what that adds up to.

use super::counts::Counts;
use super::gate::{Gate, Settings};
use super::kind::Kind;
use super::line::Arrival;
use nanopace::Nanos;
use nanopace_limits::Rejected;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

/// How a limiter answered to the requests of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answers {
    /// Requests.
    pub(crate) asked: u64,
    /// Those that got in.
    pub(crate) admitted: u64,
    /// Those that can never get in, being larger than what the limiter lets in at once.
    pub(crate) too_large: u64,
    /// The longest time that one of the others was told to wait.
    pub(crate) longest_retry: Duration,
}

impl Answers {
    /// Those of two phases together.
    pub(crate) fn and(self, other: Answers) -> Answers {
        Answers {
            asked: self.asked + other.asked,
            admitted: self.admitted + other.admitted,
            too_large: self.too_large + other.too_large,
            longest_retry: self.longest_retry.max(other.longest_retry),
        }
    }

    /// Requests that did not get in.
    pub(crate) fn rejected(&self) -> u64 {
        self.asked - self.admitted
    }

    fn count(&mut self, now: Nanos, answer: Result<Nanos, Rejected>) {
        self.asked += 1;
        match answer {
            Ok(_) => self.admitted += 1,
            Err(Rejected::NotUntil(then)) => {
                self.longest_retry = self.longest_retry.max(then - now);
            }
            Err(Rejected::ExceedsCapacity { .. }) => self.too_large += 1,
        }
    }
}

/// Where phases begin, and how long they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phasing {
    /// The beginning of the first.
    pub(crate) origin: Nanos,
    /// The length of each.
    pub(crate) phase_ns: u64,
}

impl Phasing {
    fn phase(self, at: Nanos) -> u64 {
        (at.as_nanos() - self.origin.as_nanos()) / self.phase_ns
    }
}

/// A limiter, one for each key, and its results.
pub(crate) struct Lane {
    /// Which limiter.
    pub(crate) kind: Kind,
    settings: Settings,
    cost: u64,
    phasing: Phasing,
    keys: HashMap<String, KeyLane>,
    /// The answers by phase; phases without requests are missing.
    pub(crate) phases: BTreeMap<u64, Answers>,
    /// When requests went through.
    pub(crate) passed: Counts,
}

/// The limiter of one key.
struct KeyLane {
    gate: Gate,
    window: Window,
    streak: Streak,
}

impl Lane {
    /// A limiter that was not asked yet, and whose settings were tried out; every request will
    /// count as `cost`.
    pub(crate) fn new(kind: Kind, settings: Settings, cost: u64, phasing: Phasing) -> Lane {
        let passed = Counts::new(phasing.origin);
        Lane {
            kind,
            settings,
            cost,
            phasing,
            keys: HashMap::new(),
            phases: BTreeMap::new(),
            passed,
        }
    }

    /// The limiter's answer to the next request: when it goes through.
    pub(crate) fn decide(&mut self, arrival: &Arrival) -> Result<Nanos, Rejected> {
        if !self.keys.contains_key(&arrival.key) {
            self.keys.insert(arrival.key.clone(), self.key_lane(arrival.at));
        }
        let key = self.keys.get_mut(&arrival.key).expect("was put in");
        let answer = (key.gate)(self.cost, arrival.at);
        key.streak.count(answer.is_err());
        self.phases.entry(self.phasing.phase(arrival.at)).or_default().count(arrival.at, answer);
        if let Ok(through) = answer {
            key.window.add(through, self.cost);
            self.passed.add(through);
        }
        answer
    }

    fn key_lane(&self, first: Nanos) -> KeyLane {
        let gate = self.settings.gate(self.kind, first).expect("was tried out");
        let window = Window::new(self.settings.limit.period_ns());
        KeyLane { gate, window, streak: Streak::default() }
    }

    /// The answers in all phases.
    pub(crate) fn total(&self) -> Answers {
        self.phases.values().copied().fold(Answers::default(), Answers::and)
    }

    /// The most that went through in any period of the limit, for any key, in what requests count
    /// as.
    pub(crate) fn most_in_period(&self) -> u64 {
        self.keys.values().map(|key| key.window.most).max().unwrap_or(0)
    }

    /// The most requests of one key that were rejected one after the other.
    pub(crate) fn longest_streak(&self) -> u64 {
        self.keys.values().map(|key| key.streak.longest).max().unwrap_or(0)
    }

    /// How many keys there were.
    pub(crate) fn keys(&self) -> usize {
        self.keys.len()
    }
}

/// The most that happened in any span of one period, its end not included.
struct Window {
    period_ns: u64,
    recent: VecDeque<(Nanos, u64)>,
    sum: u64,
    most: u64,
}

impl Window {
    fn new(period_ns: u64) -> Window {
        Window { period_ns, recent: VecDeque::new(), sum: 0, most: 0 }
    }

    /// `n` more happened at `at`, not earlier than what came before.
    fn add(&mut self, at: Nanos, n: u64) {
        while let Some(&(then, left)) = self.recent.front()
            && then.as_nanos() + self.period_ns <= at.as_nanos()
        {
            self.recent.pop_front();
            self.sum -= left;
        }
        self.recent.push_back((at, n));
        self.sum += n;
        self.most = self.most.max(self.sum);
    }
}

/// The most things of a kind in a row.
#[derive(Default)]
struct Streak {
    current: u64,
    longest: u64,
}

impl Streak {
    fn count(&mut self, is_one: bool) {
        self.current = if is_one { self.current + 1 } else { 0 };
        self.longest = self.longest.max(self.current);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_does_not_include_its_end() {
        let mut window = Window::new(10);
        for (at, n, most) in
            [(0, 1, 1), (5, 2, 3), (9, 1, 4), (10, 1, 4), (14, 2, 6), (15, 1, 6), (30, 5, 6)]
        {
            window.add(Nanos::from_nanos(at), n);
            assert_eq!(window.most, most, "{at}");
        }
    }

    #[test]
    fn a_streak_ends_with_the_first_other() {
        let mut streak = Streak::default();
        for is_one in [true, true, false, true, true, true, false, true] {
            streak.count(is_one);
        }
        assert_eq!(streak.longest, 3);
    }
}
