//! Tests that limits can be read from a configuration file and written to it.

use nanopace_limits::{Limit, Limits, Quota};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Settings {
    all: Limits,
    one: Limit,
    quota: Quota,
}

#[test]
fn limits_are_written_and_read_as_text() {
    let text = "all = \"10/s burst 20, 5/h sliding-log\"\none = \"3/m in 6\"\nquota = \"1/day\"\n";
    let settings: Settings = toml::from_str(text).unwrap();
    assert_eq!(settings.all, "10/s burst 20, 5/h sliding-log".parse().unwrap());
    assert_eq!(toml::to_string(&settings).unwrap(), text);
}

#[test]
fn an_invalid_limit_is_an_error() {
    let error = toml::from_str::<Settings>("all = '10/s brust 2'").unwrap_err().to_string();
    assert!(error.contains("`brust 2` is not a kind of limit"), "{error}");
    let error = toml::from_str::<Settings>("all = ''").unwrap_err().to_string();
    assert!(error.contains("a limit is missing") && error.contains("`unlimited`"), "{error}");
}
