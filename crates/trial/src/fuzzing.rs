//! What the command reads, for the targets in `fuzz/`.

use crate::request;

/// Reads a line of requests.
///
/// # Errors
///
/// What the program would say about the line.
pub fn request_line(line: &[u8]) -> Result<(), String> {
    request::parse(line).map(drop).map_err(|error| format!("{error:#}"))
}
