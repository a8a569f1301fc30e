//! Starts a load at a moment of the wall clock, so that several machines can share the load without a store.

use super::before_start::BeforeStart;
use super::chrony;
use super::message::Message;
use crate::console::{Progress, human};
use crate::load::schedule::recording::moment;
use crate::results::started_at::StartedAt;
use anyhow::ensure;
use std::hint;
use std::str::FromStr;
use std::sync::mpsc::Receiver;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(Clone, Debug)]
pub(crate) struct StartAt(SystemTime);

/// `+TIME` is rounded up to a multiple of this time since 1970.
const ROUND: Duration = Duration::from_secs(10);

const TICK: Duration = Duration::from_secs(1);

/// The time before the start at which a run stops sleeping. A sleep can take this much longer than requested.
const SPIN: Duration = Duration::from_millis(2);

impl FromStr for StartAt {
    type Err = String;

    fn from_str(text: &str) -> Result<StartAt, String> {
        StartAt::read(text, SystemTime::now())
    }
}

impl StartAt {
    fn read(text: &str, now: SystemTime) -> Result<StartAt, String> {
        let Some(delay) = text.strip_prefix('+') else {
            let told =
                "write a date with a zone, as 2026-01-31T12:00:00Z, seconds since 1970, or +10s";
            return moment(text).map(StartAt).ok_or_else(|| told.to_owned());
        };
        let delay = humantime::parse_duration(delay).map_err(|error| error.to_string())?;
        let since_1970 = now.duration_since(UNIX_EPOCH).unwrap_or_default().checked_add(delay);
        let tens = since_1970.map(|since| since.as_nanos().div_ceil(ROUND.as_nanos()));
        let rounded = tens.and_then(|tens| ROUND.checked_mul(u32::try_from(tens).ok()?));
        let moment = rounded.and_then(|rounded| UNIX_EPOCH.checked_add(rounded));
        moment.map(StartAt).ok_or_else(|| "this moment is too far in the future".to_owned())
    }

    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let ago = SystemTime::now().duration_since(self.0).unwrap_or_default();
        let (moment, ago_text) = (humantime::format_rfc3339(self.0), human::long_time(ago));
        ensure!(
            ago.is_zero(),
            "--start-at: {moment} was {ago_text} ago when the run was ready: write a later time"
        );
        Ok(())
    }

    /// Waits until it is time to open this number of connections. Returns `false` if the user has ended the run.
    pub(crate) fn count_down(&self, connections: u32, messages: &Receiver<Message>) -> bool {
        let (job, part) = (Progress::of_a_job(), Progress::of_a_part());
        job.add_line(&format!(
            "the load starts at {}; Ctrl-C ends the wait",
            humantime::format_rfc3339(self.0)
        ));
        let show = |left: Duration| {
            let left = Duration::from_secs(left.as_secs() + 1);
            part.show(&format!(
                "the load starts in {}; Ctrl-C ends the wait",
                humantime::format_duration(left)
            ));
        };
        let opening = (TICK + Duration::from_millis(1) * connections).min(ROUND);
        let is_wanted = self.until(opening, messages, show);
        part.end();
        if !is_wanted {
            job.add_line("interrupted before the load started");
        }
        is_wanted
    }

    pub(crate) fn wait(&self, messages: &Receiver<Message>) -> bool {
        let is_wanted = self.until(SPIN, messages, |_| ());
        while is_wanted && !self.left().is_zero() {
            hint::spin_loop();
        }
        is_wanted
    }

    pub(crate) fn started(&self, began: SystemTime) -> StartedAt {
        StartedAt::new(self.0, began, chrony::clock_error())
    }

    fn until(
        &self,
        ahead: Duration,
        messages: &Receiver<Message>,
        show: impl Fn(Duration),
    ) -> bool {
        loop {
            let left = self.left();
            let rest = left.saturating_sub(ahead);
            if rest.is_zero() {
                return true;
            }
            show(left);
            let message = messages.recv_timeout(rest.min(TICK));
            if message.is_ok_and(|message| message.reach(&mut BeforeStart)) {
                return false;
            }
        }
    }

    fn left(&self) -> Duration {
        self.0.duration_since(SystemTime::now()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn at(seconds: f64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs_f64(seconds)
    }

    #[test]
    fn a_moment_is_read_in_three_forms() {
        for (text, now, moment) in [
            ("2026-11-29T18:40:00Z", 5.0, 1_795_977_600.0),
            ("2026-11-29T19:40:00.5+01:00", 5.0, 1_795_977_600.5),
            ("1795977600", 5.0, 1_795_977_600.0),
            ("1795977600.25", 5.0, 1_795_977_600.25),
            ("+10s", 1_795_977_600.0, 1_795_977_610.0),
            ("+10s", 1_795_977_600.001, 1_795_977_620.0),
            ("+1min", 1_795_977_599.0, 1_795_977_660.0),
        ] {
            assert_eq!(StartAt::read(text, at(now)).unwrap().0, at(moment), "{text} {now}");
        }
        for text in
            ["", "soon", "10s", "2026-11-29", "2026-11-29T18:40:00", "+", "+soon", "-10s", "17"]
        {
            assert!(StartAt::read(text, at(5.0)).is_err(), "{text}");
        }
    }

    #[test]
    fn a_moment_that_has_passed_is_refused_and_a_stop_ends_the_wait() {
        let (sender, messages) = mpsc::channel();
        let past = StartAt(SystemTime::now() - Duration::from_secs(3));
        assert!(past.check().unwrap_err().to_string().contains(" was 3.00s ago when"));
        assert!(past.count_down(1, &messages) && past.wait(&messages));
        let future = StartAt(SystemTime::now() + Duration::from_secs(3_600));
        assert!(future.check().is_ok());
        sender.send(Message::LastSlot).unwrap();
        sender.send(Message::Stop).unwrap();
        assert!(!future.count_down(1, &messages));
    }
}
