//! Detects whether a file has changed, without reading it.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A time that is longer than the resolution of modification times, which is two seconds on some file systems.
const TICK: Duration = Duration::from_secs(3);

/// Metadata that differs for each version of a file, except for versions within one tick of the file system's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    modified: SystemTime,
    length: u64,
    identity: [i64; 4],
}

impl Fingerprint {
    pub(super) fn of(path: &Path) -> Option<Fingerprint> {
        let file = fs::metadata(path).ok()?;
        Some(Fingerprint {
            modified: file.modified().ok()?,
            length: file.len(),
            identity: identity(&file),
        })
    }

    /// Returns whether another file, which was already complete, has been moved to this path since `before`.
    pub(super) fn was_moved_over(&self, before: &Fingerprint) -> bool {
        let [device, inode, seconds, nanos] = self.identity;
        let changed = SystemTime::UNIX_EPOCH
            + Duration::new(seconds.try_into().unwrap_or(0), nanos.try_into().unwrap_or(0));
        [device, inode] != before.identity[..2] && self.modified < changed
    }

    /// Returns whether every later change of the file will change its fingerprint.
    pub(super) fn is_settled(&self) -> bool {
        SystemTime::now().duration_since(self.modified).is_ok_and(|age| age > TICK)
    }
}

/// Returns the device, the inode, and the time of the last status change (`ctime`), which cannot be set.
#[cfg(unix)]
fn identity(file: &Metadata) -> [i64; 4] {
    use std::os::unix::fs::MetadataExt;
    [file.dev().cast_signed(), file.ino().cast_signed(), file.ctime(), file.ctime_nsec()]
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> [i64; 4] {
    [0; 4]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn a_fingerprint_is_trusted_when_the_clock_has_moved_on() {
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
    fn another_file_in_its_place_has_another_fingerprint() {
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
