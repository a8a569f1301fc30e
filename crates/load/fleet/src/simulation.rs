//! Simulates a fleet in virtual time, without threads and connections. It is used by tests, and to measure fleets with
//! more nodes than there are machines. The nodes' decisions and clocks are the code of real fleets, and the store runs
//! the real scripts. The network, the time that the store takes, and the clocks of machines are models: see [`Setup`].
//!
//! Simulations of the same setup always have the same outcome.

mod event;
mod figures;
mod laws;
mod machine;
mod network;
mod outcome;
mod pacer;
mod setup;
mod simulated_store;
mod tally;
mod world;

use outcome::Outcome;
use setup::{Fault, Setup};

/// Simulates a run, from its start to at least one second after its end.
fn simulate(setup: &Setup) -> Outcome {
    world::World::new(setup).run()
}
