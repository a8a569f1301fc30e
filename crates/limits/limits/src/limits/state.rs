//! The state of several limits.

use super::limit::LimitState;
use super::replaced::Replaced;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::slice;
use nanopace_nanos::Nanos;

/// The state of [`Limits`](crate::Limits) and of replaced limits that still count. The state of a single limit that
/// needs only one word takes 16 bytes.
#[derive(Clone, Debug)]
pub struct LimitsState(Repr);

#[derive(Clone, Debug)]
enum Repr {
    /// The state of a single limit, if no replaced limit still counts.
    One(LimitState),
    Many(Box<Many>),
}

#[derive(Clone, Debug)]
struct Many {
    in_force: Vec<LimitState>,
    replaced: Option<Replaced>,
}

impl LimitsState {
    pub(crate) fn new(mut in_force: Vec<LimitState>, replaced: Option<Replaced>) -> LimitsState {
        LimitsState(match (in_force.len(), replaced) {
            (1, None) => Repr::One(in_force.remove(0)),
            (_, replaced) => Repr::Many(Box::new(Many { in_force, replaced })),
        })
    }

    /// Creates the state of a single limit from its word.
    #[inline]
    #[must_use]
    pub fn of_word(word: u64) -> LimitsState {
        LimitsState(Repr::One(LimitState::word(word)))
    }

    /// Returns the word, if it is the whole state.
    ///
    /// # Errors
    /// Returns the state itself if it contains more than a word.
    #[inline]
    pub fn into_word(self) -> Result<u64, LimitsState> {
        match self.0 {
            Repr::One(LimitState::Word { word, refunded: 0 }) => Ok(word),
            other => Err(LimitsState(other)),
        }
    }

    #[inline]
    pub(crate) fn only(&mut self) -> Option<&mut LimitState> {
        match &mut self.0 {
            Repr::One(state) => Some(state),
            Repr::Many(_) => None,
        }
    }

    pub(crate) fn in_force(&self) -> &[LimitState] {
        match &self.0 {
            Repr::One(state) => slice::from_ref(state),
            Repr::Many(many) => &many.in_force,
        }
    }

    pub(crate) fn in_force_mut(&mut self) -> &mut [LimitState] {
        match &mut self.0 {
            Repr::One(state) => slice::from_mut(state),
            Repr::Many(many) => &mut many.in_force,
        }
    }

    pub(crate) fn replaced(&self) -> Option<&Replaced> {
        match &self.0 {
            Repr::One(_) => None,
            Repr::Many(many) => many.replaced.as_ref(),
        }
    }

    pub(crate) fn replaced_mut(&mut self) -> Option<&mut Replaced> {
        match &mut self.0 {
            Repr::One(_) => None,
            Repr::Many(many) => many.replaced.as_mut(),
        }
    }

    pub(crate) fn forget_replaced(&mut self, now: Nanos) {
        if self.replaced_mut().is_some_and(|replaced| replaced.has_ended(now))
            && let Repr::Many(many) = &mut self.0
        {
            *self = LimitsState::new(core::mem::take(&mut many.in_force), None);
        }
    }
}
