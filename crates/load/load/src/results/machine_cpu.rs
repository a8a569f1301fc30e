//! Parses the CPU time and the clock rate of the whole machine.

use crate::console::human::float;

/// The minimum CPU time for which shares are reported, over all cores, in the kernel's units of usually 10 ms.
const LEAST_TICKS: u64 = 100;

/// The CPU time of all cores since the machine was started, in the kernel's units of usually 10 ms (`USER_HZ`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MachineCpu {
    all: u64,
    idle: u64,
    /// The time that the host of a virtual machine took away from it.
    stolen: u64,
    own: u64,
    khz: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Meanwhile {
    pub(crate) stolen: f64,
    pub(crate) others: f64,
    pub(crate) idle: f64,
    pub(crate) khz: Option<[u64; 2]>,
}

impl Meanwhile {
    /// Returns the share that other programs, the system and the host had in the CPU time that was not idle.
    pub(crate) fn of_others(self) -> f64 {
        let busy = 1.0 - self.idle;
        if busy > 0.0 { ((self.stolen + self.others) / busy).min(1.0) } else { 0.0 }
    }
}

impl MachineCpu {
    /// Parses `/proc/stat`, `/proc/self/stat` and the `scaling_cur_freq` of each core that has this file (Linux).
    pub(crate) fn parse(
        machine: &str,
        program: &str,
        frequencies: impl Iterator<Item = String>,
    ) -> Option<MachineCpu> {
        let khz = frequencies.filter_map(|text| text.trim().parse().ok()).max();
        Some(MachineCpu { own: parse_program(program)?, khz, ..parse_machine(machine)? })
    }

    pub(crate) fn since(self, earlier: MachineCpu) -> Option<Meanwhile> {
        let ticks = |of: fn(MachineCpu) -> u64| of(self).saturating_sub(of(earlier));
        let all = ticks(|at| at.all);
        let share = |ticks| float(ticks) / float(all);
        let [idle, stolen, own] = [ticks(|at| at.idle), ticks(|at| at.stolen), ticks(|at| at.own)];
        let others = all.saturating_sub(idle + stolen + own);
        let khz = earlier.khz.zip(self.khz).map(<[u64; 2]>::from);
        let [stolen, others, idle] = [stolen, others, idle].map(share);
        (all >= LEAST_TICKS).then_some(Meanwhile { stolen, others, idle, khz })
    }
}

/// Parses the line `cpu USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL`. The fields after STEAL are guest times, which
/// are ignored because USER and NICE include them.
fn parse_machine(text: &str) -> Option<MachineCpu> {
    let fields = text.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(8);
    let ticks: Vec<u64> = fields.map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let [_, _, _, idle, iowait, _, _, stolen] = ticks[..] else { return None };
    let all = ticks.iter().sum();
    Some(MachineCpu { all, idle: idle + iowait, stolen, ..MachineCpu::default() })
}

/// Parses `PID (NAME) STATE ...`, in which the name may contain any character. Returns the sum of the user time and the
/// system time, which are the 12th and the 13th field after the name.
fn parse_program(text: &str) -> Option<u64> {
    let (_, fields) = text.rsplit_once(')')?;
    let mut ticks = fields.split_whitespace().skip(11).map(|field| field.parse::<u64>().ok());
    Some(ticks.next()?? + ticks.next()??)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = "cpu  100 20 30 400 50 6 7 80 90 1\ncpu0 1 2 3 4\n";
    const PROGRAM: &str = "7 (a ) (b) R 1 2 3 4 5 6 7 8 9 10 40 2 0 0 20 0\n";

    fn parsed(machine: &str, program: &str, frequencies: &[&str]) -> Option<MachineCpu> {
        MachineCpu::parse(machine, program, frequencies.iter().map(|&text| text.to_owned()))
    }

    #[test]
    fn the_systems_counters_are_read() {
        let read = MachineCpu { all: 693, idle: 450, stolen: 80, own: 42, khz: None };
        assert_eq!(parsed(MACHINE, PROGRAM, &[]), Some(read));
        let fast = MachineCpu { khz: Some(3_400_000), ..read };
        let speeds = ["800000\n", "3400000\n", "<unknown>\n", ""];
        assert_eq!(parsed(MACHINE, PROGRAM, &speeds), Some(fast));
        for machine in ["", "cpu0 1 2 3 4 5 6 7 8", "cpu  1 2 3 4 5 6 7", "cpu  1 2 3 4 5 6 7 x"] {
            assert_eq!(parsed(machine, PROGRAM, &[]), None, "{machine:?}");
        }
        for program in ["", "7 (a) R 1 2", "7 a R 1 2 3 4 5 6 7 8 9 10 40 2 0"] {
            assert_eq!(parsed(MACHINE, program, &[]), None, "{program:?}");
        }
    }

    #[test]
    fn time_that_is_not_idle_or_stolen_or_ones_own_is_of_others() {
        let at = |all, idle, stolen, own| MachineCpu { all, idle, stolen, own, khz: None };
        let first = at(1_000, 500, 10, 7);
        for (last, told) in [
            (at(1_200, 540, 30, 27), Some([0.1, 0.6, 0.2])),
            // The system reads its counters one after another, so a tick may be missing, and iowait may decrease.
            (at(1_100, 580, 10, 28), Some([0.0, 0.0, 0.8])),
            (at(1_100, 499, 10, 7), Some([0.0, 1.0, 0.0])),
            (at(1_099, 500, 10, 7), None),
            (at(900, 500, 10, 7), None),
        ] {
            let since = last.since(first);
            let shares = since.map(|since| [since.stolen, since.others, since.idle]);
            assert_eq!(shares, told, "{last:?}");
        }
        let of_others = |all: u64, idle: u64, stolen: u64, own: u64| {
            at(1_000 + all, 500 + idle, 10 + stolen, 7 + own).since(first).map(Meanwhile::of_others)
        };
        assert_eq!(of_others(200, 100, 20, 30), Some(0.7));
        assert_eq!(of_others(200, 200, 0, 0), Some(0.0));
        let [slow, fast] = [Some(800), Some(3_400)].map(|khz| MachineCpu { khz, ..first });
        let later = |khz| MachineCpu { khz, ..at(2_000, 500, 10, 7) };
        let speeds = |first, khz| later(khz).since(first).unwrap().khz;
        assert_eq!(speeds(fast, Some(800)), Some([3_400, 800]));
        assert_eq!((speeds(slow, None), speeds(first, Some(1))), (None, None));
    }
}
