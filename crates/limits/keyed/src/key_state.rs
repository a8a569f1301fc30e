//! The state of one key: the limits that were looked up for it, and their counts.

use crate::sync::{Mutex, lock};
use nanopace_limits::custom::LimitsState;
use nanopace_limits::{Limits, Rule};
use nanopace_nanos::Nanos;
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub(crate) struct KeyState {
    current: Option<Arc<KeyLimits>>,
    /// The whole state, if the key has a single limit whose state is one word.
    word: u64,
}

/// The limits of a key, with their version. Keys whose limits have the same address and version usually share one
/// value, but not if `own` is set.
#[derive(Clone, Debug)]
pub(crate) struct KeyLimits {
    limits: Arc<Limits>,
    version: u64,
    /// The key's state, if that state is more than a word.
    own: Option<LimitsState>,
}

/// Limits that were looked up recently, by their address and version. An address cannot be reused while its entry holds
/// the limits.
#[derive(Debug, Default)]
pub(crate) struct RecentLimits(Mutex<HashMap<(usize, u64), Arc<KeyLimits>>>);

/// A version that no configuration reaches in practice, so that the limits are looked up at the next decision.
pub(crate) const NEVER: u64 = u64::MAX;

impl KeyState {
    #[inline]
    pub(crate) fn step<T>(
        &mut self,
        step: impl FnOnce(&Arc<Limits>, &mut LimitsState) -> T,
    ) -> Option<T> {
        let current = self.current.as_mut()?;
        let mut of_word = LimitsState::of_word(self.word);
        let is_own = current.own.is_some();
        let (limits, state) = if is_own {
            let KeyLimits { limits, own, .. } = Arc::make_mut(current);
            (&*limits, own.as_mut()?)
        } else {
            (&current.limits, &mut of_word)
        };
        let answer = step(limits, state);
        match of_word.into_word() {
            _ if is_own => (),
            Ok(word) => self.word = word,
            Err(state) => Arc::make_mut(current).own = Some(state),
        }
        Some(answer)
    }

    pub(crate) fn look<T>(&self, look: impl FnOnce(&Limits, &LimitsState) -> T) -> Option<T> {
        let current = self.current.as_ref()?;
        Some(match &current.own {
            None => look(&current.limits, &LimitsState::of_word(self.word)),
            Some(state) => look(&current.limits, state),
        })
    }

    #[inline]
    pub(crate) fn is_current(&self, version: u64) -> bool {
        self.current.as_ref().is_some_and(|current| current.version == version)
    }

    pub(crate) fn is_new(&self) -> bool {
        self.current.is_none()
    }

    pub(crate) fn idle_from(&self) -> Nanos {
        self.look(Limits::idle_from).unwrap_or(Nanos::ZERO)
    }

    pub(crate) fn is_idle(&self, now: Nanos) -> bool {
        let from = self.idle_from();
        from <= now && from < Nanos::MAX
    }

    pub(crate) fn follow(&mut self, current: Arc<KeyLimits>, now: Nanos) {
        let carried = self.step(|old, state| {
            if *old != current.limits {
                old.advance(state, now);
                *state = current.limits.carry_over(old, state, now);
            }
            state.clone()
        });
        let carried = carried.unwrap_or_else(|| current.limits.fresh());
        self.current = Some(current);
        self.step(|_, state| *state = carried);
    }
}

impl KeyLimits {
    pub(crate) fn new(limits: Arc<Limits>, version: u64) -> Arc<KeyLimits> {
        Arc::new(KeyLimits { limits, version, own: None })
    }
}

impl RecentLimits {
    const MOST: usize = 1_024;

    pub(crate) fn get(&self, limits: Arc<Limits>, version: u64) -> Arc<KeyLimits> {
        let mut recent = lock(&self.0);
        if recent.len() == Self::MOST {
            recent.clear();
        }
        let place = (Arc::as_ptr(&limits).addr(), version);
        Arc::clone(recent.entry(place).or_insert_with(|| KeyLimits::new(limits, version)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_takes_what_is_said() {
        assert_eq!(size_of::<KeyState>(), 16);
        assert_eq!(size_of::<LimitsState>(), 16);
        assert_eq!(size_of::<KeyLimits>() + 2 * size_of::<usize>(), 48);
    }

    #[test]
    fn limits_that_are_current_again_are_shared() {
        let (recent, limits) =
            (RecentLimits::default(), Arc::new("1/s".parse::<Limits>().unwrap()));
        let current = |version| recent.get(Arc::clone(&limits), version);
        let first = current(0);
        assert!(Arc::ptr_eq(&first, &current(0)));
        assert_eq!(current(1).version, 1);
        assert!((2..5_000).all(|version| current(version).version == version));
        assert!(lock(&recent.0).len() <= RecentLimits::MOST);
    }
}
