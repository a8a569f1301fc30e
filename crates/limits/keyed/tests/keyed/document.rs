//! Tests that a configuration can be written to a document and read from it.

use crate::config::{any_steps, changes};
use nanopace_keyed::{ConfigSnapshot, ConfigStore, MemoryConfig};
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_written_document_is_read_back(steps in any_steps()) {
        let config = MemoryConfig::new();
        config.apply(&changes(&steps)).unwrap();
        let snapshot = config.snapshot();
        let toml = toml::to_string(&snapshot).unwrap();
        prop_assert_eq!(&toml::from_str::<ConfigSnapshot>(&toml).unwrap(), &snapshot);
        let json = serde_json::to_string(&snapshot).unwrap();
        prop_assert_eq!(&serde_json::from_str::<ConfigSnapshot>(&json).unwrap(), &snapshot);
    }
}

fn toml_error(text: &str) -> String {
    toml::from_str::<ConfigSnapshot>(text).unwrap_err().to_string()
}

fn json_error(text: &str) -> String {
    serde_json::from_str::<ConfigSnapshot>(text).unwrap_err().to_string()
}

#[test]
fn an_error_says_which_entry_is_wrong_and_where() {
    let error = toml_error("[prefixes]\n'' = '1/s'\n[keys]\nbob = '1/s'\ncarol = 'much'\n");
    assert!(error.contains("line 5, column 9"), "{error}");
    assert!(error.contains("limits of the key `carol`: `much` is not a quota"), "{error}");

    let error = toml_error("[prefixes]\n'user:' = 5\n");
    assert!(error.contains("line 2"), "{error}");
    assert!(error.contains("limits of the prefix `user:`: invalid type: integer `5`"), "{error}");

    for blank in ["", " ", "10/s, "] {
        let error = toml_error(&format!("[keys]\nalice = '{blank}'\n"));
        assert!(error.contains("limits of the key `alice`: a limit is missing"), "{error}");
        let error = toml_error(&format!("[prefixes]\n'' = '{blank}'\n"));
        assert!(error.contains("limits of the prefix ``: a limit is missing"), "{error}");
    }

    let error = json_error(r#"{"keys": {"bob": "1/s", "alice": "1/s burst 0"}}"#);
    assert!(error.starts_with("limits of the key `alice`: "), "{error}");
}

#[test]
fn unknown_and_repeated_entries_are_errors() {
    let error = toml_error("[key]\nbob = '1/s'\n");
    assert!(error.contains("unknown field `key`, expected `prefixes` or `keys`"), "{error}");
    let error = json_error(r#"{"keys": {"bob": "1/s", "bob": "2/s"}}"#);
    assert!(error.starts_with("the key `bob` is repeated"), "{error}");
    let error = toml_error("[keys]\nbob = '1/s'\nbob = '2/s'\n");
    assert!(error.contains("line 3"), "{error}");
    let error = toml_error("keys = 'alice'");
    assert!(error.contains("expected limits by key"), "{error}");
}

#[test]
fn a_document_may_be_empty() {
    assert_eq!(toml::from_str::<ConfigSnapshot>("").unwrap(), ConfigSnapshot::default());
    assert_eq!(serde_json::from_str::<ConfigSnapshot>("{}").unwrap(), ConfigSnapshot::default());
}
