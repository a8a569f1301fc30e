//! The caller, and how it fares with a limiter.
//!
//! # What never ends
//!
//! A limiter says when a rejected request will be let in, and asking in vain meanwhile does not
//! change that. A pool fills up whatever is asked of it. So every request is let in at last, with two
//! exceptions:
//!
//! * It is larger than what is ever let in at once.
//! * Rejected requests count too. The caller is let in if what arrived within the period, itself
//!   included, counts no more than the limit. Its tries are never further apart than the time
//!   between retries, so after the first period there are always at least `period / retry` of them
//!   (rounded up, itself included). If they count more than the limit, none is let in any more. Nor is
//!   one let in earlier, once one was rejected: until the first period is over, everything counts that
//!   came before. If they don't, a request is let in at the latest when only its own tries are
//!   remembered.

use crate::limit::kind::Kind;
use crate::limit::limiter::Settings;
use crate::limit::times;
use crate::limit::watch::Watch;
use anyhow::Context;
use nanopace::Nanos;
use nanopace_limits::{Quota, Rejected};
use std::time::Duration;

/// A caller that makes requests one after the other, and asks for each until it is let in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    /// When it asks first.
    pub(crate) start: Nanos,
    /// How many requests it makes.
    pub(crate) requests: u64,
    /// How much each of them counts.
    pub(crate) cost: u64,
    /// How long it waits after it was rejected, in nanoseconds; more than zero.
    pub(crate) retry_ns: u64,
}

/// How it fared with a limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The limiter.
    pub(crate) kind: Kind,
    /// How many requests were let in.
    pub(crate) let_in: u64,
    /// How often it asked, until all were let in or until it was known that they never are.
    pub(crate) tries: u64,
    /// How it ended.
    pub(crate) end: End,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// All requests were let in. The last one went through after this time.
    After(Duration),
    /// Not all requests are ever let in: one is larger than what is ever let in at once.
    TooLarge {
        /// The most that is let in at once.
        capacity: u64,
    },
    /// Not all requests are ever let in: the caller's own tries keep it out.
    KeptOut,
    /// Someone had seen enough.
    Interrupted,
}

impl Outcome {
    /// How many tries were rejected.
    pub(crate) fn rejected(&self) -> u64 {
        self.tries - self.let_in
    }
}

impl Caller {
    /// Asks a new limiter until all requests are let in, or until it is known that they never are.
    ///
    /// # Errors
    ///
    /// If it takes longer than moments reach.
    pub(crate) fn ask(
        &self,
        kind: Kind,
        settings: &Settings,
        watch: &mut Watch,
    ) -> anyhow::Result<Outcome> {
        let mut limiter = settings.limiter(kind, self.start)?;
        let (mut now, mut last) = (self.start, self.start);
        let mut outcome = Outcome { kind, let_in: 0, tries: 0, end: End::Interrupted };
        while outcome.let_in < self.requests {
            if watch.is_interrupted() {
                return Ok(outcome);
            }
            watch.step(|_| self.status(&outcome, now));
            outcome.tries += 1;
            match limiter(self.cost, now) {
                Ok(through) => {
                    outcome.let_in += 1;
                    last = through;
                }
                Err(Rejected::ExceedsCapacity { capacity }) => {
                    return Ok(Outcome { end: End::TooLarge { capacity }, ..outcome });
                }
                Err(Rejected::NotUntil(_)) if self.is_kept_out(kind, settings.limit) => {
                    return Ok(Outcome { end: End::KeptOut, ..outcome });
                }
                Err(Rejected::NotUntil(then)) => {
                    let waits = self.waits(kind, now, then);
                    outcome.tries += waits - 1;
                    now = self.after(waits, now)?;
                }
            }
        }
        Ok(Outcome { end: End::After(last - self.start), ..outcome })
    }

    /// Whether one rejection means that no request is let in any more. The head of this file says why.
    fn is_kept_out(&self, kind: Kind, limit: Quota) -> bool {
        let tries = limit.period_ns().div_ceil(self.retry_ns);
        kind.counts_rejected() && tries.saturating_mul(self.cost) > limit.count()
    }

    /// The shortest time between retries that does not keep the caller out, when a request counts
    /// no more than the limit.
    pub(crate) fn shortest_retry(&self, limit: Quota) -> Duration {
        Duration::from_nanos(limit.period_ns().div_ceil(limit.count() / self.cost))
    }

    /// How often the caller waits until an answer may differ. Where asking in vain changes nothing,
    /// tries before `then` need not be made: they are rejected too.
    fn waits(&self, kind: Kind, now: Nanos, then: Nanos) -> u64 {
        if kind.notes_tries() {
            return 1;
        }
        let wait_ns = then.as_nanos().saturating_sub(now.as_nanos());
        wait_ns.div_ceil(self.retry_ns).max(1)
    }

    fn after(&self, waits: u64, now: Nanos) -> anyhow::Result<Nanos> {
        let then = waits.checked_mul(self.retry_ns).and_then(|ns| ns.checked_add(now.as_nanos()));
        let then = then.filter(|&then| then < Nanos::MAX.as_nanos()).context(
            "--retry: this takes longer than the 292 years that times may span: write fewer --requests, or a shorter time",
        )?;
        Ok(Nanos::from_nanos(then))
    }

    fn status(&self, outcome: &Outcome, now: Nanos) -> String {
        let Outcome { kind, let_in, .. } = outcome;
        let after = times::short(now - self.start);
        format!("{kind}: {let_in} of {} let in after {after}; Ctrl-C ends it", self.requests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;
    use nanopace_limits::{Limit, Limits};
    use proptest::prelude::*;
    use proptest::sample::select;
    use std::num::NonZeroU16;
    use std::sync::Arc;

    impl Caller {
        /// As `ask`, but asks every time. Gives up only when an answer proves that all later ones
        /// are the same: the caller was rejected for more than a period, so that nothing but its
        /// own tries is remembered, and the next try will see what this one saw.
        fn ask_every_time(&self, kind: Kind, settings: &Settings) -> Outcome {
            let mut limiter = settings.limiter(kind, self.start).unwrap();
            let (mut now, mut last, mut since) = (self.start, self.start, self.start);
            let mut outcome = Outcome { kind, let_in: 0, tries: 0, end: End::KeptOut };
            while outcome.let_in < self.requests {
                outcome.tries += 1;
                match limiter(self.cost, now) {
                    Ok(through) => {
                        (outcome.let_in, last, since) = (outcome.let_in + 1, through, now);
                        continue;
                    }
                    Err(Rejected::ExceedsCapacity { capacity }) => {
                        return Outcome { end: End::TooLarge { capacity }, ..outcome };
                    }
                    Err(Rejected::NotUntil(_)) => {}
                }
                now = now + Duration::from_nanos(self.retry_ns);
                let retry = Duration::from_nanos(self.retry_ns);
                if kind.counts_rejected() && now - since > settings.limit.period() + retry * 2 {
                    return outcome;
                }
            }
            Outcome { end: End::After(last - self.start), ..outcome }
        }
    }

    /// The most cost that may be let in from `start` on, the end included; for the queue, that may
    /// depart.
    fn most(kind: Kind, settings: &Settings, start: Nanos, took: Duration) -> u128 {
        let Settings { limit, capacity, slots, .. } = *settings;
        let [count, period] = [limit.count(), limit.period_ns()].map(u128::from);
        let [start, took] = [u128::from(start.as_nanos()), took.as_nanos()];
        let boundaries = (start + took) / period - start / period;
        let spans = |span: u128| count * (took / span + 1);
        match kind {
            Kind::Cooldown
            | Kind::LeakyBucket
            | Kind::TokenBucket
            | Kind::LeakyQueue
            | Kind::AsWritten => {
                // A decision may be early by less than 2 ns, as its documentation says.
                u128::from(capacity) + (took + 2) * count / period
            }
            Kind::RefilledTokenBucket => u128::from(capacity) + count * boundaries,
            // It began to fill a period before.
            Kind::Pool => (period + took) * count / period + 1,
            Kind::FixedWindow | Kind::SlidingCounter => count * (boundaries + 1),
            Kind::RollingRing => {
                let slots = u128::from(slots.get());
                spans((period - period.div_ceil(slots)).max(1))
            }
            Kind::SlidingLog
            | Kind::SlidingLogAll
            | Kind::GuardingRing
            | Kind::AggregatedWindow => spans(period),
        }
    }

    fn settings() -> impl Strategy<Value = Settings> {
        let period = prop_oneof![100..2_000_u64, Just(1_000_000_000)];
        let slots = select(vec![2, 4, 5, 8, 10_u16]);
        (1..20_u64, period, 1..30_u64, slots, 1.0..3.0, 1..100_u64).prop_map(
            |(count, period, capacity, slots, backfill, parts)| {
                let limit = Quota::new(count, Duration::from_nanos(period)).unwrap();
                Settings {
                    limit,
                    limits: Limits::new(Limit::gcra_with_burst(limit, capacity)),
                    capacity,
                    slots: NonZeroU16::new(slots).unwrap(),
                    backfill,
                    refill_every: Duration::from_nanos(period / parts),
                }
            },
        )
    }

    fn caller(settings: &Settings) -> impl Strategy<Value = Caller> + use<> {
        let period = settings.limit.period_ns();
        // Around the times between retries that just keep a caller out, and others.
        let evenly = (1..25_u64, 0..3_u64).prop_map(move |(parts, more)| period / parts + more);
        let retry = prop_oneof![evenly, period / 60..2 * period];
        (0..3 * period, 1..60_u64, 1..4_u64, retry).prop_map(|(start, requests, cost, retry_ns)| {
            Caller { start: Nanos::from_nanos(start), requests, cost, retry_ns: retry_ns.max(1) }
        })
    }

    fn asked() -> impl Strategy<Value = (Settings, Caller)> {
        settings().prop_flat_map(|settings| (Just(settings.clone()), caller(&settings)))
    }

    fn ask(caller: &Caller, kind: Kind, settings: &Settings) -> Outcome {
        caller.ask(kind, settings, &mut Watch::new(Arc::default())).unwrap()
    }

    #[test]
    fn a_pool_is_asked_every_time() {
        let settings = Settings {
            limit: Quota::new(1, Duration::from_nanos(100)).unwrap(),
            limits: Limits::new([]),
            capacity: 1,
            slots: NonZeroU16::new(2).unwrap(),
            backfill: 1.55,
            refill_every: Duration::from_nanos(100),
        };
        let caller = Caller { start: Nanos::ZERO, requests: 5, cost: 2, retry_ns: 115 };
        let outcome = ask(&caller, Kind::Pool, &settings);
        assert_eq!(outcome, caller.ask_every_time(Kind::Pool, &settings));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_096))]

        /// What is skipped and what is concluded is what happens to a caller who asks every time.
        #[test]
        fn nothing_is_skipped_that_would_be_let_in((settings, caller) in asked(), kind in select(Kind::value_variants())) {
            prop_assume!(settings.limiter(kind, Nanos::ZERO).is_ok());
            let outcome = ask(&caller, kind, &settings);
            let mut every_time = caller.ask_every_time(kind, &settings);
            if matches!(outcome.end, End::KeptOut) {
                every_time.tries = outcome.tries;
            }
            prop_assert_eq!(outcome, every_time);
        }

        #[test]
        fn no_limiter_is_faster_than_its_law((settings, caller) in asked(), kind in select(Kind::value_variants())) {
            prop_assume!(settings.limiter(kind, Nanos::ZERO).is_ok());
            let outcome = ask(&caller, kind, &settings);
            if let End::After(took) = outcome.end {
                let most = most(kind, &settings, caller.start, took);
                let let_in = u128::from(caller.requests * caller.cost);
                prop_assert!(let_in <= most, "{let_in} > {most}: {outcome:?}");
                prop_assert_eq!(outcome.let_in, caller.requests);
            }
        }

        /// The time that a caller who is kept out is advised to wait is the shortest one that ends.
        #[test]
        fn the_advice_is_exact((settings, caller) in asked()) {
            let caller = Caller { cost: caller.cost.min(settings.limit.count()), ..caller };
            // Enough to be rejected at least once.
            let requests = settings.limit.count() / caller.cost + 1;
            let advised = caller.shortest_retry(settings.limit);
            let ends = |retry_ns| {
                let caller = Caller { requests, retry_ns, ..caller };
                caller.ask_every_time(Kind::SlidingLogAll, &settings).end != End::KeptOut
            };
            let advised_ns = u64::try_from(advised.as_nanos()).unwrap();
            prop_assert!(ends(advised_ns));
            prop_assert!(advised_ns == 1 || !ends(advised_ns - 1));
        }
    }
}
