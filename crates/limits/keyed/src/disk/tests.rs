//! Tests the store on disks that fail, and its content after a power cut.

use super::{DiskConfig, LockedFile, begin};
use crate::{Change, ConfigError, ConfigSnapshot, ConfigStore, Scope};
use redb::StorageBackend;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

const PAGE: usize = 4096;

#[derive(Debug, Default)]
struct Disk(Mutex<State>);

#[derive(Clone, Debug, Default)]
struct State {
    seen: Vec<u8>,
    /// The content that is left after a power cut, in the worst case.
    kept: Vec<u8>,
    /// The pages that the next flush writes. A flush that fails drops them, as Linux does.
    unwritten: BTreeSet<usize>,
    /// The number of operations that still succeed before the next `bad` operations fail.
    good: usize,
    bad: usize,
}

impl Disk {
    fn of(bytes: Vec<u8>) -> Arc<Disk> {
        let (seen, kept) = (bytes.clone(), bytes);
        Arc::new(Disk(Mutex::new(State { seen, kept, good: usize::MAX, ..State::default() })))
    }

    fn new() -> Arc<Disk> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("limits");
        begin(&path).unwrap();
        Disk::of(fs::read(path).unwrap())
    }

    fn fail(&self, after: usize, times: usize) {
        let mut state = self.0.lock().unwrap();
        (state.good, state.bad) = (after, times);
    }

    fn repair(&self) {
        self.fail(usize::MAX, 0);
    }

    fn opened(self: &Arc<Disk>) -> DiskConfig {
        let file: Arc<dyn StorageBackend> = self.clone();
        DiskConfig::on(PathBuf::from("limits"), LockedFile::of(file)).unwrap()
    }

    fn left(&self) -> [ConfigSnapshot; 2] {
        let state = self.0.lock().unwrap().clone();
        [state.kept, state.seen].map(|bytes| Disk::of(bytes).opened().snapshot())
    }
}

impl State {
    fn try_once(&mut self) -> io::Result<()> {
        if self.good == 0 && self.bad > 0 {
            self.bad -= 1;
            return Err(ErrorKind::StorageFull.into());
        }
        self.good = self.good.saturating_sub(1);
        Ok(())
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().seen.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap();
        out.copy_from_slice(&self.0.lock().unwrap().seen[start..start + out.len()]);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.try_once()?;
        state.seen.resize(usize::try_from(length).unwrap(), 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        let unwritten = std::mem::take(&mut state.unwritten);
        state.try_once()?;
        let State { seen, kept, .. } = &mut *state;
        kept.resize(seen.len(), 0);
        for page in unwritten {
            let bytes = page * PAGE..((page + 1) * PAGE).min(seen.len());
            kept[bytes.clone()].copy_from_slice(&seen[bytes]);
        }
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.try_once()?;
        let start = usize::try_from(offset).unwrap();
        state.seen[start..start + bytes.len()].copy_from_slice(bytes);
        state.unwritten.extend(start / PAGE..(start + bytes.len()).div_ceil(PAGE));
        Ok(())
    }
}

fn set<'a>(scope: Scope<'a>, text: &str) -> Change<'a> {
    Change::set(scope, text.parse().unwrap())
}

fn is_full(result: Result<usize, ConfigError>) -> bool {
    matches!(result, Err(ConfigError::Io { source, .. }) if source.kind() == ErrorKind::StorageFull)
}

/// Makes a change during which `operation` disk accesses succeed, and the next `times` accesses fail. Returns false if
/// the change needs no more than `operation` accesses.
fn fails_and_recovers(operation: usize, times: usize) -> bool {
    let disk = Disk::new();
    let config = disk.opened();
    config.apply(&[set(Scope::Key("alice"), "1/s"), set(Scope::Prefix(""), "2/s")]).unwrap();
    let before = config.snapshot();

    disk.fail(operation, times);
    let changes = [
        set(Scope::Key("alice"), "3/s"),
        set(Scope::Key("bob"), "4/s"),
        Change::unset(Scope::Prefix("")),
    ];
    let result = config.apply(&changes);
    if result.is_ok() {
        return false;
    }
    assert!(is_full(result), "operation {operation}: another error");
    assert_eq!(config.snapshot(), before);
    let mut all = crate::MemoryConfig::from(before.clone());
    all.make(&changes);
    for left in disk.left() {
        assert!([&before, &all.snapshot()].contains(&&left), "operation {operation}: {left:?}");
    }

    if times > 100 {
        let result = config.apply(&[set(Scope::Key("carol"), "6/s")]);
        assert!(is_full(result), "operation {operation}, again");
    }
    disk.repair();
    config.apply(&[set(Scope::Key("carol"), "5/s")]).unwrap();
    all = crate::MemoryConfig::from(before);
    all.make(&[set(Scope::Key("carol"), "5/s")]);
    assert_eq!(config.snapshot(), all.snapshot());
    for left in disk.left() {
        assert_eq!(left, all.snapshot(), "operation {operation}");
    }
    true
}

#[test]
fn a_store_recovers_from_a_full_disk_wherever_it_fails() {
    for times in [1, 2, 3, usize::MAX] {
        let operations = (0..100).position(|operation| !fails_and_recovers(operation, times));
        let operations = operations.expect("an end");
        assert!(operations > 3, "{operations} operations could fail");
    }
}

#[test]
fn a_recovery_that_fails_is_tried_again() {
    for operation in 0..20 {
        let disk = Disk::new();
        let config = disk.opened();
        config.set(Scope::Key("alice"), "1/s".parse().unwrap()).unwrap();
        disk.fail(2, 1);
        assert!(config.set(Scope::Key("alice"), "2/s".parse().unwrap()).is_err());
        disk.fail(operation, 1);
        let _ = config.unset(Scope::Key("nobody"));
        disk.repair();
        config.set(Scope::Key("bob"), "3/s".parse().unwrap()).unwrap();
        let texts = ["alice", "bob"].map(|key| config.limits_of(key).unwrap().to_string());
        assert_eq!(texts, ["1/s", "3/s"]);
        assert!(disk.left().iter().all(|left| *left == config.snapshot()), "operation {operation}");
    }
}

/// The failed change splits a page. After the change is undone, half of the old entries are in a page that was never
/// flushed.
#[test]
fn pages_of_a_failed_flush_outlive_a_power_cut() {
    let long = "x".repeat(1_000);
    let keys: Vec<String> = (0..400).map(|number| format!("key {number:03}")).collect();
    let before: Vec<Change<'_>> = keys.iter().map(|key| set(Scope::Key(key), "1/s")).collect();
    let cases = [100, 250].into_iter().flat_map(|place| (0..12).map(move |n| (place, n)));
    for (place, operation) in cases {
        let disk = Disk::new();
        let config = disk.opened();
        config.apply(&before).unwrap();
        disk.fail(operation, 1);
        let new = format!("{}{long}", keys[place]);
        let _ = config.set(Scope::Key(&new), "2/s".parse().unwrap());
        disk.repair();
        config.set(Scope::Prefix(""), "3/s".parse().unwrap()).unwrap();
        assert!(disk.left().iter().all(|left| *left == config.snapshot()), "{place}, {operation}");
    }
}
