//! Holds the state of a run whose schedule has started. All parts of the controller share it.

use crate::console::human::float;
use crate::results::lateness::Lateness;
use crate::results::over_time::Backlog;
use crate::running::member::Member;
use crate::running::workers::shared::RunShared;
use crate::running::workers::span::RunSpan;
use crate::shown::snapshot::Phase;
use crate::shown::standing::Standing;
use nanopace::driver::Drive as _;
use nanopace::{Nanos, Pacer};

#[derive(Clone, Copy, Debug)]
pub(crate) struct RunState<'run> {
    pub(crate) shared: &'run RunShared,
    pub(crate) span: &'run RunSpan,
    pub(crate) member: Option<&'run Member>,
}

impl<'run> RunState<'run> {
    pub(crate) fn pacer(&self) -> &'run Pacer {
        &self.shared.pacer
    }

    pub(crate) fn now(&self) -> Nanos {
        self.pacer().now()
    }

    pub(crate) fn standing(&self) -> Option<Standing> {
        self.member.map(Member::standing)
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.now() {
            _ if self.is_paused() => Phase::Paused,
            now if now < self.span.recorded_from => Phase::WarmUp,
            _ => Phase::Running,
        }
    }

    fn is_paused(&self) -> bool {
        self.standing().map_or_else(|| self.pacer().is_paused(), |standing| standing.is_paused)
    }

    pub(crate) fn own_hz(&self) -> f64 {
        self.hz() * self.span.length().share
    }

    /// Returns the current rate of all processes in slots per second. During a pause, returns the rate after the pause.
    pub(crate) fn hz(&self) -> f64 {
        self.pacer().rate_hz()
    }

    /// Returns the number of requested slots. In a closed loop, these are the started slots.
    pub(crate) fn asked(&self, scheduled: f64, started: u64) -> f64 {
        if self.span.length().is_closed { float(started) } else { scheduled }
    }

    pub(crate) fn within_recorded(&self, at: Nanos) -> Nanos {
        at.max(self.span.recorded_from).min(self.span.end())
    }

    pub(crate) fn planned_end(&self) -> Option<Nanos> {
        let length = || self.pacer().shape()?.duration();
        let of_fleet = self.member.and_then(|member| Some(member.begins() + length()?));
        Some(of_fleet.unwrap_or_else(|| self.span.end())).filter(|&end| end < Nanos::MAX)
    }

    /// Returns the lateness of the slots in a backlog. Each thread names the causes for one slot of the mean age, and
    /// all slots get the mean over the threads.
    pub(crate) fn waiting(&self, Backlog { slots, time }: Backlog) -> Lateness {
        if slots == 0 {
            return Lateness::default();
        }
        let each = self.shared.recorders.iter().map(|recorder| recorder.waiting(time / 2));
        let (all, threads) =
            each.fold((Lateness::default(), 0), |(all, n), one| (all.plus(one), n + 1));
        all.times(float(slots) / float(threads))
    }
}
