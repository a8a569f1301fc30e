//! What the commands of the program share at the console: numbers for people to read, charts
//! of characters, the live line, and where results are written.

pub mod alternate;
pub mod axis;
pub mod chart;
pub mod config;
pub mod human;
pub mod input;
pub mod interrupt;
pub mod json_object;
mod log_file;
pub mod machine;
mod output;
pub mod panics;
mod place;
pub mod position;
mod progress;
pub mod refusal;
mod result_file;
pub(crate) mod secret;

pub use log_file::LogFile;
pub use output::Output;
pub use place::{is_stdout, keep_apart};
pub use progress::Progress;
pub use result_file::ResultFile;
