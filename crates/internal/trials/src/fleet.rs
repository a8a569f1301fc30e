//! Runs the nodes of a fleet as processes, so that they can be killed and frozen, and checks the run's account
//! against the starts that they recorded.

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
