//! Sources of a key's limits: the trait, and a source with the same limits for all keys.

use crate::ConfigStore;
use crate::sync::{AtomicU64, Mutex, Relaxed, lock};
use nanopace_limits::{Limits, LimitsError};
use std::fmt::Debug;
use std::sync::Arc;

/// A source of each key's limits. Each decision calls [`version_for`](LimitsOf::version_for), so keep the version
/// numbers in memory.
///
/// Every [`ConfigStore`] is a source for string keys, and [`Uniform`] is a source for keys of any type.
///
/// ```
/// use nanopace_keyed::{Keyed, Limits, LimitsOf};
/// use std::sync::Arc;
///
/// /// Customers with a number below 1000 have paid for a higher limit.
/// #[derive(Debug)]
/// struct Plans {
///     paid: Arc<Limits>,
///     free: Arc<Limits>,
/// }
///
/// impl LimitsOf<u32> for Plans {
///     fn version_for(&self, _: &u32) -> u64 {
///         0 // they never change
///     }
///     fn limits_for(&self, customer: &u32) -> Option<Arc<Limits>> {
///         Some(Arc::clone(if *customer < 1_000 { &self.paid } else { &self.free }))
///     }
/// }
///
/// let plans = Plans { paid: Arc::new("100/s".parse()?), free: Arc::new("1/s".parse()?) };
/// let customers: Keyed<u32, Plans> = Keyed::builder(plans).build()?;
/// assert!(customers.try_acquire_costs(&7, 100).is_ok());
/// assert!(customers.try_acquire_costs(&7_000, 2).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait LimitsOf<Q: ?Sized>: Debug + Send + Sync {
    /// Returns a number that is different after each change of the key's limits, and possibly after other changes.
    ///
    /// A caller that reads the version before it calls [`limits_for`](LimitsOf::limits_for) may keep the limits until
    /// the version changes.
    fn version_for(&self, key: &Q) -> u64;

    /// Returns the key's limits, or `None` if it has no limits.
    fn limits_for(&self, key: &Q) -> Option<Arc<Limits>>;
}

macro_rules! by_text {
    ($($text:ty),+) => {
        $(impl<C: ConfigStore> LimitsOf<$text> for C {
            fn version_for(&self, key: &$text) -> u64 {
                self.version_of(key)
            }

            fn limits_for(&self, key: &$text) -> Option<Arc<Limits>> {
                self.limits_of(key)
            }
        })+
    };
}

by_text!(str, String);

/// The same limits for all keys.
#[derive(Debug)]
pub struct Uniform {
    limits: Mutex<Arc<Limits>>,
    /// The version of the limits. Only `set` raises it, with the limits locked.
    version: AtomicU64,
}

impl Uniform {
    /// Creates a source with these limits for all keys.
    #[must_use]
    pub fn new(limits: Limits) -> Uniform {
        Uniform { limits: Mutex::new(Arc::new(limits)), version: AtomicU64::new(0) }
    }

    pub(crate) fn with_burst(self, burst: u64) -> Result<Uniform, LimitsError> {
        let mut each = lock(&self.limits).each().to_vec();
        let last = each.last_mut().ok_or(LimitsError::NoBurst)?;
        *last = last.with_burst(burst)?;
        Ok(Uniform::new(Limits::new(each)))
    }

    pub(crate) fn and(self, more: &str) -> Result<Uniform, LimitsError> {
        let all = format!("{}, {more}", *lock(&self.limits));
        Ok(Uniform::new(all.parse()?))
    }

    /// Changes the limits of all keys. Earlier admissions stay counted, as described for [`Limits`].
    pub fn set(&self, limits: Limits) {
        let mut own = lock(&self.limits);
        *own = Arc::new(limits);
        // Relaxed: the version is raised under the lock of the limits, after the limits were changed. A decision that
        // reads the raised version and then locks the limits locks them after this change: if the decision had locked
        // them earlier, its read would have come before this write. Model:
        // `a_change_for_all_is_seen_by_every_later_decision`.
        self.version.fetch_add(1, Relaxed);
    }
}

impl<Q: ?Sized> LimitsOf<Q> for Uniform {
    fn version_for(&self, _: &Q) -> u64 {
        // Relaxed: as in `set`. Model: `a_change_for_all_is_seen_by_every_later_decision`.
        self.version.load(Relaxed)
    }

    fn limits_for(&self, _: &Q) -> Option<Arc<Limits>> {
        Some(Arc::clone(&lock(&self.limits)))
    }
}
