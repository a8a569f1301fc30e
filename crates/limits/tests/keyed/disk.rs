//! The configuration on disk: deaths, damage, company.

use nanopace_limits::keyed::{ConfigError, ConfigStore, DecisionEngine, DiskConfig, Scope};
use redb::{Database, TableDefinition};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs, thread};
use tempfile::TempDir;

/// Where the child is to write, if this process is one.
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
    (0..count).all(|number| text_of(config, &number.to_string()) == Some(format!("{}/s", number + 1)))
}

/// This test's program once more, to do one test's other half.
fn child(test: &str, path: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
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
    let texts = |config: &DiskConfig| ["", "a", "ab", "gone"].map(|key| text_of(config, key).unwrap());
    let expected = ["2/s", "5/s, 1000/h in 60", "3/s burst 4", "1/s"];
    assert_eq!(texts(&config), expected);
    drop(config);
    assert_eq!(texts(&DiskConfig::open(&path).unwrap()), expected);
}

#[test]
fn what_was_written_outlives_an_abort() {
    if let Some(path) = env::var_os(CHILD) {
        let config = DiskConfig::open(path).unwrap();
        (0..20).for_each(|number| set_numbered(&config, number));
        std::process::abort();
    }
    let directory = directory();
    let path = directory.path().join("limits");
    let status = child("disk::what_was_written_outlives_an_abort", &path).status().unwrap();
    assert!(!status.success());
    assert!(all_numbered(&DiskConfig::open(&path).unwrap(), 20));
}

#[test]
fn what_was_acknowledged_outlives_a_kill_in_the_midst_of_writing() {
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
        let mut child = child("disk::what_was_acknowledged_outlives_a_kill_in_the_midst_of_writing", &path)
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

/// A store of 40 keys, and the file's bytes.
fn bytes_of_a_store(path: &Path) -> Vec<u8> {
    let config = DiskConfig::open(path).unwrap();
    (0..40).for_each(|number| set_numbered(&config, number));
    drop(config);
    fs::read(path).unwrap()
}

fn open_bytes(path: &Path, bytes: &[u8]) -> Result<DiskConfig, ConfigError> {
    fs::write(path, bytes).unwrap();
    DiskConfig::open(path)
}

#[test]
fn a_half_written_file_is_told_from_a_whole_one() {
    let directory = directory();
    let path = directory.path().join("limits");
    let bytes = bytes_of_a_store(&path);
    for part in 0..32 {
        match open_bytes(&path, &bytes[..bytes.len() * part / 32]) {
            Err(ConfigError::Damaged { path: damaged, .. }) => assert_eq!(damaged, path),
            Err(other) => panic!("{part}/32: {other}"),
            Ok(config) => {
                assert!(all_numbered(&config, 40), "{part}/32 of the file, and limits are missing");
            }
        }
    }
    assert!(all_numbered(&open_bytes(&path, &bytes).unwrap(), 40));
}

#[test]
fn a_bit_that_fell_over_in_the_header_costs_no_limits() {
    let directory = directory();
    let path = directory.path().join("limits");
    let bytes = bytes_of_a_store(&path);
    for bit in 0..8 * 64 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        match open_bytes(&path, &changed) {
            Err(error) => assert!(matches!(error, ConfigError::Damaged { .. }), "bit {bit}: {error}"),
            Ok(config) => assert!(all_numbered(&config, 40), "bit {bit}: limits are missing"),
        }
    }
}

#[test]
fn changed_limits_are_found() {
    let directory = directory();
    let path = directory.path().join("limits");
    let bytes = bytes_of_a_store(&path);
    let places: Vec<usize> = (0..bytes.len()).filter(|&index| bytes[index..].starts_with(b"40/s")).collect();
    let is_found = |place: &usize| {
        let mut changed = bytes.clone();
        changed[*place] = b'9';
        let opened = open_bytes(&path, &changed);
        match &opened {
            Err(error) => assert!(matches!(error, ConfigError::Damaged { .. }), "{error}"),
            Ok(config) => assert!(all_numbered(config, 40), "changed at {place}, and not noticed"),
        }
        opened.is_err()
    };
    assert!(places.into_iter().filter(is_found).count() > 0, "no change was ever found");
}

#[test]
fn another_file_is_refused_and_left_as_it_is() {
    let directory = directory();
    let path = directory.path().join("letter");
    let letter = "Dear reader,\n".repeat(1000);
    let error = open_bytes(&path, letter.as_bytes()).unwrap_err();
    assert!(matches!(error, ConfigError::Damaged { .. }), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), letter);
}

#[test]
fn limits_that_nobody_can_read_are_named() {
    let directory = directory();
    let path = directory.path().join("limits");
    drop(DiskConfig::open(&path).unwrap());
    let database = Database::open(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    let table: TableDefinition<'_, &str, &str> = TableDefinition::new("keys");
    transaction.open_table(table).unwrap().insert("alice", "much").unwrap();
    transaction.commit().unwrap();
    drop(database);
    let error = DiskConfig::open(&path).unwrap_err().to_string();
    assert!(error.contains("limits of `alice`: `much` is no quota"), "{error}");
}

#[test]
fn one_store_at_a_time_has_it_open() {
    let directory = directory();
    let path = directory.path().join("limits");
    let config = DiskConfig::open(&path).unwrap();
    let error = DiskConfig::open(&path).unwrap_err();
    assert!(matches!(error, ConfigError::InUse { .. }), "{error}");
    drop(config);
    assert!(DiskConfig::open(&path).is_ok());
}

#[test]
fn a_place_where_nothing_can_be_written_is_told() {
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
            scope.spawn(move || (0..10).for_each(|number| set_numbered(config, 10 * thread + number)));
        }
        // The last one wins, in memory and on disk alike.
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
    let engine = DecisionEngine::new(DiskConfig::open(directory.path().join("limits")).unwrap(), 10);
    set(engine.config(), Scope::Prefix("a"), "1/s");
    assert!(engine.try_acquire_at("alice", crate::at(0)).is_ok());
    assert!(engine.try_acquire_at("alice", crate::at(0)).is_err());
    set(engine.config(), Scope::Key("alice"), "2/s");
    assert!(engine.try_acquire_at("alice", crate::at(0)).is_ok());
}
