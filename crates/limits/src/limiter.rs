//! A rule put to work: shared between threads, asked at a moment.

use crate::sync::{Mutex, lock};
use crate::{Rejected, Rule};
use crossbeam_utils::CachePadded;
use nanopace::{Clock, Nanos};
use std::fmt::Debug;

/// Something that answers "may I, now?" at once, from any thread.
pub trait Limiter: Debug + Send + Sync {
    /// Lets `n` in at `now`, or says why not. Zero always gets in and counts as nothing.
    ///
    /// # Errors
    /// [`Rejected`]; nothing was counted then.
    fn try_acquire_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected>;

    /// What [`try_acquire_n_at`](Limiter::try_acquire_n_at) would answer; counts nothing.
    ///
    /// # Errors
    /// [`Rejected`], as the request itself would get.
    fn check_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected>;

    /// Lets one in at `now`, or says why not.
    ///
    /// # Errors
    /// [`Rejected`]; nothing was counted then.
    fn try_acquire_at(&self, now: Nanos) -> Result<(), Rejected> {
        self.try_acquire_n_at(1, now)
    }
}

/// Any rule, shared behind a mutex. For rules whose state fits into a word,
/// [`Atomic`](crate::Atomic) does without.
#[derive(Debug)]
pub struct Locked<R: Rule> {
    rule: R,
    state: Mutex<R::State>,
}

impl<R: Rule> Locked<R> {
    /// A limiter that has let nothing in yet.
    pub fn new(rule: R) -> Locked<R> {
        let state = Mutex::new(rule.fresh());
        Locked { rule, state }
    }

    /// The rule it follows.
    pub fn rule(&self) -> &R {
        &self.rule
    }
}

impl<R: Rule> Limiter for Locked<R> {
    fn try_acquire_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        self.rule.decide(&mut lock(&self.state), now, n)
    }

    fn check_n_at(&self, n: u64, now: Nanos) -> Result<(), Rejected> {
        let mut state = lock(&self.state);
        self.rule.advance(&mut state, now);
        self.rule.check(&state, now, n)
    }
}

/// A limiter with its clock, on cache lines of its own.
#[derive(Debug)]
pub struct Clocked<L, C> {
    /// What threads write to it must not take away the line that the clock is read from.
    limiter: CachePadded<L>,
    clock: C,
}

impl<L: Limiter, C: Clock> Clocked<L, C> {
    /// `limiter`, asked at what `clock` says.
    pub fn new(limiter: L, clock: C) -> Clocked<L, C> {
        Clocked { limiter: CachePadded::new(limiter), clock }
    }

    /// Lets one in now, or says why not.
    ///
    /// # Errors
    /// [`Rejected`]; nothing was counted then.
    pub fn try_acquire(&self) -> Result<(), Rejected> {
        self.try_acquire_n(1)
    }

    /// Lets `n` in now, or says why not.
    ///
    /// # Errors
    /// [`Rejected`]; nothing was counted then.
    pub fn try_acquire_n(&self, n: u64) -> Result<(), Rejected> {
        self.limiter.try_acquire_n_at(n, self.clock.now())
    }

    /// The limiter.
    pub fn limiter(&self) -> &L {
        &self.limiter
    }
}
