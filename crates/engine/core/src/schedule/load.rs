//! Defines the requested load: a constant rate, or a shape.

use super::segment::Speed;
use super::slots::Slots;
use crate::count::{Count, Fine, whole};
use crate::shape::Shape;
use crate::{Level, Rate};

#[derive(Clone, Debug)]
pub(crate) enum Load {
    Rate(Rate),
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

    pub(super) fn end(&self, origin: i64) -> i64 {
        match self {
            Load::Rate(_) => i64::MAX,
            Load::Shape(shape) => origin.saturating_add(shape.duration_ns()),
        }
    }

    /// `ratio_q32` multiplies the load's rate, in units of 2^-32.
    pub(super) fn speed(&self, slots: &Slots, origin: i64, ratio_q32: u64) -> Speed {
        match self {
            Load::Rate(rate) if slots.is_plain() => Speed::Scale(rate.scale_at(ratio_q32)),
            Load::Rate(rate) => Speed::Shape { shape: Shape::constant(*rate), origin, ratio_q32 },
            Load::Shape(shape) => Speed::Shape { shape: Shape::clone(shape), origin, ratio_q32 },
        }
    }

    pub(super) fn count_at_ns(&self, elapsed_ns: i64) -> Count {
        match self {
            Load::Rate(rate) => {
                let elapsed_ns = elapsed_ns.max(0).unsigned_abs();
                whole(Level::from(*rate).fine() * Fine::from(elapsed_ns))
            }
            Load::Shape(shape) => shape.count_at_ns(elapsed_ns),
        }
    }

    /// Returns whether the slot exactly at the count at `elapsed_ns` waits for a rate above zero, or does not exist.
    pub(super) fn is_waiting_at_ns(&self, elapsed_ns: i64) -> bool {
        let shape = self.shape();
        shape.is_some_and(|it| it.is_waiting_at_ns(elapsed_ns, it.count_at_ns(elapsed_ns)))
    }
}
