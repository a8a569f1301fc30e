//! Parses the lines that a test program prints for its tests.

use std::time::Duration;

#[derive(Debug, PartialEq)]
pub(crate) struct Test {
    pub(crate) name: String,
    pub(crate) has_failed: bool,
    pub(crate) took: Duration,
}

/// Returns the tests that ran, from lines such as `test schedule::a_law ... ok <0.012s>`.
pub(crate) fn tests(printed: &str) -> Vec<Test> {
    printed.lines().filter_map(test).collect()
}

fn test(line: &str) -> Option<Test> {
    let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (word, time) = outcome.split_once(" <").unwrap_or((outcome, "0s>"));
    let has_failed = match word {
        "ok" => false,
        "FAILED" => true,
        _ => return None,
    };
    let name = name.trim_end_matches(" - should panic").to_owned();
    let seconds = time.strip_suffix("s>")?.parse().ok()?;
    Some(Test { name, has_failed, took: Duration::try_from_secs_f64(seconds).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_name_an_outcome_and_a_time() {
        let printed = "running 3 tests\ntest a::b ... ok <0.250s>\n\
                       test c - should panic ... FAILED\ntest d ... ignored, needs e\n";
        let read = |name: &str, has_failed, millis| Test {
            name: name.to_owned(),
            has_failed,
            took: Duration::from_millis(millis),
        };
        assert_eq!(tests(printed), [read("a::b", false, 250), read("c", true, 0)]);
    }
}
