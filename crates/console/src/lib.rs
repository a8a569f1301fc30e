//! What the commands of the program share at the console: numbers for people to read, charts
//! of characters, the live line, and where results are written.

pub mod chart;
pub mod human;
mod output;
mod progress;

pub use output::{Output, create_file};
pub use progress::Progress;
