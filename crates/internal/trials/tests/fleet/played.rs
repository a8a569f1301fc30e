//! Checks that the store of a simulated fleet makes the same decisions as a real one.

use nanopace_fleet::simulation::play_beside;
use nanopace_services::{Product, Server};

#[test]
#[ignore = "needs Redis and Valkey"]
fn played_scripts_decide_as_those_of_a_server() {
    for product in Product::ALL {
        play_beside(&Server::start(product).unwrap().url());
    }
}
