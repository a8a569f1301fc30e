//! Writes a log: a file that grows during the job. Its contents are kept even if the job ends unexpectedly.

use super::place::{self, is_stdout};
use super::result_file::clear;
use anyhow::Context;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;

#[derive(Debug)]
pub(crate) struct LogFile(Place);

#[derive(Debug)]
enum Place {
    Stdout,
    /// A pipe or a device. It can be written, but it has no old contents that could be removed.
    Stream(File),
    File(File),
}

impl LogFile {
    /// Opens the file at `path`, the value of `option`. The path `-` is standard output. The old contents stay until [`begin`](LogFile::begin)
    /// is called.
    pub(crate) fn create(option: &str, path: &Path) -> anyhow::Result<LogFile> {
        if is_stdout(path) {
            return Ok(LogFile(Place::Stdout));
        }
        let named = || format!("cannot write {option} {}", path.display());
        let (file, is_stream) = place::open(path).with_context(named)?;
        Ok(LogFile(if is_stream { Place::Stream(file) } else { Place::File(file) }))
    }

    pub(crate) fn begin(&self) -> io::Result<()> {
        if let Place::File(file) = &self.0 { clear(file) } else { Ok(()) }
    }

    /// Appends lines. If writing to a file fails, the part that has been written is removed, because an incomplete line
    /// would corrupt the log.
    pub(crate) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let Place::File(file) = &mut self.0 else {
            return self.write_all(lines).and_then(|()| self.flush());
        };
        let end = file.stream_position()?;
        // If truncating the file fails too, the part that has been written stays.
        file.write_all(lines).inspect_err(|_| drop(file.set_len(end)))
    }
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Place::Stdout => io::stdout().write(bytes),
            Place::Stream(file) | Place::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Place::Stdout => io::stdout().flush(),
            Place::Stream(file) | Place::File(file) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    #[test]
    fn what_was_there_stays_until_the_log_begins() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "a long text from before").unwrap();
        let mut log = LogFile::create("--csv", &path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a long text from before");
        log.begin().unwrap();
        log.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }
}
