//! Defines the timer trait, and alarms that share one timer.

use crate::sync::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

/// A timer with one alarm. An [`AsyncPacer`](crate::AsyncPacer) and its clones share one timer, however long their
/// queue is.
///
/// The `AsyncPacer` calls the timer while it holds its own lock, always with the same waker. The timer must wake that
/// waker from another thread or from the runtime, never inside a call of one of these methods.
///
/// Pass a timer to [`AsyncPacer::with_timer`](crate::AsyncPacer::with_timer).
pub trait Timer: fmt::Debug + Send + Sync + 'static {
    /// Sets the alarm. The timer wakes `waker` after `delay`, and then repeatedly, at intervals of at most three times
    /// `again`, until the alarm is set again or stopped. The timer may also wake `waker` at other times. An additional
    /// wake-up does not replace the wake-up after `delay`.
    fn set(&self, delay: Duration, again: Duration, waker: &Waker);

    /// Notifies the timer that the waker was woken, by this timer or by other code. The alarm must stay active. Only
    /// timers that have to be polled after each wake-up need to implement this method.
    fn went_off(&self, waker: &Waker) {
        let _ = waker;
    }

    /// Stops the alarm. The timer need not wake the waker until the alarm is set again.
    fn stop(&self);
}

impl<T: Timer + ?Sized> Timer for Box<T> {
    fn set(&self, delay: Duration, again: Duration, waker: &Waker) {
        (**self).set(delay, again, waker);
    }

    fn went_off(&self, waker: &Waker) {
        (**self).went_off(waker);
    }

    fn stop(&self) {
        (**self).stop();
    }
}

/// The interval at which a timer repeats its ring, an argument of [`Timer::set`]. Each ring sets or stops the timer, so
/// rings are rarely repeated.
const AGAIN: Duration = Duration::from_millis(20);

/// Provides alarms for any number of tasks with one timer.
///
/// Each alarm wakes a task once, at about the time of the alarm or earlier. A woken task must check the time again.
///
/// ```
/// use nanopace_async::timer::{Alarms, ThreadTimer};
/// use std::future::poll_fn;
/// use std::task::Poll;
/// use std::time::{Duration, Instant};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let alarms = Alarms::new(ThreadTimer::new()?);
/// let until = Instant::now() + Duration::from_millis(2);
/// let mut alarm = alarms.alarm();
/// poll_fn(|context| match until.saturating_duration_since(Instant::now()) {
///     Duration::ZERO => Poll::Ready(()),
///     left => {
///         alarm.set(left, context.waker());
///         Poll::Pending
///     }
/// })
/// .await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Alarms(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    timer: Box<dyn Timer>,
    bell: Waker,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    alarms: BTreeMap<Place, Waker>,
    last: u64,
}

type Place = (Instant, u64);

/// An alarm from a set of [`Alarms`]. Dropping an alarm turns it off.
#[derive(Debug)]
pub struct Alarm {
    alarms: Alarms,
    place: Option<Place>,
}

struct Bell(Weak<Shared>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        if let Some(shared) = self.0.upgrade() {
            shared.ring();
        }
    }
}

impl Alarms {
    /// Creates a set of alarms on `timer`, which no other code may use.
    #[must_use]
    pub fn new(timer: impl Timer) -> Alarms {
        Alarms(Arc::new_cyclic(|shared| Shared {
            timer: Box::new(timer),
            bell: Waker::from(Arc::new(Bell(Weak::clone(shared)))),
            queue: Mutex::new(Queue::default()),
        }))
    }

    /// Returns an alarm that is off.
    #[must_use]
    pub fn alarm(&self) -> Alarm {
        Alarm { alarms: self.clone(), place: None }
    }
}

impl Shared {
    /// Wakes the tasks whose alarms are due, and at least the task with the earliest alarm.
    fn ring(&self) {
        let mut woken = Vec::new();
        let mut queue = self.queue.lock();
        self.timer.went_off(&self.bell);
        woken.extend(queue.alarms.pop_first().map(|(_, waker)| waker));
        let now = Instant::now();
        while let Some(first) = queue.alarms.first_entry().filter(|first| first.key().0 <= now) {
            woken.push(first.remove());
        }
        self.set_timer(&queue, now);
        drop(queue);
        for waker in woken {
            // A waker's panic must not end the timer's thread or reactor, and the others are still woken.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }

    fn set_timer(&self, queue: &Queue, now: Instant) {
        match queue.alarms.keys().next() {
            Some((at, _)) => {
                self.timer.set(at.saturating_duration_since(now), AGAIN, &self.bell);
            }
            None => self.timer.stop(),
        }
    }
}

impl Alarm {
    /// Sets the alarm to wake `waker` after the time `after`, and cancels the previous setting.
    pub fn set(&mut self, after: Duration, waker: &Waker) {
        let shared = Arc::clone(&self.alarms.0);
        let now = Instant::now();
        let mut queue = shared.queue.lock();
        let before = self.place.take().and_then(|place| queue.alarms.remove(&place));
        queue.last += 1;
        // Limited to 34 years, so that the sum can't overflow.
        let place = (now + after.min(Duration::from_secs(1 << 30)), queue.last);
        queue.alarms.insert(place, waker.clone());
        self.place = Some(place);
        if queue.alarms.keys().next() == Some(&place) {
            shared.set_timer(&queue, now);
        }
        drop(queue);
        drop(before);
    }
}

impl Drop for Alarm {
    /// After the drop, the timer may ring once although no alarm is due.
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            let waker = self.alarms.0.queue.lock().alarms.remove(&place);
            drop(waker);
        }
    }
}
