//! What a search makes of its steps, and which step it makes next.

pub(crate) mod judge;
pub(crate) mod method;
pub(crate) mod results;
