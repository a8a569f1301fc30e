//! Nodes of a fleet as processes of their own, so that they can be killed and frozen, and the truth
//! about what they have started, which the account of the run is checked against.

pub mod chaos;
mod member;
pub mod node;
mod outcome;
mod start;
mod trial;
mod truth;

pub use member::{Fate, Member};
pub use outcome::Outcome;
pub use start::Start;
pub use trial::Trial;
pub use truth::Truth;
