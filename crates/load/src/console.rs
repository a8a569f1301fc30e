//! What the commands of the program share at the console: numbers for people to read, charts
//! of characters, the live line, and where results are written.

pub mod chart;
pub mod human;
mod log_file;
mod output;
mod place;
mod progress;
mod result_file;

pub use log_file::LogFile;
pub use output::Output;
pub use place::{is_stdout, keep_apart};
pub use progress::Progress;
pub use result_file::ResultFile;
