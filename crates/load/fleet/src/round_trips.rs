//! Estimates the round-trip time to the store and its variation, as TCP does for its retransmission timer
//! (RFC 6298, sections 2.2, 2.3 and 5.5).

const MOST_NS: u64 = 3_000_000_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrips {
    last_ns: u64,
    smooth_ns: u64,
    varies_ns: u64,
    failures: u32,
}

impl RoundTrips {
    pub(crate) fn new(trip_ns: u64) -> RoundTrips {
        RoundTrips { last_ns: trip_ns, smooth_ns: trip_ns, varies_ns: trip_ns / 2, failures: 0 }
    }

    pub(crate) fn took(&mut self, trip_ns: u64) {
        self.last_ns = trip_ns;
        let off_ns = self.smooth_ns.abs_diff(trip_ns);
        self.varies_ns = self.varies_ns - self.varies_ns / 4 + off_ns / 4;
        self.smooth_ns = self.smooth_ns - self.smooth_ns / 8 + trip_ns / 8;
        self.failures = 0;
    }

    pub(crate) fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    pub(crate) fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// Returns a round-trip time that only a few round trips exceed.
    pub(crate) fn long_ns(&self) -> u64 {
        self.smooth_ns + 4 * self.varies_ns
    }

    pub(crate) fn patience_ns(&self, least_ns: u64) -> u64 {
        let trips_ns = (4 * self.long_ns()).saturating_mul(1 << self.failures.min(10));
        trips_ns.max(least_ns).min(MOST_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_long_trip_is_known_at_once_and_forgotten_slowly() {
        let mut trips = RoundTrips::new(MS);
        trips.took(150 * MS);
        assert!(trips.long_ns() >= 150 * MS);
        for _ in 0..80 {
            trips.took(150 * MS);
        }
        assert!((150 * MS..152 * MS).contains(&trips.long_ns()), "{trips:?}");
        for _ in 0..80 {
            trips.took(MS);
        }
        assert!((MS..2 * MS).contains(&trips.long_ns()), "{trips:?}");
    }

    #[test]
    fn each_failure_doubles_the_patience_up_to_a_bound() {
        let mut trips = RoundTrips::new(10 * MS);
        assert_eq!(trips.patience_ns(200 * MS), 200 * MS);
        trips.failed();
        trips.failed();
        assert_eq!(trips.patience_ns(200 * MS), 480 * MS);
        (0..100).for_each(|_| trips.failed());
        assert_eq!(trips.patience_ns(200 * MS), MOST_NS);
        trips.took(10 * MS);
        assert_eq!(trips.patience_ns(200 * MS), 200 * MS);
    }
}
