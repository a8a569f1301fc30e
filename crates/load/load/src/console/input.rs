//! Reads input files before a run. The path `-` is standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

pub(super) const STDIN: &str = "/dev/stdin";
const NAMES: [&str; 3] = ["-", "/dev/fd/0", "/proc/self/fd/0"];

#[must_use]
pub(crate) fn is_stdin(path: &Path) -> bool {
    NAMES.into_iter().chain([STDIN]).any(|name| path == Path::new(name))
}

pub(crate) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if path == Path::new(NAMES[0]) {
        return Ok(Box::new(io::stdin()));
    }
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(Box::new(file))
}

pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}
