//! Defines the type parameter for governor's middleware. The only middleware changes no result.

use crate::clock::{Clock, DefaultClock, Reference};
use std::fmt;
use std::marker::PhantomData;

/// The middleware that returns `()` for an admitted cell, and a [`NotUntil`](crate::NotUntil) with a time of type `P`
/// for a refused cell.
pub struct NoOpMiddleware<P: Reference = <DefaultClock as Clock>::Instant>(PhantomData<P>);

impl<P: Reference> fmt::Debug for NoOpMiddleware<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NoOpMiddleware")
    }
}
