//! Where an engine finds the limits of a key.

use crate::{ConfigStore, MemoryConfig, Scope};
use nanopace_limits::Limits;
use std::fmt::Debug;
use std::sync::Arc;

/// Knows which limits each key has. Each decision asks for the version, so an implementation
/// answers from memory.
///
/// Every [`ConfigStore`] is one for texts, and [`Uniform`] is one for keys of any type.
///
/// ```
/// use nanopace_keyed::{DecisionEngine, LimitsOf};
/// use nanopace::Nanos;
/// use nanopace_limits::Limits;
/// use std::sync::Arc;
///
/// /// Customers below 1000 pay for more.
/// #[derive(Debug)]
/// struct Plans {
///     paid: Arc<Limits>,
///     free: Arc<Limits>,
/// }
///
/// impl LimitsOf<u32> for Plans {
///     fn version_of(&self, _: &u32) -> u64 {
///         0 // they never change
///     }
///     fn limits_of(&self, customer: &u32) -> Option<Arc<Limits>> {
///         Some(Arc::clone(if *customer < 1_000 { &self.paid } else { &self.free }))
///     }
/// }
///
/// let plans = Plans { paid: Arc::new("100/s".parse()?), free: Arc::new("1/s".parse()?) };
/// let engine: DecisionEngine<Plans, u32> = DecisionEngine::new(plans, 10_000);
/// assert!(engine.try_acquire_n_at(&7, 100, Nanos::ZERO).is_ok());
/// assert!(engine.try_acquire_n_at(&7_000, 2, Nanos::ZERO).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait LimitsOf<Q: ?Sized>: Debug + Send + Sync {
    /// A number that is different after each change of the key's limits. It may be different after
    /// other changes too.
    ///
    /// A caller that asks for the version first and for [`limits_of`](LimitsOf::limits_of)
    /// afterwards may keep the limits until the version changes.
    ///
    /// ```
    /// use nanopace_keyed::{LimitsOf, Uniform};
    ///
    /// let limits = Uniform::new("10/s".parse()?);
    /// let version = LimitsOf::<u32>::version_of(&limits, &7);
    /// limits.set("20/s".parse()?);
    /// assert_ne!(LimitsOf::<u32>::version_of(&limits, &7), version);
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    fn version_of(&self, key: &Q) -> u64;

    /// The key's limits, if it has any.
    ///
    /// ```
    /// use nanopace_keyed::{LimitsOf, Uniform};
    ///
    /// let limits = Uniform::new("10/s".parse()?);
    /// assert_eq!(limits.limits_of("alice").unwrap().to_string(), "10/s");
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    fn limits_of(&self, key: &Q) -> Option<Arc<Limits>>;
}

impl<C: ConfigStore> LimitsOf<str> for C {
    fn version_of(&self, _: &str) -> u64 {
        self.version()
    }

    fn limits_of(&self, key: &str) -> Option<Arc<Limits>> {
        ConfigStore::limits_of(self, key)
    }
}

/// The same limits for all keys.
///
/// ```
/// use nanopace_keyed::{LimitsOf, Uniform};
///
/// let limits = Uniform::new("10/s".parse()?);
/// limits.set("20/s".parse()?);
/// assert_eq!(limits.limits_of("alice").unwrap().to_string(), "20/s");
/// # Ok::<(), nanopace_limits::LimitsError>(())
/// ```
#[derive(Debug)]
pub struct Uniform(MemoryConfig);

impl Uniform {
    /// These limits for all keys.
    ///
    /// ```
    /// use nanopace_keyed::{DecisionEngine, Uniform};
    /// use nanopace::Nanos;
    ///
    /// let limits = Uniform::new("10/s".parse()?);
    /// let engine: DecisionEngine<_, u64> = DecisionEngine::new(limits, 1_000_000);
    /// assert!(engine.try_acquire_at(&7, Nanos::ZERO).is_ok());
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    #[must_use]
    pub fn new(limits: Limits) -> Uniform {
        let uniform = Uniform(MemoryConfig::new());
        uniform.set(limits);
        uniform
    }

    /// Other limits for all keys. What was counted stays counted: [`Limits`] say how.
    ///
    /// ```
    /// use nanopace_keyed::Uniform;
    ///
    /// Uniform::new("10/s".parse()?).set("20/s".parse()?);
    /// # Ok::<(), nanopace_limits::LimitsError>(())
    /// ```
    pub fn set(&self, limits: Limits) {
        self.0.change(Scope::Prefix(""), Some(limits));
    }
}

impl<Q: ?Sized> LimitsOf<Q> for Uniform {
    fn version_of(&self, _: &Q) -> u64 {
        LimitsOf::version_of(&self.0, "")
    }

    fn limits_of(&self, _: &Q) -> Option<Arc<Limits>> {
        ConfigStore::limits_of(&self.0, "")
    }
}
