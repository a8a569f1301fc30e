//! Runs that wait most of the time, side by side.

use std::thread;

/// Checks each case in a thread of its own.
pub(crate) fn side_by_side<C: Send>(
    cases: impl IntoIterator<Item = C>,
    check: impl Fn(C) + Send + Sync,
) {
    let check = &check;
    thread::scope(|scope| {
        for case in cases {
            scope.spawn(move || check(case));
        }
    });
}
