//! What other callers do while one sleeps, step by step. A caller that sleeps already is bound by
//! the same rules.

use crate::common::{MILLI, SECOND, at, rate, span, strictness};
use nanopace::{Clock, Nanos, Pacer, Parker};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

type Step = Box<dyn FnOnce() + Send>;

/// A clock on which each sleep lasts as long as it takes another thread to do the next step; when
/// there is none, to its end.
#[derive(Default)]
struct Meanwhile {
    now: AtomicU64,
    steps: Mutex<VecDeque<Step>>,
}

impl Meanwhile {
    fn set(&self, nanos: u64) {
        self.now.store(nanos, Ordering::Relaxed);
    }

    fn then(&self, step: impl FnOnce() + Send + 'static) {
        self.steps.lock().expect("no panic").push_back(Box::new(step));
    }
}

impl std::fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meanwhile").finish_non_exhaustive()
    }
}

impl Clock for Meanwhile {
    fn now(&self) -> Nanos {
        at(self.now.load(Ordering::Relaxed))
    }

    fn park(&self, _: &Parker, until: Nanos) {
        let step = self.steps.lock().expect("no panic").pop_front();
        match step {
            Some(step) => thread::spawn(step).join().expect("no panic"),
            None => self.set(until.as_nanos()),
        }
    }

    fn is_real(&self) -> bool {
        false
    }
}

/// 10/s at ratio 2, so slots may start every 50 ms while time is owed. Slot 1 started at 10 s.
/// Slots 2 and 3 are given back while a caller sleeps for slot 4, and slot 2 is taken at 10.14 s,
/// 90 ms later than it might have started. Slot 4 comes 100 ms after it.
#[test]
fn a_second_stall_while_time_is_owed_holds_back_a_caller_that_sleeps_already() {
    let clock = Arc::new(Meanwhile::default());
    let builder =
        Pacer::builder(rate("10/s")).strictness(strictness(2.0)).tolerance(Duration::ZERO);
    let pacer = builder.clock(clock.clone()).build();
    pacer.try_acquire().expect("due at once");
    clock.set(10 * SECOND);
    pacer.try_acquire().expect("late");
    let claims = [(); 2].map(|()| pacer.claim().expect("open").into_owned());
    clock.then(move || claims.into_iter().for_each(drop));
    let (meanwhile, other) = (clock.clone(), pacer.clone());
    clock.then(move || {
        meanwhile.set(10_140 * MILLI);
        assert!(other.claim().expect("open").start().is_ok());
        meanwhile.set(10_150 * MILLI);
    });
    let row = pacer.acquire_many(2).expect("open");
    assert_eq!(row.actual_start() - at(0), span(10_240 * MILLI));
}
