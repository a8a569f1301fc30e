//! Helpers for decisions at moments that a test chooses, in any order.

use nanopace_keyed::{KeyRejected, Keyed, LimitsOf, Standing};
use nanopace_nanos::{Clock, Nanos};
use std::borrow::Borrow;
use std::cell::Cell;
use std::hash::{BuildHasher, Hash};

thread_local! {
    static NOW: Cell<Nanos> = const { Cell::new(Nanos::ZERO) };
}

/// A clock that returns to each thread the moment that this thread has set last.
#[derive(Debug)]
pub(crate) struct NamedMoment;

impl Clock for NamedMoment {
    fn now(&self) -> Nanos {
        NOW.get()
    }
}

pub(crate) fn keyed<C>(config: C, max_keys: usize) -> Keyed<String, C> {
    Keyed::builder(config).max_keys(max_keys).clock(NamedMoment).build().expect("a configuration")
}

pub(crate) trait AtMoment<Q: ?Sized> {
    fn try_acquire_n_at(&self, key: &Q, n: u64, now: Nanos) -> Result<(), KeyRejected>;

    fn standing_at(&self, key: &Q, now: Nanos) -> Result<Standing, KeyRejected>;

    fn try_acquire_at(&self, key: &Q, now: Nanos) -> Result<(), KeyRejected> {
        self.try_acquire_n_at(key, 1, now)
    }
}

impl<K, C, S, Q> AtMoment<Q> for Keyed<K, C, S>
where
    K: Hash + Eq + Borrow<Q>,
    Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    C: LimitsOf<Q>,
    S: BuildHasher,
{
    fn try_acquire_n_at(&self, key: &Q, n: u64, now: Nanos) -> Result<(), KeyRejected> {
        NOW.set(now);
        self.try_acquire_costs(key, n)
    }

    fn standing_at(&self, key: &Q, now: Nanos) -> Result<Standing, KeyRejected> {
        NOW.set(now);
        self.standing(key)
    }
}

pub(crate) fn sweep_at<K, C, S>(keyed: &Keyed<K, C, S>, now: Nanos, cells: usize) -> usize
where
    K: Hash + Eq,
    S: BuildHasher,
{
    NOW.set(now);
    keyed.sweep(cells)
}
