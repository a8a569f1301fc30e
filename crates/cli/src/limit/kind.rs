//! The limiters there are to choose from.

use clap::ValueEnum;
use std::fmt;

/// A limiter, by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// One number per key (GCRA): each admitted request delays the next one by an interval
    Cooldown,
    /// A bucket that leaks at the rate of the limit; a request that would overflow it is rejected
    LeakyBucket,
    /// A bounded queue that sends requests on, one per interval
    LeakyQueue,
    /// Tokens come back continuously, up to the capacity
    TokenBucket,
    /// Tokens come back in a batch at the end of each period
    RefilledTokenBucket,
    /// Unused tokens wait and come back later, above the limit; it begins to fill one period before
    /// the first request
    Pool,
    /// A count that starts again at zero in each period of the clock
    FixedWindow,
    /// Remembers when each request of the last period got in; keeps the limit exactly
    SlidingLog,
    /// Like sliding-log, but rejected requests count too: a client that keeps asking stays out
    SlidingLogAll,
    /// This window's count, and the part of the last window's count that the period still covers
    SlidingCounter,
    /// Counts in a ring of slots, in constant memory for any limit; guards the period less one slot
    RollingRing,
    /// Like rolling-ring with one more slot, so it guards the whole period
    GuardingRing,
    /// Each request counts until its slot leaves the window; a few numbers for any period
    AggregatedWindow,
    /// The limits as --limit writes them, several at once and each of its own kind
    AsWritten,
}

impl Kind {
    /// What its decisions mean to its users, in one line.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Kind::Cooldown => "all of the capacity at once after a pause, then one per interval",
            Kind::LeakyBucket => {
                "same answers as the token bucket, from a level that may not overflow instead of tokens"
            }
            Kind::LeakyQueue => {
                "admits like the leaky bucket, and sends on one per interval: no bursts, but a wait"
            }
            Kind::TokenBucket => {
                "a burst of the capacity when the bucket is full, then the limit as tokens come back"
            }
            Kind::RefilledTokenBucket => {
                "tokens come in batches: what is left before a refill can go together with the refill"
            }
            Kind::Pool => "what a quiet time left unused comes back later, above the limit",
            Kind::FixedWindow => {
                "counts start again at each boundary: up to twice the limit in the period around one"
            }
            Kind::SlidingLog => {
                "never more than the limit in any period, and nothing is rejected that would fit"
            }
            Kind::SlidingLogAll => {
                "a client that asks faster than the limit gets nothing until it asks more slowly"
            }
            Kind::SlidingCounter => {
                "assumes that the last window was even: near the limit, but above it after bursts"
            }
            Kind::RollingRing => {
                "never more than the limit in the period less one slot; up to twice that in a whole period"
            }
            Kind::GuardingRing => {
                "never more than the limit in any period; rejects for up to a slot longer than needed"
            }
            Kind::AggregatedWindow => {
                "same promise as the guarding ring, with memory only for the slots in use"
            }
            Kind::AsWritten => "what each of them says, for requests that all of them let in",
        }
    }

    /// Whether `--capacity` says how many it lets in at once. The others let in the limit's count.
    pub(crate) fn has_capacity(self) -> bool {
        matches!(
            self,
            Kind::Cooldown
                | Kind::LeakyBucket
                | Kind::LeakyQueue
                | Kind::TokenBucket
                | Kind::RefilledTokenBucket
                | Kind::Pool
        )
    }

    /// Whether rejected requests count too.
    pub(crate) fn counts_rejected(self) -> bool {
        self == Kind::SlidingLogAll
    }

    /// Whether asking in vain changes later answers. A pool is filled up whenever it is asked, and
    /// many small refills give back more or less of what waits than a large one.
    pub(crate) fn notes_tries(self) -> bool {
        self.counts_rejected() || self == Kind::Pool
    }

    /// Whether it uses `--slots`.
    pub(crate) fn has_slots(self) -> bool {
        matches!(self, Kind::RollingRing | Kind::GuardingRing | Kind::AggregatedWindow)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("none is hidden");
        f.pad(value.get_name())
    }
}
