//! `nanopace`: a load generator that starts every request on schedule and reports how late each one was.

use std::process::ExitCode;

fn main() -> ExitCode {
    nanopace_cli::main()
}
