//! A target whose calls do nothing, to measure the overhead of the library.

use clap::Args;
use nanopace_load::{Done, Failure, Slot, Target};
use std::convert::Infallible;
use std::process::ExitCode;

/// Makes calls that do nothing.
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
