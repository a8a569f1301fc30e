//! Describes the machine and the date of a measurement, and measures the CPU time of other programs.

use serde::{Deserialize, Serialize};
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

/// The machine and the date, recorded with every figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The date and time in UTC.
    pub date: String,
    /// The processor's name and its number of cores.
    pub processor: String,
    /// The version of the operating system's kernel.
    pub kernel: String,
    /// The compiler's version, or `unknown`.
    pub compiler: String,
}

impl Machine {
    /// Describes this machine at this time.
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

fn first_word(text: &str) -> String {
    text.trim().split('-').next().unwrap_or_default().to_owned()
}

fn compiler() -> Option<String> {
    let output = Command::new("rustc").arg("--version").output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// Measures the CPU time of other programs, which may cause late wake-ups.
#[derive(Debug)]
pub struct Others {
    since: Instant,
    everyone: Duration,
    own: Duration,
}

impl Others {
    /// Starts the measurement.
    #[must_use]
    pub fn new() -> Others {
        Others { since: Instant::now(), everyone: busy().unwrap_or_default(), own: own() }
    }

    /// Returns the share of all cores' time that other programs used or a hypervisor stole, or 0 if the system does not
    /// report it. Child processes of this program are other programs.
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

fn busy() -> Option<Duration> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    // The fields, in 1/100 s: user, nice, system, idle, waiting for a disk, interrupts (two kinds), stolen.
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
