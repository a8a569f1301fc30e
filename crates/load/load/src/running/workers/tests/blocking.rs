//! Tests targets whose calls block.

use super::{
    TAKES, Told, WHOLE, balance, failures, hangs_until, of_kind, refuses, run, run_until_hung,
    run_with, set_up, that_need_each_other,
};
use crate::judged::verdict::Verdict;
use crate::load::target::{Done, Failure};
use crate::running::message::Message;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver};
use std::thread;

#[expect(clippy::unnecessary_wraps, reason = "a call that could fail")]
fn done(_: u64) -> Result<Done, Failure> {
    Ok(Done::new())
}

#[expect(clippy::unnecessary_wraps, reason = "a call that could fail")]
fn slow(_: u64) -> Result<Done, Failure> {
    thread::sleep(TAKES);
    Ok(Done::new())
}

#[test]
fn each_session_has_a_thread_of_its_own() {
    let setup = set_up(Told::new(refuses(0..0), slow), "-c 3 --threads 1").unwrap();
    let summary = run(&setup);
    assert_eq!(setup.target.seen(), (4, summary.stats.completed()));
    let calls = setup.target.calls.lock().unwrap();
    let mut threads: Vec<_> = calls.iter().map(|&(_, session, thread)| (session, thread)).collect();
    threads.sort_by_key(|(session, _)| *session);
    threads.dedup();
    assert_eq!(threads.iter().map(|(session, _)| *session).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(summary.stats.lateness.target > 0.0, "{:?}", summary.stats.lateness);
}

#[test]
fn skipped_slots_are_counted() {
    let setup = set_up(Told::new(refuses(0..0), slow), "-c 2 --skip-later-than 20ms").unwrap();
    let summary = run(&setup);
    assert!(summary.stats.skipped > 0, "{summary:?}");
    assert_eq!(setup.target.seen(), (3, summary.stats.completed()));
    assert!(summary.stats.lateness.target > 0.0, "{:?}", summary.stats.lateness);
}

#[test]
fn a_call_that_panics_breaks_or_fails_is_a_failure_of_its_kind() {
    let calls = |slot| match slot {
        20 => panic!("oh"),
        30 => Err(Failure::new("gone").broken()),
        40 => Err(Failure::new("no")),
        _ => Ok(Done::new()),
    };
    let setup = set_up(Told::new(refuses(1..4), calls), &format!("{WHOLE} -c 1")).unwrap();
    let summary = run(&setup);
    let once = ["gone", "no", "panic: oh"].map(|kind| of_kind(kind, 1)).concat();
    // One of the three refusals came before the schedule began, so the report contains only two.
    assert_eq!(failures(&summary), [once, of_kind("refused", 2)].concat());
    assert_eq!(setup.target.seen(), (7, summary.stats.started() - 2));
    assert_eq!(summary.stats.set_ups.all.len(), 3);
    assert_eq!(summary.verdict, Verdict::TargetFailing);
}

#[test]
fn a_panic_in_connect_is_a_failure_of_the_call_that_needs_the_session() {
    let panics = |n| if n > 0 { panic!("no door") } else { Ok(()) };
    let setup = set_up(Told::new(panics, done), "-c 4").unwrap();
    let summary = run(&setup);
    let started = summary.stats.started();
    assert_eq!(failures(&summary), of_kind("panic: no door", started));
    assert_eq!(setup.target.seen(), (1 + 4 + started, 0));
}

#[test]
fn the_last_of_so_many_requests_ends_the_run() {
    let target = Told::new(refuses(0..0), done);
    let setup = set_up(target, "-c 4 --duration 1h --requests 10").unwrap();
    let (sender, messages) = mpsc::channel();
    let summary = run_with(&setup, &sender, &messages);
    balance(&summary.stats);
    assert_eq!((summary.stats.due(), summary.stats.completed()), (10, 10));
    assert_eq!(setup.target.seen(), (5, 10));
}

#[test]
fn calls_that_hang_when_the_run_is_given_up_are_unfinished() {
    let (hung, begun) = mpsc::channel();
    let (end, ends) = mpsc::channel::<()>();
    let ends: Mutex<Receiver<()>> = Mutex::new(ends);
    let hangs = move |_| -> Result<Done, Failure> {
        hung.send(()).unwrap();
        let _ = ends.lock().map(|ends| ends.recv());
        Ok(Done::new())
    };
    let setup = set_up(Told::new(refuses(0..0), hangs), "-c 4 --duration 1h").unwrap();
    run_until_hung(&setup, begun);
    assert_eq!(setup.target.seen(), (5, 4));
    drop(end);
}

#[test]
fn a_target_that_hangs_before_the_load_is_not_there() {
    let (end, ends) = mpsc::channel();
    let hangs = hangs_until(ends);
    let target = Told::new(move |_| hangs(), done);
    let error = set_up(target, "--timeout 50ms").unwrap_err();
    assert_eq!(error.to_string(), "no response from test: timeout");
    drop(end);
}

#[test]
fn the_load_runs_with_the_open_sessions_and_leaves_out_the_others() {
    for hanging in [1, 3, 4] {
        let (end, ends) = mpsc::channel();
        let hangs = hangs_until(ends);
        let opens = move |n| if (1..=hanging).contains(&n) { hangs() } else { Ok(()) };
        let setup = set_up(Told::new(opens, slow), "-c 4 --timeout 50ms").unwrap();
        let summary = run(&setup);
        assert_eq!(setup.target.seen(), (5, summary.stats.completed()));
        let calls = setup.target.calls.lock().unwrap();
        let mut sessions: Vec<_> = calls.iter().map(|&(_, session, _)| session).collect();
        sessions.sort_unstable();
        sessions.dedup();
        assert_eq!(sessions.len() as u64, 4 - hanging, "{calls:?}");
        if hanging > 1 {
            assert!(summary.stats.lateness.target > 0.0, "{:?}", summary.stats.lateness);
        }
        drop(end);
    }
}

#[test]
fn a_session_that_is_open_late_takes_part_from_then_on() {
    let (hangs, calls) = that_need_each_other();
    let opens = move |n| if n == 2 { hangs() } else { Ok(()) };
    let target = Told::new(opens, calls);
    let setup = set_up(target, "-c 2 --duration 1h --requests 2 --timeout 50ms").unwrap();
    let (sender, messages) = mpsc::channel();
    let summary = run_with(&setup, &sender, &messages);
    balance(&summary.stats);
    assert_eq!((setup.target.seen(), summary.stats.completed()), ((3, 2), 2));
    assert_eq!(summary.stats.set_ups.all.len(), 2);
}

#[test]
fn one_stop_ends_a_run_whose_sessions_are_not_open() {
    let (end, ends) = mpsc::channel();
    let (hung, begun) = mpsc::channel();
    let hangs = hangs_until(ends);
    let opens = move |n| {
        if n == 0 {
            return Ok(());
        }
        hung.send(()).unwrap();
        hangs()
    };
    let target = Told::new(opens, done);
    let setup = set_up(target, "-c 4 --duration 1h --timeout 1h").unwrap();
    let (sender, messages) = mpsc::channel();
    let stop = sender.clone();
    let stops = thread::spawn(move || {
        begun.iter().take(4).for_each(drop);
        stop.send(Message::Stop).unwrap();
    });
    let summary = run_with(&setup, &sender, &messages);
    stops.join().unwrap();
    balance(&summary.stats);
    assert_eq!((setup.target.seen(), summary.stats.started()), ((5, 0), 0));
    drop(end);
}
