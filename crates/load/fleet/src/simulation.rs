//! A fleet on virtual time, without threads and connections: for tests, and for figures of fleets that
//! are larger than what can be measured. The nodes are those of real fleets (what they do and when,
//! and the clock that follows the store's), and the store decides as the real one. The network, how
//! long the store takes, and the clocks of machines are assumed: see [`Setup`].
//!
//! Not for users of the crate: it may change with any version. The same setup has the same outcome.

mod beside;
mod event;
#[cfg(test)]
mod laws;
mod machine;
mod network;
mod outcome;
mod pacer;
mod queue;
mod setup;
mod tally;
mod world;

pub use beside::play_beside;
pub use outcome::Outcome;
pub use setup::{Fault, Setup};

/// Simulates a run, until a second after its end.
///
/// # Panics
/// If the shape of the load can't be read, or has no end.
#[must_use]
pub fn simulate(setup: &Setup) -> Outcome {
    world::World::new(setup).run()
}
