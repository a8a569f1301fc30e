//! A configuration store in a text file, which many processes can read and change.

mod document;
mod fingerprint;

use crate::config::check_strings;
use crate::sync::{Mutex, lock};
use crate::{Change, ConfigError, ConfigSnapshot, ConfigStore, Limits, MemoryConfig};
use document::{lock_document, with_path};
use fingerprint::Fingerprint;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// The time without changes after which a file is considered complete.
const STILL: Duration = Duration::from_millis(100);

/// A configuration in a TOML document that any number of processes follow. People can edit the document. Programs can
/// change it through this store, in any of those processes, or with [`ConfigSnapshot::save`].
///
/// ```toml
/// [prefixes]
/// "" = "10/s"
/// "user:" = "100/s burst 20"
///
/// [keys]
/// "user:alice" = "5/s, 1000/h in 60"
/// ```
///
/// The whole configuration is in memory as well, and is read from there. A thread checks the file after every interval.
/// If the file may have changed, judged by its length, times and inode, the thread reads it, and applies the new
/// document in one step ([`ConfigStore::apply`] describes how decisions see the changes). Keys with unchanged limits
/// are not affected.
///
/// # Guarantees
///
/// * **Delay**: in each process that follows the file, a change is in force after at most two intervals plus the time
///   to read the file, if the file does not change again before that. So make changes less often than every two
///   intervals. With an interval below 0.1 s, the change takes up to 0.1 s longer. The process that makes the change
///   uses it at once.
/// * **Whole documents**: [`save`](ConfigSnapshot::save) and the changes of this store replace the file in one step. An
///   editor may write into the file itself, so the thread reads a document only when two checks at least 0.1 s apart
///   have found the same file, or, on Unix, when the file was moved to the path of the document. If an editor pauses
///   between two writes for longer than these 0.1 s, an incomplete document can take effect.
/// * **Damage**: if the file is missing or not a valid document, the last good document stays in force, and
///   [`trouble`](FileConfig::trouble) returns the reason.
/// * **Nothing lost**: changes through this store are made one after the other, even if different processes make them.
///   These changes do not wait for an editor: a document that a person saves during a change may be overwritten. A
///   change by a program removes all comments from the document.
///
/// Each change writes the whole document. If many keys change often, let one process use `DiskConfig` and
/// [save](ConfigSnapshot::save) a document for the others from time to time.
///
/// ```
/// use nanopace_keyed::{ConfigSnapshot, ConfigStore, FileConfig, Scope};
/// use std::time::Duration;
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("limits.toml");
///
/// ConfigSnapshot::default().save(&path)?;
/// let here = FileConfig::follow(&path, Duration::from_secs(1))?;
/// let there = FileConfig::follow(&path, Duration::from_secs(1))?; // usually in another process
///
/// here.set(Scope::Prefix(""), "10/s".parse()?)?;
/// there.refresh()?; // reads the file now
/// assert_eq!(there.limits_of("alice").unwrap().to_string(), "10/s");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileConfig {
    followed: Arc<Followed>,
    /// The thread ends when this sender is dropped.
    _stop: Sender<()>,
}

#[derive(Debug)]
struct Followed {
    path: PathBuf,
    config: MemoryConfig,
    /// The result of the last check. It is locked from a check of the file until the content of the file is in force.
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// The fingerprint of the file when it was read last. `None` if the next check must read the file, for example
    /// because the file could change without changing its fingerprint.
    fingerprint: Option<Fingerprint>,
    /// The fingerprint of the file at the last check, and the time of the first check that found this fingerprint.
    found: Option<(Fingerprint, Instant)>,
    trouble: Option<Arc<ConfigError>>,
}

impl FileConfig {
    /// Reads the document at `path`, and starts a thread that checks the document every `interval` until the returned
    /// value is dropped.
    ///
    /// # Errors
    /// Returns [`ConfigError::Io`] if the file does not exist or cannot be read, or if no thread can be started.
    /// Returns [`ConfigError::Document`] if the file is not a valid document.
    pub fn follow(path: impl AsRef<Path>, interval: Duration) -> Result<FileConfig, ConfigError> {
        let path = path.as_ref();
        let path = std::path::absolute(path).map_err(with_path(path))?;
        let config = MemoryConfig::from(ConfigSnapshot::load(&path)?);
        let followed = Arc::new(Followed { path, config, seen: Mutex::default() });
        let (stop, stopped) = mpsc::channel();
        let shared = Arc::clone(&followed);
        thread::Builder::new()
            .name("nanopace-limits".to_owned())
            .spawn(move || shared.go_on(&stopped, interval))
            .map_err(with_path(&followed.path))?;
        Ok(FileConfig { followed, _stop: stop })
    }

    /// Checks the file now, and reads it if it may have changed, without waiting until it has stopped changing. Then
    /// returns the [`trouble`](FileConfig::trouble) as an error, if there is any.
    ///
    /// # Errors
    /// Returns the errors of reading the file, as [`follow`](FileConfig::follow) does. After an error, the last good
    /// document stays in force.
    pub fn refresh(&self) -> Result<(), Arc<ConfigError>> {
        self.followed.refresh();
        self.trouble().map_or(Ok(()), Err)
    }

    /// Returns the error of the last check that read the file, or `None` if that check succeeded or a change by this
    /// store has replaced the document since.
    #[must_use]
    pub fn trouble(&self) -> Option<Arc<ConfigError>> {
        lock(&self.followed.seen).trouble.clone()
    }
}

impl ConfigStore for FileConfig {
    fn limits_of(&self, key: &str) -> Option<Arc<Limits>> {
        self.followed.config.limits_of(key)
    }

    fn version_of(&self, key: &str) -> u64 {
        self.followed.config.version_of(key)
    }

    fn snapshot(&self) -> ConfigSnapshot {
        self.followed.config.snapshot()
    }

    fn apply(&self, changes: &[Change<'_>]) -> Result<usize, ConfigError> {
        self.followed.apply(changes)
    }
}

impl Followed {
    fn go_on(&self, stopped: &Receiver<()>, interval: Duration) {
        while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
            self.look();
        }
    }

    fn refresh(&self) {
        let mut seen = lock(&self.seen);
        self.read(&mut seen, Fingerprint::of(&self.path));
    }

    fn look(&self) {
        let mut seen = lock(&self.seen);
        let fingerprint = Fingerprint::of(&self.path);
        if fingerprint
            .as_ref()
            .is_none_or(|fingerprint| seen.is_stable(fingerprint, Instant::now()))
        {
            self.read(&mut seen, fingerprint);
        }
    }

    /// Reads the document if it may have changed. `fingerprint` was taken before this call, so that the next check
    /// finds a change that is made during the read.
    fn read(&self, seen: &mut Seen, fingerprint: Option<Fingerprint>) {
        if fingerprint.is_some() && fingerprint == seen.fingerprint {
            return;
        }
        seen.trouble = match ConfigSnapshot::load(&self.path) {
            Ok(document) => {
                self.config.become_like(&document);
                None
            }
            Err(error) => Some(Arc::new(error)),
        };
        seen.fingerprint = fingerprint.filter(Fingerprint::is_settled);
    }

    fn apply(&self, changes: &[Change<'_>]) -> Result<usize, ConfigError> {
        check_strings(changes)?;
        let mut seen = lock(&self.seen);
        let _held = lock_document(&self.path).map_err(with_path(&self.path))?;
        let document = MemoryConfig::from(ConfigSnapshot::load(&self.path)?);
        let found = document.make(changes);
        document.snapshot().save(&self.path)?;
        self.config.become_like(&document.snapshot());
        *seen = Seen::default();
        Ok(found)
    }
}

impl Seen {
    /// Returns whether the file has not changed for [`STILL`], or was moved to its path.
    fn is_stable(&mut self, fingerprint: &Fingerprint, now: Instant) -> bool {
        match &self.found {
            Some((found, since)) if found == fingerprint => now.duration_since(*since) >= STILL,
            found => {
                let was_moved =
                    found.as_ref().is_some_and(|(found, _)| fingerprint.was_moved_over(found));
                self.found = Some((fingerprint.clone(), now));
                was_moved
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;
    use std::fs;
    use std::time::SystemTime;

    #[test]
    fn a_document_counts_when_it_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("limits.toml");
        let (mut seen, start) = (Seen::default(), Instant::now());
        let mut is_stable = |after| seen.is_stable(&Fingerprint::of(&path).unwrap(), start + after);
        for (after, text) in [(0, ""), (1, "[keys]"), (2, "[keys]\nbob = '5/s'")] {
            fs::write(&path, text).unwrap();
            assert!(!is_stable(after * STILL), "{text} was only just found");
            assert!(!is_stable(after * STILL + STILL / 2));
        }
        assert!(is_stable(3 * STILL));

        let aside = directory.path().join("aside");
        fs::write(&aside, "").unwrap();
        fs::rename(&aside, &path).unwrap();
        let file = fs::File::open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap(); // before it was moved
        assert_eq!(is_stable(3 * STILL), cfg!(unix));
    }

    fn followed() -> (tempfile::TempDir, PathBuf, FileConfig) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("limits.toml");
        ConfigSnapshot::default().save(&path).unwrap();
        let config = FileConfig::follow(&path, Duration::from_secs(86_400)).unwrap();
        (directory, path, config)
    }

    /// The test detects whether the file was read: reading it removes entries that are only in memory.
    #[test]
    fn a_document_is_read_again_only_if_it_may_be_another() {
        let (_directory, path, config) = followed();
        let file = fs::File::options().write(true).open(&path).unwrap();
        for (age, is_read_again) in [(60, false), (0, true)] {
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
            config.refresh().unwrap();
            config.followed.config.set(Scope::Key("bob"), "5/s".parse().unwrap()).unwrap();
            config.refresh().unwrap();
            assert_eq!(config.limits_of("bob").is_none(), is_read_again, "{age} s old");
        }
    }

    #[test]
    fn a_change_leaves_nothing_of_what_was_seen_before() {
        let (_directory, path, config) = followed();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        config.refresh().unwrap();
        let fingerprint = || lock(&config.followed.seen).fingerprint.clone();
        assert_eq!(fingerprint(), Fingerprint::of(&path));
        config.set(Scope::Key("bob"), "5/s".parse().unwrap()).unwrap();
        assert_eq!(fingerprint(), None, "an old file that comes back would not be read");

        let good = fs::read(&path).unwrap();
        fs::write(&path, "[keys]\nbob = 'much'").unwrap();
        config.refresh().unwrap_err();
        fs::write(&path, good).unwrap();
        config.set(Scope::Key("bob"), "6/s".parse().unwrap()).unwrap();
        assert!(config.trouble().is_none());
    }

    #[test]
    fn the_thread_ends_with_the_store() {
        let (_directory, _, config) = followed();
        let shared = Arc::downgrade(&config.followed);
        drop(config);
        while shared.strong_count() > 0 {
            thread::yield_now();
        }
    }
}
