//! Defines the state that the threads of a run share.

use super::connection_slots::ConnectionSlots;
use super::pool::Pool;
use super::realtime::Realtime;
use super::span::RunSpan;
use super::thread_cpu::LoadThreads;
use crate::load::repeats::Repeats;
use crate::running::measuring::recorder::Recorder;
use nanopace::{Ledger, Nanos, Pacer};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{SetOnce, watch};

#[derive(Debug)]
pub(crate) struct RunShared {
    pub(crate) pacer: Pacer,
    pub(crate) timeout: Duration,
    /// Whether slots or schedule time can be given up.
    pub(crate) gives_up: bool,
    pub(crate) sessions: u32,
    pub(crate) recorders: Vec<Arc<Recorder>>,
    /// The number of load threads that are ready for the schedule.
    pub(crate) ready: watch::Sender<usize>,
    pub(crate) span: SetOnce<RunSpan>,
    pub(crate) ended: SetOnce<()>,
    pub(crate) give_up: watch::Sender<bool>,
    pub(crate) pool: Pool,
    pub(crate) connection_slots: Option<ConnectionSlots>,
    pub(crate) realtime: Option<Realtime>,
    pub(crate) threads: LoadThreads,
    pub(crate) repeats: Option<Arc<Repeats>>,
}

impl RunShared {
    pub(crate) fn new(
        pacer: Pacer,
        timeout: Duration,
        connections: &[usize],
        gives_up: bool,
    ) -> RunShared {
        RunShared {
            recorders: Recorder::all(&pacer, connections, gives_up),
            timeout,
            gives_up,
            sessions: connections.iter().sum::<usize>().try_into().unwrap_or(u32::MAX),
            ready: watch::Sender::new(0),
            span: SetOnce::new(),
            ended: SetOnce::new(),
            give_up: watch::Sender::new(false),
            pool: Pool::default(),
            connection_slots: None,
            realtime: None,
            threads: LoadThreads::default(),
            repeats: None,
            pacer,
        }
    }

    pub(crate) fn ledger(&self) -> Ledger {
        self.with_waiting_claims(self.pacer.ledger(), self.pacer.now())
    }

    /// Returns `ledger` at `now`, in which claimed slots that wait for their own connections count as backlog.
    pub(crate) fn with_waiting_claims(&self, ledger: Ledger, now: Nanos) -> Ledger {
        let slots = self.connection_slots.as_ref();
        slots.map_or(ledger, |slots| slots.add_backlog(ledger, &self.pacer, now))
    }

    /// Returns the slot whose request is sent for slot `number`. It differs from `number` if the slot repeats a
    /// request.
    pub(crate) fn source(&self, number: u64) -> u64 {
        self.repeats.as_ref().map_or(number, |repeats| repeats.source(number))
    }
}
