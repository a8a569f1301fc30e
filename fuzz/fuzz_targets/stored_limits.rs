//! Damages a stored configuration: inverts any bits, or cuts off its end. Checks that it is opened with the limits
//! that were stored, or that the damage is reported. Also checks that a change that succeeds is present when the file
//! is opened again.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use nanopace_keyed::{ConfigError, ConfigStore, DiskConfig, Limits, Scope};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tempfile::TempDir;

#[derive(Arbitrary, Debug)]
struct Damage {
    /// The index of a byte that is not zero, and the bit in it that is inverted.
    bits: Vec<(u32, u8)>,
    /// The number of bytes that are cut off, if any.
    cut: Option<u32>,
}

static DIRECTORY: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a directory"));
static INTACT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let path = DIRECTORY.path().join("intact");
    let config = DiskConfig::open(&path).expect("a new file");
    for number in 0..20 {
        config.set(Scope::Key(&number.to_string()), limits(number)).expect("room");
    }
    drop(config);
    fs::read(&path).expect("just written")
});
/// The offsets of the bytes that are not zero. Most of the file is empty.
static USED: LazyLock<Vec<usize>> =
    LazyLock::new(|| (0..INTACT.len()).filter(|&place| INTACT[place] != 0).collect());

fn path() -> PathBuf {
    DIRECTORY.path().join("damaged")
}

fn limits(number: u32) -> Limits {
    format!("{}/s, {}/h in 60", number + 1, number + 100).parse().expect("limits")
}

/// Returns whether `config` contains exactly the first limits that were stored: an earlier state of the file is valid,
/// too.
fn is_a_prefix(config: &DiskConfig) -> bool {
    let stored = |number: u32| config.limits_of(&number.to_string());
    let count = (0..20).take_while(|number| stored(*number).is_some()).count() as u32;
    (0..count).all(|number| *stored(number).expect("counted") == limits(number))
        && (count..20).all(|number| stored(number).is_none())
}

/// Changes the configuration, which detects damage that no checksum covers.
fn change(path: &Path, config: DiskConfig) -> Result<(), ConfigError> {
    config.set(Scope::Prefix("new"), limits(77))?;
    drop(config);
    let config = DiskConfig::open(path)?;
    assert_eq!(config.limits_of("new").as_deref(), Some(&limits(77)));
    Ok(())
}

fn open_and_change(path: &Path) -> Result<(), ConfigError> {
    let config = DiskConfig::open(path)?;
    assert!(is_a_prefix(&config));
    change(path, config)
}

fuzz_target!(|damage: Damage| {
    let mut bytes = INTACT.clone();
    let length = bytes.len();
    for (place, bit) in damage.bits {
        bytes[USED[place as usize % USED.len()]] ^= 1 << (bit % 8);
    }
    bytes.truncate(length - damage.cut.unwrap_or_default() as usize % length);
    fs::write(path(), bytes).expect("a file");
    match open_and_change(&path()) {
        Ok(()) => {}
        Err(ConfigError::Damaged { reason, .. }) => assert!(!reason.is_empty()),
        Err(error) => panic!("{error}"),
    }
});
