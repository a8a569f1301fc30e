//! Whether a file is another one than before, told without reading it.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Two changes within this time may leave the same time in the file. The clocks of file systems
/// tick every few milliseconds, on some every two seconds.
const TICK: Duration = Duration::from_secs(3);

/// What a file system says of a file. Another document has another stamp, except within a tick of
/// the file system's clock.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: SystemTime,
    length: u64,
    place: [i64; 4],
}

impl Stamp {
    /// None if the file system doesn't say.
    pub(super) fn of(path: &Path) -> Option<Stamp> {
        let file = fs::metadata(path).ok()?;
        Some(Stamp { modified: file.modified().ok()?, length: file.len(), place: place(&file) })
    }

    /// Whether any change from now on has another stamp. A file from the future is never settled.
    pub(super) fn is_settled(&self) -> bool {
        SystemTime::now().duration_since(self.modified).is_ok_and(|age| age > TICK)
    }
}

/// Where the file is, and when that or its content changed. Unlike the time of modification, this
/// time can't be set.
#[cfg(unix)]
fn place(file: &Metadata) -> [i64; 4] {
    use std::os::unix::fs::MetadataExt;
    [file.dev().cast_signed(), file.ino().cast_signed(), file.ctime(), file.ctime_nsec()]
}

#[cfg(not(unix))]
fn place(_: &Metadata) -> [i64; 4] {
    [0; 4]
}
