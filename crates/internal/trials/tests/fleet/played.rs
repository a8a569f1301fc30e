//! Checks that the store of a simulated fleet makes the same decisions as a real one.

use nanopace_fleet::simulation::play_beside;
use nanopace_services::{Engine, Server};

#[test]
#[ignore = "needs Redis and Valkey"]
fn played_scripts_decide_as_those_of_a_server() {
    for engine in Engine::ALL {
        play_beside(&Server::start(engine).unwrap().url());
    }
}
