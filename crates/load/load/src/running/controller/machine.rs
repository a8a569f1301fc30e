//! Reads the CPU use of the machine and the CPU quotas of the program from the system.

use crate::results::machine_cpu::{MachineCpu, Meanwhile};
use crate::results::quota::{self, Quota};
use std::fs;

#[derive(Debug)]
pub(crate) struct MachineReading {
    processors: Option<MachineCpu>,
    quotas: Vec<Option<Quota>>,
}

impl MachineReading {
    pub(crate) fn now() -> MachineReading {
        MachineReading { processors: processors(), quotas: quotas() }
    }

    pub(crate) fn meanwhile(&self, earlier: &MachineReading) -> Option<Meanwhile> {
        self.processors?.since(earlier.processors?)
    }

    pub(crate) fn quota(&self, earlier: &MachineReading) -> Option<Quota> {
        quota::reached(&self.quotas, &earlier.quotas)
    }
}

fn processors() -> Option<MachineCpu> {
    let read = |path| fs::read_to_string(path).ok();
    let cores = fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    let frequency = cores.map(|core| core.path().join("cpufreq/scaling_cur_freq"));
    let frequencies = frequency.filter_map(|path| fs::read_to_string(path).ok());
    MachineCpu::parse(&read("/proc/stat")?, &read("/proc/self/stat")?, frequencies)
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
        let checkpoint = MachineReading::now();
        assert_eq!(checkpoint.processors.is_some(), cfg!(target_os = "linux"));
        // Some Linux systems have no cgroups, so the list may be empty.
        assert!(checkpoint.quotas.is_empty() || cfg!(target_os = "linux"));
    }
}
