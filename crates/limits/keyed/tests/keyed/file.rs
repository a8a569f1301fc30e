//! Tests a configuration in a file that several processes follow.

use crate::moments::{AtMoment, keyed};
use nanopace_keyed::{
    Change, ConfigError, ConfigSnapshot, ConfigStore, FileConfig, Limit, Limits, MemoryConfig,
    Scope,
};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{env, fs, thread};
use tempfile::TempDir;

const CHILD: &str = "NANOPACE_LIMITS_TEST_FOLLOWER";
const NEVER: Duration = Duration::from_secs(86_400);

fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("limits.toml");
    ConfigSnapshot::default().save(&path).unwrap();
    (directory, path)
}

fn follow(path: &Path) -> FileConfig {
    FileConfig::follow(path, NEVER).unwrap()
}

fn set(config: &FileConfig, key: &str, text: &str) {
    config.set(Scope::Key(key), text.parse().unwrap()).unwrap();
}

fn text_of(config: &impl ConfigStore, key: &str) -> Option<String> {
    config.limits_of(key).map(|limits| limits.to_string())
}

fn uniform(keys: usize, text: &str) -> ConfigSnapshot {
    let config = MemoryConfig::new();
    let keys: Vec<String> = (0..keys).map(|number| format!("key {number}")).collect();
    let set = |key| Change::set(Scope::Key(key), text.parse().unwrap());
    config.apply(&keys.iter().map(|key| set(key)).collect::<Vec<_>>()).unwrap();
    config.snapshot()
}

fn child(test: &str, path: &Path, number: usize) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test]).env(CHILD, path).env("NUMBER", number.to_string());
    command.stdout(Stdio::null()).spawn().unwrap()
}

fn all_succeed(children: Vec<Child>) -> bool {
    let statuses: Vec<_> = children.into_iter().map(|mut child| child.wait().unwrap()).collect();
    statuses.iter().all(std::process::ExitStatus::success)
}

#[test]
fn other_processes_follow() {
    if let Some(path) = env::var_os(CHILD) {
        let config = FileConfig::follow(path, Duration::from_millis(1)).unwrap();
        let engine = keyed(config, 10);
        // The parent makes its change when it finds the keys of both children.
        let number = env::var("NUMBER").unwrap();
        set(engine.config(), &number, "1/s");
        while engine.try_acquire_n_at("all", 7, crate::at(0)).is_err() {
            thread::yield_now();
        }
        return;
    }
    let (_directory, path) = place();
    let children: Vec<_> =
        (0..2).map(|number| child("file::other_processes_follow", &path, number)).collect();
    let config = FileConfig::follow(&path, Duration::from_millis(1)).unwrap();
    while config.snapshot().keys().len() < 2 {
        thread::yield_now();
    }
    set(&config, "all", "7/s");
    assert!(all_succeed(children));
}

#[test]
fn changes_of_several_processes_lose_nothing() {
    if let Some(path) = env::var_os(CHILD) {
        let config = follow(Path::new(&path));
        let number = env::var("NUMBER").unwrap();
        for count in 1..=30 {
            set(&config, &format!("{number} {count}"), &format!("{count}/s"));
        }
        return;
    }
    let (_directory, path) = place();
    let test = "file::changes_of_several_processes_lose_nothing";
    assert!(all_succeed((0..3).map(|number| child(test, &path, number)).collect()));
    let document = ConfigSnapshot::load(&path).unwrap();
    assert_eq!(document.keys().len(), 90);
    assert!(
        document
            .keys()
            .all(|(key, limits)| key.ends_with(&format!(" {}", limits.each()[0].quota().count())))
    );
}

#[test]
fn a_reader_never_finds_half_a_document() {
    let (_directory, path) = place();
    let documents = ["1/s", "2/s"].map(|text| uniform(1_000, text));
    let texts = documents.each_ref().map(|document| toml::to_string(document).unwrap());
    documents[0].save(&path).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..200 {
                documents[number % 2].save(&path).unwrap();
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let config = follow(&path);
        while !is_over.load(Ordering::Relaxed) {
            let found = fs::read_to_string(&path).unwrap();
            assert!(texts.contains(&found), "{} of {} bytes", found.len(), texts[0].len());
        }
        config.refresh().unwrap();
        assert_eq!(config.snapshot(), documents[1]);
    });
}

#[test]
fn a_damaged_document_leaves_the_last_good_one_in_force() {
    let (_directory, path) = place();
    let config = follow(&path);
    set(&config, "alice", "1/s");
    fs::write(&path, "[keys]\nalice = 'much'\n").unwrap();
    for _ in 0..2 {
        let error = config.refresh().unwrap_err();
        assert!(matches!(&*error, ConfigError::Document { .. }), "{error}");
        assert!(error.to_string().contains("limits of the key `alice`"), "{error}");
    }
    assert_eq!(text_of(&config, "alice").as_deref(), Some("1/s"));
    let error = config.set(Scope::Key("bob"), "2/s".parse().unwrap()).unwrap_err();
    assert!(matches!(error, ConfigError::Document { .. }), "{error}");
    assert_eq!(text_of(&config, "bob"), None);

    fs::remove_file(&path).unwrap();
    let error = config.refresh().unwrap_err();
    assert!(matches!(&*error, ConfigError::Io { .. }), "{error}");
    assert!(config.trouble().is_some());
    assert_eq!(text_of(&config, "alice").as_deref(), Some("1/s"));

    fs::write(&path, "[keys]\nalice = '2/s'\n").unwrap();
    config.refresh().unwrap();
    assert!(config.trouble().is_none());
    assert_eq!(text_of(&config, "alice").as_deref(), Some("2/s"));
}

/// Without this check, no process could read or change the document any more.
#[test]
fn limits_without_a_valid_string_are_not_written() {
    let (_directory, path) = place();
    let config = follow(&path);
    let many = Limits::new(["1/s".parse::<Limit>().unwrap(); 65]);
    assert!(config.set(Scope::Key("many"), many).is_err());
    set(&config, "alice", "1/s");
    assert_eq!(text_of(&follow(&path), "alice").as_deref(), Some("1/s"));
}

/// Opening a pipe blocks until another process writes to it.
#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_the_document_blocks_no_change() {
    let (_directory, path) = place();
    let config = follow(&path);
    fs::remove_file(&path).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let (tell, told) = std::sync::mpsc::channel();
    thread::spawn(move || tell.send(config.set(Scope::Key("alice"), "1/s".parse().unwrap())));
    let result = told.recv_timeout(Duration::from_secs(60)).expect("the change ends");
    assert!(matches!(result, Err(ConfigError::Io { .. })), "{result:?}");
}

#[test]
fn there_must_be_a_document_to_follow() {
    let directory = tempfile::tempdir().unwrap();
    let error = FileConfig::follow(directory.path().join("none"), NEVER).unwrap_err();
    assert!(matches!(error, ConfigError::Io { .. }), "{error}");
}

#[test]
fn entries_that_are_the_same_in_both_documents_do_not_change() {
    let (_directory, path) = place();
    uniform(2_000, "1/s").save(&path).unwrap();
    let config = follow(&path);
    let versions = || (0..2_000).map(|number| config.version_of(&format!("key {number}")));
    let before: Vec<u64> = versions().collect();
    let other = MemoryConfig::from(uniform(2_000, "1/s"));
    other.set(Scope::Key("key 7"), "2/s".parse().unwrap()).unwrap();
    other.snapshot().save(&path).unwrap();
    config.refresh().unwrap();
    let changed = versions().zip(&before).filter(|(now, before)| now != *before).count();
    assert!((1..100).contains(&changed), "{changed} of 2000");
}

#[test]
fn a_change_keeps_what_others_have_written_meanwhile() {
    let (_directory, path) = place();
    let config = follow(&path);
    fs::write(&path, "[prefixes]\n'' = '1/s'\n").unwrap();
    set(&config, "bob", "2/s");
    assert!(config.unset(Scope::Prefix("")).unwrap());
    assert!(!config.unset(Scope::Prefix("")).unwrap());
    assert_eq!(ConfigSnapshot::load(&path).unwrap(), config.snapshot());
    assert_eq!(text_of(&config, "bob").as_deref(), Some("2/s"));
    assert_eq!(text_of(&config, "alice"), None);
}

#[cfg(unix)]
#[test]
fn a_link_and_permissions_stay() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let (directory, path) = place();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o644);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let link = directory.path().join("link.toml");
    symlink(&path, &link).unwrap();
    let config = follow(&link);
    set(&config, "alice", "1/s");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
    assert_eq!(text_of(&follow(&path), "alice").as_deref(), Some("1/s"));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "a file was left");
}
