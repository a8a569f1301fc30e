//! What is asked for: a rate, or one that follows a shape.

use super::course::Tempo;
use super::slots::Slots;
use crate::count::{Count, Fine, whole};
use crate::shape::Shape;
use crate::{Level, Rate};

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) enum Load {
    /// Always the same rate.
    Rate(Rate),
    /// A rate that follows a shape, boxed because pacers are small.
    Shape(Box<Shape>),
}

impl From<Shape> for Load {
    fn from(shape: Shape) -> Load {
        let rate = shape.as_constant().and_then(Level::rate);
        rate.map_or_else(|| Load::Shape(Box::new(shape)), Load::Rate)
    }
}

impl Load {
    pub(crate) fn shape(&self) -> Option<&Shape> {
        match self {
            Load::Rate(_) => None,
            Load::Shape(shape) => Some(shape),
        }
    }

    /// The moment of the end of what began at `origin`; `i64::MAX` is never.
    pub(super) fn end(&self, origin: i64) -> i64 {
        match self {
            Load::Rate(_) => i64::MAX,
            Load::Shape(shape) => origin.saturating_add(shape.duration_ns()),
        }
    }

    pub(super) fn tempo(&self, slots: &Slots, origin: i64, ratio_q32: u64) -> Tempo {
        match self {
            Load::Rate(rate) if slots.is_plain() => Tempo::Scale(rate.scale_at(ratio_q32)),
            Load::Rate(rate) => Tempo::Shape { shape: Shape::constant(*rate), origin, ratio_q32 },
            Load::Shape(shape) => Tempo::Shape { shape: Shape::clone(shape), origin, ratio_q32 },
        }
    }

    /// How many slots there are after so long.
    pub(super) fn count_at_ns(&self, elapsed_ns: i64) -> Count {
        match self {
            Load::Rate(rate) => {
                let elapsed_ns = elapsed_ns.max(0).unsigned_abs();
                whole(Level::from(*rate).fine() * Fine::from(elapsed_ns))
            }
            Load::Shape(shape) => shape.count_at_ns(elapsed_ns),
        }
    }

    /// Whether a slot at the very count by then has not come, because the rate is zero.
    pub(super) fn is_waiting_at_ns(&self, elapsed_ns: i64) -> bool {
        let shape = self.shape();
        shape.is_some_and(|it| it.is_waiting_at_ns(elapsed_ns, it.count_at_ns(elapsed_ns)))
    }
}
