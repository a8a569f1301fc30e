//! Where and when a figure was taken.

use serde::{Deserialize, Serialize};
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

/// To be kept beside every figure that is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// In UTC.
    pub date: String,
    /// As the processor calls itself, and how many of it.
    pub processor: String,
    /// Of the operating system.
    pub kernel: String,
    /// What compiled it, as far as that is known.
    pub compiler: String,
}

impl Machine {
    /// This one, now.
    #[must_use]
    pub fn here() -> Machine {
        let name = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| model(&text));
        let name = name.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease");
        Machine {
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            processor: format!("{name}, {} cores", crate::crew::cores()),
            kernel: kernel
                .map_or_else(|_| std::env::consts::OS.to_owned(), |text| first_word(&text)),
            compiler: compiler().unwrap_or_else(|| "unknown".to_owned()),
        }
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Machine { date, processor, kernel, compiler } = self;
        write!(f, "{date}; {processor}; kernel {kernel}; {compiler}")
    }
}

fn model(cpuinfo: &str) -> Option<String> {
    let line = |key: &str| {
        let line =
            cpuinfo.lines().find(|line| line.split(':').next().is_some_and(|k| k.trim() == key))?;
        Some(line.split(':').nth(1)?.trim().to_owned())
    };
    let (family, model) =
        (line("cpu family").unwrap_or_default(), line("model").unwrap_or_default());
    Some(format!("{} (family {family}, model {model})", line("model name")?))
}

/// The kernel's version without what its builder appended.
fn first_word(text: &str) -> String {
    text.trim().split('-').next().unwrap_or_default().to_owned()
}

fn compiler() -> Option<String> {
    let output = Command::new("rustc").arg("--version").output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// Watches how much of the machine others take meanwhile: whoever wakes up late may have had to
/// wait for them.
#[derive(Debug)]
pub struct Others {
    since: Instant,
    everyone: Duration,
    own: Duration,
}

impl Others {
    /// From now on.
    #[must_use]
    pub fn new() -> Others {
        Others { since: Instant::now(), everyone: busy().unwrap_or_default(), own: own() }
    }

    /// The part of all cores' time that was not idle and not ours; 0 where the system does not
    /// tell.
    #[must_use]
    pub fn share(&self) -> f64 {
        let everyone = busy().unwrap_or_default().saturating_sub(self.everyone);
        let others = everyone.saturating_sub(own().saturating_sub(self.own));
        let cores = crate::float(crate::crew::cores() as u64);
        others.as_secs_f64() / self.since.elapsed().as_secs_f64() / cores
    }
}

impl Default for Others {
    fn default() -> Others {
        Others::new()
    }
}

/// Processor time that was not idle, of all cores.
fn busy() -> Option<Duration> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    // user, nice, system, idle, waiting for a disk, interrupts (two kinds), stolen; in hundredths
    // of a second.
    let ticks: Vec<u64> = text
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    let busy: u64 = ticks.iter().take(8).sum::<u64>() - ticks.get(3)? - ticks.get(4)?;
    Some(Duration::from_millis(busy * 10))
}

#[cfg(target_os = "linux")]
fn own() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
fn own() -> Duration {
    Duration::ZERO
}
