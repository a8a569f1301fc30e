//! Records which callers are asleep and for which slots they wait, so that a change wakes only the callers that have to
//! act on it.
//!
//! A sleeper whose slot moved to a later time finds that time when it wakes. It is woken only if the slot can no longer
//! start, or not by the sleeper's deadline.
//!
//! Waking takes a system call for each sleeper, and there may be thousands of sleepers. A change therefore queues the
//! sleepers to be woken, and wakes only the first [`HERD`] of them. Each sleeper that wakes up wakes the next one.
//!
//! No wake-up is lost. A sleeper enters under the registry's lock, and only if the version of its plan is still
//! current. A change makes that version invalid before it takes that lock. So either the sleeper has entered when the
//! change looks for sleepers, or the sleeper sees the change. A chosen sleeper that wakes before it is unparked also
//! leaves under that lock, and so sees the change. Models: `no_wake_up_is_lost`, `a_change_reaches_every_sleeper`.

use crate::Unparker;
use crate::position::{last_up_to, ticks_between};
use crate::release::Release;
use crate::sync::{HERD, Mutex};
use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;
use std::thread;

#[derive(Clone, Debug)]
pub(crate) struct Sleeper {
    pub(crate) release: Release,
    pub(crate) deadline: i64,
    /// Whether the caller exchanges its slot for an earlier one that was given back.
    pub(crate) takes_others: bool,
    pub(crate) unparker: Unparker,
}

#[derive(Debug, Default)]
struct Registry {
    /// The keys are the positions of the sleepers' slots. A slot's owner leaves before the slot gets another owner.
    asleep: BTreeMap<u64, Sleeper>,
    /// Sleepers that have been chosen and removed, and not yet unparked.
    to_be_woken: VecDeque<Unparker>,
    watching: BTreeMap<u64, Waker>,
}

#[derive(Debug)]
pub(crate) struct Sleepers(Mutex<Registry>);

/// Wakes threads and tasks when it is dropped, which must not happen under a lock that they need next.
#[derive(Debug, Default)]
#[must_use = "wakes when it is dropped"]
pub(crate) struct WakeUps {
    threads: Vec<Unparker>,
    tasks: Vec<Waker>,
}

impl Drop for WakeUps {
    fn drop(&mut self) {
        mem::take(&mut self.threads).iter().for_each(Unparker::unpark);
        let mut panic = None;
        for task in mem::take(&mut self.tasks) {
            // If a waker panics, the others are still woken.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| task.wake())) {
                panic.get_or_insert(payload);
            }
        }
        if let Some(payload) = panic.filter(|_| !thread::panicking()) {
            resume_unwind(payload);
        }
    }
}

impl WakeUps {
    pub(crate) fn and(&mut self, mut others: WakeUps) {
        append(&mut self.threads, mem::take(&mut others.threads));
        append(&mut self.tasks, mem::take(&mut others.tasks));
    }
}

/// Appends `others` to `all`. Allocates nothing if `all` is empty, unlike `Vec::append`.
fn append<T>(all: &mut Vec<T>, others: Vec<T>) {
    if all.is_empty() { *all = others } else { all.extend(others) }
}

impl Sleepers {
    pub(crate) fn new() -> Sleepers {
        Sleepers(Mutex::new(Registry::default()))
    }

    pub(crate) fn enter(
        &self,
        position: u64,
        sleeper: Sleeper,
        is_current: impl Fn() -> bool,
    ) -> bool {
        let mut registry = self.0.lock();
        let is_current = is_current();
        if is_current {
            registry.asleep.insert(position, sleeper);
        }
        is_current
    }

    pub(crate) fn leave(&self, position: u64) {
        let mut registry = self.0.lock();
        registry.asleep.remove(&position);
        let next = registry.to_be_woken.pop_front();
        drop(registry);
        next.iter().for_each(Unparker::unpark);
    }

    pub(crate) fn watch(&self, number: u64, waker: &Waker) {
        // Not under the lock: cloning or dropping a waker may run code of its task.
        let waker = waker.clone();
        let earlier = self.0.lock().watching.insert(number, waker);
        drop(earlier);
    }

    pub(crate) fn unwatch(&self, number: u64) {
        let earlier = self.0.lock().watching.remove(&number);
        drop(earlier);
    }

    pub(crate) fn watching(&self) -> WakeUps {
        WakeUps { threads: Vec::new(), tasks: self.0.lock().take_watching() }
    }

    pub(crate) fn moved(&self, release: impl Fn(u64) -> i64) -> WakeUps {
        let must_wake = |(&position, sleeper): (&u64, &Sleeper)| {
            let release = release(position);
            (release < sleeper.release.moment() || release > sleeper.deadline).then_some(position)
        };
        let mut registry = self.0.lock();
        let positions = registry.asleep.iter().filter_map(must_wake).collect();
        registry.choose(positions)
    }

    pub(crate) fn behind_end(&self, ends_before: impl Fn(u64) -> bool) -> WakeUps {
        let mut registry = self.0.lock();
        let positions: Vec<u64> =
            registry.asleep.keys().copied().filter(|&position| ends_before(position)).collect();
        if positions.is_empty() { WakeUps::default() } else { registry.choose(positions) }
    }

    pub(crate) fn have(&self, from: u64, to: u64) -> bool {
        let asleep = &self.0.lock().asleep;
        last_up_to(asleep, to).is_some_and(|(&last, _)| ticks_between(from, last) >= 0)
    }

    pub(crate) fn all(&self) -> WakeUps {
        self.moved(|_| i64::MIN)
    }

    /// The sleepers with the latest slots are chosen first, so that sleepers that start sooner keep their slots.
    pub(crate) fn latest_behind(&self, position: u64, slots: u64) -> WakeUps {
        let would_take = |(&at, sleeper): (&u64, &Sleeper)| {
            (sleeper.takes_others && ticks_between(position, at) > 0).then_some(at)
        };
        let mut registry = self.0.lock();
        let slots = usize::try_from(slots).unwrap_or(usize::MAX);
        let positions = registry.asleep.iter().rev().filter_map(would_take).take(slots).collect();
        registry.choose(positions)
    }
}

impl Registry {
    fn choose(&mut self, positions: Vec<u64>) -> WakeUps {
        for position in positions {
            let sleeper = self.asleep.remove(&position);
            self.to_be_woken.extend(sleeper.map(|sleeper| sleeper.unparker));
        }
        let first = self.to_be_woken.len().min(HERD);
        let threads = self.to_be_woken.drain(..first).collect();
        WakeUps { threads, tasks: self.take_watching() }
    }

    fn take_watching(&mut self) -> Vec<Waker> {
        if self.watching.is_empty() {
            return Vec::new(); // even `take` of an empty map costs time
        }
        mem::take(&mut self.watching).into_values().collect()
    }
}
