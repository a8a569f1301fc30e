//! Asks chrony how far the machine's clock may be off.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(2);

/// Returns the maximum error of the machine's clock according to chrony. The kernel's `adjtimex` would report it too,
/// but calling it needs unsafe code.
pub(super) fn clock_error() -> Option<f64> {
    let mut chrony = Command::new("chronyc");
    of_tracking(&output_within(TIMEOUT, chrony.args(["-c", "tracking"]))?)
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
