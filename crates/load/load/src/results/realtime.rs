//! Describes the scheduling class that load threads got with `--realtime`.

use crate::console::human::count;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// The scheduling class of a thread. A class with a higher priority compares as greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub(crate) enum Class {
    #[serde(rename = "normal")]
    Normal,
    #[serde(rename = "nice -15")]
    Nice,
    #[serde(rename = "SCHED_RR 10")]
    RoundRobin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct RealtimeResult {
    /// The lowest class that a thread got.
    pub(crate) class: Class,
    /// The number of threads that went back to the normal class.
    pub(crate) returned: usize,
}

impl RealtimeResult {
    pub(crate) fn plus(self, other: RealtimeResult) -> RealtimeResult {
        RealtimeResult {
            class: self.class.min(other.class),
            returned: self.returned.saturating_add(other.returned),
        }
    }

    pub(crate) fn warnings(self) -> impl Iterator<Item = String> {
        let lower = (self.class < Class::RoundRobin)
            .then(|| format!("{self}: SCHED_RR needs CAP_SYS_NICE or ulimit -r 10"));
        let returned = (self.returned > 0).then(|| {
            let threads = count(self.returned, "thread");
            format!("{threads} used over 80 % of a core for 1 s and went back to the normal class")
        });
        [lower, returned].into_iter().flatten().map(|told| format!("--realtime: {told}"))
    }
}

impl Display for RealtimeResult {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self.class {
            Class::RoundRobin => "threads ran under SCHED_RR 10",
            Class::Nice => "threads ran at nice -15",
            Class::Normal => "threads ran in the normal class",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_about_the_class_fits_in_a_line_of_a_report() {
        for class in [Class::Normal, Class::Nice] {
            let warnings: Vec<_> = RealtimeResult { class, returned: 0 }.warnings().collect();
            assert!(warnings.len() == 1 && warnings[0].len() < 90, "{warnings:?}");
        }
    }
}
