//! Describes the start of a run with `--start-at`, by the clock of its machine.

use crate::console::human;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// A report contains a warning if the schedule started later than requested by more than this.
const MOST_LATE: Duration = Duration::from_millis(100);
const CHRONY_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct StartedAt {
    pub(crate) moment: String,
    late_seconds: f64,
    /// The maximum error of the machine's clock, or `None` if it is not known.
    pub(crate) clock_error_seconds: Option<f64>,
}

impl StartedAt {
    pub(crate) fn new(moment: SystemTime, began: SystemTime) -> StartedAt {
        StartedAt {
            moment: humantime::format_rfc3339(moment).to_string(),
            late_seconds: began.duration_since(moment).unwrap_or_default().as_secs_f64(),
            clock_error_seconds: clock_error(),
        }
    }

    pub(crate) fn warning(&self) -> Option<String> {
        let late = Duration::try_from_secs_f64(self.late_seconds).unwrap_or(Duration::MAX);
        let told = || format!("this part started {} after --start-at", human::time(late));
        (late > MOST_LATE).then(told)
    }
}

impl Display for StartedAt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (moment, late) = (&self.moment, self.late_seconds * 1e3);
        write!(f, "at {moment}, {late:.1}ms late; {}", clock(self.clock_error_seconds))
    }
}

pub(crate) fn clock(error_seconds: Option<f64>) -> String {
    let error = error_seconds.and_then(|error| Duration::try_from_secs_f64(error).ok());
    let told = |error| format!("clock off by at most {}", human::time(error));
    error.map_or_else(|| "clock error unknown".to_owned(), told)
}

/// Returns the maximum error of the machine's clock according to chrony. The kernel's `adjtimex` would report it too,
/// but calling it needs unsafe code.
fn clock_error() -> Option<f64> {
    let mut chrony = Command::new("chronyc");
    of_tracking(&output_within(CHRONY_TIMEOUT, chrony.args(["-c", "tracking"]))?)
}

/// Returns the standard output of a command. Kills a command that takes longer than `timeout`, and returns `None`. The
/// output must fit into the buffer of a pipe.
fn output_within(timeout: Duration, command: &mut Command) -> Option<String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let (mut child, end) = (command.spawn().ok()?, Instant::now() + timeout);
    while child.try_wait().ok()?.is_none() {
        if Instant::now() >= end {
            let _ = child.kill().and_then(|()| child.wait());
            return None;
        }
        thread::sleep(Duration::from_millis(10));
    }
    String::from_utf8(child.wait_with_output().ok()?.stdout).ok()
}

/// Returns the maximum error as chrony's manual computes it: the offset of the clock, plus the root dispersion and half
/// of the root delay.
fn of_tracking(output: &str) -> Option<f64> {
    let fields: Vec<&str> = output.trim().split(',').collect();
    let seconds = |index: usize| fields.get(index)?.parse::<f64>().ok();
    let is_synchronised = *fields.get(13)? != "Not synchronised";
    let error = seconds(4)?.abs() + seconds(11)? + seconds(10)? / 2.0;
    is_synchronised.then_some(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_is_much_too_late_is_a_warning() {
        let moment = SystemTime::UNIX_EPOCH;
        let warning = |late| StartedAt::new(moment, moment + late).warning();
        assert_eq!(warning(MOST_LATE), None);
        let told = "this part started 2.60s after --start-at";
        assert_eq!(warning(Duration::from_millis(2_600)).as_deref(), Some(told));
    }

    #[test]
    fn the_error_of_a_clock_is_offset_and_dispersion_and_half_of_the_delay() {
        let output =
            |offset, leap| format!("A2,1.2.3.4,4,1.1,{offset},0,0,0,0,0,0.5,0.125,64.2,{leap}\n");
        assert_eq!(of_tracking(&output("-0.25", "Normal")), Some(0.625));
        for bad in [output("0", "Not synchronised"), output("x", "Normal"), "506 no".to_owned()] {
            assert_eq!(of_tracking(&bad), None, "{bad}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_command_that_takes_too_long_has_no_output() {
        let output = |seconds, line| {
            output_within(Duration::from_secs(seconds), Command::new("sh").args(["-c", line]))
        };
        assert_eq!(output(600, "echo 1").as_deref(), Some("1\n"));
        assert_eq!(output(0, "exec sleep 600"), None);
    }
}
