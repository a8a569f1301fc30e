//! What becomes of requests on which the store has not decided.

/// What becomes of requests on which the store has not decided: because it can't be reached, doesn't
/// answer in time, refuses, or has no memory left to count them
/// ([`StoreError::Full`](crate::StoreError::Full)).
///
/// Errors of one key are no loss of the store: [`StoreError::Foreign`](crate::StoreError::Foreign) and
/// [`StoreError::Contended`](crate::StoreError::Contended) reject that key's requests, and no others,
/// whatever is said here.
///
/// ```
/// use nanopace_remote::{OnLoss, Remote};
///
/// // Nobody listens there.
/// let store = Remote::lazy("redis://127.0.0.1:1/")?;
/// let denies = store.limits("10/s").build()?;
/// assert!(denies.try_acquire("alice").is_err());
///
/// let allows = store.limits("10/s").on_loss(OnLoss::Allow).build()?;
/// assert!(allows.try_acquire_costs("alice", 10).is_ok());
/// assert!(allows.try_acquire_costs("alice", 11).is_err()); // that never gets in
/// assert_eq!(allows.stats().degraded, 2);
/// # Ok::<(), nanopace_remote::RemoteError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnLoss {
    /// They are rejected, with [`RemoteRejected::Store`](crate::RemoteRejected::Store).
    #[default]
    Deny,
    /// They are let in, but for those that are for more than ever gets in.
    Allow,
    /// They are decided in this process, by limits of which it has one part of so many: as many as
    /// there are processes, 1 or more. Each limit's rate and burst is divided by it; a burst, or a
    /// window's count, of less than one is one. What the store has counted before is not known there.
    /// Moments, as in `NotUntil`, are then those of this process's clock and not the store's. It keeps
    /// at most 65 536 keys at a time, as they are, however long, and rejects new ones beyond that.
    LocalShare(u32),
}
