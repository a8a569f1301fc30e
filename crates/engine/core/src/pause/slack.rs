//! Sets fine timers. Linux lets a sleep overrun by the thread's timer slack, 50 us by default, to wake several threads
//! at once.

#[cfg(target_os = "linux")]
mod platform {
    use rustix::thread::{current_timer_slack, set_current_timer_slack};
    use std::num::NonZeroU64;

    pub(in crate::pause) struct FineTimer(Option<NonZeroU64>);

    impl FineTimer {
        pub(in crate::pause) fn new(wanted: bool) -> FineTimer {
            let before =
                if wanted { current_timer_slack().ok().and_then(NonZeroU64::new) } else { None };
            let before = before.filter(|slack| *slack != NonZeroU64::MIN);
            // If the slack can't be set, timers are coarser and starts are later. The wait times include this delay.
            FineTimer(before.filter(|_| set_current_timer_slack(Some(NonZeroU64::MIN)).is_ok()))
        }
    }

    impl Drop for FineTimer {
        fn drop(&mut self) {
            if self.0.is_some() {
                let _ = set_current_timer_slack(self.0);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    pub(in crate::pause) struct FineTimer;

    impl FineTimer {
        pub(in crate::pause) fn new(_wanted: bool) -> FineTimer {
            FineTimer
        }
    }
}

pub(super) use platform::FineTimer;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::FineTimer;
    use rustix::thread::current_timer_slack;

    #[test]
    fn the_slack_is_what_it_was_afterwards() {
        let before = current_timer_slack().unwrap();
        let fine = FineTimer::new(true);
        assert_eq!(current_timer_slack().unwrap(), 1);
        drop(FineTimer::new(true));
        assert_eq!(current_timer_slack().unwrap(), 1, "nested");
        drop(fine);
        assert_eq!(current_timer_slack().unwrap(), before);
    }
}
