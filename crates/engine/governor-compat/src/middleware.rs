//! The results of decisions. The only middleware returns nothing for an admitted cell, and the retry moment for a
//! refused one.

use crate::clock::{Clock, DefaultClock, Reference};
use std::fmt;
use std::marker::PhantomData;

/// A decision returns `()`, or a [`NotUntil`](crate::NotUntil) with a moment of type `P`.
pub struct NoOpMiddleware<P: Reference = <DefaultClock as Clock>::Instant>(PhantomData<P>);

impl<P: Reference> fmt::Debug for NoOpMiddleware<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NoOpMiddleware")
    }
}
