//! Describes the machine that a run was on, for its report.

use serde::{Deserialize, Serialize};
use std::env::consts::{ARCH, OS};
use std::fs;
use std::thread::available_parallelism;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Machine {
    /// The number of cores that this program may use.
    pub(crate) cores: usize,
    pub(crate) system: String,
    pub(crate) processor: Option<String>,
}

impl Machine {
    pub(crate) fn here() -> Machine {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let system = format!("{OS} {} {ARCH}", release.trim());
        let listed = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Machine {
            cores: available_parallelism().map_or(1, usize::from),
            system: system.split_whitespace().collect::<Vec<_>>().join(" "),
            processor: processor(&listed),
        }
    }
}

fn processor(listed: &str) -> Option<String> {
    let named = listed.lines().find_map(|line| line.strip_prefix("model name"))?;
    let name = named.trim_start_matches([' ', '\t', ':']).trim();
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_has_a_name_where_the_system_tells() {
        let listed = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nmodel name\t: other\n";
        assert_eq!(processor(listed).as_deref(), Some("Some CPU @ 2.0GHz"));
        for listed in ["", "processor : 0", "model name\t: \n"] {
            assert_eq!(processor(listed), None);
        }
        assert!(Machine::here().cores > 0 && Machine::here().system.starts_with(OS));
    }
}
