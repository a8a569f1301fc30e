//! Tests the verdict on runs in which one side was stopped on purpose. A load thread, its machine and a target are
//! simulated in virtual time. The records are real.

use super::recorder::{Flight, Recorder};
use crate::console::human::float;
use crate::judged::verdict::Verdict::{
    BothBehind, GeneratorBehind, OnSchedule, TargetBehind, ThinkTimes,
};
use crate::judged::verdict::{Evidence, Verdict};
use crate::results::cpu_time::CpuTime;
use crate::results::last_poll::BEAT;
use crate::results::lateness::Lateness;
use crate::results::operation::Answer;
use crate::results::stats::OperationStats;
use nanopace::{ManualClock, Nanos, Pacer, Rate};
use std::sync::Arc;
use std::time::Duration;

/// A span of time in milliseconds in which one side is stopped.
type Stop = (u64, u64);

/// The parameters of a run. Times are in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Cause {
    per_second: u64,
    connections: usize,
    service: u64,
    target_stops: &'static [Stop],
    generator_stops: &'static [Stop],
    is_embedded: bool,
    /// The time for which the thread waits for the CPU each time it wakes.
    queued: u64,
    /// The think time between a call's two requests. Zero if the call sends only one request.
    think: u64,
    end: u64,
}

/// Neither side is stopped. On average, 12.5 of the 16 connections are busy.
const USUAL: Cause = Cause {
    per_second: 500,
    connections: 16,
    service: 25,
    target_stops: &[],
    generator_stops: &[],
    is_embedded: false,
    queued: 0,
    think: 0,
    end: 8_000,
};

/// The time that the thread needs to handle a response or a start.
const STEP: Duration = Duration::from_micros(10);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(at_ms: u64) -> Nanos {
    Nanos::ZERO + ms(at_ms)
}

/// Returns the time at which work that begins at `from` ends. No work is done during stops.
fn done(from: Nanos, work: Duration, stops: impl Iterator<Item = Stop>) -> Nanos {
    stops.fold(from + work, |done, (stop, go)| {
        if at(go) <= from || at(stop) >= done { done } else { done + (at(go) - at(stop).max(from)) }
    })
}

struct Call {
    ready: Nanos,
    flight: Flight,
    next: Next,
}

#[derive(Clone, Copy)]
enum Next {
    Rest,
    Send,
    End,
}

struct Thread<'run> {
    cause: Cause,
    clock: ManualClock,
    pacer: Pacer,
    recorder: &'run Arc<Recorder>,
    processor: CpuTime,
    in_flight: Vec<Call>,
    next_slot: u64,
    next_beat: Nanos,
}

impl Thread<'_> {
    fn intended(&self) -> Nanos {
        Nanos::from_nanos(self.next_slot * 1_000_000_000 / self.cause.per_second)
    }

    fn go_to(&self, moment: Nanos) {
        let stops = self.cause.generator_stops.iter();
        let inside = |(stop, go): &&Stop| (at(*stop)..at(*go)).contains(&moment);
        let moment = stops.rev().find(inside).map_or(moment, |(_, go)| at(*go));
        self.clock.advance(moment - self.pacer.now());
    }

    fn work(&mut self) {
        self.go_to(self.pacer.now() + STEP);
        self.processor.had += STEP;
        self.processor.wanted += STEP;
    }

    fn has_slot(&self) -> bool {
        self.in_flight.len() < self.cause.connections && self.intended() < at(self.cause.end)
    }

    fn sleep(&mut self) {
        let processor = self.processor;
        self.recorder.sleeps(|| processor);
        let answers = self.in_flight.iter().map(|call| call.ready);
        let slot = self.has_slot().then(|| self.intended());
        let next = answers.chain(slot).fold(self.next_beat, Nanos::min).max(self.pacer.now());
        self.go_to(next);
        let queued = ms(self.cause.queued);
        self.go_to(self.pacer.now() + queued);
        self.processor.wanted += queued;
        let processor = self.processor;
        self.recorder.wakes(|| processor);
    }

    fn go_on_with_one(&mut self) -> bool {
        let now = self.pacer.now();
        let Some(found) = self.in_flight.iter().position(|call| call.ready <= now) else {
            return false;
        };
        let Call { flight, next, .. } = self.in_flight.swap_remove(found);
        let (ready, next) = match next {
            Next::Rest => {
                let until = now + ms(self.cause.think);
                self.recorder.rest(flight.place(), until);
                (until, Next::Send)
            }
            Next::Send => (self.answer(self.recorder.go_on(flight.place())), Next::End),
            Next::End => {
                let sent = flight.started();
                flight.end(Answer::completed(sent));
                return true;
            }
        };
        self.in_flight.push(Call { ready, flight, next });
        true
    }

    fn start_one(&mut self) -> bool {
        let (intended, now) = (self.intended(), self.pacer.now());
        if !self.has_slot() || intended > now || now >= at(self.cause.end) {
            return false;
        }
        let flight = self.recorder.start((0, intended), true);
        let next = if self.cause.think > 0 { Next::Rest } else { Next::End };
        let ready = self.answer(now);
        self.in_flight.push(Call { ready, flight, next });
        self.next_slot += 1;
        true
    }

    fn answer(&mut self, now: Nanos) -> Nanos {
        let Cause { service, target_stops, generator_stops, is_embedded, .. } = self.cause;
        let shared = generator_stops.iter().filter(|_| is_embedded);
        let stops = target_stops.iter().chain(shared).copied();
        done(now, ms(service), stops)
    }

    fn beat(&mut self) {
        if self.pacer.now() >= self.next_beat {
            self.recorder.beat(self.processor);
            self.next_beat = self.pacer.now() + BEAT;
        }
    }

    fn run(&mut self) {
        while self.pacer.now() < at(self.cause.end) || !self.in_flight.is_empty() {
            self.sleep();
            self.beat();
            while self.go_on_with_one() || self.start_one() {
                self.work();
            }
            if self.pacer.now() >= at(self.cause.end) {
                self.leave();
            }
        }
    }

    fn leave(&mut self) {
        while self.intended() < at(self.cause.end) {
            self.recorder.unstarted(&[(self.intended(), 1)], at(self.cause.end));
            self.next_slot += 1;
        }
    }
}

fn stats(cause: Cause) -> OperationStats {
    let clock = ManualClock::new();
    let rate = Rate::per_second(cause.per_second).unwrap();
    let pacer = Pacer::builder(rate).clock(clock.clone()).build();
    let recorders = Recorder::all(&pacer, &[cause.connections], false);
    let recorder = &recorders[0];
    let mut thread = Thread {
        cause,
        clock,
        pacer,
        recorder,
        processor: CpuTime::default(),
        in_flight: Vec::new(),
        next_slot: 0,
        next_beat: Nanos::ZERO,
    };
    thread.run();
    let mut stats = OperationStats::new();
    recorder.swap_stats(&mut stats);
    stats
}

fn verdict(cause: Cause) -> (Verdict, OperationStats) {
    let stats = stats(cause);
    let ratio = float(stats.started()) / float(stats.due());
    (Verdict::new(&Evidence::new(&stats, ratio, 1.0)), stats)
}

/// The tested loads: two easy loads, a load that almost needs more connections, a large load, two loads whose thread
/// waits for the CPU at each wake-up, and a load whose target stops whenever the generator stops.
const LOADS: [Cause; 7] = [
    USUAL,
    EASY,
    Cause { connections: 14, ..USUAL },
    Cause { per_second: 2_000, connections: 80, ..USUAL },
    Cause { queued: 1, ..USUAL },
    Cause { queued: 1, ..EASY },
    Cause { is_embedded: true, ..USUAL },
];
const EASY: Cause = Cause { service: 1, connections: 4, ..USUAL };

const ONCE: &[Stop] = &[(3_000, 5_000)];
const SIX_TIMES: &[Stop] = &[
    (1_000, 1_150),
    (2_000, 2_150),
    (3_000, 3_150),
    (4_000, 4_150),
    (5_000, 5_150),
    (6_000, 6_150),
];
const SHORTLY: &[Stop] = &[(1_000, 1_040), (1_100, 1_140), (1_200, 1_240), (1_300, 1_340)];
const AT_THE_END: &[Stop] = &[(6_500, 9_000)];
const EARLY: &[Stop] = &[(1_000, 2_000)];
const LATE: &[Stop] = &[(5_000, 6_300)];
const NEVER: &[Stop] = &[];

#[test]
fn the_verdict_names_the_stopped_side() {
    for load in LOADS {
        for (generator_stops, target_stops, expected) in [
            (NEVER, NEVER, OnSchedule),
            (ONCE, NEVER, GeneratorBehind),
            (SIX_TIMES, NEVER, GeneratorBehind),
            (SHORTLY, NEVER, GeneratorBehind),
            (AT_THE_END, NEVER, GeneratorBehind),
            (NEVER, ONCE, TargetBehind),
            (NEVER, SIX_TIMES, TargetBehind),
            (NEVER, AT_THE_END, TargetBehind),
            (EARLY, LATE, BothBehind),
        ] {
            let cause = Cause { target_stops, generator_stops, ..load };
            let (found, stats) = verdict(cause);
            assert_eq!(found, expected, "{cause:?}: {:?}", stats.lateness);
        }
    }
}

/// Loads whose thread waits so long for the CPU at each wake-up that it reduces a backlog only slowly.
const SATURATED: [Cause; 4] = [
    Cause { queued: 4, ..EASY },
    Cause { queued: 8, ..USUAL },
    Cause { queued: 12, connections: 32, ..USUAL },
    Cause { queued: 8, per_second: 2_000, connections: 80, ..USUAL },
];

#[test]
fn time_that_the_machine_took_counts_for_neither_side() {
    for load in SATURATED {
        for (generator_stops, target_stops, expected) in
            [(ONCE, NEVER, GeneratorBehind), (NEVER, ONCE, TargetBehind)]
        {
            let cause = Cause { target_stops, generator_stops, ..load };
            let (found, stats) = verdict(cause);
            let lateness = stats.lateness;
            assert_eq!(found, expected, "{cause:?}: {lateness:?}");
            let share = lateness.queued / lateness.generator;
            let is_right =
                if found == TargetBehind { (0.98..=1.0).contains(&share) } else { share < 0.05 };
            assert!(is_right, "{cause:?}: {lateness:?}");
        }
    }
    let both = Cause {
        target_stops: EARLY,
        generator_stops: &[(5_000, 5_900)],
        queued: 8,
        connections: 32,
        ..USUAL
    };
    let (found, stats) = verdict(both);
    assert_eq!(found, BothBehind, "{:?}", stats.lateness);
}

#[test]
fn a_stop_after_the_end_is_in_the_service_times_and_reported() {
    let slow = Cause { per_second: 50, service: 300, connections: 100, end: 1_000, ..USUAL };
    let (found, stats) = verdict(Cause { generator_stops: &[(1_100, 2_000)], ..slow });
    let (answers, most) = stats.stopped;
    // When the stop began, only the requests of the last 200 ms of the schedule awaited a response.
    assert!(found == OnSchedule && answers == 10, "{found:?}: {answers}");
    assert!(ms(880) <= most && most <= ms(900), "{most:?}");
    assert_eq!(verdict(slow).1.stopped.0, 0);
}

#[test]
fn a_load_that_is_too_much_is_whose_time_it_takes() {
    // With these connections, the target can respond to 400 requests per second.
    let slow = Cause { service: 40, ..USUAL };
    // The target could respond to 2000 requests per second, but each response waits 3 ms for the CPU.
    let starved = Cause { service: 1, connections: 2, queued: 3, ..USUAL };
    for (cause, expected) in [(slow, TargetBehind), (starved, GeneratorBehind)] {
        let (found, stats) = verdict(cause);
        assert_eq!(found, expected, "{cause:?}: {:?}", stats.lateness);
        let answers = u32::try_from(stats.completed()).unwrap();
        assert!(stats.queued / answers <= ms(cause.queued), "{:?}", stats.queued);
        assert!(stats.queued / answers >= ms(cause.queued) / 2, "{:?}", stats.queued);
        let Lateness { generator, queued, .. } = stats.lateness;
        assert!(queued <= generator, "{cause:?}: {:?}", stats.lateness);
        // The lateness includes the lateness of slots that never start.
        let is_starved = cause.queued > 0;
        assert!(!is_starved || queued > 0.9 * generator, "{:?}", stats.lateness);
    }
}

const THINKING: Cause =
    Cause { per_second: 50, service: 5, think: 1_000, connections: 100, ..USUAL };

#[test]
fn think_times_are_neither_the_targets_nor_the_generators_doing() {
    let few = Cause { connections: 16, ..THINKING };
    for (cause, expected) in [
        (THINKING, OnSchedule),
        (few, ThinkTimes),
        (Cause { end: 900, ..few }, ThinkTimes),
        (Cause { target_stops: ONCE, ..THINKING }, TargetBehind),
        (Cause { generator_stops: ONCE, ..THINKING }, GeneratorBehind),
        // If the target responded at once, there would be enough connections.
        (Cause { service: 500, connections: 60, ..THINKING }, TargetBehind),
    ] {
        let (found, stats) = verdict(cause);
        assert_eq!(found, expected, "{cause:?}: {:?}", stats.lateness);
    }
}

#[test]
fn a_request_after_a_think_time_is_late_by_the_generator_and_awaits_no_answer() {
    let (found, stats) =
        verdict(Cause { end: 1_000, generator_stops: &[(1_200, 3_200)], ..THINKING });
    assert_eq!(found, GeneratorBehind, "{:?}", stats.lateness);
    // The late think times began before the stop and should have ended during it.
    let (rests, seconds) = (stats.think_times, stats.lateness.generator);
    assert!(rests.over == 50 && (39..=41).contains(&rests.late), "{rests:?}");
    assert!(ms(1_990) <= rests.most && rests.most <= ms(2_000), "{rests:?}");
    assert!((50.0..70.0).contains(&seconds), "{seconds}");
    assert_eq!((stats.stopped.0, stats.lateness.resting), (0, 0.0));
}
