//! Provides a rate limiter without keys, with governor's methods.

#[cfg(feature = "jitter")]
use crate::Jitter;
use crate::clock::{Clock, DefaultClock, GivenClock, ReasonablyRealtime};
use crate::middleware::NoOpMiddleware;
use crate::pace::Pace;
use crate::state::{InMemoryState, NotKeyed};
use crate::{InsufficientCapacity, NotUntil, Quota};
#[cfg(feature = "jitter")]
use futures_timer::Delay;
#[cfg(feature = "jitter")]
use std::future::poll_fn;
use std::marker::PhantomData;
use std::num::NonZeroU32;
#[cfg(feature = "jitter")]
use std::pin::pin;
use std::time::Duration;

const ONE: NonZeroU32 = NonZeroU32::MIN;

/// Admits cells at a rate, on a schedule that makes up for late requests.
///
/// The schedule starts at the first request for a cell. After that, the intended starts of cells are one interval
/// apart. An early request is refused or has to wait. Late requests are admitted at once until they have caught up with
/// the schedule. At most the time of one burst is made up for, or 100 ms if that is more.
///
/// A limiter is shared by reference, and can be used from any number of threads and tasks.
///
/// ```
/// use governor::{Quota, RateLimiter};
/// use std::num::NonZeroU32;
///
/// const RATE: NonZeroU32 = NonZeroU32::new(2_000).unwrap();
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let limiter = RateLimiter::direct(Quota::per_second(RATE));
/// for _ in 0..10 {
///     limiter.until_ready().await;
///     // ... the operation ...
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct RateLimiter<K, S, C, MW = NoOpMiddleware> {
    pace: Pace,
    clock: C,
    kind: PhantomData<(K, S, MW)>,
}

impl RateLimiter<NotKeyed, InMemoryState, DefaultClock, NoOpMiddleware> {
    /// Creates a limiter with the default clock.
    ///
    /// ```
    /// use governor::{Quota, RateLimiter};
    /// use std::num::NonZeroU32;
    ///
    /// let limiter = RateLimiter::direct(Quota::per_hour(NonZeroU32::MIN));
    /// assert!(limiter.check().is_ok()); // the schedule starts here
    /// assert!(limiter.check().is_err()); // the next cell is due in an hour
    /// ```
    #[must_use]
    pub fn direct(quota: Quota) -> Self {
        Self::direct_with_clock(quota, DefaultClock::default())
    }
}

impl<C: Clock> RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<C::Instant>> {
    /// Creates a limiter with the given clock, which is passed by value or by reference.
    ///
    /// Refusals report times on that clock. The schedule runs in real time, unless the clock has its own
    /// [`pacing`](Clock::pacing).
    ///
    /// ```
    /// use governor::clock::FakeRelativeClock;
    /// use governor::{Quota, RateLimiter};
    /// use std::num::NonZeroU32;
    ///
    /// let (quota, clock) = (Quota::per_second(NonZeroU32::MIN), FakeRelativeClock::default());
    /// let as_in_0_6 = RateLimiter::direct_with_clock(quota, &clock);
    /// let as_in_0_10 = RateLimiter::direct_with_clock(quota, clock);
    /// # assert!(as_in_0_6.check().is_ok() && as_in_0_10.check().is_ok());
    /// ```
    pub fn direct_with_clock(quota: Quota, clock: impl GivenClock<C>) -> Self {
        let clock = clock.into_clock();
        RateLimiter { pace: Pace::new(quota, clock.pacing()), clock, kind: PhantomData }
    }

    /// Returns the limiter's clock.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// Admits one cell if it is due.
    ///
    /// # Errors
    /// Returns [`NotUntil`] with the time at which the cell is due. No cell was admitted.
    ///
    /// # Examples
    /// ```
    /// use governor::clock::FakeRelativeClock;
    /// use governor::{Quota, RateLimiter};
    /// use std::num::NonZeroU32;
    /// use std::time::Duration;
    ///
    /// const TEN: NonZeroU32 = NonZeroU32::new(10).unwrap();
    /// let clock = FakeRelativeClock::default();
    /// let limiter = RateLimiter::direct_with_clock(Quota::per_second(TEN), clock.clone());
    /// assert!(limiter.check().is_ok());
    /// assert!(limiter.check().is_err());
    ///
    /// clock.advance(Duration::from_millis(350)); // three cells are due
    /// assert!((0..3).all(|_| limiter.check().is_ok()));
    /// assert!(limiter.check().is_err());
    /// ```
    pub fn check(&self) -> Result<(), NotUntil<C::Instant>> {
        self.decide(ONE)
    }

    /// Admits `n` cells as one operation if the first of them is due. In that case, the next cell is due `n` intervals
    /// after that first cell. Otherwise admits no cell.
    ///
    /// # Errors
    /// Returns [`InsufficientCapacity`] if `n` is more than the burst size, and otherwise the error of
    /// [`check`](RateLimiter::check).
    ///
    /// # Examples
    /// ```
    /// use governor::clock::{Clock, FakeRelativeClock};
    /// use governor::{InsufficientCapacity, Quota, RateLimiter};
    /// use std::num::NonZeroU32;
    /// use std::time::Duration;
    ///
    /// const THREE: NonZeroU32 = NonZeroU32::new(3).unwrap();
    /// const TEN: NonZeroU32 = NonZeroU32::new(10).unwrap();
    /// let clock = FakeRelativeClock::default();
    /// let limiter = RateLimiter::direct_with_clock(Quota::per_second(TEN), clock.clone());
    /// assert_eq!(limiter.check_n(THREE), Ok(Ok(())));
    /// let not_until = limiter.check().unwrap_err();
    /// assert_eq!(not_until.wait_time_from(clock.now()), Duration::from_millis(300));
    ///
    /// let eleven = TEN.saturating_add(1);
    /// assert_eq!(limiter.check_n(eleven), Err(InsufficientCapacity(10)));
    /// ```
    pub fn check_n(
        &self,
        n: NonZeroU32,
    ) -> Result<Result<(), NotUntil<C::Instant>>, InsufficientCapacity> {
        self.pace.fits(n)?;
        Ok(self.decide(n))
    }

    fn decide(&self, n: NonZeroU32) -> Result<(), NotUntil<C::Instant>> {
        self.pace.take(n).map_err(|left| self.not_until(left))
    }

    #[cold]
    fn not_until(&self, left: Duration) -> NotUntil<C::Instant> {
        NotUntil::new(self.clock.now() + left.into(), self.pace.quota)
    }
}

impl<C: ReasonablyRealtime> RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<C::Instant>> {
    /// Waits until the next cell is due, and admits it.
    ///
    /// The future is cancel-safe, because a task that waits has not used a cell. The first task that awaits a cell
    /// creates the limiter's timer, in its own runtime. After the tasks of a thread have started 64 cells in a row
    /// without waiting, the next call yields to other tasks.
    pub async fn until_ready(&self) {
        self.wait(ONE).await;
    }

    /// Waits like [`until_ready`](RateLimiter::until_ready). If the task had to wait, it waits for an additional random
    /// time after its cell is due. The additional time does not move the schedule.
    ///
    /// If a task is cancelled during that additional time, its cell has been used.
    ///
    /// ```
    /// use governor::{Jitter, Quota, RateLimiter};
    /// use std::num::NonZeroU32;
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let limiter = RateLimiter::direct(Quota::per_second(NonZeroU32::MAX));
    /// limiter.until_ready_with_jitter(Jitter::up_to(Duration::from_micros(50))).await;
    /// # }
    /// ```
    #[cfg(feature = "jitter")]
    pub async fn until_ready_with_jitter(&self, jitter: Jitter) {
        self.wait_with_jitter(ONE, jitter).await;
    }

    /// Waits until the first of the next `n` cells is due, and admits all of them as one operation. The cell after them
    /// is due `n` intervals after that first cell.
    ///
    /// # Errors
    /// Returns [`InsufficientCapacity`] at once if `n` is more than the burst size.
    pub async fn until_n_ready(&self, n: NonZeroU32) -> Result<(), InsufficientCapacity> {
        self.pace.fits(n)?;
        self.wait(n).await;
        Ok(())
    }

    /// Waits like [`until_n_ready`](RateLimiter::until_n_ready), with the jitter of
    /// [`until_ready_with_jitter`](RateLimiter::until_ready_with_jitter).
    ///
    /// # Errors
    /// Returns the error of `until_n_ready`.
    #[cfg(feature = "jitter")]
    pub async fn until_n_ready_with_jitter(
        &self,
        n: NonZeroU32,
        jitter: Jitter,
    ) -> Result<(), InsufficientCapacity> {
        self.pace.fits(n)?;
        self.wait_with_jitter(n, jitter).await;
        Ok(())
    }

    async fn wait(&self, n: NonZeroU32) {
        self.pace.wait(n).await;
    }

    #[cfg(feature = "jitter")]
    async fn wait_with_jitter(&self, n: NonZeroU32, jitter: Jitter) {
        let mut wait = pin!(self.pace.wait(n));
        let mut has_waited = false;
        poll_fn(|context| {
            let poll = wait.as_mut().poll(context);
            has_waited |= poll.is_pending();
            poll
        })
        .await;
        if has_waited {
            Delay::new(jitter.draw()).await;
        }
    }
}
