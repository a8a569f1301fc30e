//! Compares the reports of runs with queueing theory: a connection is a queue with one server.
//!
//! Formulas: Kleinrock, *Queueing Systems*, volume 1 (1975), section 5.6, and volume 2 (1976), section 2.3. M/M/1 and
//! M/G/1 have Poisson arrivals, with exponential and general service times. D/G/1 has even arrivals.

use crate::command::{nanopace, object};
use crate::intervals::histograms;
use crate::sums::assert_adds_up;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::thread;
use tempfile::TempDir;

/// The rate of each run, in requests per second. The target is busy for 48 % of the time, plus the time of sending.
const RATE: u32 = 60;
const SECONDS: u32 = 12;
const DRAWN: f64 = 8e-3;
/// The seeds of the runs with Poisson arrivals. There are several runs, because one run has too few requests. A higher
/// rate would need shorter drawn times, and sending would then be a larger part of the service time.
const RANDOM: [u32; 6] = [1, 2, 3, 4, 5, 6];
const EVEN: [u32; 2] = [7, 8];

/// The tolerance in standard deviations. A normally distributed value exceeds it in one of 16 000 cases.
const DEVIATIONS: f64 = 4.0;

const TRIES: u32 = 3;

#[derive(Debug, Default)]
struct Queue {
    started: f64,
    due: f64,
    time: f64,
    wait: f64,
    response: f64,
    /// The part of the wait time that the program or a busy machine caused.
    generator: f64,
    service: f64,
    service_squared: f64,
    /// Whether the load threads of a run lacked CPU time, so that service times may be longer than the drawn times.
    is_starved: bool,
}

impl Queue {
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

    fn is_calm(&self) -> bool {
        !self.is_starved && self.is_steady()
    }

    /// Returns whether the machine was steady enough for the formulas. The second moment of exponential times is 2 m^2.
    /// It is measured with a standard error of 3 % (random arrivals) or 6 % (even arrivals).
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

    fn wait(&self) -> f64 {
        self.wait / self.started
    }

    fn queueing(&self) -> f64 {
        (self.wait - self.generator) / self.started
    }

    /// Returns the mean wait time of M/G/1, by the Pollaczek-Khinchine formula: `lambda E[S^2] / (2 (1 - rho))`.
    fn pollaczek_khinchine(&self) -> f64 {
        self.rate() * self.second_moment() / (2.0 * (1.0 - self.utilisation()))
    }

    /// Returns the mean wait time of M/M/1 with services of this mean, which is the Pollaczek-Khinchine formula with
    /// `E[S^2] = 2 m^2`.
    fn m_m_1(&self, mean: f64) -> f64 {
        self.rate() * mean.powi(2) / (1.0 - self.rate() * mean)
    }

    /// Returns Kingman's upper bound for the mean wait time of D/G/1: `lambda Var[S] / (2 (1 - rho))`.
    fn kingman(&self) -> f64 {
        let variance = self.second_moment() - self.mean_service().powi(2);
        self.rate() * variance / (2.0 * (1.0 - self.utilisation()))
    }

    /// Returns the tolerance of the mean wait time. Successive waits are correlated, so the mean of n waits has the
    /// variance `rho (2 + 5 rho - 4 rho^2 + rho^3) / (1 - rho)^4 m^2 / n` (Daley, *The serial correlation coefficients
    /// of waiting times in a stationary single server queue*, 1968).
    fn tolerance(&self, mean: f64) -> f64 {
        let rho = self.rate() * mean;
        let variance = rho * (2.0 + rho * (5.0 + rho * (rho - 4.0))) / (1.0 - rho).powi(4);
        DEVIATIONS * mean * (variance / self.started).sqrt()
    }

    /// Returns the tolerance of the mean wait time if its theoretical value is computed from measured moments. The
    /// measured rate and mean service time are a complete sufficient statistic for M/M/1. By Basu's theorem, the error
    /// of a formula that uses only them is independent of the difference between the measured mean wait and the result
    /// of the formula. The variance of the formula is `rho^2 (5 - 4 rho + rho^2) / (1 - rho)^4 m^2 / n`. Without it, `2
    /// rho / (1 - rho)^4 m^2 / n` of the variance in `tolerance` remains. If the measured second moment is used as
    /// well, even less remains.
    fn tolerance_given_moments(&self) -> f64 {
        let rho = self.utilisation();
        let deviation = (2.0 * rho / self.started).sqrt() / (1.0 - rho).powi(2);
        DEVIATIONS * self.mean_service() * deviation
    }
}

fn results(arrivals: &str, seed: u32, log: &Path) -> Value {
    let line = format!(
        "run -c 1 --rate {RATE}/s --duration {SECONDS}s --arrivals {arrivals} --seed {seed} \
         --target-seed {seed} --timeout 1min --json - --target-latency \"exp {}us\" --hdr",
        DRAWN * 1e6
    );
    object(&nanopace(&line).arg(log).output().unwrap())
}

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

/// Checks the mean wait against the formula. A busy machine increases the waits, but by no more than the program
/// reports.
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
    // Service times are the drawn times plus the time of sending, which varies less.
    let most = queue.m_m_1(service);
    assert!(queue.queueing() <= most + tolerance, "{most} +- {tolerance}: {queue:?}");
}

/// Checks that the waits are at least those that follow from the drawn times. Service times are never shorter than the
/// drawn times.
fn assert_waits_for_what_was_drawn(queue: &Queue) {
    let least = queue.m_m_1(DRAWN);
    assert!(queue.wait() >= least - queue.tolerance(DRAWN), "{least}: {queue:?}");
}

/// Checks that the first two moments of the service times are not too small. For exponential times with the mean `m`,
/// the variance of `S^2` is `20 m^4`.
fn assert_is_exponential(queue: &Queue) {
    let deviation = DEVIATIONS / queue.started.sqrt();
    assert!(queue.mean_service() >= DRAWN * (1.0 - deviation), "{queue:?}");
    let (moment, deviation) = (DRAWN.powi(2) * 2.0, DRAWN.powi(2) * 20_f64.sqrt() * deviation);
    assert!(queue.second_moment() >= moment - deviation, "{queue:?}");
}

fn lacked_processor(results: &Value) -> bool {
    let times = &results["processor"];
    let [had, wanted] = ["had_ns", "wanted_ns"].map(|name| times[name].as_f64().unwrap_or(0.0));
    // A need of less than a tenth of the time does not count.
    wanted >= results["duration_seconds"].as_f64().unwrap() * 1e8 && had * 2.0 < wanted
}

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
fn waits_equal_those_of_a_queue_with_one_server() {
    let is_calm = |(random, even): &(Queue, Queue)| random.is_calm() && even.is_calm();
    let Some((random, even)) = (0..TRIES).map(|_| measured()).find(is_calm) else {
        eprintln!(
            "other programs used the CPU in all tries: only lower bounds of the waits were judged"
        );
        return;
    };
    assert_is_m_g_1(&random);
    // The mean wait of D/M/1 is below Kingman's bound. In simulations with the number of requests of this test, the
    // bound is above the measured mean by at least six of its standard deviations at up to 60 % utilisation, and by
    // three at 70 %.
    assert!(even.queueing() <= even.kingman(), "{} {even:?}", even.kingman());
    assert!(even.queueing() < random.wait(), "{even:?} {random:?}");
}
