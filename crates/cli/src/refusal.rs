//! What clap refuses, in the words of this program.

use clap::Error;

/// What clap says, without its usage and advice, in one line.
pub(crate) fn one_line(error: &Error) -> String {
    let text = error.to_string();
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let told: Vec<_> = lines
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .collect();
    told.join("; ").replace(":; ", ": ").trim_start_matches("error: ").to_owned()
}
