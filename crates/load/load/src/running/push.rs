//! Pushes the metrics of a run to an OpenTelemetry collector: OTLP over HTTP, in protobuf.
//!
//! A thread sends the metrics of the last snapshot at a fixed interval, and once at the end. The first failure is
//! reported. A collector cannot make the run fail, and delays its end by at most 5 s.

pub(crate) mod args;
pub(crate) mod collector;

use super::message::Message;
use super::observed::{Observed, families};
use crate::shown::metrics::otlp::Source;
use collector::Collector;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};
use tokio::runtime::{Builder, Runtime};
use tokio::select;
use tokio::sync::oneshot;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

#[derive(Debug)]
pub(crate) struct Push {
    end: oneshot::Sender<()>,
    thread: JoinHandle<Pushed>,
}

#[derive(Debug, Default)]
struct Pushed {
    all: u64,
    failed: u64,
    last: String,
}

impl Push {
    pub(crate) fn start(
        collector: Arc<Collector>,
        every: Duration,
        loads: Vec<Observed>,
        messages: Sender<Message>,
    ) -> anyhow::Result<Push> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let pusher = Pusher { collector, loads, messages, pushed: Pushed::default() };
        let (end, ended) = oneshot::channel();
        let push = move || run(runtime, pusher, every, ended);
        let thread = thread::Builder::new().name("otlp".to_owned()).spawn(push)?;
        Ok(Push { end, thread })
    }

    pub(crate) fn end(self) -> Option<String> {
        // If the thread no longer exists, it has panicked and has printed a message.
        let _ = self.end.send(());
        let Pushed { all, failed, last } = self.thread.join().unwrap_or_default();
        let pushes = if all == 1 { "push" } else { "pushes" };
        (failed > 0)
            .then(|| format!("--otlp: {failed} of {all} {pushes} failed; the last error: {last}"))
    }
}

fn run(runtime: Runtime, pusher: Pusher, every: Duration, ended: oneshot::Receiver<()>) -> Pushed {
    let outcome = runtime.block_on(pusher.run(every, ended));
    // Name resolution cannot be cancelled, and must not delay the end.
    runtime.shutdown_background();
    outcome
}

struct Pusher {
    collector: Arc<Collector>,
    loads: Vec<Observed>,
    messages: Sender<Message>,
    pushed: Pushed,
}

impl Pusher {
    async fn run(mut self, every: Duration, mut ended: oneshot::Receiver<()>) -> Pushed {
        let mut ticks = interval_at(Instant::now() + every, every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let next = async {
                ticks.tick().await;
                self.push(Some(every)).await;
            };
            // If a send is interrupted, no metrics are lost, because counts only grow and are sent once more at the
            // end.
            select! {
                () = next => {}
                _ = &mut ended => break,
            }
        }
        self.push(None).await;
        self.pushed
    }

    async fn push(&mut self, again: Option<Duration>) {
        let snapshots: Vec<_> = self.loads.iter().map(Observed::snapshot).collect();
        let starts = snapshots.iter().filter_map(|(_, state)| Some(state.snapshot()?.start));
        let Some(start) = starts.min() else { return };
        let message = Source::new(start).message(&families(&snapshots), SystemTime::now());
        let sent = self.collector.send(message).await;
        self.pushed.all += 1;
        if let Err(error) = sent {
            self.pushed.failed += 1;
            self.pushed.last = format!("{error:#}");
            if let (1, Some(every)) = (self.pushed.failed, again) {
                let every = humantime::format_duration(every);
                let told = format!("--otlp: {error:#}; trying again every {every}");
                // The run may already have ended.
                let _ = self.messages.send(Message::Tell(told));
            }
        }
    }
}
