//! Times as they are shown.

use nanopace::Nanos;
use nanopace_load::console::human;
use std::time::Duration;

/// From here on, times are shown in minutes, hours and so on.
const LONG: Duration = Duration::from_secs(600);

/// A time to three digits; a long one in two units.
pub(crate) fn short(time: Duration) -> String {
    if time.is_zero() {
        return "0s".to_owned();
    }
    if time < LONG {
        return human::time(time);
    }
    let units = humantime::format_duration(Duration::from_secs(time.as_secs())).to_string();
    units.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// A time as it can be written for an option, exactly: `33ms333us`.
pub(crate) fn exact(time: Duration) -> String {
    humantime::format_duration(time).to_string().replace(' ', "")
}

/// A moment in seconds, exactly: `1.5s`.
pub(crate) fn seconds(moment: Nanos) -> String {
    let nanos = moment.as_nanos();
    let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_times_have_two_units() {
        for (seconds, text) in
            [(0, "0s"), (599, "599s"), (600, "10m"), (9_999, "2h 46m"), (86_400, "1day")]
        {
            assert_eq!(short(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn seconds_are_exact() {
        for (nanos, text) in
            [(0, "0s"), (1_500_000_000, "1.5s"), (20_000_000_000, "20s"), (1, "0.000000001s")]
        {
            assert_eq!(seconds(Nanos::from_nanos(nanos)), text);
        }
    }
}
