//! The account of the schedule's time and slots, and other counters.

use crate::nanos::duration;
use crate::timeline::Totals;
use std::time::Duration;

/// Accounts for every nanosecond of the schedule: `elapsed = allocated + idle + waiting + backlog`.
///
/// The account is exact while no thread takes slots. While threads take slots, it is exact to within one claim for each
/// thread, and a lane may claim many slots that are due at once.
///
/// ```
/// use nanopace::{ManualClock, Pacer, Strictness};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let pacer = Pacer::builder("10/s".parse()?)
///     .strictness(Strictness::STRICT)
///     .clock(clock.clone())
///     .build();
/// pacer.acquire()?; // slot 0, on time
/// clock.advance(Duration::from_secs(1));
/// pacer.acquire()?; // slot 1, intended at 0.1 s: strict forfeits 0.9 s
///
/// let ledger = pacer.ledger();
/// assert_eq!(ledger.allocated, Duration::from_millis(100));
/// assert_eq!(ledger.idle, Duration::from_millis(900));
/// assert_eq!(ledger.elapsed, ledger.allocated + ledger.idle + ledger.waiting + ledger.backlog);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Under a burst ratio time is owed instead of forfeited:
///
/// ```
/// use nanopace::{ManualClock, Pacer, Strictness};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let pacer = Pacer::builder("10/s".parse()?)
///     .strictness(Strictness::new(2.0)?)
///     .clock(clock.clone())
///     .build();
/// pacer.acquire()?; // slot 0, on time
/// clock.advance(Duration::from_secs(1));
/// pacer.acquire()?; // slot 1: from here on two slots are due every 0.1 s
///
/// let ledger = pacer.ledger();
/// assert_eq!(ledger.allocated, Duration::from_millis(200));
/// assert_eq!(ledger.waiting, Duration::from_millis(800));
/// assert_eq!(ledger.backlog_slots, 0); // slot 2 is not due before 1.05 s
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ledger {
    /// Schedule time since the start: the clock's time, less the time that the pacer was paused. It stops when the
    /// schedule has ended.
    pub elapsed: Duration,
    /// Time that was used by slots, up to now.
    pub allocated: Duration,
    /// Time that a policy has forfeited. It is never paid back.
    pub idle: Duration,
    /// Time that is owed under a burst ratio. It is paid back at the speed of that ratio.
    pub waiting: Duration,
    /// Time of slots that are due and not yet claimed, or were claimed and given back.
    pub backlog: Duration,
    /// Slots that were taken, whether they have started or are held back until they do. Slots that
    /// were given back or skipped are not included.
    pub granted: u64,
    /// Slots that were skipped because they were too late.
    pub skipped: u64,
    /// Slots that are due and not yet claimed, or were claimed and given back. On a shape, a slot can be included here
    /// 1 ns before it can be claimed. A [recording](crate::Arrivals::replay) is known only up to 2^20 slots ahead of
    /// those that are in use.
    pub backlog_slots: u64,
}

impl From<Totals> for Ledger {
    fn from(totals: Totals) -> Ledger {
        let account = totals.account;
        Ledger {
            elapsed: duration(account.elapsed),
            allocated: duration(account.allocated),
            idle: duration(account.idle),
            waiting: duration(account.waiting),
            backlog: duration(account.backlog),
            granted: totals.granted,
            skipped: totals.skipped,
            backlog_slots: totals.overdue,
        }
    }
}

/// Counters of a pacer's callers, besides the [`Ledger`]. Reading them takes no lock.
///
/// ```
/// use nanopace::{ManualClock, Pacer};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let threshold = Duration::from_millis(5);
/// let pacer =
///     Pacer::builder("10/s".parse()?).sleep_threshold(threshold).clock(clock.clone()).build();
/// pacer.acquire()?; // slot 0, at 0 ms
/// clock.advance(Duration::from_millis(98));
/// pacer.acquire()?; // slot 1, 2 ms early
///
/// let counters = pacer.counters();
/// assert_eq!(counters.early_starts, 1);
/// assert_eq!(counters.spun, Duration::ZERO); // by default pauses sleep
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Operations that started before their intended start. Each was early by less than the [sleep
    /// threshold](crate::PacerBuilder::sleep_threshold), so without a threshold the number is zero.
    pub early_starts: u64,
    /// How long callers have spun under [`Pause::Hybrid`](crate::Pause::Hybrid), added up over all callers.
    pub spun: Duration,
}
