//! Tests targets whose `connect` blocks its thread.

use super::{
    Called, Told, balance, done, hangs_until, run, run_with, set_up, slow, that_need_each_other,
};
use crate::judged::verdict::Verdict;
use crate::running::message::Message;
use std::future::ready;
use std::sync::mpsc;
use std::thread;

#[test]
fn a_target_that_holds_its_thread_before_the_load_is_not_there() {
    let (end, ends) = mpsc::channel();
    let hangs = hangs_until(ends);
    let error = set_up(Told::new(move |_| hangs(), |_| done()), "--timeout 50ms").unwrap_err();
    assert_eq!(error.to_string(), "no response from test: timeout: it holds its thread");
    drop(end);
}

/// A session whose `connect` blocks its thread prevents the other sessions of this thread from being opened.
#[test]
fn the_load_begins_without_threads_that_connect_holds() {
    for (threads, holding, unopened) in [(1, 1, 4), (2, 1, 2), (2, 2, 4)] {
        let (end, ends) = mpsc::channel();
        let hangs = hangs_until(ends);
        let opens = move |n| if (1..=holding).contains(&n) { hangs() } else { Ok(()) };
        let options = format!("-c 4 --threads {threads} --timeout 50ms");
        let setup = set_up(Told::new(opens, slow), &options).unwrap();
        let summary = run(&setup);
        let (opened, called) = setup.target.seen();
        assert_eq!((opened, called), (1 + holding + 4 - unopened, summary.stats.completed()));
        assert_eq!(called == 0, unopened == 4);
        if called == 0 {
            assert_eq!(summary.verdict, Verdict::TargetBehind, "{:?}", summary.stats.lateness);
        }
        let sessions = if unopened == 1 { "session was" } else { "sessions were" };
        let told = format!("{unopened} {sessions} not open when the load began: ");
        assert!(summary.warnings.iter().any(|warning| warning.starts_with(&told)));
        drop(end);
    }
}

#[test]
fn a_thread_that_connect_holds_for_a_while_takes_part_from_then_on() {
    let (hangs, calls) = that_need_each_other();
    let opens = move |n| if n == 1 { hangs() } else { Ok(()) };
    let calls = move |slot| -> Called { Box::pin(ready(calls(slot))) };
    let options = "-c 2 --threads 2 --duration 1h --requests 2 --timeout 50ms";
    let setup = set_up(Told::new(opens, calls), options).unwrap();
    let (sender, messages) = mpsc::channel();
    let summary = run_with(&setup, &sender, &messages);
    balance(&summary.stats);
    assert_eq!((setup.target.seen(), summary.stats.completed()), ((3, 2), 2));
}

#[test]
fn one_stop_ends_a_run_whose_thread_is_held_by_connect() {
    let (end, ends) = mpsc::channel();
    let (hung, begun) = mpsc::channel();
    let hangs = hangs_until(ends);
    let opens = move |n| {
        if n == 0 {
            return Ok(());
        }
        // Some sessions are opened after the test has ended, when the receiver no longer exists.
        let _ = hung.send(());
        hangs()
    };
    let setup = set_up(Told::new(opens, |_| done()), "-c 4 --timeout 1h").unwrap();
    let (sender, messages) = mpsc::channel();
    let stop = sender.clone();
    let stops = thread::spawn(move || {
        begun.recv().unwrap();
        stop.send(Message::Stop).unwrap();
    });
    let summary = run_with(&setup, &sender, &messages);
    stops.join().unwrap();
    assert_eq!((setup.target.seen(), summary.stats.due()), ((2, 0), 0));
    assert_eq!(summary.verdict, Verdict::NotStarted);
    drop(end);
}
