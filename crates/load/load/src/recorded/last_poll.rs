//! When a load thread last polled for responses, and for how long it could not poll.
//!
//! A response may have arrived at any time since the thread last found nothing. Where a thread sleeps until something
//! happens, the response arrives when it wakes. But a thread that was stopped, or was busy, or waited for the CPU finds
//! responses that have been there for longer. All of that time counts as the generator's: the target may have responded
//! at its beginning.
//!
//! A thread that sleeps wakes for a **beat** every 10 ms. If the beat comes later than that, the thread could not poll
//! meanwhile. If it neither ran nor was queued for the CPU in that time, it was **stopped**: by a signal, with its
//! whole machine, or by a suspended one. Then others may have been stopped with it, and no request in flight is charged
//! to the target for that time, whenever its response is found.
//!
//! Between two beats a thread that wakes may have had to wait for the CPU. The system counts how long that took in
//! total, and this time is divided evenly among the wake-ups.

use super::cpu_time::CpuTime;
use super::think_times::HICCUP;
use nanopace::Nanos;
use std::time::Duration;

/// How long a thread sleeps at most.
pub(crate) const BEAT: Duration = Duration::from_millis(10);
/// A thread is stuck if its beat is later than this.
pub(crate) const STUCK: Duration = Duration::from_secs(1);
/// Timers are coarse.
const GRACE: Duration = Duration::from_millis(2);
/// A thread was stopped if there is no explanation for more than this.
const UNEXPLAINED: Duration = Duration::from_millis(8);
/// A poll that takes longer than this has slept.
const AT_ONCE: Duration = Duration::from_micros(5);

/// The state of a thread's polls for responses in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastPoll {
    /// Since when it has slept, if it does.
    asleep: Option<Nanos>,
    /// When it has woken last.
    woke: Nanos,
    /// Responses that it finds until it sleeps again have arrived since then.
    looked: Nanos,
    /// `looked`, but without a stop just before it woke.
    counted: Nanos,
    /// When it wakes by itself at the latest.
    due: Nanos,
    /// How long it was stopped, in total.
    stopped: Duration,
    /// Its CPU time until the last beat, and how often it has woken since then.
    processor: CpuTime,
    wakes: u32,
    /// How long it waited for the CPU each time it woke, before that beat.
    queued: Duration,
    /// How long it had waited for the CPU and been stopped, in total, when it was last in time.
    in_time: [Duration; 2],
    /// Whether it waits for an answer, and for nothing else, from start to end.
    blocks: bool,
}

/// When a request was sent, and how long its thread had been stopped until then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    at: Nanos,
    stopped: Duration,
}

impl LastPoll {
    /// The state of a thread that is awake now, and has no beat yet.
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

    /// From now on the thread waits inside of its calls, one at a time: it finds each response when it arrives.
    pub(crate) fn blocks(&mut self) {
        self.blocks = true;
    }

    /// The thread goes to sleep, and has had this CPU time.
    pub(crate) fn sleeps(&mut self, now: Nanos, processor: impl FnOnce() -> CpuTime) {
        if self.is_stop(now - self.woke, processor) {
            self.stopped += now - self.woke;
            self.woke = now;
        }
        self.asleep = Some(now);
    }

    /// The thread wakes, and has had this CPU time.
    pub(crate) fn wakes(&mut self, now: Nanos, processor: impl FnOnce() -> CpuTime) {
        let slept = self.asleep.take().map_or(Duration::ZERO, |since| now - since);
        // Responses that were there before it polled have arrived since it last woke.
        let looked = if slept > AT_ONCE { now.min(self.due) } else { self.woke };
        self.counted = looked;
        if self.is_stop(now - looked, processor) {
            self.stopped += now - looked;
            self.counted = now;
        }
        (self.looked, self.woke) = (looked, now);
        self.wakes += 1;
    }

    /// A beat of the thread, which has had this CPU time. There will be another one.
    pub(crate) fn beat(&mut self, now: Nanos, processor: CpuTime) {
        self.queued = processor.since(self.processor).queued() / self.wakes.max(1);
        (self.processor, self.wakes) = (processor, 0);
        self.due = now + BEAT + GRACE;
    }

    /// Whether its beat is late by [`STUCK`] and `allowed` more, so that another one may never come.
    pub(crate) fn is_stuck(&self, now: Nanos, allowed: Duration) -> bool {
        now - self.due > allowed.saturating_add(STUCK)
    }

    /// How long it waits for the CPU each time it wakes.
    pub(crate) fn queued(&self) -> Duration {
        self.queued
    }

    /// How much of the time by which the thread is late may be due to its waiting for the CPU, since it was last in
    /// time. A stop of the thread is another possible reason.
    pub(crate) fn queued_of(&self, late: Duration) -> Duration {
        let [queued, stopped] = self.lost();
        let [then_queued, then_stopped] = self.in_time;
        let unstopped = late.saturating_sub(stopped.saturating_sub(then_stopped));
        unstopped.min(queued.saturating_sub(then_queued))
    }

    /// The thread starts something, which is late by this time because of the thread.
    pub(crate) fn starts(&mut self, late: Duration) {
        if late <= HICCUP {
            self.in_time = self.lost();
        }
    }

    /// How long it has waited for the CPU and been stopped, in total.
    fn lost(&self) -> [Duration; 2] {
        [self.processor.queued(), self.stopped]
    }

    /// The time until which arrived responses would have been found by now.
    pub(crate) fn looked_until(&self, now: Nanos) -> Nanos {
        if self.blocks || self.asleep.is_some() { now.min(self.due) } else { self.looked }
    }

    /// A request is sent now.
    pub(crate) fn send(&self, now: Nanos) -> Sent {
        Sent { at: now, stopped: self.stopped }
    }

    /// How long the thread was stopped since a request was sent.
    pub(crate) fn stopped_since(&self, sent: Sent) -> Duration {
        self.stopped.saturating_sub(sent.stopped)
    }

    /// Returns the part of the service time of a request that is the target's, for a response found at `now`. The rest may be
    /// due to the generator.
    pub(crate) fn busy(&self, sent: Sent, now: Nanos) -> Duration {
        let counted = if self.blocks { now } else { self.counted };
        let unseen = now - counted.max(sent.at).min(now);
        (now - sent.at).saturating_sub(unseen + self.stopped_since(sent) + self.queued)
    }

    /// Whether this much time has passed while the thread neither slept nor wanted the CPU.
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
        // It was stopped for 250 ms meanwhile.
        last_poll.sleeps(Nanos::ZERO, || queued(600));
        last_poll.wakes(Nanos::ZERO + BEAT + GRACE + ms(250), || queued(600));
        assert_eq!(last_poll.queued_of(ms(300)), ms(50));
        assert_eq!(last_poll.queued_of(ms(200)), Duration::ZERO);
        // Where the system has stopped saying it, nothing is known.
        last_poll.beat(Nanos::ZERO, CpuTime::default());
        assert_eq!(last_poll.queued_of(ms(300)), Duration::ZERO);
    }
}
