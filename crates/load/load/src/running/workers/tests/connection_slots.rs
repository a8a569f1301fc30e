//! Tests connections with slots of their own.

use super::{Called, Told, done, outlasts, refuses, run, run_with_target_behind, set_up};
use crate::load::target::Done;

const TURNS: &str = "-c 4 --per-connection 20ms";

fn set_up_turns(
    call: impl Fn(u64) -> Called + Send + Sync + 'static,
    more: &str,
) -> super::Loaded<Told<Called>> {
    set_up(Told::new(refuses(0..0), call), &format!("{TURNS} {more}")).unwrap()
}

fn calls(target: &Told<Called>) -> [u64; 4] {
    let mut calls = [0; 4];
    for (slot, session, _) in &*target.calls.lock().unwrap() {
        assert_eq!(*slot % 4, *session as u64);
        calls[*session] += 1;
    }
    calls
}

#[test]
fn each_slot_is_on_its_connection() {
    for threads in [1, 3] {
        let whole = format!("--threads {threads} --duration 1h --requests 100");
        let setup = set_up_turns(|_| done(), &whole);
        assert_eq!((run(&setup).stats.completed(), calls(&setup.target)), (100, [25; 4]));
    }
}

#[test]
fn a_connection_that_is_busy_keeps_its_slots_and_the_target_is_behind() {
    let slow = |slot| if slot == 1 { outlasts(slot) } else { done() };
    let setup = set_up_turns(slow, "");
    let summary = run_with_target_behind(&setup);
    assert_eq!(calls(&setup.target)[1], 1);
    assert!(summary.stats.unstarted >= 24, "{summary:?}");
    let target = summary.stats.lateness.target;
    // The lateness of a slot is between 475 ms for slot 5 and 15 ms for slot 97.
    assert!(target > 5.0, "{target}");
}

#[test]
fn what_excludes_own_slots_is_refused() {
    let blocks = Told::new(refuses(0..0), |_| Ok(Done::new()));
    for (error, told) in [
        (set_up(blocks, TURNS).unwrap_err(), "targets whose calls block: write --rate"),
        (
            set_up(Told::new(refuses(0..0), |_| done()), "-c 4..8 --per-connection 1s")
                .unwrap_err(),
            "adds to the rate: write one number",
        ),
    ] {
        assert!(error.to_string().ends_with(told), "{error}");
    }
}
