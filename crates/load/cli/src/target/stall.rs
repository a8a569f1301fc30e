//! Defines a planned stall of the embedded target.

use std::str::FromStr;
use std::time::Duration;

/// A time in which the target does not respond. `start` is counted from the start of the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stall {
    length: Duration,
    start: Duration,
}

impl Stall {
    /// Returns how long to delay a response that is ready at `ready`, counted from the start of the schedule.
    pub(crate) fn hold(self, ready: Duration) -> Duration {
        let end = self.start.saturating_add(self.length);
        if ready < self.start { Duration::ZERO } else { end.saturating_sub(ready) }
    }
}

impl FromStr for Stall {
    type Err = String;

    fn from_str(text: &str) -> Result<Stall, String> {
        let (length, start) = text.split_once('@').ok_or("write LENGTH@START, as in 2s@3s")?;
        let time =
            |text| humantime::parse_duration(text).map_err(|error| format!("{text:?}: {error}"));
        Ok(Stall { length: time(length)?, start: time(start)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn reads_length_at_start() {
        for (text, length, start) in
            [("2s@3s", 2_000, 3_000), ("1.5s@0s", 1_500, 0), ("250ms@1min", 250, 60_000)]
        {
            assert_eq!(text.parse(), Ok(Stall { length: ms(length), start: ms(start) }), "{text}");
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in ["", "2s", "@", "2s@", "@3s", "2@3", "2s@3s@4s", "-2s@3s"] {
            assert!(text.parse::<Stall>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_responses_within_a_stall_are_delayed() {
        let stall = Stall { length: ms(2_000), start: ms(3_000) };
        for (ready, hold) in
            [(0, 0), (2_999, 0), (3_000, 2_000), (3_500, 1_500), (4_999, 1), (5_000, 0), (9_000, 0)]
        {
            assert_eq!(stall.hold(ms(ready)), ms(hold), "ready at {ready} ms");
        }
    }
}
