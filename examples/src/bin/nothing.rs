//! A target that does nothing at once: what the library itself takes.

use clap::Args;
use nanopace_load::{Done, Failure, Slot, Target};
use std::convert::Infallible;
use std::process::ExitCode;

/// Calls nothing.
#[derive(Debug, Args)]
struct Options {}

struct Nothing;

impl Target for Nothing {
    type Session = ();

    async fn connect(&self, _index: usize) -> Result<(), Failure> {
        Ok(())
    }

    async fn call(&self, _session: &mut (), _slot: Slot) -> Result<Done, Failure> {
        Ok(Done::new())
    }
}

fn main() -> ExitCode {
    nanopace_load::main(|_: &Options| Ok::<_, Infallible>(Nothing))
}
