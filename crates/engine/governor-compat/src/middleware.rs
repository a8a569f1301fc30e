//! Defines the results of decisions. The only middleware returns `()` for an admitted cell, and the retry time for a
//! refused one.

use crate::clock::{Clock, DefaultClock, Reference};
use std::fmt;
use std::marker::PhantomData;

/// The middleware with which a decision returns `()`, or a [`NotUntil`](crate::NotUntil) with a time of type `P`.
pub struct NoOpMiddleware<P: Reference = <DefaultClock as Clock>::Instant>(PhantomData<P>);

impl<P: Reference> fmt::Debug for NoOpMiddleware<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NoOpMiddleware")
    }
}
