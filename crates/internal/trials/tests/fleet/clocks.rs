//! Tests nodes with different clocks, which libfaketime simulates. libfaketime does not work with the servers, so only
//! the simulation of fleets tests a store whose clock is set.

use crate::{all_started, end, one_product, program};
use anyhow::Result;
use nanopace_services::Server;
use nanopace_trials::fleet::Trial;
use std::process::Command;

fn faked<'c>(command: &'c mut Command, time: &str) -> &'c mut Command {
    command.env("LD_PRELOAD", "libfaketimeMT.so.1").env("FAKETIME", time);
    command.env("DONT_FAKE_MONOTONIC", "1")
}

fn assert_clocks_are_faked() {
    let year = faked(Command::new("date").arg("+%Y"), "@2001-06-01 00:00:00").output().unwrap();
    assert_eq!(year.stdout, b"2001\n", "libfaketimeMT.so.1 is not in LD_LIBRARY_PATH: {year:?}");
}

#[test]
#[ignore = "needs Redis and Valkey, and libfaketime"]
fn clocks_of_nodes_are_never_compared() -> Result<()> {
    assert_clocks_are_faked();
    one_product(|product| {
        let server = Server::start(product)?;
        let mut trial = Trial::new(program(), &server.url(), "hold 1k/s 1s")?;
        for time in ["+5h", "-3d", "+0 x2"] {
            let mut command = Command::new(program());
            faked(command.arg("node"), time);
            trial.add_command(&mut command, &server.url(), &["--nodes", "3"])?;
        }
        trial.start()?;
        all_started(&end(trial)?, 0);
        Ok(())
    })
}
