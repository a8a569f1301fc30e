//! What the nodes of a fleet have recorded, as they tell it to each other.

pub(crate) mod results;
pub(crate) mod tellings;
pub(crate) mod timeline;
