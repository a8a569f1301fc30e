//! `nanopace`: a load generator that starts every request on schedule and says how late it was.

use std::process::ExitCode;

fn main() -> ExitCode {
    nanopace_cli::main()
}
