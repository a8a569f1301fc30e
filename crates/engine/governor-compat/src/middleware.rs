//! The results of decisions. There is one choice: nothing, or when to come back.

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
