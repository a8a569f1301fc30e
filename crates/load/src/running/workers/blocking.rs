//! Calls that block: a thread for each session, and one that looks after them.
//!
//! Nobody can end a call that blocks. When a run is given up, the call is taken from its thread, which is
//! left behind, and counts as unfinished.

use super::guarded::panicked;
use super::shared::RunShared;
use super::span::{Admission, RunSpan};
use super::worker::answer;
use crate::load::details::SetUp;
use crate::load::kind::Kind;
use crate::load::target::{BlockingSession, BlockingSessions, Failure, Slot};
use crate::recorded::operation::Answer;
use crate::running::message::Message;
use crate::running::recording::recorder::{Flight, Recorder};
use core_affinity::CoreId;
use nanopace::Grant;
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What a thread is doing.
#[derive(Debug)]
enum Doing {
    Waits,
    Calls(Flight),
    /// The run was given up.
    Nothing,
}

/// A thread with its session.
struct Worker {
    sessions: Arc<dyn BlockingSessions>,
    shared: Arc<RunShared>,
    recorder: Arc<Recorder>,
    index: usize,
    doing: Arc<Mutex<Doing>>,
}

type Session<'a> = Option<Box<dyn BlockingSession + 'a>>;

/// Starts a thread for each recorder, and one that sends [`Message::Ready`] when all sessions are open, and
/// ends with the last of them, or when the run is given up.
pub(super) fn start(
    sessions: &Arc<dyn BlockingSessions>,
    shared: &Arc<RunShared>,
    cores: &[CoreId],
    messages: &Sender<Message>,
) -> io::Result<JoinHandle<anyhow::Result<()>>> {
    let runtime = Builder::new_current_thread().build()?;
    let (sign, signs) = unbounded_channel();
    let mut all = Vec::new();
    for (index, core) in pinned(cores, shared.recorders.len()) {
        let worker = Worker::new(sessions, shared, index);
        all.push(Arc::clone(&worker.doing));
        worker.start(core, sign.clone(), &runtime)?;
    }
    let (shared, messages) = (Arc::clone(shared), messages.clone());
    thread::Builder::new().name("load".to_owned()).spawn(move || {
        look_after(&runtime, &shared, signs, &messages);
        for doing in all {
            *locked(&doing) = Doing::Nothing;
        }
        Ok(())
    })
}

/// Threads, and the core that each is pinned to.
fn pinned(cores: &[CoreId], threads: usize) -> impl Iterator<Item = (usize, Option<CoreId>)> {
    (0..threads).map(move |index| (index, cores.iter().cycle().nth(index).copied()))
}

/// Until all threads are gone, or the run is given up.
fn look_after(
    runtime: &Runtime,
    shared: &RunShared,
    mut signs: UnboundedReceiver<()>,
    messages: &Sender<Message>,
) {
    let mut give_up = shared.give_up.subscribe();
    let work = async {
        for _ in &shared.recorders {
            signs.recv().await;
        }
        // The receiver is gone only when the run has ended.
        let _ = messages.send(Message::Ready);
        signs.recv().await;
    };
    runtime.block_on(async {
        tokio::select! {
            () = work => {}
            _ = give_up.wait_for(|given_up| *given_up) => {}
        }
    });
}

fn locked(doing: &Mutex<Doing>) -> MutexGuard<'_, Doing> {
    doing.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Worker {
    fn new(sessions: &Arc<dyn BlockingSessions>, shared: &Arc<RunShared>, index: usize) -> Worker {
        Worker {
            sessions: Arc::clone(sessions),
            recorder: Arc::clone(&shared.recorders[index]),
            shared: Arc::clone(shared),
            index,
            doing: Arc::new(Mutex::new(Doing::Waits)),
        }
    }

    fn start(
        self,
        core: Option<CoreId>,
        sign: UnboundedSender<()>,
        runtime: &Runtime,
    ) -> io::Result<()> {
        let runtime = runtime.handle().clone();
        let thread = thread::Builder::new().name(format!("load-{}", self.index));
        thread.spawn(move || {
            if let Some(core) = core {
                // As with other load threads, it also runs elsewhere.
                core_affinity::set_for_current(core);
            }
            self.run(&sign, &runtime);
        })?;
        Ok(())
    }

    /// Opens the session, gives a sign, and works. If it can't be opened now, the first call tries again.
    fn run(&self, sign: &UnboundedSender<()>, runtime: &Handle) {
        self.shared.threads.add_current();
        self.recorder.blocks();
        let mut session = None;
        if let Ok(set_up) = self.open(&mut session) {
            self.recorder.set_up(set_up);
        }
        // The receiver is gone only when the run was given up.
        let _ = sign.send(());
        self.work(runtime.block_on(self.shared.span.wait()), session);
        self.shared.threads.end_current();
    }

    /// Works until there are no more slots.
    fn work<'a>(&'a self, span: &RunSpan, mut session: Session<'a>) {
        let pacer = &self.shared.pacer;
        while let Ok(grant) = pacer.acquire() {
            let intended_start = grant.intended_start();
            match span.admit(intended_start, pacer.now()) {
                Admission::Recorded => self.operation(&mut session, grant, true),
                Admission::WarmUp => self.operation(&mut session, grant, false),
                Admission::Unstarted => {
                    return self.recorder.unstarted(&[(intended_start, 1)], span.end());
                }
                Admission::Over => return,
            }
        }
        span.end_if_over(pacer.now());
    }

    fn operation<'a>(&'a self, session: &mut Session<'a>, grant: Grant, is_recorded: bool) {
        let intended_start = grant.intended_start();
        let flight = self.recorder.start(intended_start, is_recorded);
        let slot = Slot { number: grant.slot(), intended_start, start: flight.started() };
        if !self.begin(flight) {
            return;
        }
        let answer = self.call(session, slot);
        let did = mem::replace(&mut *locked(&self.doing), Doing::Waits);
        if let Doing::Calls(flight) = did {
            flight.end(answer);
        }
    }

    /// False if the run was given up meanwhile.
    fn begin(&self, flight: Flight) -> bool {
        let mut doing = locked(&self.doing);
        let goes_on = !matches!(*doing, Doing::Nothing);
        if goes_on {
            *doing = Doing::Calls(flight);
        }
        goes_on
    }

    /// Makes a call; opens the session before, if there is none.
    fn call<'a>(&'a self, session: &mut Session<'a>, slot: Slot) -> Answer {
        let (mut sent, mut set_up) = (slot.start, None);
        if session.is_none() {
            let opened = self.open(session);
            sent = self.shared.pacer.now();
            match opened {
                Ok(opened) => set_up = Some(opened),
                Err(failure) => return answer(sent, None, Err(failure)),
            }
        }
        let Some(open) = session else {
            return answer(sent, None, Err(Failure::of(Kind::new("no session"))));
        };
        let called = guarded(|| open.call(slot));
        if called.is_err_and(|failure| failure.is_broken) {
            *session = None;
        }
        answer(sent, set_up, called)
    }

    /// Opens the session. How long that took.
    fn open<'a>(&'a self, session: &mut Session<'a>) -> Result<SetUp, Failure> {
        let begin = self.shared.pacer.now();
        *session = Some(guarded(|| self.sessions.open(self.index))?);
        Ok(SetUp { connect: self.shared.pacer.now() - begin, tls: None })
    }
}

/// What a call comes to that may panic.
fn guarded<R>(call: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| Err(panicked(&*payload)))
}
