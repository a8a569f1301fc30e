//! Tracks when a load thread last polled for responses, and for how long it could not poll.
//!
//! A response that the thread finds may have arrived at any time since the thread's previous poll. If a thread sleeps
//! until something happens, it wakes when the response arrives. But a thread that was stopped, was busy, or waited for
//! the CPU finds responses that arrived earlier. All of that time is attributed to the generator, because the target
//! may have responded at its beginning.
//!
//! A sleeping thread wakes for a **beat** every 10 ms. If the beat is late, the thread could not poll in the meantime.
//! If the thread neither ran nor waited for the CPU in that time, it was **stopped**: by a signal, or because its whole
//! machine was stopped or suspended. In that case, other threads may have been stopped as well, so for all requests in
//! flight, this time is not attributed to the target.
//!
//! Between two beats, a thread may have to wait for the CPU each time it wakes. The system reports the total of these
//! waits, which is divided evenly among the wake-ups.

use super::cpu_time::CpuTime;
use super::think_times::HICCUP;
use nanopace::Nanos;
use std::time::Duration;

pub(crate) const BEAT: Duration = Duration::from_millis(10);
/// The delay of a beat above which its thread is stuck.
pub(crate) const STUCK: Duration = Duration::from_secs(1);
/// The maximum inaccuracy of timers.
const GRACE: Duration = Duration::from_millis(2);
/// The minimum unexplained time after which a thread counts as stopped.
const UNEXPLAINED: Duration = Duration::from_millis(8);
/// The minimum duration of a poll in which the thread has slept.
const AT_ONCE: Duration = Duration::from_micros(5);

#[derive(Clone, Copy, Debug)]
pub(crate) struct LastPoll {
    /// The time at which the thread fell asleep. `None` if it is awake.
    asleep: Option<Nanos>,
    woke: Nanos,
    /// The earliest possible arrival time of responses that the thread finds before it sleeps again.
    looked: Nanos,
    /// Equal to `looked`, unless the thread was stopped just before it woke. In that case, this is the end of the stop.
    counted: Nanos,
    /// The latest time at which the thread wakes for its beat.
    due: Nanos,
    stopped: Duration,
    processor: CpuTime,
    wakes: u32,
    /// The mean time per wake-up for which the thread waited for the CPU, as of the last beat.
    queued: Duration,
    /// The values of [`LastPoll::lost`] when the thread last started an operation on time.
    in_time: [Duration; 2],
    /// Whether the thread makes one blocking call at a time and waits for nothing else.
    blocks: bool,
}

/// `stopped` is the total time for which the thread had been stopped before it sent the request.
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

    /// Marks the thread as waiting inside its calls, one at a time. Such a thread finds each response when it arrives.
    pub(crate) fn blocks(&mut self) {
        self.blocks = true;
    }

    /// `processor` returns the thread's CPU time.
    pub(crate) fn sleeps(&mut self, now: Nanos, processor: impl FnOnce() -> CpuTime) {
        if self.is_stop(now - self.woke, processor) {
            self.stopped += now - self.woke;
            self.woke = now;
        }
        self.asleep = Some(now);
    }

    /// `processor` returns the thread's CPU time.
    pub(crate) fn wakes(&mut self, now: Nanos, processor: impl FnOnce() -> CpuTime) {
        let slept = self.asleep.take().map_or(Duration::ZERO, |since| now - since);
        // If the poll did not sleep, the responses that it found arrived after the thread last woke.
        let looked = if slept > AT_ONCE { now.min(self.due) } else { self.woke };
        self.counted = looked;
        if self.is_stop(now - looked, processor) {
            self.stopped += now - looked;
            self.counted = now;
        }
        (self.looked, self.woke) = (looked, now);
        self.wakes += 1;
    }

    /// `processor` is the thread's CPU time. The thread must have another beat after this one.
    pub(crate) fn beat(&mut self, now: Nanos, processor: CpuTime) {
        self.queued = processor.since(self.processor).queued() / self.wakes.max(1);
        (self.processor, self.wakes) = (processor, 0);
        self.due = now + BEAT + GRACE;
    }

    /// A thread whose beat is late by [`STUCK`] plus `allowed` may never wake again.
    pub(crate) fn is_stuck(&self, now: Nanos, allowed: Duration) -> bool {
        now - self.due > allowed.saturating_add(STUCK)
    }

    pub(crate) fn queued(&self) -> Duration {
        self.queued
    }

    /// Returns the part of `late` that may be due to waiting for the CPU since the thread was last on time. Stops are
    /// subtracted from `late` first.
    pub(crate) fn queued_of(&self, late: Duration) -> Duration {
        let [queued, stopped] = self.lost();
        let [then_queued, then_stopped] = self.in_time;
        let unstopped = late.saturating_sub(stopped.saturating_sub(then_stopped));
        unstopped.min(queued.saturating_sub(then_queued))
    }

    /// `late` is the part of the operation's lateness that the thread caused.
    pub(crate) fn starts(&mut self, late: Duration) {
        if late <= HICCUP {
            self.in_time = self.lost();
        }
    }

    fn lost(&self) -> [Duration; 2] {
        [self.processor.queued(), self.stopped]
    }

    /// Returns the time up to which all arrived responses have been found.
    pub(crate) fn looked_until(&self, now: Nanos) -> Nanos {
        if self.blocks || self.asleep.is_some() { now.min(self.due) } else { self.looked }
    }

    pub(crate) fn send(&self, now: Nanos) -> Sent {
        Sent { at: now, stopped: self.stopped }
    }

    pub(crate) fn stopped_since(&self, sent: Sent) -> Duration {
        self.stopped.saturating_sub(sent.stopped)
    }

    /// Returns the part of a service time that is attributed to the target, for a response found at `now`. The
    /// generator may have caused the rest.
    pub(crate) fn busy(&self, sent: Sent, now: Nanos) -> Duration {
        let counted = if self.blocks { now } else { self.counted };
        let unseen = now - counted.max(sent.at).min(now);
        (now - sent.at).saturating_sub(unseen + self.stopped_since(sent) + self.queued)
    }

    /// Returns whether the thread neither ran nor waited for the CPU for more than [`UNEXPLAINED`] of the time
    /// `passed`.
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
        // If the system stops reporting CPU time, the cause is unknown.
        last_poll.beat(Nanos::ZERO, CpuTime::default());
        assert_eq!(last_poll.queued_of(ms(300)), Duration::ZERO);
    }
}
