//! Simulates runs whose true percentiles are known: a queue with one server, in virtual time.

use crate::results::outcome::Due;
use crate::results::over_time::{Backlog, Brief, Interval, OverTime};
use crate::results::percentiles::Sample;
use crate::results::retained_histograms::{Batch, RetainedHistograms, Times};
use crate::results::stats::OperationStats;
use hdrhistogram::Histogram;
use std::iter;
use std::time::Duration;

pub(crate) const BATCHES: usize = 40;

const SERVICE_NS: f64 = 1e3;

/// The start of a simulation with stalls, relative to the beginning of the run. It is early enough for the effect of
/// stalls to be constant when the run begins.
const BEFORE: f64 = -1_000.0;

/// A queue with one server. Arrivals are Poisson, and service times are exponential with mean `slower`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub(crate) rate: f64,
    pub(crate) slower: f64,
    /// The mean time between two stalls, and the length of each stall. `None` if the server does not stall.
    pub(crate) stalls: Option<(f64, f64)>,
    /// The factors of response times at the start and at the end of the run. The factor changes linearly.
    pub(crate) drift: [f64; 2],
}

#[derive(Debug)]
pub(crate) struct Simulated {
    pub(crate) all: Histogram<u64>,
    pub(crate) batches: Vec<Histogram<u64>>,
}

impl Simulated {
    fn new() -> Simulated {
        let batches = vec![Histogram::new(2).unwrap(); BATCHES];
        Simulated { all: Histogram::new(3).unwrap(), batches }
    }

    pub(crate) fn kept(self) -> RetainedHistograms {
        let none = Histogram::new(2).unwrap();
        let times = |response: Histogram<u64>| Times {
            service: response.clone(),
            response,
            lower_bounds: none.clone(),
        };
        let batch = |(at, response): (u32, Histogram<u64>)| Batch {
            from_seconds: at.into(),
            to_seconds: (at + 1).into(),
            started: response.len(),
            failed: 0,
            times: times(response),
        };
        RetainedHistograms {
            all: times(self.all),
            batches: (0..).zip(self.batches).map(batch).collect(),
        }
    }

    /// Records a response time. `part` is the position of the request in the run, from 0 to 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not below zero")]
    fn record(&mut self, part: f64, time: f64) {
        let ns = ns(time);
        self.all.record(ns).unwrap();
        self.batches[(part * 40.0) as usize].record(ns).unwrap();
    }

    pub(crate) fn batched(&self) -> super::Batched<'_> {
        super::Batched { sample: Sample::exact(&self.all), batches: self.batches.iter().collect() }
    }
}

impl Queue {
    pub(crate) fn new(rate: f64) -> Queue {
        Queue { rate, slower: 1.0, stalls: None, drift: [1.0; 2] }
    }

    /// Simulates a run with Lindley's recursion: a request is served when the server has served the previous ones and
    /// is not stalled.
    pub(crate) fn run(&self, requests: f64, seed: u64) -> Simulated {
        let mut run = Simulated::new();
        let end = requests / self.rate;
        let [first, last] = self.drift;
        for (due, response) in self.responses(seed).take_while(|(due, _)| *due < end) {
            let part = due / end;
            run.record(part, response * (first + (last - first) * part));
        }
        run
    }

    fn responses(&self, seed: u64) -> impl Iterator<Item = (f64, f64)> {
        let mut random = Random(seed);
        let mut now = self.stalls.map_or(0.0, |_| BEFORE);
        let mut free = now + self.work(&mut random);
        let mut stall = self.stalls.map(|(every, _)| now + random.exponential() * every);
        let all = iter::repeat_with(move || {
            while let (Some(at), Some((every, length))) = (stall, self.stalls)
                && at <= now
            {
                free = free.max(at) + length;
                stall = Some(at + random.exponential() * every);
            }
            free = free.max(now) + random.exponential() * self.slower;
            let response = (now, free - now);
            now += random.exponential() / self.rate;
            response
        });
        all.skip_while(|(due, _)| *due < 0.0)
    }

    /// Simulates a run that grows. Calls `is_enough` each time the run has grown by `every` units of time, until it
    /// returns true.
    pub(crate) fn grow(
        &self,
        every: f64,
        seed: u64,
        mut is_enough: impl FnMut(&OperationStats, &OverTime) -> bool,
    ) -> (OperationStats, OverTime) {
        let mut responses = self.responses(seed).peekable();
        let (mut stats, mut over_time) = (OperationStats::new(), OverTime::new());
        for tick in 0_u32.. {
            let [from, to] = [tick, tick + 1].map(|tick| Duration::from_secs(tick.into()));
            let (mut due, brief) = (Due::new(), Brief::new());
            let end = f64::from(tick + 1) * every;
            while let Some((_, response)) = responses.next_if(|(due, _)| *due < end) {
                due.response.record(ns(response)).unwrap();
                stats.response.record(ns(response)).unwrap();
            }
            over_time.add(Interval {
                from,
                to,
                asked: 0.0,
                backlog: Backlog::default(),
                brief,
                due,
            });
            if is_enough(&stats, &over_time) {
                break;
            }
        }
        (stats, over_time)
    }

    /// Returns for how long earlier requests keep the server busy at the start of the simulation, without stalls.
    fn work(&self, random: &mut Random) -> f64 {
        let (mean, utilisation) = (self.slower, self.rate * self.slower);
        let is_busy = random.exponential() > -utilisation.ln();
        if is_busy { random.exponential() * mean / (1.0 - utilisation) } else { 0.0 }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not below zero")]
fn ns(time: f64) -> u64 {
    (time * SERVICE_NS) as u64
}

/// The generator Splitmix64 (Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn exponential(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let high = u32::try_from((mixed ^ (mixed >> 31)) >> 32).unwrap();
        -((f64::from(high) + 0.5) / 4_294_967_296.0).ln()
    }
}
