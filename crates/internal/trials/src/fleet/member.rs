//! Controls the process of a node from outside.

use crate::fleet::start::{self, Start};
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

/// How a node ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The node has reported all its starts to the store.
    Finished {
        /// The number of frames in which the node could not reach the store.
        blind_frames: u64,
        /// Whether the node was asked to leave.
        has_left: bool,
        /// The longest time in milliseconds between two wake-ups of the thread that watches the node. The thread waits
        /// for 2 ms at a time, so a longer time means that the node was frozen or the machine was busy.
        stalled_ms: u64,
    },
    /// The node was killed.
    Killed,
    /// The node failed with this message.
    Failed(String),
}

/// The process of a node. It is killed when this value is dropped.
#[derive(Debug)]
pub struct Member {
    child: Child,
    lines: Receiver<String>,
    starts: PathBuf,
    number: Option<u16>,
    has_left: bool,
    fate: Option<Fate>,
}

impl Member {
    pub(crate) fn spawn(command: &mut Command, starts: PathBuf) -> Result<Member> {
        let command = command.arg("--starts").arg(&starts);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let (sender, lines) = channel();
        thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Ok(Member { child, lines, starts, number: None, has_left: false, fate: None })
    }

    /// Waits until the node has joined and the run has started. Returns the node's number.
    ///
    /// # Errors
    /// Fails if the node ends or prints nothing for 30 s, or if its first line is not `joined NUMBER`.
    pub fn joined(&mut self) -> Result<u16> {
        if let Some(number) = self.number {
            return Ok(number);
        }
        let line = self.lines.recv_timeout(PATIENCE).context("the node prints nothing")?;
        let Some(number) = line.strip_prefix("joined ") else { bail!(line) };
        Ok(*self.number.insert(number.parse()?))
    }

    /// Kills the node with SIGKILL.
    ///
    /// # Errors
    /// Fails if the node has already ended.
    pub fn kill(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!("the node has ended, {status}");
        }
        self.end(Fate::Killed);
        Ok(())
    }

    fn end(&mut self, fate: Fate) {
        self.child.kill().ok();
        self.child.wait().ok();
        self.fate = Some(fate);
    }

    /// Freezes the node with SIGSTOP.
    ///
    /// # Errors
    /// Fails if `kill` or `wait` has ended the process.
    pub fn freeze(&self) -> Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), Signal::STOP)?)
    }

    /// Resumes a frozen node with SIGCONT.
    ///
    /// # Errors
    /// Fails if `kill` or `wait` has ended the process.
    pub fn thaw(&self) -> Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), Signal::CONT)?)
    }

    /// Asks the node to leave.
    ///
    /// # Errors
    /// Fails if the node has ended.
    pub fn leave(&mut self) -> Result<()> {
        self.has_left = true;
        Ok(writeln!(self.child.stdin.as_ref().context("no input")?, "leave")?)
    }

    /// Returns whether the node was killed or asked to leave.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.has_left || self.fate == Some(Fate::Killed)
    }

    /// Waits until the node reports its end, but at most until `deadline`.
    ///
    /// # Errors
    /// Fails if the node's output ends or `deadline` passes before the node has reported its end, or if the report is
    /// incomplete.
    pub fn wait(&mut self, deadline: Instant) -> Result<Fate> {
        while self.fate.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).context("the node reports no end")?;
            match line.split_once(' ').unwrap_or((&line, "")) {
                ("finished", how) => {
                    let (blind, stalled) = how.split_once(' ').context("the line is incomplete")?;
                    let (blind_frames, stalled_ms) = (blind.parse()?, stalled.parse()?);
                    let has_left = self.has_left;
                    self.end(Fate::Finished { blind_frames, has_left, stalled_ms });
                }
                ("failed", why) => self.end(Fate::Failed(why.to_owned())),
                _ => eprintln!("node {:?}: {line}", self.number),
            }
        }
        self.fate.clone().context("no fate")
    }

    /// Returns all starts that the node has recorded.
    #[must_use]
    pub fn starts(&self) -> Vec<Start> {
        start::read(&self.starts)
    }

    pub(crate) fn number(&self) -> Option<u16> {
        self.number
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

pub(crate) fn file(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("starts-{index}"))
}
