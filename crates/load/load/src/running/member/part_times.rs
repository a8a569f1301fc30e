//! Sums up the times of the parts of responses during the run. Each report to the fleet contains the sum.

use crate::load::own_times::{self, OwnTimes};
use std::cell::RefCell;
use std::fmt::{self, Debug, Formatter};

pub(crate) struct PartTimes {
    take: Box<dyn Fn() -> Vec<OwnTimes>>,
    sum: RefCell<Vec<OwnTimes>>,
}

impl PartTimes {
    pub(crate) fn new(take: impl Fn() -> Vec<OwnTimes> + 'static) -> PartTimes {
        PartTimes { take: Box::new(take), sum: RefCell::default() }
    }

    pub(crate) fn all(&self) -> Vec<OwnTimes> {
        let mut sum = self.sum.borrow_mut();
        own_times::add(&mut sum, (self.take)());
        sum.clone()
    }
}

impl Debug for PartTimes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartTimes").field("sum", &self.sum).finish_non_exhaustive()
    }
}
