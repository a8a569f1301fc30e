//! Queries a pacer's clock, ledger and counters, and the slots of its load.

use super::Pacer;
use crate::engine::Engine;
use crate::{Counters, Ledger, Nanos};
use std::ops::Range;

impl Pacer {
    /// Returns whether the schedule has no slot left. See [`Ended::Finished`](crate::Ended::Finished). Operations that
    /// have started may still be running.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.0.timeline.is_finished()
    }

    /// Returns the current time on the pacer's clock. Intended starts are times on the same clock.
    ///
    /// The result is never before the actual start of a grant that the caller knows of, even if the grant was made on
    /// another CPU core.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{Nanos, Pacer};
    ///
    /// let pacer = Pacer::new("10/s".parse()?);
    /// let grant = pacer.acquire()?;
    /// // ... the operation ...
    /// let end: Nanos = pacer.now();
    /// assert!(end >= grant.actual_start());
    /// let service_time = end - grant.actual_start();
    /// assert_eq!(grant.response_time(end), grant.wait_time() + service_time);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.0.timeline.now(&*self.0.clock)
    }

    /// Returns the account of the schedule's time, and how many slots were granted, were skipped, or are due.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// pacer.acquire()?; // slot 0
    /// clock.advance(Duration::from_secs(1));
    ///
    /// let ledger = pacer.ledger();
    /// assert_eq!(ledger.granted, 1);
    /// assert_eq!(ledger.backlog_slots, 10); // slots 1 to 10
    /// assert_eq!(ledger.allocated, Duration::from_millis(100)); // slot 0's interval
    /// assert_eq!(ledger.backlog, Duration::from_millis(900)); // the rest is still to be used
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        Ledger::from(self.0.timeline.totals(&*self.0.clock))
    }

    /// Returns how many slots this process's part of the load has before `moment`. If no late policy has moved a slot,
    /// these are the slots with an intended start before `moment`. If a policy has moved slots, they still count at
    /// their original times. For a [recording](crate::Arrivals::replay), the result includes at most the 2^20 slots
    /// after those that are in use.
    ///
    /// The moment may be in the past or in the future, but the calculation uses only the current load. For a moment
    /// before the last change of the load or of shards, the last 1024 leases or the last 2^44 slots, the result may be
    /// the number of slots at that later point. For a moment before the end of a pause, the result is too small: it is
    /// the number at a moment that is earlier by the length of the pause.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer, Strictness};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let strict = Pacer::builder("10/s".parse()?).strictness(Strictness::STRICT);
    /// let pacer = strict.clock(clock.clone()).build();
    /// pacer.acquire()?; // slot 0, at 0 s
    /// clock.advance(Duration::from_millis(950));
    /// pacer.acquire()?; // slot 1, which was due at 100 ms: strict starts slot 2 at 1.05 s
    ///
    /// assert_eq!(pacer.asked_before(pacer.now()), 10); // nine of them in 0.1 s to 0.9 s
    /// assert_eq!(pacer.asked_before(pacer.now() + Duration::from_secs(1)), 20);
    /// assert_eq!(pacer.ledger().granted, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn asked_before(&self, moment: Nanos) -> u64 {
        self.0.timeline.with_schedule(|schedule| schedule.asked_before(moment.signed()))
    }

    /// Returns how many slots the load contains up to `moment`, including the fraction of the current interval that has
    /// passed. For random arrivals this is the average number. For a [recording](crate::Arrivals::replay) it is the
    /// number of whole slots. A [shard](crate::Shard) counts only its share of the load.
    /// [`asked_before`](Pacer::asked_before) counts whole slots.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let pacer = Pacer::builder("0.5/s".parse()?).clock(ManualClock::new()).build();
    /// let in_a_second = pacer.now() + Duration::from_secs(1);
    /// assert_eq!(pacer.asked_before(in_a_second), 1); // slot 0
    /// assert_eq!(pacer.asked_count(in_a_second), 0.5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn asked_count(&self, moment: Nanos) -> f64 {
        self.0.timeline.with_schedule(|schedule| schedule.asked_count(moment.signed()))
    }

    /// Returns the free slots with an intended start in `span`, including slots that were given back. The slots stay in
    /// the schedule. A typical use is to find the slots that are left when the schedule has ended. Slots that are so
    /// late that [`skip_later_than`](crate::PacerBuilder::skip_later_than) applies are skipped first.
    ///
    /// There may be billions of slots, so they are returned in batches, in order. A batch is a pair: the intended start
    /// of the batch's last slot, and the number of slots in the batch. The intended starts of a batch differ by at most
    /// 1/10000 of the time from the batch's first slot to the end of `span`.
    ///
    /// ```
    /// use nanopace::{ManualClock, Pacer};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pacer = Pacer::builder("10/s".parse()?).clock(clock.clone()).build();
    /// let [begin, end] = [0, 300].map(|ms| pacer.now() + Duration::from_millis(ms));
    /// pacer.acquire()?; // slot 0
    /// clock.advance(Duration::from_secs(1));
    /// pacer.close();
    ///
    /// let due = |ms| begin + Duration::from_millis(ms);
    /// assert_eq!(pacer.unstarted(begin..end), [(due(100), 1), (due(200), 1)]);
    /// assert_eq!(pacer.ledger().backlog_slots, 10); // slots 1 to 10
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn unstarted(&self, span: Range<Nanos>) -> Vec<(Nanos, u64)> {
        let span = span.start.signed()..span.end.signed();
        let unstarted = self.0.timeline.unstarted(&span, &*self.0.clock).into_iter();
        unstarted.map(|(due, slots)| (Nanos::from_signed(due), slots)).collect()
    }

    /// Returns the counters that the [ledger](Pacer::ledger) does not include. See [`Counters`] for an example.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let Engine { timeline, pausing, .. } = &*self.0;
        Counters { early_starts: timeline.early(), spun: pausing.spun() }
    }
}
