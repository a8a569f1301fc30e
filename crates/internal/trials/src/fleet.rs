//! Runs the nodes of a fleet as processes, and compares the account of the run with the starts that the nodes recorded.

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
