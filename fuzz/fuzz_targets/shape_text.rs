//! Any text is a shape or an error that says where and why not. A shape that is shown is read back
//! as what it was, and each of its slots starts when the shape has come to it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nanopace::Shape;
use std::time::Duration;

fuzz_target!(|text: &str| {
    match text.parse::<Shape>() {
        Ok(shape) => check(&shape),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

fn check(shape: &Shape) {
    let shown = shape.to_string();
    let again: Shape =
        shown.parse().unwrap_or_else(|error| panic!("{shape:?} is shown as {shown}: {error}"));
    assert_eq!(again.to_string(), shown);
    assert_eq!(again.duration(), shape.duration());
    let mut latest = Duration::ZERO;
    for slot in (0..64).map(|bits| (1_u64 << bits) - 1) {
        let Some(time) = shape.time_of(slot) else { break };
        assert!(time >= latest, "slot {slot} of {shown}");
        latest = time;
    }
}
