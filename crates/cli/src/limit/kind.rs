//! The limiters there are to choose from.

use clap::ValueEnum;
use std::fmt;

/// A limiter, by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// One integer (GCRA): each request let in sets back the next by one interval
    Cooldown,
    /// A bucket that leaks at the limit; what would make it run over is refused
    LeakyBucket,
    /// A bounded queue that sends requests on one interval apart
    LeakyQueue,
    /// Tokens flow back all the time, up to the capacity
    TokenBucket,
    /// Tokens come back in a batch at the end of each period
    RefilledTokenBucket,
    /// Unused tokens wait, and come back as more than the limit; filled from a period before the
    /// first request on
    Pool,
    /// A count that starts again at zero with each period of the clock
    FixedWindow,
    /// Remembers when each request of the last period got in; the limit, exactly
    #[value(alias = "rolling-log")]
    SlidingLog,
    /// As sliding-log, but rejected requests count as well: who keeps asking stays out
    SlidingLogAll,
    /// This window's count and as much of the last one's as the last period still covers
    SlidingCounter,
    /// Counts in a ring of slots: constant memory, whatever the limit; guards the period less one
    /// slot
    RollingRing,
    /// As rolling-ring, with one slot more, so that it guards the whole period
    GuardingRing,
    /// Each request counts until its slot of the period leaves the window; a few numbers for any
    /// period
    AggregatedWindow,
}

impl Kind {
    /// What its decisions mean to those who ask it, in a line.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Kind::Cooldown => "all of the capacity at once after a pause, then one per interval",
            Kind::LeakyBucket => {
                "answers as the token bucket does: a level that may not run over, instead of tokens"
            }
            Kind::LeakyQueue => {
                "lets in as the leaky bucket does, and sends on one per interval: no bursts, but waiting"
            }
            Kind::TokenBucket => {
                "a burst of the capacity when the bucket is full, then the limit as tokens flow back"
            }
            Kind::RefilledTokenBucket => {
                "tokens come in batches: those left before a refill go together with the refill"
            }
            Kind::Pool => "what a quiet time left unused comes back later, as more than the limit",
            Kind::FixedWindow => {
                "counts start again at each boundary: up to twice the limit in the period around one"
            }
            Kind::SlidingLog => {
                "never more than the limit in any period, and nothing rejected that would keep to it"
            }
            Kind::SlidingLogAll => {
                "who asks faster than the limit gets nothing any more until they ask less"
            }
            Kind::SlidingCounter => {
                "supposes that the last window came evenly: near the limit, exceeds it after bursts"
            }
            Kind::RollingRing => {
                "never more than the limit in the period less one slot; up to twice as many in a whole one"
            }
            Kind::GuardingRing => {
                "never more than the limit in any period; refuses up to a slot longer than it must"
            }
            Kind::AggregatedWindow => {
                "promises what the guarding ring does, in memory for the slots in use only"
            }
        }
    }

    /// Whether it lets in at once what `--capacity` says; the others keep to the limit's count.
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

    /// Whether `--slots` means something to it.
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
