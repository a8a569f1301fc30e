//! Runs calls that block: starts one thread for each session, and a thread that monitors them.
//!
//! A call that blocks cannot be ended. When a run is given up, the call counts as unfinished, and its thread is left
//! running. A thread that is still opening its session delays the start of the load by at most the timeout. If it is
//! still opening the session when the schedule ends, it is left running too.

use super::backoff;
use super::cores::{self, Core};
use super::guarded::panicked;
use super::shared::RunShared;
use super::span::Admission;
use super::worker::answer;
use crate::console::panics::{caught, locked};
use crate::load::backend::{BlockingSession, BlockingSessions};
use crate::load::details::SetUp;
use crate::load::kind::FailureKind;
use crate::load::target::{Failure, Slot};
use crate::results::operation::Answer;
use crate::running::measuring::recorder::Recorder;
use nanopace::Nanos;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time;

/// The ticket that a thread takes after its first attempt to open its session. With the ticket, the thread signals the
/// monitor that this attempt has ended. When the schedule ends, the monitor takes the remaining tickets, and a thread
/// that finds no ticket ends. The monitor then waits until all other threads have dropped their tickets.
type Ticket = Mutex<Option<UnboundedSender<()>>>;

struct Worker {
    sessions: Arc<dyn BlockingSessions>,
    shared: Arc<RunShared>,
    recorder: Arc<Recorder>,
    index: usize,
    ticket: Arc<Ticket>,
}

type Session<'a> = Option<Box<dyn BlockingSession + 'a>>;

/// Starts the threads of the sessions and the monitor. The monitor is counted as ready when each thread has made its
/// first attempt to open a session, or when the timeout has passed. It ends after the schedule, with the last thread
/// that has taken its ticket, or when the run is given up.
pub(super) fn start(
    sessions: &Arc<dyn BlockingSessions>,
    shared: &Arc<RunShared>,
    cores: &[Core],
    token: Arc<()>,
) -> io::Result<JoinHandle<anyhow::Result<()>>> {
    let runtime = Builder::new_current_thread().enable_time().build()?;
    let (sign, signs) = unbounded_channel();
    let mut all = Vec::new();
    for (index, core) in pinned(cores, shared.recorders.len()) {
        let worker = Worker::new(sessions, shared, index, sign.clone());
        all.push(Arc::clone(&worker.ticket));
        worker.start(core, &runtime)?;
    }
    drop(sign);
    let shared = Arc::clone(shared);
    thread::Builder::new().name("load".to_owned()).spawn(move || {
        let (mut give_up, _token) = (shared.give_up.subscribe(), token);
        runtime.block_on(async {
            tokio::select! {
                () = look_after(&shared, &all, signs) => {}
                _ = give_up.wait_for(|given_up| *given_up) => {}
            }
        });
        Ok(())
    })
}

fn pinned(cores: &[Core], threads: usize) -> impl Iterator<Item = (usize, Option<Core>)> {
    (0..threads).map(move |index| (index, cores.iter().cycle().nth(index).copied()))
}

async fn look_after(shared: &RunShared, tickets: &[Arc<Ticket>], mut signs: UnboundedReceiver<()>) {
    let opened = async {
        for _ in tickets {
            signs.recv().await;
        }
    };
    tokio::select! {
        _ = time::timeout(shared.timeout, opened) => {}
        () = shared.ended.wait() => {}
    }
    shared.ready.send_modify(|threads| *threads += 1);
    shared.ended.wait().await;
    for ticket in tickets {
        take(ticket);
    }
    while signs.recv().await.is_some() {}
}

fn take(ticket: &Ticket) -> Option<UnboundedSender<()>> {
    locked(ticket).take()
}

impl Worker {
    fn new(
        sessions: &Arc<dyn BlockingSessions>,
        shared: &Arc<RunShared>,
        index: usize,
        sign: UnboundedSender<()>,
    ) -> Worker {
        Worker {
            sessions: Arc::clone(sessions),
            recorder: Arc::clone(&shared.recorders[index]),
            shared: Arc::clone(shared),
            index,
            ticket: Arc::new(Mutex::new(Some(sign))),
        }
    }

    fn start(self, core: Option<Core>, runtime: &Runtime) -> io::Result<()> {
        let runtime = runtime.handle().clone();
        let thread = thread::Builder::new().name(format!("load-{}", self.index));
        thread.spawn(move || {
            core.into_iter().for_each(cores::pin);
            self.run(&runtime);
        })?;
        Ok(())
    }

    /// Makes calls on one session until no slot is left. If the first attempt to open the session fails, the next call
    /// tries again.
    fn run(&self, runtime: &Handle) {
        self.shared.threads.add_current();
        self.recorder.blocks();
        let (mut session, opening) = (None, self.recorder.open());
        if let Ok(set_up) = self.open(&mut session) {
            self.recorder.set_up(set_up);
        }
        self.recorder.opened(opening);
        let Some(sign) = take(&self.ticket) else { return };
        let _ = sign.send(());
        self.work(runtime, &mut session);
        if let Some(session) = session {
            let _ = guarded(|| session.close());
        }
        self.shared.threads.end_current();
    }

    fn work<'a>(&'a self, runtime: &Handle, session: &mut Session<'a>) {
        let (span, pacer) = (runtime.block_on(self.shared.span.wait()), &self.shared.pacer);
        while let Ok(grant) = pacer.acquire() {
            let now = pacer.now();
            let intended_start = span.intended_start(grant, now);
            let slot = (grant.slot(), intended_start);
            let is_connected = match span.admit(slot, now) {
                Admission::Recorded => self.operation(session, slot, true),
                Admission::WarmUp => self.operation(session, slot, false),
                Admission::Unstarted => {
                    return self.recorder.unstarted(&[(intended_start, 1)], span.end());
                }
                Admission::Over => return,
            };
            if !is_connected {
                runtime.block_on(backoff::wait(&self.shared, span, now));
            }
        }
        span.end_if_over();
    }

    fn operation<'a>(
        &'a self,
        session: &mut Session<'a>,
        slot @ (number, intended_start): (u64, Nanos),
        is_recorded: bool,
    ) -> bool {
        let flight = self.recorder.start(slot, is_recorded);
        let (start, place) = (flight.started(), flight.place());
        let number = self.shared.source(number);
        let call = Slot { number, intended_start, start, is_recorded, place };
        let answer = self.call(session, call);
        flight.end(answer);
        answer.is_connected
    }

    fn call<'a>(&'a self, session: &mut Session<'a>, slot: Slot) -> Answer {
        let (mut sent, mut set_up) = (slot.start, None);
        if session.is_none() {
            let opened = self.open(session);
            sent = self.shared.pacer.now();
            match opened {
                Ok(opened) => set_up = Some(opened),
                Err(failure) => return answer(sent, None, Err(failure.unconnected())),
            }
        }
        let Some(open) = session else {
            return answer(sent, None, Err(Failure::of(FailureKind::new("no session"))));
        };
        let called = guarded(|| open.call(slot));
        if called.is_err_and(|failure| failure.is_broken) {
            *session = None;
        }
        answer(sent, set_up, called)
    }

    fn open<'a>(&'a self, session: &mut Session<'a>) -> Result<SetUp, Failure> {
        let begin = self.shared.pacer.now();
        *session = Some(guarded(|| self.sessions.open(self.index))?);
        Ok(SetUp { connect: self.shared.pacer.now() - begin, tls: None })
    }
}

fn guarded<R>(call: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
    caught(call).unwrap_or_else(|payload| Err(panicked(&*payload)))
}
