//! A limiter that is tried: it decides about the requests, and what it does is counted.

use crate::limit::kind::Kind;
use crate::limit::limiter::{AnyLimiter, Settings};
use crate::limit::time_series::TimeSeries;
use nanopace::Nanos;
use nanopace_limits::Rejected;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How a limiter answered the requests of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answers {
    /// All requests.
    pub(crate) asked: u64,
    /// Requests that got in.
    pub(crate) admitted: u64,
    /// Requests that can never get in: they are larger than what the limiter lets in at once.
    pub(crate) too_large: u64,
    /// The longest time that any other request was told to wait.
    pub(crate) longest_retry: Duration,
}

impl Answers {
    /// The answers of two phases together.
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
    /// Where the first phase begins.
    pub(crate) origin: Nanos,
    /// The length of each phase.
    pub(crate) phase_ns: u64,
}

impl Phasing {
    fn phase(self, at: Nanos) -> u64 {
        (at.as_nanos() - self.origin.as_nanos()) / self.phase_ns
    }
}

/// A limiter with its counts. Each key has a limiter of its own.
pub(crate) struct Candidate {
    /// Which limiter.
    pub(crate) kind: Kind,
    settings: Settings,
    cost: u64,
    phasing: Phasing,
    /// By the number of the key.
    keys: Vec<KeyState>,
    /// The answers by phase. Phases without requests are missing.
    pub(crate) phases: BTreeMap<u64, Answers>,
    /// When requests went through.
    pub(crate) admitted: TimeSeries,
}

/// The limiter of one key, and what is counted for the key.
struct KeyState {
    limiter: AnyLimiter,
    window: Window,
    streak: Streak,
}

impl Candidate {
    /// A limiter that has not been asked yet. Its settings have been tried out. Every request will
    /// count as `cost`.
    pub(crate) fn new(kind: Kind, settings: Settings, cost: u64, phasing: Phasing) -> Candidate {
        let admitted = TimeSeries::new(phasing.origin);
        Candidate {
            kind,
            settings,
            cost,
            phasing,
            keys: Vec::new(),
            phases: BTreeMap::new(),
            admitted,
        }
    }

    /// The limiter's answer to a request of this key at `now`: when it goes through. Keys are
    /// numbered as they come.
    pub(crate) fn decide(&mut self, key: usize, now: Nanos) -> Result<Nanos, Rejected> {
        if key == self.keys.len() {
            self.keys.push(self.key_state(now));
        }
        let key = &mut self.keys[key];
        let answer = (key.limiter)(self.cost, now);
        key.streak.count(answer.is_err());
        self.phases.entry(self.phasing.phase(now)).or_default().count(now, answer);
        if let Ok(through) = answer {
            key.window.add(through, self.cost);
            self.admitted.add(through);
        }
        answer
    }

    fn key_state(&self, first: Nanos) -> KeyState {
        let limiter = self.settings.limiter(self.kind, first).expect("was tried out");
        let window = Window::new(self.settings.limit.period_ns());
        KeyState { limiter, window, streak: Streak::default() }
    }

    /// The answers in all phases.
    pub(crate) fn total(&self) -> Answers {
        self.phases.values().copied().fold(Answers::default(), Answers::and)
    }

    /// The highest cost that went through in any period of the limit, for any key.
    pub(crate) fn most_in_period(&self) -> u64 {
        self.keys.iter().map(|key| key.window.most).max().unwrap_or(0)
    }

    /// The most requests of one key that were rejected in a row.
    pub(crate) fn longest_streak(&self) -> u64 {
        self.keys.iter().map(|key| key.streak.longest).max().unwrap_or(0)
    }

    /// How many keys there were.
    pub(crate) fn keys(&self) -> usize {
        self.keys.len()
    }
}

/// The highest sum in any period. The end of a period does not belong to it.
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

    /// Adds `n` at `at`, which is not earlier than the moment before.
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

/// The longest row of things of one kind.
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
