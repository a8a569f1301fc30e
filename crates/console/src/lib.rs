//! What the commands of the program share at the console: numbers for people to read, charts
//! of characters, and where results are written.

pub mod chart;
pub mod human;
mod output;

pub use output::{Output, create_file};
