//! The processes of the demonstration, and what they say.

use super::record::{Event, Record, Start, Work};
use crate::run::member::address::{RunAddress, VARIABLE};
use anyhow::Context;
use nanopace::Rate;
use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The processes. They are killed when this is dropped.
#[derive(Debug)]
pub(super) struct Nodes {
    at: RunAddress,
    rate: Rate,
    children: Vec<Child>,
    readers: Vec<JoinHandle<()>>,
    record: Arc<Mutex<Record>>,
    is_killed: bool,
}

impl Nodes {
    pub(super) fn new(at: &RunAddress, rate: Rate) -> Nodes {
        Nodes {
            at: at.clone(),
            rate,
            children: Vec::new(),
            readers: Vec::new(),
            record: Arc::default(),
            is_killed: false,
        }
    }

    /// Starts a process.
    pub(super) fn start(&mut self) -> anyhow::Result<()> {
        let program = env::current_exe().context("this program can't be found")?;
        let mut command = Command::new(program);
        command.args(["fleet", "demo-node", &self.at.name, &self.rate.to_string()]);
        command.env(VARIABLE, self.at.url());
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().context("this program can't be started")?;
        let (out, record) = (child.stdout.take(), Arc::clone(&self.record));
        let process = self.children.len();
        self.children.push(child);
        let out = out.context("a process without output")?;
        let listen = move || listen(out, process, &record);
        self.readers.push(thread::Builder::new().name("listener".to_owned()).spawn(listen)?);
        Ok(())
    }

    /// Kills the process of a node, by SIGKILL where there are signals, unless one is killed already.
    pub(super) fn kill(&mut self, number: u16, at: Duration) -> anyhow::Result<()> {
        let mut record = lock(&self.record);
        let Some(work) = record.nodes.get(&number).filter(|_| !self.is_killed) else {
            return Ok(());
        };
        self.children[work.process].kill().context("a process can't be killed")?;
        self.is_killed = true;
        record.events.push(Event { at, what: format!("node {number} is killed (kill -9)") });
        Ok(())
    }

    /// How many processes were started.
    pub(super) fn count(&self) -> usize {
        self.children.len()
    }

    /// What they have said so far.
    pub(super) fn record(&self) -> Record {
        lock(&self.record).clone()
    }

    /// Whether one of them has not ended.
    pub(super) fn are_at_work(&mut self) -> bool {
        self.children.iter_mut().any(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// All that they have said, once they have ended.
    pub(super) fn end(mut self) -> Record {
        for reader in self.readers.drain(..) {
            // A thread that panicked has said so.
            let _ = reader.join();
        }
        self.record()
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for child in &mut self.children {
            // One that has ended needs no signal, but is waited for.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn lock(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

fn listen(out: ChildStdout, process: usize, record: &Mutex<Record>) {
    let mut lines = BufReader::new(out).lines().map_while(Result::ok);
    let Some((number, at)) = lines.next().as_deref().and_then(joined) else { return };
    let mut noted = lock(record);
    noted.nodes.insert(number, Work { process, starts: Vec::new() });
    if !at.is_zero() {
        noted.events.push(Event { at, what: format!("node {number} joins") });
    }
    drop(noted);
    for start in lines.filter_map(|line| Start::read(&line)) {
        lock(record).nodes.entry(number).or_default().starts.push(start);
    }
}

/// A node's number, and when it joined: zero, if that was before the load began.
fn joined(line: &str) -> Option<(u16, Duration)> {
    let (number, at_ns) = line.split_once(' ')?;
    Some((number.parse().ok()?, Duration::from_nanos(at_ns.parse().ok()?)))
}
