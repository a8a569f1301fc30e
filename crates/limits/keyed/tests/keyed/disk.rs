//! Tests the configuration on disk: killed processes, damage, and several processes and threads.

use crate::moments::{AtMoment, keyed};
use nanopace_keyed::{ConfigError, ConfigStore, DiskConfig, Limit, Limits, Scope};
use proptest::prelude::*;
use redb::{Database, DatabaseError, TableDefinition};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use std::{env, fs, thread};
use tempfile::TempDir;

const CHILD: &str = "NANOPACE_LIMITS_TEST_CHILD";

fn directory() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn set(config: &DiskConfig, scope: Scope<'_>, text: &str) {
    config.set(scope, text.parse().unwrap()).unwrap();
}

fn text_of(config: &DiskConfig, key: &str) -> Option<String> {
    config.limits_of(key).map(|limits| limits.to_string())
}

fn set_numbered(config: &DiskConfig, number: usize) {
    set(config, Scope::Key(&number.to_string()), &format!("{}/s", number + 1));
}

fn all_numbered(config: &DiskConfig, count: usize) -> bool {
    (0..count)
        .all(|number| text_of(config, &number.to_string()) == Some(format!("{}/s", number + 1)))
}

fn child(test: &str, path: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// Without this check, the file could not be opened again.
#[test]
fn limits_without_a_valid_string_are_not_stored() {
    let directory = directory();
    let path = directory.path().join("limits");
    let config = DiskConfig::open(&path).unwrap();
    set_numbered(&config, 0);
    let many = Limits::new(["1/s".parse::<Limit>().unwrap(); 65]);
    let error = config.set(Scope::Key("many"), many).unwrap_err();
    assert!(error.to_string().contains("65 limits"), "{error}");
    drop(config);
    let config = DiskConfig::open(&path).unwrap();
    assert!(all_numbered(&config, 1) && text_of(&config, "many").is_none());
}

#[test]
fn all_is_there_when_it_is_opened_again() {
    let directory = directory();
    let path = directory.path().join("limits");
    let config = DiskConfig::open(&path).unwrap();
    set(&config, Scope::Prefix(""), "1/s");
    set(&config, Scope::Key(""), "2/s");
    set(&config, Scope::Prefix("a"), "3/s burst 4");
    set(&config, Scope::Key("a"), "5/s, 1000/h in 60");
    set(&config, Scope::Key("gone"), "6/s");
    assert!(config.unset(Scope::Key("gone")).unwrap());
    assert!(!config.unset(Scope::Prefix("gone")).unwrap());
    let texts =
        |config: &DiskConfig| ["", "a", "ab", "gone"].map(|key| text_of(config, key).unwrap());
    let expected = ["2/s", "5/s, 1000/h in 60", "3/s burst 4", "1/s"];
    assert_eq!(texts(&config), expected);
    drop(config);
    assert_eq!(texts(&DiskConfig::open(&path).unwrap()), expected);
}

#[test]
fn acknowledged_changes_outlive_a_kill_during_a_write() {
    if let Some(path) = env::var_os(CHILD) {
        let config = DiskConfig::open(path).unwrap();
        for number in 0.. {
            set_numbered(&config, number);
            println!("\nwritten {number}");
        }
    }
    for acknowledged in [1, 2, 7, 30] {
        let directory = directory();
        let path = directory.path().join("limits");
        let mut child = child("disk::acknowledged_changes_outlive_a_kill_during_a_write", &path)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let last = lines.filter(|line| line.starts_with("written")).nth(acknowledged - 1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(last, Some(format!("written {}", acknowledged - 1)));
        assert!(all_numbered(&DiskConfig::open(&path).unwrap(), acknowledged));
    }
}

/// Returns the bytes of a store of 40 keys at two times: right after the last change, as if the process had died, and
/// after the store was closed.
fn bytes_of_a_store(path: &Path) -> [Vec<u8>; 2] {
    let config = DiskConfig::open(path).unwrap();
    (0..40).for_each(|number| set_numbered(&config, number));
    let open = fs::read(path).unwrap();
    drop(config);
    [open, fs::read(path).unwrap()]
}

/// Returns whether all limits are present. If not, the file must be reported as damaged and stay unchanged.
fn is_right_or_damaged(path: &Path, bytes: &[u8], what: &str) -> bool {
    fs::write(path, bytes).unwrap();
    let (done, is_done) = mpsc::channel();
    let opened = thread::spawn({
        let path = path.to_owned();
        move || {
            let opened = DiskConfig::open(path);
            let _ = done.send(());
            opened
        }
    });
    is_done
        .recv_timeout(Duration::from_secs(120))
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    match opened.join().unwrap() {
        Ok(config) => assert!(all_numbered(&config, 40), "{what}: limits are missing"),
        Err(ConfigError::Damaged { path: damaged, .. }) => {
            assert_eq!(damaged, path);
            assert!(fs::read(path).unwrap() == bytes, "{what}: the file was changed");
            return false;
        }
        Err(error) => panic!("{what}: {error}"),
    }
    true
}

#[test]
fn a_truncated_file_is_detected() {
    let directory = directory();
    let path = directory.path().join("limits");
    for bytes in bytes_of_a_store(&path) {
        let length = bytes.len();
        let parts = (0..32).map(|part| length * part / 32);
        for left in [1, 9, 12, 31, 32, 320, 4095, 4096, 4097, length - 4096, length - 1]
            .into_iter()
            .chain(parts)
        {
            assert!(
                !is_right_or_damaged(&path, &bytes[..left], &format!("{left} of {length}")),
                "{left} of {length}"
            );
        }
        assert!(is_right_or_damaged(&path, &bytes, "all of it"));
    }
}

#[test]
fn a_bit_that_fell_over_in_the_header_costs_no_limits() {
    let directory = directory();
    let path = directory.path().join("limits");
    for bytes in bytes_of_a_store(&path) {
        let sizes = (0..40).map(|index| (index, index % 8));
        let flags = (0..8).map(|bit| (9, bit));
        let commits = (64..320).step_by(19).map(|index| (index, index % 8));
        for (index, bit) in sizes.chain(flags).chain(commits) {
            let mut changed = bytes.clone();
            changed[index] ^= 1 << bit;
            is_right_or_damaged(&path, &changed, &format!("byte {index}, bit {bit}"));
        }
    }
}

#[test]
fn a_bit_that_fell_over_anywhere_costs_no_limits() {
    let directory = directory();
    let path = directory.path().join("limits");
    for bytes in bytes_of_a_store(&path) {
        let written = |page: &usize| bytes[page * 4096..][..4096].iter().any(|byte| *byte != 0);
        let mut damaged = 0;
        for page in (1..bytes.len() / 4096).filter(written) {
            let start = page * 4096;
            let used: Vec<usize> =
                (start..start + 4096).filter(|&index| bytes[index] != 0).collect();
            for &index in used.iter().step_by(used.len().div_ceil(4)) {
                let mut changed = bytes.clone();
                changed[index] ^= 1 << (index % 8);
                let is_right = is_right_or_damaged(&path, &changed, &format!("byte {index}"));
                damaged += usize::from(!is_right);
            }
        }
        assert!(damaged > 0, "none was found");
    }
}

proptest! {
    #[test]
    fn bytes_of_anything_else_are_rejected_and_left_as_they_are(
        start in prop_oneof![Just(""), Just("Dear reader"), Just("redb"), Just("redb\x1A\n")],
        bytes in prop::collection::vec(any::<u8>(), 0..10_000),
    ) {
        let directory = directory();
        let bytes = [start.as_bytes(), &bytes].concat();
        prop_assert!(!is_right_or_damaged(&directory.path().join("something"), &bytes, "something else"));
    }
}

#[test]
fn an_error_names_the_invalid_limits() {
    for (text, reason) in [("much", "`much` is not a quota"), ("", "a limit is missing")] {
        let directory = directory();
        let path = directory.path().join("limits");
        drop(DiskConfig::open(&path).unwrap());
        let database = Database::open(&path).unwrap();
        let transaction = database.begin_write().unwrap();
        let table: TableDefinition<'_, &str, &str> = TableDefinition::new("keys");
        transaction.open_table(table).unwrap().insert("alice", text).unwrap();
        transaction.commit().unwrap();
        drop(database);
        let error = DiskConfig::open(&path).unwrap_err().to_string();
        assert!(error.contains(&format!("limits of `alice`: {reason}")), "{error}");
    }
}

#[test]
fn one_store_at_a_time_has_it_open() {
    let directory = directory();
    let path = directory.path().join("limits");
    let config = DiskConfig::open(&path).unwrap();
    let error = DiskConfig::open(&path).unwrap_err();
    assert!(matches!(error, ConfigError::InUse { .. }), "{error}");
    let error = Database::open(&path).unwrap_err();
    assert!(matches!(error, DatabaseError::DatabaseAlreadyOpen), "{error}");
    drop(config);
    assert!(DiskConfig::open(&path).is_ok());
}

#[test]
fn a_path_that_cannot_be_written_is_an_error() {
    let directory = directory();
    for path in [directory.path().join("no/such/place"), directory.path().to_owned()] {
        let error = DiskConfig::open(&path).unwrap_err();
        assert!(matches!(error, ConfigError::Io { .. }), "{error}");
    }
}

#[test]
fn threads_that_begin_and_write_at_once_lose_nothing() {
    let directory = directory();
    let path = directory.path().join("limits");
    let config = DiskConfig::open(&path).unwrap();
    thread::scope(|scope| {
        for thread in 0..4 {
            let config = &config;
            scope.spawn(move || {
                (0..10).for_each(|number| set_numbered(config, 10 * thread + number));
            });
        }
        for text in ["1/s", "2/s"] {
            let config = &config;
            scope.spawn(move || (0..10).for_each(|_| set(config, Scope::Prefix("x"), text)));
        }
    });
    let winner = text_of(&config, "x");
    drop(config);
    let config = DiskConfig::open(&path).unwrap();
    assert!(all_numbered(&config, 40));
    assert_eq!(text_of(&config, "x"), winner);
}

#[test]
fn an_engine_decides_by_it() {
    let directory = directory();
    let engine = keyed(DiskConfig::open(directory.path().join("limits")).unwrap(), 10);
    set(engine.config(), Scope::Prefix("a"), "1/s");
    assert!(engine.try_acquire_at("alice", crate::at(0)).is_ok());
    assert!(engine.try_acquire_at("alice", crate::at(0)).is_err());
    set(engine.config(), Scope::Key("alice"), "2/s");
    assert!(engine.try_acquire_at("alice", crate::at(0)).is_ok());
}
