//! Defines the JSON object of the results. Other programs read its fields by name, so the names must not change.

use super::disturbance::Disturbance;
use super::recommend::{EvenRate, LimitedBy};
use super::results::{Clocks, HICCUP, Results, Sleeps, Spinning, Starts};
use super::sleeping::{CLUMPED_HZ, Sleeping};
use crate::results::percentiles::Percentiles;
use serde::Serialize;

/// The results of a calibration. A value that was not measured is null or missing from its list.
#[derive(Debug, Serialize)]
pub(crate) struct Object {
    complete: bool,
    cores: usize,
    timer_slack_ns: Option<u128>,
    clock: Option<Clock>,
    sleeps: Vec<Sleep>,
    spinning: Option<Spin>,
    starts: Vec<Start>,
    sleeping: Option<SleepCost>,
    taken: Interference,
    even_rates: Vec<Even>,
    recommended: Option<Recommended>,
}

#[derive(Debug, Serialize)]
struct Clock {
    source: &'static str,
    reading_ns: f64,
    system_source: Option<String>,
    system_reading_ns: f64,
    start_ns: f64,
}

#[derive(Debug, Serialize)]
struct Sleep {
    asked_ns: u128,
    fine_timers: bool,
    oversleep_ns: Percentiles,
    cpu_each_ns: Option<u128>,
}

#[derive(Debug, Serialize)]
struct Spin {
    gap_ns: Percentiles,
    duration_seconds: f64,
    hiccups: u64,
    share_lost: f64,
}

#[derive(Debug, Serialize)]
struct Start {
    pause: String,
    rate: u32,
    lateness_ns: Percentiles,
    gaps_within_25_percent: Option<f64>,
    cpu_share: Option<f64>,
}

#[derive(Debug, Serialize)]
struct SleepCost {
    cpu_each_ns: u128,
    clumped_above_rate: f64,
    clump_ns: u128,
    clumps: [Clump; 2],
}

#[derive(Debug, Serialize)]
struct Clump {
    rate: u32,
    starts: u128,
}

#[derive(Debug, Serialize)]
struct Interference {
    by_others: Option<f64>,
    in_hiccups: Option<f64>,
    too_busy: bool,
}

#[derive(Debug, Serialize)]
struct Even {
    pause: String,
    rate: f64,
    limited_by: LimitedBy,
}

#[derive(Debug, Serialize)]
struct Recommended {
    pause: String,
    reason: String,
}

impl Object {
    pub(crate) fn new(results: &Results) -> Object {
        let recommended = results.recommendation();
        Object {
            complete: results.complete,
            cores: results.cores,
            timer_slack_ns: results.timer_slack.map(|slack| slack.as_nanos()),
            clock: results.clock.as_ref().map(Clock::new),
            sleeps: results.sleeps.iter().map(Sleep::new).collect(),
            spinning: results.spinning.as_ref().map(Spin::new),
            starts: results.starts.iter().map(Start::new).collect(),
            sleeping: results.sleeping().map(SleepCost::new),
            taken: Interference::new(results.disturbance()),
            even_rates: results.even_rates().iter().map(Even::new).collect(),
            recommended: recommended
                .map(|found| Recommended { pause: found.pause.to_string(), reason: found.reason }),
        }
    }
}

impl Clock {
    fn new(clocks: &Clocks) -> Clock {
        Clock {
            source: if clocks.counter { "counter" } else { "system" },
            reading_ns: clocks.reading_ns,
            system_source: clocks.system_source.clone(),
            system_reading_ns: clocks.system_reading_ns,
            start_ns: clocks.start_ns,
        }
    }
}

impl Sleep {
    fn new(sleeps: &Sleeps) -> Sleep {
        Sleep {
            asked_ns: sleeps.asked.as_nanos(),
            fine_timers: sleeps.fine,
            oversleep_ns: Percentiles::new(&sleeps.oversleep),
            cpu_each_ns: sleeps.cpu_each.map(|cpu| cpu.as_nanos()),
        }
    }
}

impl Spin {
    fn new(spinning: &Spinning) -> Spin {
        Spin {
            gap_ns: Percentiles::new(&spinning.gaps),
            duration_seconds: spinning.duration.as_secs_f64(),
            hiccups: spinning.gaps_from(HICCUP),
            share_lost: spinning.share_lost(),
        }
    }
}

impl Start {
    fn new(starts: &Starts) -> Start {
        Start {
            pause: starts.pause.to_string(),
            rate: starts.hz,
            lateness_ns: Percentiles::new(&starts.lateness),
            gaps_within_25_percent: starts.even,
            cpu_share: starts.cpu_share,
        }
    }
}

impl SleepCost {
    fn new(sleeping: Sleeping) -> SleepCost {
        SleepCost {
            cpu_each_ns: sleeping.cost.as_nanos(),
            clumped_above_rate: sleeping.clumped_above_hz(),
            clump_ns: sleeping.clump().as_nanos(),
            clumps: CLUMPED_HZ.map(|rate| Clump { rate, starts: sleeping.starts_at(rate) }),
        }
    }
}

impl Interference {
    fn new(taken: Disturbance) -> Interference {
        let Disturbance { by_others, in_hiccups } = taken;
        Interference { by_others, in_hiccups, too_busy: taken.is_too_much() }
    }
}

impl Even {
    fn new(even: &EvenRate) -> Even {
        Even { pause: even.pause.to_string(), rate: even.hz, limited_by: even.limit }
    }
}
