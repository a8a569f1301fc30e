//! Describes the scheduling class that load threads got with `--realtime`.

use crate::console::human::count;
use serde::Serialize;
use std::fmt::{self, Display, Formatter};

/// The scheduling class of a thread. A class with a higher priority compares as greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Class {
    #[serde(rename = "normal")]
    Normal,
    #[serde(rename = "nice -15")]
    Nice,
    #[serde(rename = "SCHED_RR 10")]
    RoundRobin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RealtimeResult {
    /// The lowest class that a thread got.
    pub(crate) class: Class,
    /// The number of threads that went back to the normal class.
    pub(crate) returned: usize,
}

impl RealtimeResult {
    pub(crate) fn warnings(self) -> impl Iterator<Item = String> {
        let lower = (self.class < Class::RoundRobin).then(|| {
            format!("{self}: SCHED_RR needs CAP_SYS_NICE or RLIMIT_RTPRIO 10 (ulimit -r 10)")
        });
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
            Class::RoundRobin => "load threads ran under SCHED_RR 10",
            Class::Nice => "load threads ran at nice -15",
            Class::Normal => "load threads ran in the normal class",
        })
    }
}
