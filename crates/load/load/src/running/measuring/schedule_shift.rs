//! Computes how far pauses and late policies have moved the schedule.
//!
//! A pause delays the slots that have not started. If a late policy gives up slots or schedule time, later slots move
//! as after a pause. The [ideal](crate::results::lateness) generator gives up as few slots as possible, so its
//! simulation needs the time of pauses and the time given up.

use crate::console::human::float;
use nanopace::{Nanos, Pacer};
use std::mem;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct ScheduleShift {
    pacer: Pacer,
    gives_up: bool,
    paused: Duration,
    since: Option<Nanos>,
    skipped: u64,
    /// The total schedule time of the skipped slots.
    skipped_time: Duration,
    /// The total of all other schedule time that had been given up when the last slot was taken.
    idle: Duration,
}

impl ScheduleShift {
    pub(crate) fn new(pacer: &Pacer, gives_up: bool) -> ScheduleShift {
        let (paused, since) = (Duration::ZERO, None);
        let (skipped, skipped_time, idle) = (0, Duration::ZERO, Duration::ZERO);
        ScheduleShift { pacer: pacer.clone(), gives_up, paused, since, skipped, skipped_time, idle }
    }

    pub(crate) fn pause(&mut self, now: Nanos, is_paused: bool) {
        self.paused = self.paused(now);
        self.since = is_paused.then_some(now);
    }

    pub(crate) fn paused(&self, now: Nanos) -> Duration {
        self.paused + self.since.map_or(Duration::ZERO, |since| now - since)
    }

    pub(crate) fn by(&mut self, now: Nanos) -> Duration {
        self.paused(now) + if self.gives_up { self.given_up() } else { Duration::ZERO }
    }

    /// Returns the time by which the schedule had been moved before the slots that were skipped since the last update.
    pub(crate) fn before(&self, now: Nanos) -> Duration {
        self.paused(now) + self.skipped_time + self.idle
    }

    /// Returns the number of skipped slots at the last update. It stays 0 unless a late policy may give up slots.
    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
    }

    fn given_up(&mut self) -> Duration {
        let ledger = self.pacer.ledger();
        let skipped = ledger.skipped.saturating_sub(self.skipped);
        if skipped > 0 {
            let time = self.interval().as_secs_f64() * float(skipped);
            let time = time.min(ledger.elapsed.as_secs_f64());
            self.skipped_time += Duration::from_secs_f64(time);
        }
        self.skipped = ledger.skipped;
        // Slots are skipped before the current slot is taken. All other time is given up after the current slot is
        // taken, so it counts from the next slot on.
        self.skipped_time + mem::replace(&mut self.idle, ledger.idle)
    }

    /// Returns the mean interval of this process's slots in the last second, or if there were none, of all its slots.
    pub(crate) fn interval(&self) -> Duration {
        let (now, elapsed) = (self.pacer.now(), self.pacer.ledger().elapsed);
        let (span, all) = (elapsed.min(Duration::from_secs(1)), self.pacer.asked_count(now));
        let slots = all - self.pacer.asked_count(now - span);
        let (span, slots) = if slots > 0.0 { (span, slots) } else { (elapsed, all) };
        if slots > 0.0 { span.div_f64(slots) } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use crate::results::cpu_time::CpuTime;
    use crate::results::operation::Answer;
    use crate::results::stats::OperationStats;
    use crate::running::measuring::recorder::Recorder;
    use nanopace::{ManualClock, Nanos, Pacer, PacerBuilder, Rate, Shard, Strictness};
    use std::time::Duration;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A run with one connection at 200/s. A target that takes 10 ms per request can sustain half of this rate.
    struct Run {
        clock: ManualClock,
        pacer: Pacer,
        recorder: std::sync::Arc<Recorder>,
    }

    impl Run {
        fn new(policy: impl Fn(PacerBuilder) -> PacerBuilder) -> Run {
            Run::of_shard(1, policy)
        }

        fn of_shard(shards: u32, policy: impl Fn(PacerBuilder) -> PacerBuilder) -> Run {
            let clock = ManualClock::new();
            let rate = Rate::per_second(200 * u64::from(shards)).unwrap();
            let builder = Pacer::builder(rate).shard(Shard::new(0, shards).unwrap());
            let pacer = policy(builder).clock(clock.clone()).build();
            let recorder = Recorder::all(&pacer, &[1], true).remove(0);
            Run { clock, pacer, recorder }
        }

        fn slot(&self) -> Nanos {
            loop {
                match self.pacer.try_acquire() {
                    Ok(grant) => return grant.intended_start(),
                    Err(_) => self.clock.advance(Duration::from_micros(10)),
                }
            }
        }

        fn requests(&self, count: u64, target: Duration, generator: Duration) -> &Run {
            let idle = CpuTime::default;
            for _ in 0..count {
                let flight = self.recorder.start((0, self.slot()), true);
                let sent = flight.started();
                self.recorder.sleeps(idle);
                self.clock.advance(target);
                self.recorder.wakes(idle);
                flight.end(Answer::completed(sent));
                self.clock.advance(generator);
            }
            self
        }

        fn pause(&self) -> &Run {
            self.pacer.pause();
            self.recorder.pause(true);
            self.clock.advance(ms(3_000));
            self.pacer.resume();
            self.recorder.pause(false);
            self
        }

        fn target_share(&self) -> f64 {
            let mut stats = OperationStats::new();
            self.recorder.swap_stats(&mut stats);
            stats.lateness.target_share().unwrap()
        }
    }

    type Policy = fn(PacerBuilder) -> PacerBuilder;
    const POLICIES: [Policy; 4] = [
        |builder| builder.skip_later_than(ms(100)),
        |builder| builder.max_backlog(ms(100)),
        |builder| builder.strictness(Strictness::STRICT),
        |builder| builder.strictness(Strictness::new(0.5).unwrap()),
    ];

    fn runs() -> impl Iterator<Item = Run> {
        let each = |shards| POLICIES.into_iter().map(move |policy| Run::of_shard(shards, policy));
        [1, 100].into_iter().flat_map(each)
    }

    /// The generator needs little time per response, so even a generator without delays must give up almost as many
    /// slots.
    #[test]
    fn a_load_that_is_too_much_is_the_targets_doing_whatever_is_given_up() {
        for (index, run) in runs().enumerate() {
            let share = run.requests(2_000, ms(10), Duration::from_micros(500)).target_share();
            assert!(share > 0.9, "{index}: {share}");
        }
    }

    #[test]
    fn slots_given_up_by_a_stopped_generator_do_not_count_for_the_target() {
        for (index, run) in runs().enumerate() {
            for _ in 0..20 {
                run.requests(20, ms(1), Duration::ZERO).requests(1, ms(1), ms(2_000));
            }
            let share = run.target_share();
            assert!(share < 0.1, "{index}: {share}");
        }
    }

    /// Each slot that starts is late only by the generator, because the next slot is due only after the stall.
    #[test]
    fn a_skipped_slot_counts_for_the_side_that_made_it_late() {
        for (target, generator, expected) in [(1_000, 0, 1.0), (0, 1_000, 0.0), (500, 500, 0.25)] {
            let run = Run::new(|builder| builder.skip_later_than(ms(1)));
            run.recorder.skip_later_than(ms(1));
            run.requests(400, ms(1), Duration::ZERO);
            run.requests(1, ms(target), ms(generator)).requests(400, ms(1), Duration::ZERO);
            let share = run.target_share();
            assert!((share - expected).abs() < 0.01, "{target} {generator}: {share}");
        }
    }

    /// The slots that are skipped in the stall count once, for the thread whose next start comes first.
    #[test]
    fn skipped_slots_do_not_count_for_a_thread_that_starts_later() {
        let clock = ManualClock::new();
        let rate = Rate::per_second(100).unwrap();
        let pacer = Pacer::builder(rate).skip_later_than(ms(1)).clock(clock.clone()).build();
        let recorders = Recorder::all(&pacer, &[1, 1], true);
        for recorder in &recorders {
            recorder.blocks();
        }
        let start = |thread: usize| {
            let slot = pacer.try_acquire().unwrap().intended_start();
            recorders[thread].start((0, slot), true)
        };
        let flights = [start(0), {
            clock.advance(ms(10));
            start(1)
        }];
        clock.advance(ms(990));
        for flight in flights {
            flight.end(Answer::completed(Nanos::ZERO));
        }
        let mut stats = OperationStats::new();
        for thread in [0, 1] {
            drop(start(thread));
            clock.advance(ms(500));
            let mut part = OperationStats::new();
            recorders[thread].swap_stats(&mut part);
            stats.add(&part);
        }
        let share = stats.lateness.target_share().unwrap();
        assert!(share > 0.6, "{share}");
    }

    #[test]
    fn after_a_pause_the_backlog_is_whose_it_was() {
        let keeps = |builder| builder;
        let run = Run::new(keeps);
        run.requests(200, ms(10), Duration::ZERO).pause().requests(200, ms(10), Duration::ZERO);
        assert!(run.target_share() > 0.99);
        let run = Run::new(keeps);
        run.requests(1, ms(1), ms(2_000)).pause().requests(200, ms(1), Duration::ZERO);
        assert!(run.target_share() < 0.01);
    }

    /// The slots that are due during an attempt to connect wait for the connection.
    #[test]
    fn an_attempt_to_connect_is_not_shorter_for_an_earlier_pause() {
        let run = Run::new(|builder| builder);
        let _busy = run.recorder.start((0, run.slot()), true);
        run.pause();
        let opening = run.recorder.add();
        run.clock.advance(ms(1_000));
        run.recorder.added(opening);
        run.requests(100, ms(1), Duration::ZERO);
        assert!(run.target_share() > 0.99);
    }

    #[test]
    fn a_request_in_flight_is_not_longer_for_a_pause() {
        let run = Run::new(|builder| builder);
        let first = run.recorder.start((0, run.slot()), true);
        run.recorder.sleeps(CpuTime::default);
        run.pause();
        run.recorder.wakes(CpuTime::default);
        let sent = first.started();
        first.end(Answer::completed(sent));
        run.clock.advance(ms(1_000));
        run.requests(100, ms(1), Duration::ZERO);
        assert!(run.target_share() < 0.01);
    }
}
