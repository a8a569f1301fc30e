//! Measures the CPU time of the tools and of other programs on the machine.

use anyhow::{Context, Result};
use nix::sys::resource::{UsageWho, getrusage};
use std::fs;

#[derive(Clone, Copy)]
pub struct Cost {
    pub children: f64,
    ours: f64,
    machine: f64,
}

impl Cost {
    pub fn now() -> Result<Cost> {
        Ok(Cost {
            children: used(UsageWho::RUSAGE_CHILDREN)?,
            ours: used(UsageWho::RUSAGE_SELF)?,
            machine: machine()?,
        })
    }

    /// Returns the CPU time since `before`, in seconds, of all programs except this process and its ended children. It
    /// includes stolen time.
    pub fn others_since(&self, before: &Cost) -> f64 {
        let ours = self.ours - before.ours + self.children - before.children;
        (self.machine - before.machine - ours).max(0.)
    }
}

fn used(who: UsageWho) -> Result<f64> {
    let usage = getrusage(who)?;
    let seconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// /proc/stat counts in 1/100 s.
fn machine() -> Result<f64> {
    let text = fs::read_to_string("/proc/stat")?;
    let line = text.lines().next().context("/proc/stat is empty")?;
    let ticks: Vec<f64> = line.split_whitespace().skip(1).flat_map(str::parse).collect();
    // The fields are: user nice system idle iowait irq softirq steal. Later fields, for guests, are already included in
    // `user` and `nice`.
    let busy = [0, 1, 2, 5, 6, 7].iter().filter_map(|&at| ticks.get(at)).sum::<f64>();
    Ok(busy / 100.)
}
