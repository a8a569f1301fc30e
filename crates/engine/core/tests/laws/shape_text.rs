//! Tests shapes as strings: which strings are parsed, how shapes are formatted, and the messages of errors.

#![expect(clippy::float_cmp, reason = "these are exact")]

use nanopace::{Arrivals, Level, PacerBuilder, Pause, Rate, Shape};
use proptest::prelude::*;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn shape(text: &str) -> Shape {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn level(text: &str) -> Level {
    text.parse().unwrap()
}

fn same(one: &Shape, other: &Shape) -> bool {
    let end = one.duration().unwrap_or(1_000_000 * SECOND);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some slot")]
    let slots = one.count_at(end) as u64;
    let slots = [0, 1, 2, slots / 7, slots / 3, slots / 2, slots.saturating_sub(1), slots];
    let moments = (0..=20).map(|part| end / 20 * part);
    one.duration() == other.duration()
        && slots.iter().all(|&slot| one.time_of(slot) == other.time_of(slot))
        && moments.into_iter().all(|moment| one.count_at(moment) == other.count_at(moment))
}

/// The input may be a whole file.
#[test]
fn an_error_shows_no_more_than_the_beginning_of_a_long_text() {
    fn error<T: std::str::FromStr<Err: ToString>>(text: &str) -> String {
        text.parse::<T>().err().expect("wrong").to_string()
    }
    let long = "é".repeat(1 << 20);
    let wrong = ["", "5/", "hold 5/s ", "hold 5/s 1s, "].map(|before| format!("{before}{long}"));
    for text in &wrong {
        let errors = [
            error::<Rate>(text),
            error::<Shape>(text),
            error::<PacerBuilder>(text),
            error::<Arrivals>(text),
            error::<Pause>(text),
        ];
        for error in errors {
            assert!(error.len() < 500, "{} bytes", error.len());
        }
    }
    assert!(error::<Pause>(&long).starts_with(&format!("`{}...` is", "é".repeat(60))));
}

#[test]
fn usual_spellings_are_read() {
    let (low, high) = (level("100/s"), level("5k/s"));
    let ramp = || Shape::ramp(low, high, 30 * SECOND).unwrap();
    let hold = || Shape::hold(high, 60 * SECOND).unwrap();
    let both = || ramp().then(hold()).unwrap();
    let sine = || Shape::sine(level("1k/s"), high, 20 * SECOND).unwrap();
    for (text, expected) in [
        ("hold 5k/s 1min", hold()),
        ("  hold   5k/s\t60s\n", hold()),
        ("hold 5000 60000ms", hold()),
        ("hold 50/10ms 0.5min x2", hold().repeat(1).unwrap()),
        ("ramp 100/s..5k/s 30s", ramp()),
        ("ramp 100/s .. 5k/s 30s", ramp()),
        ("ramp 100/s..5k/s 30s,hold 60s", both()),
        ("ramp 100/s..5k/s 30s, hold 60s", both()),
        ("hold 100/s 1s, ramp ..5k/s 30s", Shape::hold(low, SECOND).unwrap().then(ramp()).unwrap()),
        (
            "hold 100/s 1s, ramp .. 5k/s 30s",
            Shape::hold(low, SECOND).unwrap().then(ramp()).unwrap(),
        ),
        ("ramp 0/s..100/s 500us reverse", Shape::ramp(low, Level::ZERO, SECOND / 2_000).unwrap()),
        (
            "ramp 100/s..5k/s 30s, hold 60s, sine 1k/s..5k/s period 20s x3",
            both().then(sine().repeat(3).unwrap()).unwrap(),
        ),
        ("(ramp 100/s..5k/s 30s, hold 60s) x 3", both().repeat(3).unwrap()),
        ("((ramp 100/s..5k/s 30s), (hold 60s))x3", both().repeat(3).unwrap()),
        ("(ramp 100/s..5k/s 30s, hold 60s) forever", both().forever().unwrap()),
        (
            "(ramp 100/s..5k/s 30s, hold 60s) mirror x2",
            both().mirrored().unwrap().repeat(2).unwrap(),
        ),
        (
            "spike 1/min..3/min 1h",
            Shape::spike(level("1/min"), level("3/min"), 3_600 * SECOND).unwrap(),
        ),
        ("peak 5k/s 30s", Shape::bell(Level::ZERO, high, 30 * SECOND).unwrap()),
        ("peak 100/s..5k/s 30s", Shape::bell(low, high, 30 * SECOND).unwrap()),
        (
            "ladder 100/s..5k/s steps 5 each 1.5min",
            Shape::ladder(low, high, 5, 90 * SECOND).unwrap(),
        ),
        ("hold 100/s 1d forever", Shape::constant(low)),
        ("ramp 100/s..5k/s 30s take 12.5s", ramp().take(25 * SECOND / 2).unwrap()),
        (
            "(ramp 100/s..5k/s 30s, hold 60s) x2 skip 1min take 1h",
            both().repeat(2).unwrap().skip(60 * SECOND).unwrap(),
        ),
        (
            "(ramp 100/s..5k/s 30s) take 10s, hold 100/s 1s forever",
            ramp().take(10 * SECOND).unwrap().then(Shape::constant(low)).unwrap(),
        ),
    ] {
        assert!(same(&shape(text), &expected), "{text}");
    }
}

/// A part that states no rate begins with the rate at which the part before it ends.
#[test]
fn the_rate_before() {
    for (text, rate) in [
        ("ramp 1/s..5/s 1s, hold 1s", 5.0),
        ("ramp 1/s..5/s 1s reverse, hold 1s", 1.0),
        ("ramp 1/s..5/s 1s reverse reverse, hold 1s", 5.0),
        ("ramp 1/s..5/s 1s mirror, hold 1s", 1.0),
        ("ramp 1/s..5/s 1s x7, hold 1s", 5.0),
        ("ladder 1/s..5/s steps 3 each 1s, hold 1s", 5.0),
        ("sine 1/s..5/s period 1s, hold 1s", 1.0),
        ("spike 1/s..5/s 1s, hold 1s", 1.0),
        ("peak 1/s..5/s 1s, hold 1s", 1.0),
        ("hold 7/s 1s, peak 5/s 1s, hold 1s", 0.0),
        ("(hold 9/s 1s, ramp 1/s..5/s 1s), hold 1s", 5.0),
        ("ramp 1/s..5/s 1s, (hold 1s, hold 1s) x2", 5.0),
        ("hold 7/s 1s, ramp ..5/s 1s, hold 1s", 5.0),
        ("ramp 1/s..5/s 2s skip 1s, hold 1s", 5.0),
        ("ramp 1/s..5/s 2s take 2s, hold 1s", 5.0),
        ("ramp 1/s..5/s 2s take 1s reverse, hold 1s", 1.0),
        ("hold 7/s 2s take 1s, hold 1s", 7.0),
        ("(ramp 1/s..7/s 2s, hold 2s, ramp ..1/s 2s) take 3s, hold 1s", 7.0),
        ("(ramp 1/s..7/s 2s, hold 2s) skip 3s reverse, hold 1s", 7.0),
    ] {
        let shape = shape(text);
        let last = shape.duration().unwrap().mul_f64(0.9999);
        assert_eq!(shape.rate_at(last), rate, "{text}");
    }
}

#[test]
fn errors_name_the_place_and_what_to_write() {
    let deep = "(".repeat(100_000);
    let long = "hold 1/s 1s,".repeat(70_000);
    for (text, column, says) in [
        ("", 1, "hold, ramp, sine"),
        ("   ", 4, "hold, ramp, sine"),
        ("jump 3s", 1, "`jump`"),
        ("hold", 5, "such as 50k/s"),
        ("hold 60s", 6, "nothing comes before"),
        ("hold 5k/s", 10, "such as 30s"),
        ("hold 5k/s 60", 11, "`60`: write a time"),
        ("hold 5k/s 60fortnights", 11, "such as 30s"),
        ("hold 5k/s 1.5ns", 11, "whole nanoseconds"),
        ("hold 5k/s 0s", 1, "is too short"),
        ("hold 11G/s 1s", 6, "the fastest is 10G/s"),
        ("hold -1/s 1s", 6, "negative"),
        ("hold 5k/s 300000d", 1, "too long"),
        ("hold 5k/s 999999999999999999d", 1, "too long"),
        ("hold 5k/s 9s, jump", 15, "`jump`"),
        ("hold 5k/s 9s,", 14, "hold, ramp, sine"),
        ("hold 5k/s 9s hold 9s", 14, "comma"),
        ("hold 5k/s 9s)", 13, "comma"),
        ("hold 5k/s 9s x", 15, "such as `x3`"),
        ("hold 5k/s 9s x3.5", 15, "whole number"),
        ("hold 5k/s 9s x-3", 15, "whole number"),
        ("hold 5k/s 9s x 0", 14, "at least once"),
        ("hold 5k/s 9s xé", 15, "whole number"),
        ("hold 5k/s 9s forever, hold 1s", 23, "never ends"),
        ("hold 5k/s 9s forever x2", 22, "never ends"),
        ("hold 5k/s 9s forever mirror", 22, "never ends"),
        ("hold 5k/s 9s take", 18, "such as 30s"),
        ("hold 5k/s 9s skip 9", 19, "such as 30s"),
        ("hold 5k/s 9s take 0s", 14, "is too short"),
        ("hold 5k/s 9s skip 9s", 14, "is too short"),
        ("hold 5k/s 9s forever take 300000d", 22, "too long"),
        ("hold 5k/s 9s forever skip 300000d", 22, "too long"),
        ("hold 10G/s 9s forever take 100000d", 23, "too many slots"),
        ("ramp 1/s..5k/s 9s take 8s, hold 9s", 33, "a part that was cut"),
        ("ramp 1/s..5k/s 9s take 8s, ramp ..9/s 9s", 33, "a part that was cut"),
        ("ramp 1/s..5k/s 9s skip 8s mirror, hold 9s", 40, "a part that was cut"),
        ("ramp 5k/s 9s", 11, "two dots"),
        ("ramp 5/s...6/s 9s", 9, "two dots"),
        ("ramp ..5k/s 9s", 6, "nothing comes before"),
        ("ramp 1/s.. 9s", 12, "that is not a rate"),
        ("sine 1/s..2/s 9s", 15, "write `period`"),
        ("ladder 1/s..2/s 9s", 17, "write `steps`"),
        ("ladder 1/s..2/s steps some each 9s", 23, "whole number"),
        ("ladder 1/s..2/s steps 9 9s", 25, "write `each`"),
        ("ladder 1/s..2/s steps 1 each 9s", 1, "two steps"),
        ("ladder 1/s..2/s steps 99999 each 9s", 1, "65536"),
        ("(hold 1/s 9s", 13, "closing parenthesis"),
        ("(hold 1/s 9s x2, )", 18, "hold, ramp"),
        ("hold 1/µs 9s, größe 9s", 15, "`größe`"),
        ("hold 1/µs 9µs, ½", 16, "`½`"),
        (deep.as_str(), 65, "at most 64"),
        (long.as_str(), 12 * 65_536 + 1, "65536"),
    ] {
        let error = text.parse::<Shape>().map(|shape| shape.to_string()).unwrap_err();
        let short: String = text.chars().take(60).collect();
        assert_eq!(error.column(), column, "{short}: {error}");
        assert!(error.to_string().contains(says), "{short}: {error}");
    }
}

#[test]
fn shapes_are_printed_in_short_form() {
    for (text, shown) in [
        ("hold 5k/s 60s", "hold 5000/s 1min"),
        ("(hold 5k/s 90s)x 3", "hold 5000/s 90s x3"),
        ("(hold 5k/s 1s, hold 2s), hold 3s", "hold 5000/s 1s, hold 5000/s 2s, hold 5000/s 3s"),
        (
            "(hold 5k/s 1s, hold 2s) mirror forever",
            "(hold 5000/s 1s, hold 5000/s 2s) mirror forever",
        ),
        ("ramp 1..2 1us reverse reverse reverse", "ramp 1/s..2/s 1us reverse"),
        ("ladder 1/min..2 steps 3 each 1ns", "ladder 1/min..2/s steps 3 each 1ns"),
        ("sine 1..2 period 48h, spike 1..2 25h", "sine 1/s..2/s period 2d, spike 1/s..2/s 25h"),
        ("hold 7/s 3s forever", "hold 7/s 1s forever"),
        ("hold 7/s 3s forever skip 2s", "hold 7/s 1s forever"),
        ("hold 7/s 3s forever skip 2s take 9s take 5s", "hold 7/s 5s"),
        ("ramp 1..2 9s take 8s skip 1s take 3s", "ramp 1/s..2/s 9s skip 1s take 3s"),
        ("ramp 1..2 9s skip 3s skip 2s", "ramp 1/s..2/s 9s skip 5s"),
        ("ramp 1..2 9s take 9s skip 0s", "ramp 1/s..2/s 9s"),
        ("ramp 1..2 9s forever take 8s reverse", "ramp 1/s..2/s 9s forever take 8s reverse"),
        (
            "(ramp 1..2 9s, hold 3s, sine 1..2 period 8s) skip 8500ms take 7s",
            "ramp 1/s..2/s 9s skip 8500ms, hold 2/s 3s, sine 1/s..2/s period 8s take 3500ms",
        ),
        ("(ramp 1..2 9s, hold 3s, hold 4s) skip 10s take 1s", "hold 2/s 1s"),
        ("(ramp 1..2 9s, hold 3s) x2 take 1s", "(ramp 1/s..2/s 9s, hold 2/s 3s) x2 take 1s"),
    ] {
        assert_eq!(shape(text).to_string(), shown);
    }
}

fn items() -> impl Strategy<Value = Shape> {
    let rate = || {
        (0_u64..20_000, 0_usize..3).prop_map(|(count, unit)| {
            let period = [1, 60, 3_600][unit];
            Rate::per(count, Duration::from_secs(period)).map_or(Level::ZERO, Level::from)
        })
    };
    let time =
        prop_oneof![2_u64..1 << 40, (1_u64..5_000).prop_map(|seconds| seconds * 1_000_000_000)];
    (0_u32..7, rate(), rate(), time.prop_map(Duration::from_nanos), 2_u32..9).prop_map(
        |(kind, from, to, time, steps)| match kind {
            0 => Shape::constant(from),
            1 => Shape::hold(from, time).unwrap(),
            2 => Shape::ramp(from, to, time).unwrap(),
            3 => Shape::sine(from, to, time).unwrap(),
            4 => Shape::spike(from, to, time).unwrap(),
            5 => Shape::bell(from, to, time).unwrap(),
            _ => Shape::ladder(from, to, steps, time).unwrap(),
        },
    )
}

fn cuts() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0_u64..1 << 42).prop_map(Duration::from_nanos),
        (0_u64..10_000).prop_map(Duration::from_secs),
    ]
}

fn shapes() -> impl Strategy<Value = Shape> {
    items().prop_recursive(5, 16, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(first, second)| first.then(second)),
            (inner.clone(), 1_u64..20).prop_map(|(shape, times)| shape.repeat(times)),
            inner.clone().prop_map(Shape::reversed),
            inner.clone().prop_map(Shape::mirrored),
            inner.clone().prop_map(Shape::forever),
            (inner.clone(), cuts()).prop_map(|(shape, time)| shape.take(time)),
            (inner, cuts()).prop_map(|(shape, time)| shape.skip(time)),
        ]
        .prop_filter_map("no shape", Result::ok)
    })
}

proptest! {
    #[test]
    fn printed_values_are_read_back(shape in shapes()) {
        let text = shape.to_string();
        let again: Shape = text.parse().unwrap();
        prop_assert_eq!(again.to_string(), text);
        prop_assert!(same(&shape, &again));
    }

    #[test]
    fn any_string_is_parsed_or_refused(text in "\\PC{0,60}") {
        if let Err(error) = text.parse::<Shape>() {
            prop_assert!((1..=text.chars().count() + 1).contains(&error.column()));
        }
    }

    #[test]
    fn any_words_are_parsed_or_refused(words in proptest::collection::vec(proptest::sample::select(vec![
        "hold", "ramp", "sine", "spike", "peak", "ladder", "period", "steps", "each", "x", "x2", "x18446744073709551615",
        "forever", "mirror", "reverse", "take", "skip", "(", ")", ",", "..", "1/s", "5k/s", "0/s", "10G/s", "1/d", "9s", "1ns", "250d", "3", "é",
    ]), 0..30)) {
        let text = words.join(" ");
        match text.parse::<Shape>() {
            Ok(shape) => prop_assert!(same(&shape, &shape.to_string().parse().unwrap())),
            Err(error) => prop_assert!((1..=text.chars().count() + 1).contains(&error.column())),
        }
    }

    #[test]
    fn the_column_is_that_of_the_bad_word(before in 0_usize..20, bad in "[§-ÿ]{1,5}") {
        let good = "hold 1/µs 5µs, ".repeat(before);
        let error = format!("{good}{bad}").parse::<Shape>().unwrap_err();
        prop_assert_eq!(error.column(), good.chars().count() + 1);
    }
}
