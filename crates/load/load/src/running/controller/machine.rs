//! Readings of the machine's processors, as the system reports them.

use crate::recorded::processors::{Meanwhile, Processors};
use crate::recorded::quota::{self, Quota};
use std::fs;

/// The readings of one moment.
#[derive(Debug)]
pub(crate) struct MachineLook {
    /// Nothing where the system does not say; Linux does.
    processors: Option<Processors>,
    /// The counters of each quota that applies to the program.
    quotas: Vec<Option<Quota>>,
}

impl MachineLook {
    pub(crate) fn now() -> MachineLook {
        MachineLook { processors: processors(), quotas: quotas() }
    }

    /// The use of the processors since an `earlier` look, if it is known.
    pub(crate) fn meanwhile(&self, earlier: &MachineLook) -> Option<Meanwhile> {
        self.processors?.since(earlier.processors?)
    }

    /// The CPU quota that was reached since an `earlier` look, if one was.
    pub(crate) fn quota(&self, earlier: &MachineLook) -> Option<Quota> {
        quota::reached(&self.quotas, &earlier.quotas)
    }
}

fn processors() -> Option<Processors> {
    let read = |path| fs::read_to_string(path).ok();
    let cores = fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    let frequency = cores.map(|core| core.path().join("cpufreq/scaling_cur_freq"));
    let frequencies = frequency.filter_map(|path| fs::read_to_string(path).ok());
    Processors::parse(&read("/proc/stat")?, &read("/proc/self/stat")?, frequencies)
}

fn quotas() -> Vec<Option<Quota>> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let files = quota::files(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"));
    files.into_iter().map(|file| Quota::parse(&fs::read_to_string(file).ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_says_it_and_others_say_nothing() {
        let look = MachineLook::now();
        assert_eq!(look.processors.is_some(), cfg!(target_os = "linux"));
        // Not each Linux has cgroups.
        assert!(look.quotas.is_empty() || cfg!(target_os = "linux"));
    }
}
