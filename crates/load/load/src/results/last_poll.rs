//! Records when a load thread last polled for responses, and for how long it was unable to poll.
//!
//! When a thread finds a response, the response may have arrived at any time since the thread's previous poll. A thread
//! that sleeps until a response arrives wakes at that time. But a thread that was stopped, was busy, or waited for the
//! CPU may find responses that arrived earlier. In this case, the whole time since the previous poll is attributed to
//! the generator, because the target may have responded at the beginning of that time.
//!
//! A sleeping thread wakes every 10 ms for a **beat**. If the beat is late, the thread was unable to poll until then.
//! If the thread neither ran nor waited for the CPU in this time, it was **stopped**: by a signal, or because its whole
//! machine was stopped or suspended. Other threads may have been stopped too, so this time is not attributed to
//! the target for any of the requests in flight.
//!
//! Between two beats, a thread may have to wait for the CPU each time it wakes. The system reports only the total of
//! these waits. This total is divided equally among the wake-ups.

use super::cpu_time::CpuTime;
use super::think_times::HICCUP;
use nanopace::Nanos;
use std::time::Duration;

pub(crate) const BEAT: Duration = Duration::from_millis(10);
pub(crate) const STUCK: Duration = Duration::from_secs(1);
/// The largest inaccuracy of timers that counts as normal.
const GRACE: Duration = Duration::from_millis(2);
/// A thread counts as stopped if more than this time cannot be explained by running or waiting for the CPU.
const UNEXPLAINED: Duration = Duration::from_millis(8);
/// If a poll takes longer than this, the thread has slept in it.
const AT_ONCE: Duration = Duration::from_micros(5);

#[derive(Clone, Copy, Debug)]
pub(crate) struct LastPoll {
    asleep: Option<Nanos>,
    woke: Nanos,
    /// The earliest possible arrival time of the responses that the thread finds before it sleeps again.
    looked: Nanos,
    /// The end of the stop, if the thread was stopped just before it woke. Otherwise, the same time as `looked`.
    counted: Nanos,
    /// The latest time at which the thread should wake for its beat.
    due: Nanos,
    stopped: Duration,
    processor: CpuTime,
    wakes: u32,
    /// The mean time for which the thread waited for the CPU at each wake-up between the last two beats.
    queued: Duration,
    /// The values that [`LastPoll::lost`] returned when the thread last started an operation on time.
    in_time: [Duration; 2],
    /// Whether the thread makes one blocking call at a time, and waits only in these calls.
    blocks: bool,
}

/// The time at which a request was sent. `stopped` is the total time for which the thread had been stopped until then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    at: Nanos,
    stopped: Duration,
}

impl LastPoll {
    pub(crate) fn new(now: Nanos) -> LastPoll {
        LastPoll {
            asleep: None,
            woke: now,
            looked: now,
            counted: now,
            due: Nanos::MAX,
            stopped: Duration::ZERO,
            processor: CpuTime::default(),
            wakes: 0,
            queued: Duration::ZERO,
            in_time: [Duration::ZERO; 2],
            blocks: false,
        }
    }

    pub(crate) fn blocks(&mut self) {
        self.blocks = true;
    }

    pub(crate) fn sleeps(&mut self, now: Nanos, processor: impl FnOnce() -> CpuTime) {
        if self.is_stop(now - self.woke, processor) {
            self.stopped += now - self.woke;
            self.woke = now;
        }
        self.asleep = Some(now);
    }

    pub(crate) fn wakes(&mut self, now: Nanos, processor: impl FnOnce() -> CpuTime) {
        let slept = self.asleep.take().map_or(Duration::ZERO, |since| now - since);
        // If the thread did not sleep in the poll, the responses that it found arrived after it last woke.
        let looked = if slept > AT_ONCE { now.min(self.due) } else { self.woke };
        self.counted = looked;
        if self.is_stop(now - looked, processor) {
            self.stopped += now - looked;
            self.counted = now;
        }
        (self.looked, self.woke) = (looked, now);
        self.wakes += 1;
    }

    pub(crate) fn beat(&mut self, now: Nanos, processor: CpuTime) {
        self.queued = processor.since(self.processor).queued() / self.wakes.max(1);
        (self.processor, self.wakes) = (processor, 0);
        self.due = now + BEAT + GRACE;
    }

    pub(crate) fn is_stuck(&self, now: Nanos, allowed: Duration) -> bool {
        now - self.due > allowed.saturating_add(STUCK)
    }

    /// Returns for how long a response may have waited for the CPU: at most the time since its request was sent.
    pub(crate) fn queued(&self, sent: Sent, now: Nanos) -> Duration {
        self.queued.min(now - sent.at)
    }

    /// Returns how much of the lateness `late` may be due to waiting for the CPU: at most the time for which the thread
    /// has waited for it since it last started an operation on time. If the thread was stopped in that time, the stops
    /// are first subtracted from `late`.
    pub(crate) fn queued_of(&self, late: Duration) -> Duration {
        let [queued, stopped] = self.lost();
        let [then_queued, then_stopped] = self.in_time;
        let unstopped = late.saturating_sub(stopped.saturating_sub(then_stopped));
        unstopped.min(queued.saturating_sub(then_queued))
    }

    /// Records the start of an operation. `late` is the part of its lateness that the thread caused.
    pub(crate) fn starts(&mut self, late: Duration) {
        if late <= HICCUP {
            self.in_time = self.lost();
        }
    }

    fn lost(&self) -> [Duration; 2] {
        [self.processor.queued(), self.stopped]
    }

    /// Returns the time up to which the thread has found all responses that have arrived.
    pub(crate) fn looked_until(&self, now: Nanos) -> Nanos {
        if self.blocks || self.asleep.is_some() { now.min(self.due) } else { self.looked }
    }

    pub(crate) fn send(&self, now: Nanos) -> Sent {
        Sent { at: now, stopped: self.stopped }
    }

    pub(crate) fn stopped_since(&self, sent: Sent) -> Duration {
        self.stopped.saturating_sub(sent.stopped)
    }

    /// Returns the part of a service time that is attributed to the target. The generator may have caused the rest.
    pub(crate) fn busy(&self, sent: Sent, now: Nanos) -> Duration {
        let counted = if self.blocks { now } else { self.counted };
        let unseen = now - counted.max(sent.at).min(now);
        (now - sent.at).saturating_sub(unseen + self.stopped_since(sent) + self.queued)
    }

    fn is_stop(&self, passed: Duration, processor: impl FnOnce() -> CpuTime) -> bool {
        passed > UNEXPLAINED
            && passed.saturating_sub(processor().since(self.processor).wanted) > UNEXPLAINED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_may_be_due_to_the_processor_as_far_as_it_was_waited_for_since_all_was_in_time() {
        let ms = Duration::from_millis;
        let queued = |time| CpuTime { had: Duration::ZERO, wanted: ms(time) };
        let mut last_poll = LastPoll::new(Nanos::ZERO);
        last_poll.beat(Nanos::ZERO, queued(500));
        assert_eq!(last_poll.queued_of(ms(800)), ms(500));
        last_poll.starts(HICCUP + Duration::from_nanos(1));
        assert_eq!(last_poll.queued_of(ms(300)), ms(300));
        last_poll.starts(HICCUP);
        assert_eq!(last_poll.queued_of(ms(300)), Duration::ZERO);
        last_poll.beat(Nanos::ZERO, queued(600));
        assert_eq!(last_poll.queued_of(ms(300)), ms(100));
        last_poll.sleeps(Nanos::ZERO, || queued(600));
        last_poll.wakes(Nanos::ZERO + BEAT + GRACE + ms(250), || queued(600));
        assert_eq!(last_poll.queued_of(ms(300)), ms(50));
        assert_eq!(last_poll.queued_of(ms(200)), Duration::ZERO);
        // If the system no longer reports the CPU time, it is unknown whether the thread was stopped.
        last_poll.beat(Nanos::ZERO, CpuTime::default());
        assert_eq!(last_poll.queued_of(ms(300)), Duration::ZERO);
    }
}
