//! Runs a load on nodes that are processes.

use crate::fleet::member::{Fate, Member, file};
use crate::fleet::outcome::Outcome;
use crate::fleet::start::Start;
use crate::fleet::truth::Truth;
use anyhow::{Context, Result};
use nanopace_fleet::{Control, FleetError, RunStatus};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

/// A run whose nodes are processes.
#[derive(Debug)]
pub struct Trial {
    program: PathBuf,
    url: String,
    run: String,
    shape: String,
    folder: TempDir,
    control: Control,
    /// The time at which the load began, according to the store.
    began: Instant,
    /// The nodes of the run.
    pub members: Vec<Member>,
}

impl Trial {
    /// Creates a run without nodes, in the store at `url`. `program` is the path of this crate's program.
    ///
    /// # Errors
    /// Fails if the URL is invalid, or no temporary folder can be created.
    pub fn new(program: &Path, url: &str, shape: &str) -> Result<Trial> {
        let run = format!("trial-{:08x}", fastrand::u32(..));
        Ok(Trial {
            program: program.to_owned(),
            url: url.to_owned(),
            control: Control::open(url, &run)?,
            run,
            shape: shape.to_owned(),
            folder: TempDir::new()?,
            began: Instant::now(),
            members: Vec::new(),
        })
    }

    /// Starts a run with this number of nodes, and waits until the load begins.
    ///
    /// # Errors
    /// Fails if a process cannot be started, a node does not join or the store does not respond.
    pub fn begin(program: &Path, url: &str, shape: &str, nodes: usize) -> Result<Trial> {
        Trial::begin_at(program, url, shape, &vec![url; nodes], &[])
    }

    /// Starts a run with one node for each URL in `nodes`, and waits until the load begins. All nodes get the same
    /// `options`.
    ///
    /// # Errors
    /// Fails if a process cannot be started, a node does not join or the store does not respond.
    pub fn begin_at(
        program: &Path,
        url: &str,
        shape: &str,
        nodes: &[&str],
        options: &[&str],
    ) -> Result<Trial> {
        let mut trial = Trial::new(program, url, shape)?;
        let awaited = nodes.len().to_string();
        for node in nodes {
            trial.add(node, &[options, &["--nodes", &awaited]].concat())?;
        }
        trial.start()?;
        Ok(trial)
    }

    /// Waits until all nodes have joined and the load has begun.
    ///
    /// # Errors
    /// Fails if a node does not join or the store does not respond.
    pub fn start(&mut self) -> Result<()> {
        self.members.iter_mut().try_for_each(|member| member.joined().map(|_| ()))?;
        loop {
            let elapsed = self.control.status()?.elapsed;
            if !elapsed.is_zero() {
                self.began = Instant::now()
                    .checked_sub(elapsed)
                    .context("the load began before this machine")?;
                return Ok(());
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts the process of another node, which connects to the store at this URL.
    ///
    /// # Errors
    /// Fails if the process cannot be started.
    pub fn add(&mut self, url: &str, options: &[&str]) -> Result<&mut Member> {
        let mut command = Command::new(&self.program);
        self.add_command(command.arg("node"), url, options)
    }

    /// Starts another node as [`add`](Trial::add) does, with the given command.
    ///
    /// # Errors
    /// Fails if the process cannot be started.
    pub fn add_command(
        &mut self,
        command: &mut Command,
        url: &str,
        options: &[&str],
    ) -> Result<&mut Member> {
        command.args(["--shape", &self.shape]).args(options);
        self.spawn(command, url)
    }

    fn spawn(&mut self, command: &mut Command, url: &str) -> Result<&mut Member> {
        command.args(["--url", url, "--run", &self.run]);
        let starts = file(self.folder.path(), self.members.len());
        self.members.push(Member::spawn(command, starts)?);
        self.members.last_mut().context("no node")
    }

    /// Adds a node to a run that has begun, and waits until the node has joined.
    ///
    /// # Errors
    /// Fails if the node does not join. The node is then removed from [`members`](Trial::members).
    pub fn join(&mut self) -> Result<()> {
        let (url, mut command) = (self.url.clone(), Command::new(&self.program));
        let joined = self.spawn(command.arg("node"), &url)?.joined();
        if joined.is_err() {
            self.members.pop();
        }
        joined.map(|_| ())
    }

    /// Returns the handle to observe and change the run.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Returns whether the store has lost the data of the run.
    #[must_use]
    pub fn is_forgotten(&self) -> bool {
        let status = retried(Instant::now() + PATIENCE, || self.control.status());
        status.is_err_and(|error| matches!(error.downcast_ref(), Some(FleetError::NoRun)))
    }

    /// Returns the name of the run.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.run
    }

    /// Returns the time since the beginning of the load.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Waits until the load has run for this number of milliseconds.
    pub fn until(&self, elapsed_ms: u64) {
        thread::sleep(Duration::from_millis(elapsed_ms).saturating_sub(self.elapsed()));
    }

    /// Ends the load. Repeats the request if the store is slow or moves to another server.
    ///
    /// # Errors
    /// Fails if the store does not respond for a minute, or rejects the request for another reason than that the load
    /// is over.
    pub fn stop(&self) -> Result<()> {
        match retried(Instant::now() + PATIENCE, || self.control.stop()) {
            Err(error) if matches!(error.downcast_ref(), Some(FleetError::Over)) => Ok(()),
            stopped => stopped,
        }
    }

    /// Waits until all nodes have ended, also according to the store, and returns the outcome.
    ///
    /// # Errors
    /// Fails if a node does not end within a minute, or the store does not respond.
    pub fn end(mut self) -> Result<Outcome> {
        let deadline = Instant::now() + PATIENCE;
        let mut nodes = Vec::new();
        for member in &mut self.members {
            let fate = member.wait(deadline);
            let fate = fate.with_context(|| format!("{:?}", self.control.status()))?;
            nodes.push((member.number().unwrap_or(0), fate, member.starts()));
        }
        let status = self.over(deadline)?;
        let account = retried(deadline, || self.control.account())?;
        let starts = nodes.iter().flat_map(|(_, _, starts): &(u16, Fate, Vec<Start>)| starts);
        let truth = Truth::new(status.shape.parse()?, starts);
        Ok(Outcome { account, truth, repairs: status.repairs, nodes })
    }

    fn over(&self, deadline: Instant) -> Result<RunStatus> {
        loop {
            let status = retried(deadline, || self.control.status())?;
            // A killed node takes part in the run until the store counts it as dead.
            if status.has_ended || status.nodes == 0 {
                // The last frame may still be under way.
                thread::sleep(2 * status.frame);
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn retried<T>(deadline: Instant, ask: impl Fn() -> Result<T, FleetError>) -> Result<T> {
    loop {
        match ask() {
            Err(FleetError::Store(_) | FleetError::Cluster(_)) if Instant::now() < deadline => {}
            answer => return Ok(answer?),
        }
        thread::sleep(Duration::from_millis(50));
    }
}
