//! Detects whether a file has changed, without reading it.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The time within which two changes may have the same modification time. The clocks of file systems tick every few
/// milliseconds, on some file systems every two seconds.
const TICK: Duration = Duration::from_secs(3);

/// The metadata that identifies a version of a file. A different document has a different fingerprint, except within a
/// tick of the file system's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    modified: SystemTime,
    length: u64,
    place: [i64; 4],
}

impl Fingerprint {
    /// Returns the fingerprint of the file at `path`, or `None` if the file system does not provide it.
    pub(super) fn of(path: &Path) -> Option<Fingerprint> {
        let file = fs::metadata(path).ok()?;
        Some(Fingerprint {
            modified: file.modified().ok()?,
            length: file.len(),
            place: place(&file),
        })
    }

    /// Returns whether this file was written at another path, and then moved to the path of the file `before`.
    pub(super) fn was_moved_over(&self, before: &Fingerprint) -> bool {
        let [device, inode, seconds, nanos] = self.place;
        let changed = SystemTime::UNIX_EPOCH
            + Duration::new(seconds.try_into().unwrap_or(0), nanos.try_into().unwrap_or(0));
        [device, inode] != before.place[..2] && self.modified < changed
    }

    /// Returns whether every later change will have a different fingerprint. A file whose modification time is in the
    /// future is never settled.
    pub(super) fn is_settled(&self) -> bool {
        SystemTime::now().duration_since(self.modified).is_ok_and(|age| age > TICK)
    }
}

/// Returns the device and inode of the file, and the seconds and nanoseconds of its last status change (`ctime`).
/// Unlike the modification time, that time cannot be set.
#[cfg(unix)]
fn place(file: &Metadata) -> [i64; 4] {
    use std::os::unix::fs::MetadataExt;
    [file.dev().cast_signed(), file.ino().cast_signed(), file.ctime(), file.ctime_nsec()]
}

#[cfg(not(unix))]
fn place(_: &Metadata) -> [i64; 4] {
    [0; 4]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn a_stamp_is_trusted_when_the_clock_has_moved_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("limits");
        let file = File::create(&path).unwrap();
        let is_settled = |time: SystemTime| {
            file.set_modified(time).unwrap();
            Fingerprint::of(&path).unwrap().is_settled()
        };
        let now = SystemTime::now();
        assert!(!is_settled(now));
        assert!(!is_settled(now + Duration::from_secs(60)));
        assert!(is_settled(now - Duration::from_secs(60)));
    }

    #[test]
    fn another_file_in_its_place_has_another_stamp() {
        let directory = tempfile::tempdir().unwrap();
        let paths = ["one", "other"].map(|name| directory.path().join(name));
        let time = SystemTime::now();
        for path in &paths {
            File::create(path).unwrap().set_modified(time).unwrap();
        }
        let before = Fingerprint::of(&paths[0]);
        assert_eq!(Fingerprint::of(&paths[0]), before);
        fs::rename(&paths[1], &paths[0]).unwrap();
        assert_eq!(Fingerprint::of(&paths[0]) != before, cfg!(unix));
    }
}
