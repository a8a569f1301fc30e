//! Computes the timeout of decisions from the round trips to the store.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const BOUNDS: [Duration; 2] = [Duration::from_millis(25), Duration::from_millis(250)];

/// The number of usual round trips that fit into the timeout of a decision. A decision takes more than one round trip
/// if the store has forgotten the script, or if the limits have changed.
const TRIPS: u32 = 4;

#[derive(Debug)]
pub(crate) struct AdaptiveTimeout {
    set: Option<Duration>,
    seen: Mutex<RoundTrips>,
}

impl AdaptiveTimeout {
    pub(crate) fn new(set: Option<Duration>) -> Self {
        Self { set, seen: Mutex::default() }
    }

    pub(crate) fn now(&self) -> Duration {
        self.set.unwrap_or_else(|| self.lock().timeout())
    }

    pub(crate) fn answered(&self, after: Duration) {
        self.lock().answered(after);
    }

    pub(crate) fn missed(&self) {
        self.lock().missed();
    }

    fn lock(&self) -> MutexGuard<'_, RoundTrips> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The estimate of the round-trip time from RFC 6298, which TCP uses for its retransmission timeout.
#[derive(Clone, Copy, Debug, Default)]
struct RoundTrips {
    /// The smoothed round-trip time and its smoothed variation, or `None` before the first response.
    usual: Option<(Duration, Duration)>,
    /// The number of timeouts in a row, up to 8.
    missed: u32,
}

impl RoundTrips {
    fn answered(&mut self, after: Duration) {
        self.missed = 0;
        self.usual = Some(match self.usual {
            None => (after, after / 2),
            Some((usual, variation)) => {
                (usual * 7 / 8 + after / 8, variation * 3 / 4 + usual.abs_diff(after) / 4)
            }
        });
    }

    fn missed(&mut self) {
        self.missed = (self.missed + 1).min(8);
    }

    fn timeout(&self) -> Duration {
        let [least, most] = BOUNDS;
        let Some((usual, variation)) = self.usual else { return most };
        let timeout = usual * TRIPS + variation * 4;
        (timeout.max(least) * (1 << self.missed)).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    fn after(answers: impl IntoIterator<Item = Duration>) -> RoundTrips {
        let mut seen = RoundTrips::default();
        answers.into_iter().for_each(|answer| seen.answered(answer));
        seen
    }

    #[test]
    fn the_timeout_is_longest_before_the_first_response() {
        assert_eq!(RoundTrips::default().timeout(), 250 * MILLI);
    }

    #[test]
    fn a_near_store_has_the_least_and_a_far_one_the_most() {
        assert_eq!(after([MILLI / 10]).timeout(), 25 * MILLI);
        assert_eq!(after([400 * MILLI; 3]).timeout(), 250 * MILLI);
    }

    #[test]
    fn it_follows_the_distance() {
        for distance in 1..=60 {
            let timeout = after([MILLI * distance; 100]).timeout();
            assert!(timeout >= MILLI * distance * 4, "{distance} ms: {timeout:?}");
            assert!(timeout < (MILLI * distance * 5).max(26 * MILLI), "{distance} ms: {timeout:?}");
        }
        let mut seen = after([MILLI; 100]);
        (0..100).for_each(|_| seen.answered(30 * MILLI));
        assert!(seen.timeout() > 110 * MILLI);
        (0..100).for_each(|_| seen.answered(MILLI));
        assert_eq!(seen.timeout(), 25 * MILLI);
    }

    #[test]
    fn answers_that_vary_are_waited_for_longer() {
        let even = after([10 * MILLI; 100]).timeout();
        let uneven = after([MILLI, 19 * MILLI].into_iter().cycle().take(100)).timeout();
        assert!(uneven > even + 20 * MILLI, "{uneven:?} {even:?}");
    }

    #[test]
    fn each_answer_that_is_missed_doubles_it_until_one_comes() {
        let mut seen = after([MILLI; 10]);
        for expected in [25, 50, 100, 200, 250, 250] {
            assert_eq!(seen.timeout(), expected * MILLI);
            seen.missed();
        }
        (0..1_000).for_each(|_| seen.missed());
        assert_eq!(seen.timeout(), 250 * MILLI);
        seen.answered(MILLI);
        assert_eq!(seen.timeout(), 25 * MILLI);
    }

    #[test]
    fn a_timeout_that_was_set_stays() {
        let patience = AdaptiveTimeout::new(Some(7 * MILLI));
        patience.answered(100 * MILLI);
        patience.missed();
        assert_eq!(patience.now(), 7 * MILLI);
        assert_eq!(AdaptiveTimeout::new(None).now(), 250 * MILLI);
    }
}
