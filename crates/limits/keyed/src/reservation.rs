//! Reservations for a key: counted requests that can be refunded.

use crate::{KeyRejected, Keyed, LimitsOf};
use nanopace_limits::Costs;
use nanopace_limits::custom::Receipt;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash, RandomState};

impl<K: Hash + Eq, C, S: BuildHasher> Keyed<K, C, S> {
    /// Counts a request for `key` now, and refunds it when the [`KeyReservation`] is dropped without a commit. The
    /// request has the same cost for all limits (`1`), or one cost for each limit (`&[1, 4_000]`).
    ///
    /// # Errors
    /// Returns the same errors as [`try_acquire_costs`](Keyed::try_acquire_costs).
    pub fn reserve<'a, Q>(
        &self,
        key: &Q,
        costs: impl Into<Costs<'a>>,
    ) -> Result<KeyReservation<K, C, S>, KeyRejected>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        C: LimitsOf<Q>,
    {
        let costs = costs.into();
        let receipt =
            self.answer(key, costs, |limits, state, at| Ok(limits.reserve(state, at, costs)?))?;
        Ok(KeyReservation::new(self, key.to_owned(), receipt))
    }
}

/// A request that a [`Keyed`] has counted for a key before the caller knows whether the request will be made, or what
/// it will cost. Dropping the reservation refunds the request, as for a
/// [`Reservation`](nanopace_limits::Reservation). If the key has been idle and was removed meanwhile, a higher cost
/// makes it a new key with the limits of the reservation, which are replaced at its next decision. This cost is not
/// counted if the number of keys is at its maximum.
#[derive(Debug)]
#[must_use = "dropping it refunds the request"]
pub struct KeyReservation<K: Hash + Eq, C, S: BuildHasher = RandomState> {
    keyed: Keyed<K, C, S>,
    request: Option<(K, Receipt)>,
}

impl<K: Hash + Eq, C, S: BuildHasher> KeyReservation<K, C, S> {
    pub(crate) fn new(keyed: &Keyed<K, C, S>, key: K, receipt: Receipt) -> Self {
        KeyReservation { keyed: keyed.clone(), request: Some((key, receipt)) }
    }

    /// Commits the reservation: the request stays counted, with the reserved costs.
    pub fn commit(mut self) {
        self.request = None;
    }

    /// Counts the actual cost of the request, as
    /// [`Reservation::commit_costs`](nanopace_limits::Reservation::commit_costs) does.
    pub fn commit_costs<'a>(mut self, actual: impl Into<Costs<'a>>) {
        self.settle(actual.into());
    }

    fn settle(&mut self, actual: Costs<'_>) {
        if let Some((key, receipt)) = self.request.take() {
            self.keyed.settle(key, &receipt, actual);
        }
    }
}

impl<K: Hash + Eq, C, S: BuildHasher> Drop for KeyReservation<K, C, S> {
    fn drop(&mut self) {
        self.settle(Costs::Same(0));
    }
}
