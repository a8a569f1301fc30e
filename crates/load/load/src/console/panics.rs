//! Catches panics of calls, which count as failures, and decides which panics are printed.
//!
//! The hook of this module restores the terminal and calls the previous hook. Only the first caught panic from each
//! source location is printed, and none while the full-screen view is shown. The report lists all caught panics.

use super::alternate;
use crossterm::terminal;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe, Location, PanicHookInfo};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;

/// Messages of panics that cannot be caught. The standard library prints these messages before it ends the process.
const ENDS: [&str; 2] =
    ["panic in a destructor during cleanup", "panic in a function that cannot unwind"];

thread_local! {
    /// Whether this thread runs a call whose panic is caught.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

static PLACES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

pub(crate) fn caught<R>(call: impl FnOnce() -> R) -> thread::Result<R> {
    hook();
    // In a program built with `panic = "abort"`, no panic can be caught, so every panic must be printed.
    let before = IS_CAUGHT.replace(cfg!(panic = "unwind"));
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    IS_CAUGHT.set(before);
    result
}

pub(crate) fn hook() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let shown = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if is_hidden(panic) {
                return;
            }
            if alternate::leave() {
                let _ = terminal::disable_raw_mode();
            }
            shown(panic);
        }));
    });
}

fn is_hidden(panic: &PanicHookInfo<'_>) -> bool {
    let ends = panic.payload().downcast_ref::<&str>().is_some_and(|text| ENDS.contains(text));
    IS_CAUGHT.get() && !ends && !(is_first(panic.location()) && alternate::turn().is_none())
}

fn is_first(place: Option<&Location<'_>>) -> bool {
    locked(&PLACES).insert(place.map(Location::to_string).unwrap_or_default())
}

/// Locks a mutex, even if a thread panicked while it held the lock. That panic has its own message, and the lock must
/// not cause another panic. Use this function only for values that are consistent at every moment.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::console::alternate::{enter, leave, turn, write};
    use rexpect::session::spawn_command;
    use std::env;
    use std::process::Command;

    const PANICS: &str = "NANOPACE_TEST_PANICS";

    /// Prints the terminal's settings before and after the following test, which panics in the alternate screen.
    const AROUND: &str = r#"
        stty -g
        "$0" --exact console::panics::tests::a_panic_is_shown_on_an_ordinary_terminal --nocapture
        echo; stty -g; echo over"#;

    #[test]
    fn a_panic_is_shown_on_an_ordinary_terminal() {
        if env::var_os(PANICS).is_some() {
            terminal::enable_raw_mode().unwrap();
            hook();
            enter();
            write(turn().unwrap(), b"a picture");
            let drawing = thread::spawn(|| panic!("the widget broke"));
            assert!(drawing.join().is_err() && turn().is_none());
            write(1, b"too late");
            return;
        }
        let mut command = Command::new("sh");
        command.args(["-c", AROUND]).arg(env::current_exe().unwrap()).env(PANICS, "1");
        let mut terminal = spawn_command(command, Some(60_000)).unwrap();
        let before = terminal.read_line().unwrap();
        assert!(before.contains(':'), "{before}");
        terminal.exp_string("\x1b[?1049h").unwrap();
        terminal.exp_string("a picture").unwrap();
        terminal.exp_string("\x1b[?1049l").unwrap();
        terminal.exp_string("\x1b[?25h").unwrap();
        terminal.exp_string("the widget broke").unwrap();
        terminal.exp_string("1 passed").unwrap();
        let after = terminal.exp_string("over").unwrap();
        assert!(after.lines().any(|line| line == before), "{before} {after}");
        assert!(!after.contains("too late") && !after.contains('\x1b'), "{after:?}");
    }

    fn errors_of(test: &str) -> String {
        let mut command = Command::new(env::current_exe().unwrap());
        let name = format!("console::panics::tests::{test}");
        let output = command.args(["--exact", &name, "--nocapture"]).env(PANICS, "1").output();
        String::from_utf8(output.unwrap().stderr).unwrap()
    }

    #[test]
    fn one_that_is_caught_leaves_the_view_alone_and_the_first_of_a_place_is_shown() {
        if env::var_os(PANICS).is_none() {
            let errors = errors_of(
                "one_that_is_caught_leaves_the_view_alone_and_the_first_of_a_place_is_shown",
            );
            let counts = ["hidden", "call 0", "call 1", "call 2", "not caught"]
                .map(|text| errors.matches(text).count());
            assert_eq!(counts, [0, 1, 0, 0, 2], "{errors}");
            return;
        }
        enter();
        assert!(caught(|| panic!("hidden")).is_err() && turn().is_some());
        leave();
        for call in 0..3 {
            assert!(caught(|| panic!("call {call}")).is_err());
        }
        for _ in 0..2 {
            enter();
            let ended = thread::spawn(|| panic!("not caught")).join();
            assert!(ended.is_err() && turn().is_none());
        }
    }

    #[test]
    fn one_that_ends_the_process_leaves_the_view() {
        struct Panics;
        impl Drop for Panics {
            fn drop(&mut self) {
                panic!("again");
            }
        }
        if env::var_os(PANICS).is_none() {
            let errors = errors_of("one_that_ends_the_process_leaves_the_view");
            let place = |text| errors.find(text);
            assert!(
                place("\x1b[?1049l").is_some_and(|left| place(ENDS[0]) > Some(left)),
                "{errors}"
            );
            return;
        }
        enter();
        let ended = caught(|| {
            let _panics = Panics;
            panic!("first");
        });
        assert!(ended.is_err(), "the process has ended");
    }
}
