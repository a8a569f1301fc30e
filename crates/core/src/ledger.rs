//! Where the time went.

use crate::nanos::duration;
use crate::timeline::Reading;
use std::time::Duration;

/// Every nanosecond of the schedule accounted for: `elapsed = allocated + idle + waiting +
/// backlog`.
///
/// Exact at rest; while threads are at work, within one claim per thread.
///
/// ```
/// use nanopace::{ManualClock, Pacer, Rate, Strictness};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let pacer = Pacer::builder(Rate::per_second(10)?).strictness(Strictness::STRICT).clock(clock.clone()).build();
/// pacer.acquire()?; // slot 0, on time
/// clock.advance(Duration::from_secs(1));
/// pacer.acquire()?; // slot 1, intended at 0.1 s: strict gives 0.9 s away
/// let ledger = pacer.ledger();
/// assert_eq!(ledger.allocated, Duration::from_millis(100));
/// assert_eq!(ledger.idle, Duration::from_millis(900));
/// assert_eq!(ledger.elapsed, ledger.allocated + ledger.idle + ledger.waiting + ledger.backlog);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ledger {
    /// Schedule time since the start: the clock's, without what the pacer was paused.
    pub elapsed: Duration,
    /// Given to slots, as far as it has come.
    pub allocated: Duration,
    /// Forfeited under a policy; never paid back.
    pub idle: Duration,
    /// Owed under a burst ratio, to be paid back at its speed.
    pub waiting: Duration,
    /// Due and not yet claimed.
    pub backlog: Duration,
    /// Slots taken, to be started or held back until they are; those given back or skipped are not
    /// in it.
    pub granted: u64,
    /// Slots skipped for being too late.
    pub skipped: u64,
    /// Slots due and not yet claimed.
    pub backlog_slots: u64,
}

impl From<Reading> for Ledger {
    fn from(reading: Reading) -> Ledger {
        let account = reading.account;
        Ledger {
            elapsed: duration(account.elapsed),
            allocated: duration(account.allocated),
            idle: duration(account.idle),
            waiting: duration(account.waiting),
            backlog: duration(account.backlog),
            granted: reading.granted,
            skipped: reading.skipped,
            backlog_slots: reading.overdue,
        }
    }
}
