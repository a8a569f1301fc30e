//! What the system says of the processors of the machine.

use crate::recorded::processors::Processors;
use std::fs;

/// How much they did so far. Nothing where the system does not say; Linux does.
pub(crate) fn look() -> Option<Processors> {
    let read = |path| fs::read_to_string(path).ok();
    let cores = fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    let frequency = cores.map(|core| core.path().join("cpufreq/scaling_cur_freq"));
    let frequencies = frequency.filter_map(|path| fs::read_to_string(path).ok());
    Processors::parse(&read("/proc/stat")?, &read("/proc/self/stat")?, frequencies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_says_it_and_others_say_nothing() {
        assert_eq!(look().is_some(), cfg!(target_os = "linux"));
    }
}
