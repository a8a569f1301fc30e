//! Runs of which the truth is known: a queue with one server, in virtual time.

use crate::recorded::kept::{Batch, Kept, Times};
use crate::recorded::percentiles::Sample;
use hdrhistogram::Histogram;

/// As many as a run of ten seconds or more has.
pub(crate) const BATCHES: usize = 40;

/// The mean service time in nanoseconds.
const SERVICE_NS: f64 = 1e3;

/// Until a run begins, stalls have become what they always are.
const BEFORE: f64 = -1_000.0;

/// A server with exponential services of mean 1, and random arrivals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    /// Arrivals in a mean service time: the utilisation.
    pub(crate) rate: f64,
    /// Longer services by this factor.
    pub(crate) slower: f64,
    /// The mean time between stalls, and how long each is.
    pub(crate) stalls: Option<(f64, f64)>,
}

/// What was recorded of a run.
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

    /// As a file of results has it.
    pub(crate) fn kept(self) -> Kept {
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
        Kept { all: times(self.all), batches: (0..).zip(self.batches).map(batch).collect() }
    }

    /// A time at this part of the run.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not below zero")]
    fn record(&mut self, part: f64, time: f64) {
        let ns = (time * SERVICE_NS) as u64;
        self.all.record(ns).unwrap();
        self.batches[(part * 40.0) as usize].record(ns).unwrap();
    }

    pub(crate) fn batched(&self) -> super::Batched<'_> {
        super::Batched { sample: Sample::exact(&self.all), batches: self.batches.iter().collect() }
    }
}

impl Queue {
    pub(crate) fn new(rate: f64) -> Queue {
        Queue { rate, slower: 1.0, stalls: None }
    }

    /// A run of about so many requests, by Lindley's recursion: who comes is served when the server is free, and
    /// not stalled.
    pub(crate) fn run(&self, requests: f64, seed: u64) -> Simulated {
        let mut random = Random(seed);
        let mut run = Simulated::new();
        let end = requests / self.rate;
        let mut now = self.stalls.map_or(0.0, |_| BEFORE);
        let mut free = now + self.work(&mut random);
        let mut stall = self.stalls.map(|(every, _)| now + random.exponential() * every);
        while now < end {
            while let (Some(at), Some((every, length))) = (stall, self.stalls)
                && at <= now
            {
                free = free.max(at) + length;
                stall = Some(at + random.exponential() * every);
            }
            free = free.max(now) + random.exponential() * self.slower;
            if now >= 0.0 {
                run.record(now / end, free - now);
            }
            now += random.exponential() / self.rate;
        }
        run
    }

    /// How long the server is busy with what is there already, if it does not stall.
    fn work(&self, random: &mut Random) -> f64 {
        let (mean, utilisation) = (self.slower, self.rate * self.slower);
        let is_busy = random.exponential() > -utilisation.ln();
        if is_busy { random.exponential() * mean / (1.0 - utilisation) } else { 0.0 }
    }
}

/// Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, 2014.
struct Random(u64);

impl Random {
    fn exponential(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let high = u32::try_from((mixed ^ (mixed >> 31)) >> 32).unwrap();
        -((f64::from(high) + 0.5) / 4_294_967_296.0).ln()
    }
}
