//! The example `compare`: its figures are those that each law gives, and the page shows its output.

use std::time::Duration;

#[path = "../../examples/compare.rs"]
#[expect(dead_code, reason = "the example also has a main function")]
mod example;

use example::{Limiter, Retried, Trial};

fn limiter(name: &str) -> Limiter {
    let limiters = example::limiters().unwrap();
    limiters.into_iter().find(|limiter| limiter.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// The most requests that go through within a second of the growing load, and the most that are rejected
/// in a row.
#[test]
fn bursts_and_rejections_in_a_row_follow_from_each_law() {
    for (name, most, in_a_row) in [
        // 10 at once after the pause, then every other one: 19 within the first second.
        ("gcra", 19, 1),
        ("token bucket", 19, 1),
        ("leaky meter", 19, 1),
        // Departures are 100 ms apart.
        ("leaky queue", 10, 1),
        // 10 before a boundary and 10 after it; the next 10 before the next boundary are rejected.
        ("refilled bucket", 20, 10),
        ("fixed window", 20, 10),
        ("sliding log", 10, 10),
        // At 20/s a rejected client never gets in again.
        ("sliding log, all", 10, 199),
        // A slot longer than the log.
        ("guarding ring", 10, 12),
        ("aggregated window", 10, 12),
    ] {
        let trial = Trial::of(limiter(name));
        assert_eq!((trial.most, trial.in_a_row), (most, in_a_row), "{name}");
    }
}

#[test]
fn retries_take_as_long_as_each_law_says() {
    for (name, expected) in [
        // 10 at once, then one each 100 ms: 90 times. Ten tries for each.
        ("gcra", Some((9_000, 1_000))),
        ("leaky meter", Some((9_000, 1_000))),
        // The last departs after the nine before it.
        ("leaky queue", Some((9_900, 1_000))),
        ("token bucket", Some((9_000, 1_000))),
        // 10 at once, and 10 at 2 s, 3 s and so on, until 10 s: 85 further moments.
        ("refilled bucket", Some((8_500, 950))),
        ("pool", Some((9_000, 1_000))),
        ("fixed window", Some((8_500, 950))),
        // 10 at 1.5 s, 2.5 s and so on, until 10.5 s.
        ("sliding log", Some((9_000, 1_000))),
        ("sliding log, all", None),
        ("sliding counter", Some((10_390, 1_139))),
        // Its slots last 100 ms, and the moments lie on their boundaries.
        ("rolling ring", Some((9_000, 1_000))),
        // A slot longer each time: 10 at 1.5 s, 2.6 s and so on.
        ("guarding ring", Some((9_900, 1_090))),
        ("aggregated window", Some((9_900, 1_090))),
    ] {
        let Retried { admitted, tries, took } = Retried::of(limiter(name));
        let found = took.map(|took| (took, tries));
        let expected = expected.map(|(ms, tries)| (Duration::from_millis(ms), tries));
        assert_eq!(found, expected, "{name}");
        assert_eq!(admitted, if found.is_some() { 100 } else { 10 }, "{name}");
    }
}

#[test]
fn the_page_shows_what_the_example_prints() {
    let page = include_str!("../../docs/LIMITS.md");
    let (_, shown) = page.split_once("--example compare\n").expect("the example's command");
    let (shown, _) = shown.split_once("```").expect("the end of its output");
    assert_eq!(shown, example::report().unwrap());
}
