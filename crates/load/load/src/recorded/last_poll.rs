//! When a load thread last polled for responses, and for how long it could not poll.
//!
//! An answer that is found has come at some time since the thread last found nothing. Where a thread
//! sleeps until something happens, that is when it wakes. But a thread that was stopped, or was busy,
//! or waited for the processor finds answers that have been there for longer. All of that time is
//! taken to be the generator's: the target may have answered at its beginning.
//!
//! A thread that sleeps wakes for a **beat** every 10 ms. If it comes later than that, it could not look
//! meanwhile. If it neither ran nor was queued for the processor in that time, it was **stopped**: by
//! a signal, with its whole machine, or by a suspended one. Then others may have been stopped with it, and
//! no request in flight is charged to the target for that time, whenever its answer is found.
//!
//! Between two beats a thread that wakes may have had to wait for the processor. The system counts
//! how long that took in all, which is shared out among the times that it woke.

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
/// Whoever asks whether anything has happened, and has to wait for it, waits longer than this.
const AT_ONCE: Duration = Duration::from_micros(5);

/// What a thread knows of the answers in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastPoll {
    /// Since when it has slept, if it does.
    asleep: Option<Nanos>,
    /// When it has woken last.
    woke: Nanos,
    /// What it finds until it sleeps again has come since then.
    looked: Nanos,
    /// `looked`, but without a stop just before it woke.
    counted: Nanos,
    /// When it wakes by itself at the latest.
    due: Nanos,
    /// How long it was stopped, in all.
    stopped: Duration,
    /// What it had of the processor until the last beat, and how often it has woken since then.
    processor: CpuTime,
    wakes: u32,
    /// How long it waited for the processor each time it woke, before that beat.
    queued: Duration,
    /// How long it had waited for the processor and been stopped, in all, when it was last in time.
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
    /// What a thread knows that is awake now, and has no beat yet.
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

    /// From now on the thread waits inside of its calls, one at a time: it finds each answer when it comes.
    pub(crate) fn blocks(&mut self) {
        self.blocks = true;
    }

    /// The thread goes to sleep, and has had this of the processor.
    pub(crate) fn sleeps(&mut self, now: Nanos, processor: impl FnOnce() -> CpuTime) {
        if self.is_stop(now - self.woke, processor) {
            self.stopped += now - self.woke;
            self.woke = now;
        }
        self.asleep = Some(now);
    }

    /// The thread wakes, and has had this of the processor.
    pub(crate) fn wakes(&mut self, now: Nanos, processor: impl FnOnce() -> CpuTime) {
        let slept = self.asleep.take().map_or(Duration::ZERO, |since| now - since);
        // What was there before it asked has come since it woke last.
        let looked = if slept > AT_ONCE { now.min(self.due) } else { self.woke };
        self.counted = looked;
        if self.is_stop(now - looked, processor) {
            self.stopped += now - looked;
            self.counted = now;
        }
        (self.looked, self.woke) = (looked, now);
        self.wakes += 1;
    }

    /// A beat of the thread, which has had this of the processor. There will be another one.
    pub(crate) fn beat(&mut self, now: Nanos, processor: CpuTime) {
        self.queued = processor.since(self.processor).queued() / self.wakes.max(1);
        (self.processor, self.wakes) = (processor, 0);
        self.due = now + BEAT + GRACE;
    }

    /// Whether its beat is missing for longer than `allowed`, and so long that nobody knows whether there
    /// will be another one.
    pub(crate) fn is_stuck(&self, now: Nanos, allowed: Duration) -> bool {
        now - self.due > allowed.saturating_add(STUCK)
    }

    /// How long it waits for the processor each time it wakes.
    pub(crate) fn queued(&self) -> Duration {
        self.queued
    }

    /// How much of the time by which the thread is late may be due to its waiting for the processor, since it was
    /// last in time. That it was stopped is another reason.
    pub(crate) fn queued_of(&self, late: Duration) -> Duration {
        let [queued, stopped] = self.lost();
        let [then_queued, then_stopped] = self.in_time;
        let unstopped = late.saturating_sub(stopped.saturating_sub(then_stopped));
        unstopped.min(queued.saturating_sub(then_queued))
    }

    /// The thread starts something, so late by its own doing.
    pub(crate) fn starts(&mut self, late: Duration) {
        if late <= HICCUP {
            self.in_time = self.lost();
        }
    }

    /// How long it has waited for the processor and been stopped, in all.
    fn lost(&self) -> [Duration; 2] {
        [self.processor.queued(), self.stopped]
    }

    /// Until when answers that had come would have been found by now.
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

    /// How long the target had a request to itself whose answer is found now. The rest may have been
    /// the generator's.
    pub(crate) fn busy(&self, sent: Sent, now: Nanos) -> Duration {
        let counted = if self.blocks { now } else { self.counted };
        let unseen = now - counted.max(sent.at).min(now);
        (now - sent.at).saturating_sub(unseen + self.stopped_since(sent) + self.queued)
    }

    /// Whether so much time has passed while the thread neither slept nor wanted the processor.
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
