//! Writes the status of a fleet for the command `nanopace fleet status`.

use super::account::{self, AccountObject, NodeTable};
use crate::console::human;
use nanopace_fleet::{Account, NodeAccount, RunStatus};
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// A node counts as silent if it has not finished and has not reported for this time.
const SILENT: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Status {
    name: String,
    pub(crate) run: RunStatus,
    pub(crate) account: Option<Account>,
}

impl Status {
    pub(crate) fn new(name: &str, run: RunStatus, account: Option<Account>) -> Status {
        Status { name: name.to_owned(), run, account }
    }

    pub(crate) fn state(&self) -> &'static str {
        match &self.run {
            run if !run.has_started => "waiting",
            run if run.has_ended => "ended",
            run if run.is_paused => "paused",
            _ => "running",
        }
    }

    pub(crate) fn head(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let RunStatus { nodes, awaited, elapsed, duration, shape, arrivals, frame, .. } = &self.run;
        let (state, all) = (self.state(), human::count(*nodes, "node"));
        match duration {
            _ if !self.run.has_started => {
                writeln!(
                    f,
                    "{}: {state}, nodes that have joined: {nodes} of {awaited}",
                    self.name
                )?;
            }
            Some(duration) => {
                let [elapsed, duration] = [*elapsed, *duration].map(human::time);
                writeln!(f, "{}: {state}, {elapsed} of {duration}, {all}", self.name)?;
            }
            None => {
                let elapsed = human::long_time(*elapsed);
                writeln!(f, "{}: {state}, {elapsed}, no end, {all}", self.name)?;
            }
        }
        let frame = human::time(*frame);
        writeln!(f, "load      {shape}, {arrivals} arrivals, frames of {frame}")
    }

    pub(crate) fn account(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(account) = &self.account else { return Ok(()) };
        writeln!(f, "{}", account::line(account))?;
        account::notes(account).iter().try_for_each(|note| writeln!(f, "          {note}"))?;
        write!(f, "{}", NodeTable(account))?;
        if !self.run.has_ended && account.lost() > 0 {
            writeln!(f, "requests that have started but are not reported yet count as lost")?;
        }
        account.nodes.iter().filter_map(trouble).try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl Display for Status {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        self.account(f)
    }
}

fn trouble(node: &NodeAccount) -> Option<String> {
    let mut parts = Vec::new();
    if node.is_finished {
        return None;
    }
    if node.silent > SILENT {
        parts.push(format!("silent for {}", human::time(node.silent)));
    }
    if !node.blind.is_zero() {
        parts.push(format!("without the store for {}", human::time(node.blind)));
    }
    if node.late > Duration::from_millis(20) {
        parts.push(format!("late by {}", human::time(node.late)));
    }
    (!parts.is_empty()).then(|| format!("node {}    {}", node.number, parts.join(", ")))
}

#[derive(Debug, Serialize)]
pub(crate) struct StatusObject {
    run: String,
    state: &'static str,
    nodes: u32,
    awaited: u32,
    elapsed_seconds: f64,
    duration_seconds: Option<f64>,
    shape: String,
    arrivals: String,
    frame_seconds: f64,
    repairs: u64,
    account: Option<AccountObject>,
}

impl StatusObject {
    pub(crate) fn new(status: &Status) -> StatusObject {
        let run = &status.run;
        StatusObject {
            run: status.name.clone(),
            state: status.state(),
            nodes: run.nodes,
            awaited: run.awaited,
            elapsed_seconds: run.elapsed.as_secs_f64(),
            duration_seconds: run.duration.as_ref().map(Duration::as_secs_f64),
            shape: run.shape.clone(),
            arrivals: run.arrivals.clone(),
            frame_seconds: run.frame.as_secs_f64(),
            repairs: run.repairs,
            account: status.account.as_ref().map(AccountObject::new),
        }
    }
}
