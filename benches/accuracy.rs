//! How far from the intended start do we begin, how even are the starts, and what does that cost?
//!
//! ```text
//! cargo bench -p nanopace-benches --bench accuracy -- [--quick] [--rate RATE] [--threads N] [--way WAY] [--load no|yes] [--seconds N]
//! ```
//!
//! Everything by default, about ten minutes. Each option but the last may come several times and
//! keeps the cells that match. Ways are `bare` (an absolute sleep with 1 ns timer slack to each
//! start), `sleep`, `hybrid`, `yield` and `spin`; with the feature `rivals` also `governor`,
//! `ratelimit`, `leaky-bucket` and `tokio`, in one thread. Under load every core has another thread
//! that wants it.
//!
//! Lateness is measured by whoever starts. Counts are asserted, times are not.

#[path = "accuracy/cell.rs"]
mod cell;
#[path = "accuracy/choice.rs"]
mod choice;
#[cfg(feature = "rivals")]
#[path = "accuracy/rivals.rs"]
mod rivals;
#[path = "accuracy/row.rs"]
mod row;
#[path = "accuracy/ways.rs"]
mod ways;

use choice::Choice;
use nanopace_benches::machine::Machine;
use std::process::ExitCode;
use std::{env, io, io::Write};

fn main() -> ExitCode {
    let choice = match Choice::parse(env::args().skip(1)) {
        Ok(choice) => choice,
        Err(problem) => {
            eprintln!("accuracy: {problem}");
            return ExitCode::from(2);
        }
    };
    println!("{}\n\n{}", Machine::here(), row::HEAD);
    for cell in choice.cells() {
        let seen = cell.measure(choice.span);
        print!("{}", row::Row { cell: &cell, seen: &seen });
        // Whoever watches wants each row when it is there.
        let _ = io::stdout().flush();
    }
    ExitCode::SUCCESS
}
