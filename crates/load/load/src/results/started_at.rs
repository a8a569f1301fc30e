//! Describes the start of a run with `--start-at`, by the clock of its machine.

use crate::console::human;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::time::{Duration, SystemTime};

/// A report contains a warning if the schedule started later than requested by more than this.
const MOST_LATE: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct StartedAt {
    pub(crate) moment: String,
    late_seconds: f64,
    /// The maximum error of the machine's clock, or `None` if it is not known.
    pub(crate) clock_error_seconds: Option<f64>,
}

impl StartedAt {
    pub(crate) fn new(
        moment: SystemTime,
        began: SystemTime,
        clock_error_seconds: Option<f64>,
    ) -> StartedAt {
        StartedAt {
            moment: humantime::format_rfc3339(moment).to_string(),
            late_seconds: began.duration_since(moment).unwrap_or_default().as_secs_f64(),
            clock_error_seconds,
        }
    }

    pub(crate) fn warning(&self) -> Option<String> {
        let told = || format!("this part started {} after --start-at", human::time(self.late()));
        (self.late() > MOST_LATE).then(told)
    }

    fn late(&self) -> Duration {
        Duration::try_from_secs_f64(self.late_seconds).unwrap_or(Duration::MAX)
    }
}

impl Display for StartedAt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (moment, late) = (&self.moment, human::time(self.late()));
        write!(f, "at {moment}, {late} late; {}", clock(self.clock_error_seconds))
    }
}

pub(crate) fn clock(error_seconds: Option<f64>) -> String {
    let error = error_seconds.and_then(|error| Duration::try_from_secs_f64(error).ok());
    let told = |error| format!("clock off by at most {}", human::time(error));
    error.map_or_else(|| "clock error unknown".to_owned(), told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_is_much_too_late_is_a_warning() {
        let moment = SystemTime::UNIX_EPOCH;
        let warning = |late| StartedAt::new(moment, moment + late, None).warning();
        assert_eq!(warning(MOST_LATE), None);
        let told = "this part started 2.60s after --start-at";
        let late = Duration::from_millis(2_600);
        assert_eq!(warning(late).as_deref(), Some(told));
        let told = "at 1970-01-01T00:00:00Z, 2.60s late; clock error unknown";
        assert_eq!(StartedAt::new(moment, moment + late, None).to_string(), told);
    }
}
