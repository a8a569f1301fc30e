//! Tests that the README states the sizes of all limiters.

use crate::pools::pool_state::{State, Stretch};
use crate::pools::refilled_bucket::Stock;
use crate::pools::{ManagedPool, RefilledBucket, TokenPool};
use crate::sync::Mutex;
use crate::{
    AggregatedWindow, Atomic, FixedWindow, Gcra, LeakyQueue, Locked, RollingCount, Rule,
    SlidingCounter, SlidingLog, SlottedRing, TokenBucket,
};
use std::mem::size_of;

/// The size of the state and of the whole limiter, in bytes.
type Size = (usize, usize);

fn word<R: Rule<State: From<u64> + Into<u64>>>() -> Size {
    (size_of::<R::State>(), size_of::<Atomic<R>>())
}

fn locked<R: Rule>() -> Size {
    (size_of::<R::State>(), size_of::<Locked<R>>())
}

fn shared<Handle, Shared>() -> Size {
    let counts = 2 * size_of::<usize>();
    (size_of::<Shared>(), size_of::<Handle>() + counts + size_of::<Mutex<Shared>>())
}

fn plain<T>() -> Size {
    (size_of::<T>(), size_of::<T>())
}

#[test]
fn limiters_take_what_the_readme_says() {
    let sizes = [
        ("Gcra", word::<Gcra>()),
        ("LeakyQueue", word::<LeakyQueue>()),
        ("TokenBucket", word::<TokenBucket>()),
        ("FixedWindow", word::<FixedWindow>()),
        ("SlidingCounter", locked::<SlidingCounter>()),
        ("SlidingLog", locked::<SlidingLog>()),
        ("SlottedRing<10>", locked::<SlottedRing<10>>()),
        ("SlottedRing<64>", locked::<SlottedRing<64>>()),
        ("AggregatedWindow", locked::<AggregatedWindow>()),
        ("RefilledBucket", shared::<RefilledBucket, Stock>()),
        ("ManagedPool", shared::<ManagedPool, State>()),
        ("TokenPool", plain::<TokenPool>()),
        ("RollingCount", plain::<RollingCount>()),
    ];
    let readme = include_str!("../README.md");
    for (name, (state, all)) in sizes {
        let row = format!("\n| `{name}` | {state} | {all} |");
        assert!(readme.contains(&row), "the README has no row {row}");
    }
    let row = format!("`ManagedPool` adds {} bytes for each quota", size_of::<Stretch>());
    assert!(readme.contains(&row), "the README does not say: {row}");
}
