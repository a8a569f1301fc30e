//! What the commands of the program share at the console: numbers for people to read, and where
//! results are written.

pub mod human;
mod output;

pub use output::{Output, create_file};
