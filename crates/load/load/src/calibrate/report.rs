//! Formats the text report of a calibration.

use super::results::{Results, Sleeps, Spinning, Starts};
use super::steps::{sleeps_name, starts_name};
use crate::console::human;
use hdrhistogram::Histogram;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct CalibrationReport<'run>(pub(crate) &'run Results);

impl Display for CalibrationReport<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let results = self.0;
        machine(f, results)?;
        heading(f, "oversleep", "CPU each")?;
        results.sleeps.iter().try_for_each(|sleeps| sleep(f, sleeps))?;
        if let Some(spinning) = &results.spinning {
            heading(f, "a spinning thread", "")?;
            spin(f, spinning)?;
        }
        heading(f, "lateness of starts", "CPU")?;
        results.starts.iter().try_for_each(|starts| start(f, starts))?;
        sleeping(f, results)?;
        even_rates(f, results)?;
        recommendation(f, results)
    }
}

fn machine(f: &mut Formatter<'_>, results: &Results) -> fmt::Result {
    writeln!(f, "machine   {}", human::count(results.cores, "core"))?;
    if let Some(clock) = &results.clock {
        let source = if clock.counter { "time-stamp counter" } else { "operating system" };
        let system = clock.system_source.as_deref().unwrap_or("source not known");
        writeln!(f, "clock     {source}, {:.1}ns per reading", clock.reading_ns)?;
        writeln!(
            f,
            "          the system's clock ({system}): {:.1}ns per reading",
            clock.system_reading_ns
        )?;
        writeln!(
            f,
            "starts    {:.1}ns each at full speed, including a clock reading",
            clock.start_ns
        )?;
    }
    match results.timer_slack {
        Some(slack) => {
            writeln!(
                f,
                "timers    {} slack by default; 1ns while nanopace sleeps",
                human::time(slack)
            )
        }
        None => writeln!(f, "timers    slack not known on this system"),
    }
}

const NAME: usize = 30;

fn heading(f: &mut Formatter<'_>, name: &str, last: &str) -> fmt::Result {
    writeln!(
        f,
        "\n{name:<NAME$}{:>8} {:>8} {:>8} {:>8} {:>8} {last:>9}",
        "p50", "p90", "p99", "p99.9", "max"
    )
}

fn row(f: &mut Formatter<'_>, name: &str, times: &Histogram<u64>, last: &str) -> fmt::Result {
    write!(f, "{name:<NAME$}")?;
    for quantile in [0.5, 0.9, 0.99, 0.999, 1.0] {
        let time = human::time(Duration::from_nanos(times.value_at_quantile(quantile)));
        write!(f, "{time:>8} ")?;
    }
    writeln!(f, "{last:>9}")
}

fn sleep(f: &mut Formatter<'_>, sleeps: &Sleeps) -> fmt::Result {
    let cpu = sleeps.cpu_each.map_or_else(String::new, human::time);
    row(f, &sleeps_name(sleeps.asked, sleeps.fine), &sleeps.oversleep, &cpu)
}

fn spin(f: &mut Formatter<'_>, spinning: &Spinning) -> fmt::Result {
    row(f, "between two readings", &spinning.gaps, "")?;
    let per_second = |least_us| {
        let count = human::float(spinning.gaps_from(Duration::from_micros(least_us)));
        count / spinning.duration.as_secs_f64().max(f64::MIN_POSITIVE)
    };
    writeln!(
        f,
        "gaps per second: {:.0} above 1us, {:.0} above 10us, {:.1} above 100us, {:.1} above 1ms; {} of the time was lost in gaps above 1us",
        per_second(1),
        per_second(10),
        per_second(100),
        per_second(1_000),
        human::percent(spinning.share_lost())
    )
}

fn start(f: &mut Formatter<'_>, starts: &Starts) -> fmt::Result {
    let cpu = starts.cpu_share.map_or_else(String::new, human::percent);
    row(f, &starts_name(starts.pause, starts.hz), &starts.lateness, &cpu)
}

fn sleeping(f: &mut Formatter<'_>, results: &Results) -> fmt::Result {
    let Some(sleeping) = results.sleeping() else { return Ok(()) };
    write!(f, "\na sleep costs {} of CPU time", human::time(sleeping.cost))?;
    for hz in [1_000, 10_000] {
        if let Some(share) = results.sleep_share_at(hz).map(human::percent) {
            let rate = human::short_hz(f64::from(hz));
            write!(f, "; sleeping between starts took {share} of a core at {rate}")?;
        }
    }
    let above = human::short_hz(sleeping.clumped_above_hz());
    writeln!(
        f,
        "\nabove {above}, a thread that sleeps makes its starts in clumps, one every {}",
        sleeping.clumps()
    )
}

fn even_rates(f: &mut Formatter<'_>, results: &Results) -> fmt::Result {
    writeln!(
        f,
        "\nhighest rate with even gaps in one thread (p99 lateness of at most a quarter of the interval; less if CPU time limits it):"
    )?;
    results.even_rates().iter().try_for_each(|even| {
        let rate = human::short_hz(even.hz);
        writeln!(f, "{:<10}{rate:>8}  limited by {}", even.pause, even.limit.name())
    })
}

fn recommendation(f: &mut Formatter<'_>, results: &Results) -> fmt::Result {
    let disturbance = results.disturbance();
    match results.recommendation() {
        Some(found) => writeln!(f, "\nrecommended: pause {}: {}.", found.pause, found.reason),
        None if disturbance.is_too_much() => writeln!(
            f,
            "\ntoo busy to recommend: {disturbance}. The results show how busy the machine was, not what it can do: \
             repeat the measurements when the machine is idle."
        ),
        None => writeln!(
            f,
            "\nrecommended: nothing, because not everything was measured: let the measurements finish, or write more \
             --seconds."
        ),
    }
}
