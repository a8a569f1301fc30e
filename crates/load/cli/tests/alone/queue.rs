//! A connection is a queue with one server. What runs report of it, over a real loopback server, is
//! what the textbook says.
//!
//! Formulas: Kleinrock, *Queueing Systems*, volume 1 (1975), section 5.6, and volume 2 (1976),
//! section 2.3. M/M/1 and M/G/1 have Poisson arrivals, and services that are exponential or any; in
//! D/G/1 arrivals are even.

use crate::command::{nanopace, object};
use crate::intervals::histograms;
use crate::sums::assert_adds_up;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::thread;
use tempfile::TempDir;

/// Requests per second, for how many seconds, and the mean time in seconds that the target takes for
/// one. It is busy for 48 % of the time, and for some more with what sending takes.
const RATE: u32 = 60;
const SECONDS: u32 = 12;
const DRAWN: f64 = 8e-3;
/// The seeds of the runs. They are many, because in one run there is no time for enough requests: at
/// a higher rate, sending would be more of the service. Each begins with an empty queue, which is
/// forgotten after some twelve requests, or 2 % of them.
const RANDOM: [u32; 6] = [1, 2, 3, 4, 5, 6];
const EVEN: [u32; 2] = [7, 8];

/// As many standard deviations are allowed: a normal distribution is beyond them in one of 16 000.
const DEVIATIONS: f64 = 4.0;

/// How often a machine that is too busy is given another chance.
const TRIES: u32 = 3;

/// What several runs have measured, in seconds.
#[derive(Debug, Default)]
struct Queue {
    started: f64,
    due: f64,
    time: f64,
    /// Sums over what has started.
    wait: f64,
    response: f64,
    /// The part of the waiting that was the program's own doing, or that of a busy machine.
    generator: f64,
    service: f64,
    service_squared: f64,
    /// Whether the machine was so busy that services were longer, and others than were drawn.
    is_starved: bool,
}

impl Queue {
    /// What runs with these seeds measure, all at the same time.
    fn measure(arrivals: &str, seeds: &[u32]) -> Queue {
        let folder = TempDir::new().unwrap();
        let run = |seed: u32| {
            let log = folder.path().join(seed.to_string());
            move || (results(arrivals, seed, &log), fs::read(log).unwrap())
        };
        let runs: Vec<_> = thread::scope(|scope| {
            let runs: Vec<_> = seeds.iter().map(|&seed| scope.spawn(run(seed))).collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        let mut queue = Queue::default();
        for (results, log) in &runs {
            queue.add(results, log);
        }
        queue.is_starved = runs.iter().any(|(results, _)| lacked_processor(results));
        queue
    }

    fn add(&mut self, results: &Value, log: &[u8]) {
        assert_adds_up(results);
        assert_eq!(results["completed"], results["started"], "{results}");
        let number = |of: &Value| of.as_f64().unwrap();
        let started = number(&results["started"]);
        self.started += started;
        self.due += number(&results["due"]);
        self.time += number(&results["duration_seconds"]);
        self.wait += started * number(&results["wait_time_ns"]["mean"]) * 1e-9;
        self.generator += number(&results["lateness"]["generator_seconds"]);
        self.response += sum(log, "response", 1);
        self.service += sum(log, "service", 1);
        self.service_squared += sum(log, "service", 2);
    }

    /// Whether it says anything about how long waits may be.
    fn is_calm(&self) -> bool {
        !self.is_starved && self.is_steady()
    }

    /// Whether the queue did not grow all the time, and services varied no more than exponential
    /// ones. Those have a second moment of 2 m^2, which is measured to some 3 %.
    fn is_steady(&self) -> bool {
        self.utilisation() < 0.7 && self.second_moment() < 2.4 * self.mean_service().powi(2)
    }

    fn rate(&self) -> f64 {
        self.due / self.time
    }

    fn mean_service(&self) -> f64 {
        self.service / self.started
    }

    fn second_moment(&self) -> f64 {
        self.service_squared / self.started
    }

    fn utilisation(&self) -> f64 {
        self.rate() * self.mean_service()
    }

    /// The mean wait time.
    fn wait(&self) -> f64 {
        self.wait / self.started
    }

    /// What is left of it without what was not the target's doing.
    fn queueing(&self) -> f64 {
        (self.wait - self.generator) / self.started
    }

    /// The mean wait in M/G/1, by Pollaczek and Khinchine: `lambda E[S^2] / (2 (1 - rho))`.
    fn pollaczek_khinchine(&self) -> f64 {
        self.rate() * self.second_moment() / (2.0 * (1.0 - self.utilisation()))
    }

    /// The mean wait in M/M/1 with services of this mean: the same with `E[S^2] = 2 m^2`.
    fn m_m_1(&self, mean: f64) -> f64 {
        self.rate() * mean.powi(2) / (1.0 - self.rate() * mean)
    }

    /// What the mean of n waits in D/G/1 cannot be above, by Kingman: `lambda Var[S] / (2 (1 -
    /// rho))`. For exponential services that is half of the wait in M/M/1.
    fn kingman(&self) -> f64 {
        let variance = self.second_moment() - self.mean_service().powi(2);
        self.rate() * variance / (2.0 * (1.0 - self.utilisation()))
    }

    /// How far a mean of n waits in M/M/1 may be from what theory says.
    ///
    /// Waits that follow each other are alike. A mean of n has the variance `rho (2 + 5 rho - 4
    /// rho^2 + rho^3) / (1 - rho)^4 m^2 / n` (Daley, *The serial correlation coefficients of
    /// waiting times in a stationary single server queue*, 1968).
    fn tolerance(&self, mean: f64) -> f64 {
        let rho = self.rate() * mean;
        let variance = rho * (2.0 + rho * (5.0 + rho * (rho - 4.0))) / (1.0 - rho).powi(4);
        DEVIATIONS * mean * (variance / self.started).sqrt()
    }

    /// How far it may be from what theory says about this rate and these services.
    ///
    /// The measured rate and mean are all that the sample says about M/M/1, so what a formula makes
    /// of them has an error that is independent of what remains (Basu). The variance of the formula
    /// is `rho^2 (5 - 4 rho + rho^2) / (1 - rho)^4 m^2 / n`; without it, `2 rho / (1 - rho)^4 m^2 /
    /// n` remains of the one above. With the measured second moment as well, still less does.
    fn tolerance_given_moments(&self) -> f64 {
        let rho = self.utilisation();
        let deviation = (2.0 * rho / self.started).sqrt() / (1.0 - rho).powi(2);
        DEVIATIONS * self.mean_service() * deviation
    }
}

/// A run on one connection, whose interval log goes to `log`.
fn results(arrivals: &str, seed: u32, log: &Path) -> Value {
    let line = format!(
        "run -c 1 --rate {RATE}/s --duration {SECONDS}s --arrivals {arrivals} --seed {seed} \
         --target-seed {seed} --timeout 1min --json - --target-latency \"exp {}us\" --hdr",
        DRAWN * 1e6
    );
    object(&nanopace(&line).arg(log).output().unwrap())
}

/// The sum of all times in a log that have this tag, in seconds, to this power.
fn sum(log: &[u8], tag: &str, power: i32) -> f64 {
    let all = histograms(log, tag);
    let recorded = all.iter().flat_map(|histogram| {
        histogram.iter_recorded().map(|at| {
            let time = histogram.median_equivalent(at.value_iterated_to());
            (time, at.count_at_value())
        })
    });
    recorded.map(|(ns, count)| float(count) * (float(ns) * 1e-9).powi(power)).sum()
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn float(count: u64) -> f64 {
    count as f64
}

/// Waits of random arrivals against M/G/1 and M/M/1. A busy machine adds to them, but no more than
/// the program says it did.
fn assert_is_m_g_1(queue: &Queue) {
    let (theory, tolerance) = (queue.pollaczek_khinchine(), queue.tolerance_given_moments());
    let service = queue.mean_service();
    let response = queue.response / queue.due;
    assert!(queue.wait() >= theory - tolerance, "{theory} +- {tolerance}: {queue:?}");
    assert!(queue.queueing() <= theory + tolerance, "{theory} +- {tolerance}: {queue:?}");
    assert!(response >= theory + service - tolerance, "{theory} +- {tolerance}: {queue:?}");
    assert!(
        response - queue.generator / queue.due <= theory + service + tolerance,
        "{theory} +- {tolerance}: {queue:?}"
    );
    // Services are those that were drawn, and what it takes to send, which does not vary as much.
    let most = queue.m_m_1(service);
    assert!(queue.queueing() <= most + tolerance, "{most} +- {tolerance}: {queue:?}");
}

/// Whatever the machine does, services are not shorter than those that were drawn, and so waits are not
/// either.
fn assert_waits_for_what_was_drawn(queue: &Queue) {
    let least = queue.m_m_1(DRAWN);
    assert!(queue.wait() >= least - queue.tolerance(DRAWN), "{least}: {queue:?}");
}

/// Nothing is answered sooner than was drawn. The variance of `S^2` is `20 m^4`.
fn assert_is_exponential(queue: &Queue) {
    let deviation = DEVIATIONS / queue.started.sqrt();
    assert!(queue.mean_service() >= DRAWN * (1.0 - deviation), "{queue:?}");
    let (moment, deviation) = (DRAWN.powi(2) * 2.0, DRAWN.powi(2) * 20_f64.sqrt() * deviation);
    assert!(queue.second_moment() >= moment - deviation, "{queue:?}");
}

/// Whether the load threads had less than half of the processor time that they wanted. Then a run says
/// little about queues.
fn lacked_processor(results: &Value) -> bool {
    let times = &results["processor"];
    let [had, wanted] = ["had_ns", "wanted_ns"].map(|name| times[name].as_f64().unwrap_or(0.0));
    // What is less than a tenth of the time does not count.
    wanted >= results["duration_seconds"].as_f64().unwrap() * 1e8 && had * 2.0 < wanted
}

/// Random and even arrivals. What holds on any machine is asserted each time.
fn measured() -> (Queue, Queue) {
    let (random, even) = thread::scope(|scope| {
        let even = scope.spawn(|| Queue::measure("even", &EVEN));
        (Queue::measure("poisson", &RANDOM), even.join().unwrap())
    });
    assert_is_exponential(&random);
    assert_is_exponential(&even);
    assert_waits_for_what_was_drawn(&random);
    (random, even)
}

#[test]
fn waits_are_those_of_queues_with_one_server() {
    let is_calm = |(random, even): &(Queue, Queue)| random.is_calm() && even.is_calm();
    let Some((random, even)) = (0..TRIES).map(|_| measured()).find(is_calm) else {
        eprintln!("other programs had the machine: only lower bounds of the waits are judged");
        return;
    };
    assert_is_m_g_1(&random);
    // The mean of D/M/1 is below Kingman's bound by six and more of the standard deviations that
    // simulations of as many requests have, at up to 60 % utilisation, and by three at 70 %.
    assert!(even.queueing() <= even.kingman(), "{} {even:?}", even.kingman());
    assert!(even.queueing() < random.wait(), "{even:?} {random:?}");
}
