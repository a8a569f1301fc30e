//! Reports the account of the schedule's time and slots, and other counters.

use crate::nanos::duration;
use crate::timeline::Totals;
use std::time::Duration;

/// Accounts for every nanosecond of the schedule: `elapsed = allocated + idle + waiting + backlog`.
///
/// The account is exact while no thread claims slots. While threads claim slots, it is off by at most one claim for
/// each thread, and a claim of a lane can contain many slots that are due.
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
/// Under a burst ratio, time is owed instead of forfeited:
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
    /// The schedule time since the start: the clock's time, minus the time during which the pacer was paused. The
    /// schedule time stops when the schedule has ended.
    pub elapsed: Duration,
    /// The part of the elapsed time that belongs to slots that have been claimed or skipped.
    pub allocated: Duration,
    /// The time that a late policy has forfeited, or by which a backlog exceeded 2^44 intervals. It is never made up
    /// for.
    pub idle: Duration,
    /// The time that is owed under a burst ratio. While time is owed, slots start at up to the rate multiplied by the
    /// burst ratio.
    pub waiting: Duration,
    /// The time of slots that are due and not claimed. Slots that were claimed and given back count as not claimed.
    pub backlog: Duration,
    /// The number of slots that have been claimed, started or not. Slots that were given back or skipped are not
    /// included.
    pub granted: u64,
    /// The number of slots that were skipped because they were too late.
    pub skipped: u64,
    /// The number of slots that are due and not claimed. Slots that were claimed and given back count as not claimed.
    /// On a shape, a slot can be included 1 ns before it can be claimed. For a [recording](crate::Arrivals::replay),
    /// the number includes at most the 2^20 slots after those that are in use.
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

/// Counts early starts and spinning by a pacer's callers, which the [`Ledger`] does not include. Reading the counters
/// takes no lock.
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
    /// The number of operations that started before their intended start. Each was early by less than the [sleep
    /// threshold](crate::PacerBuilder::sleep_threshold), so without a threshold the number is zero.
    pub early_starts: u64,
    /// The total time that all callers have spun under [`Pause::Hybrid`](crate::Pause::Hybrid).
    pub spun: Duration,
}
