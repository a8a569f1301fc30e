//! Clocks of machines that differ, by libfaketime where it is installed. It does not work with the
//! servers: a store whose clock is set is for the simulation.

use crate::{all_started, end, one_engine, program};
use anyhow::Result;
use nanopace_fleet_trial::Trial;
use nanopace_services::Server;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where libfaketime is; none says so.
fn faketime() -> Option<PathBuf> {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"];
    let library = |folder| Path::new(folder).join("faketime/libfaketimeMT.so.1");
    let found = folders.into_iter().map(library).find(|library| library.is_file());
    if found.is_none() {
        eprintln!("NOT TESTED: libfaketime is not installed (on Debian: apt-get install faketime)");
    }
    found
}

/// The clock that people read is hours off on one machine, and runs twice as fast on another.
#[test]
fn clocks_of_nodes_are_never_compared() -> Result<()> {
    let Some(library) = faketime() else { return Ok(()) };
    one_engine(|engine| {
        let server = Server::start(engine)?;
        let mut trial = Trial::new(program(), &server.url(), "hold 1k/s 1s")?;
        for time in ["+5h", "-3d", "+0 x2"] {
            let mut command = Command::new(program());
            command.arg("node").env("LD_PRELOAD", &library).env("FAKETIME", time);
            command.env("DONT_FAKE_MONOTONIC", "1");
            trial.add_command(&mut command, &server.url(), &["--nodes", "3"])?;
        }
        trial.start()?;
        all_started(&end(trial)?, 0);
        Ok(())
    })
}
