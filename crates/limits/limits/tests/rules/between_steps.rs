//! Changes between two steps of a waiter. No lock covers both steps.

use crate::laws::at;
use nanopace_limits::custom::{LimitsState, Receipt, Step, WaitQueue, Waitable, Waiter};
use nanopace_limits::{CostsRejected, Limits, Rule, Wait, WaitError};
use nanopace_nanos::{Clock, ManualClock, Nanos};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

type Heard = Step<Result<Duration, WaitError<CostsRejected>>>;

/// Limits with a queue. Another request may come right after the next step on the limits.
struct Interrupted {
    limits: Arc<Limits>,
    state: RefCell<LimitsState>,
    queue: WaitQueue<()>,
    clock: ManualClock,
    comes: Cell<Option<Wait<'static>>>,
    /// The result of the first step of the waiter that came.
    heard: Cell<Option<Heard>>,
}

impl Interrupted {
    fn new(limits: &str) -> Self {
        let limits: Arc<Limits> = Arc::new(limits.parse().unwrap());
        let state = RefCell::new(limits.fresh());
        let (queue, clock) = (WaitQueue::new(), ManualClock::new());
        Self { limits, state, queue, clock, comes: Cell::default(), heard: Cell::default() }
    }
}

impl Waitable for &Interrupted {
    type Key = ();
    type Asked = ();
    type Refusal = CostsRejected;

    fn key(&self) -> &() {
        &()
    }

    fn queue(&self) -> &WaitQueue<()> {
        &self.queue
    }

    fn clock(&self) -> &dyn Clock {
        &self.clock
    }

    fn step<T>(
        &self,
        step: impl Fn(&Arc<Limits>, &mut LimitsState, Nanos) -> Result<T, CostsRejected>,
    ) -> Result<T, CostsRejected> {
        let answer = step(&self.limits, &mut self.state.borrow_mut(), self.clock.now());
        if let Some(wait) = self.comes.take() {
            self.heard.set(Some(Waiter::new(*self, wait).step(Waker::noop())));
        }
        answer
    }

    fn not_until(refusal: &CostsRejected) -> Option<Nanos> {
        refusal.not_until()
    }

    fn refund(&self, _: &Receipt) {}
}

/// The first in line was let in and has not left yet. Its cost is counted once, not as one in front too.
#[test]
fn who_comes_while_the_first_leaves_gets_in_when_the_limits_say() {
    let gate = Interrupted::new("10/s burst 1");
    let ms = Duration::from_millis;
    gate.limits.try_acquire(&mut gate.state.borrow_mut(), at(0), 1).unwrap();
    let mut first = Waiter::new(&gate, Wait::new(1));
    assert_eq!(first.step(Waker::noop()), Step::Until(at(100_000_000)));
    gate.clock.advance(ms(100));
    gate.comes.set(Some(Wait::new(1).timeout(ms(100))));
    assert_eq!(first.step(Waker::noop()), Step::Done(Ok(ms(100))));
    assert_eq!(gate.heard.take(), Some(Step::Until(at(200_000_000))));
}
