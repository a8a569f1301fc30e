//! Shows a fleet while it runs: a full view on a terminal, one line per second on any other output.

use crate::console::human;
use crate::judged::whole;
use crate::results::nodes::tellings::{Done, Tellings};
use crate::results::stats::OperationStats;
use crate::running::member::address::RunAddress;
use crate::shown::fleet::status::Status;
use crate::shown::pace::Pace;
use crossterm::cursor::MoveTo;
use crossterm::queue;
use crossterm::style::Print;
use crossterm::terminal::{self, Clear, ClearType};
use nanopace_fleet::{Control, FleetError};
use std::fmt::{self, Display, Formatter};
use std::io::{self, IsTerminal, Write};
use std::thread;
use std::time::Duration;

/// The interval between two reads of the status from the store. Nodes report their results at the same interval.
const LOOK: Duration = Duration::from_secs(1);

/// If the store was emptied, the nodes restore its data within this number of reads.
const PATIENCE: u32 = 5;

const USUAL_SIZE: (u16, u16) = (80, 24);

#[derive(Debug)]
struct FleetView {
    status: Status,
    last: Option<Done>,
    all: OperationStats,
}

/// Shows a run until it is over or another run has replaced it. After the first read, shows the error while the store
/// does not respond, or while the store does not have the run for up to [`PATIENCE`] reads. Other errors end the view.
pub(super) fn show(control: &Control, at: &RunAddress) -> anyhow::Result<io::Result<()>> {
    let is_terminal = io::stdout().is_terminal();
    let mut tellings = Tellings::default();
    let first = status(control, &at.name).map_err(|error| at.told(error))?;
    let id = first.run.id.clone();
    let mut without_run = 0;
    loop {
        let view = view(control, &at.name, &mut tellings);
        without_run = if matches!(view, Err(FleetError::NoRun)) { without_run + 1 } else { 0 };
        let (text, is_over) = match view {
            Ok(view) if view.status.run.id != id => return Ok(Ok(())),
            Ok(view) if is_terminal => (view.to_string(), view.status.run.has_ended),
            Ok(view) => (FleetLine(&view).to_string(), view.status.run.has_ended),
            Err(error) if without_run <= PATIENCE && may_pass(&error) => {
                (format!("{:#}\n", at.told(error)), false)
            }
            Err(error) => return Err(at.told(error)),
        };
        let written = if is_terminal { redraw(&text) } else { add(&text) };
        if written.is_err() || is_over {
            return Ok(written);
        }
        thread::sleep(LOOK);
    }
}

fn may_pass(error: &FleetError) -> bool {
    matches!(error, FleetError::Store(_) | FleetError::NoRun)
}

fn view(control: &Control, name: &str, tellings: &mut Tellings) -> Result<FleetView, FleetError> {
    let status = status(control, name)?;
    tellings.update(&control.results()?);
    Ok(FleetView { status, last: tellings.last(), all: tellings.all() })
}

impl FleetView {
    fn last_second(&self) -> Option<Pace<'_>> {
        let last = self.last.as_ref().filter(|_| !self.status.run.has_ended)?;
        Some(Pace::of(last, &self.status.run.shape.parse().ok()?))
    }

    fn so_far(&self) -> Option<Pace<'_>> {
        let [asked_hz, achieved_hz] = whole::rates(self.status.account.as_ref()?);
        Some(Pace { asked_hz, achieved_hz, stats: &self.all })
    }
}

struct FleetLine<'fleet>(&'fleet FleetView);

impl Display for FleetLine<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let FleetView { status, .. } = self.0;
        let elapsed = status.run.elapsed.as_secs_f64();
        let nodes = human::count(status.run.nodes, "node");
        write!(f, "{elapsed:3.0}s  {}  {nodes}", status.state())?;
        if let Some(pace) = self.0.last_second().or_else(|| self.0.so_far()) {
            write!(f, "  {pace}")?;
        }
        if let Some(account) = &status.account {
            write!(
                f,
                "  slots lost or not reported {}, started twice {}",
                account.lost(),
                account.twice()
            )?;
        }
        writeln!(f)
    }
}

impl Display for FleetView {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.status.head(f)?;
        let Some(so_far) = self.so_far() else { return Ok(()) };
        writeln!(f, "\n{:>41} {:>10}", "", "response")?;
        let titles = ["asked", "achieved", "errors", "p50", "p99", "p99.9", "max"];
        cells(f, "", &titles)?;
        if let Some(pace) = self.last_second() {
            row(f, "last second", pace)?;
        }
        row(f, "so far", so_far)?;
        writeln!(f)?;
        self.status.account(f)
    }
}

fn row(f: &mut Formatter<'_>, name: &str, pace: Pace<'_>) -> fmt::Result {
    let [asked, achieved] = [pace.asked_hz, pace.achieved_hz].map(human::short_hz);
    let [p50, p99, p99_9, max] = [0.5, 0.99, 0.999, 1.0].map(|quantile| pace.time(quantile));
    cells(f, name, &[asked, achieved, pace.errors(), p50, p99, p99_9, max])
}

fn cells(f: &mut Formatter<'_>, name: &str, cells: &[impl Display]) -> fmt::Result {
    write!(f, "{name:<11}")?;
    cells.iter().try_for_each(|cell| write!(f, " {cell:>9}"))?;
    writeln!(f)
}

fn add(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout();
    stdout.write_all(line.as_bytes())?;
    stdout.flush()
}

fn redraw(text: &str) -> io::Result<()> {
    let size = terminal::size().ok().filter(|(columns, rows)| columns.min(rows) > &0);
    let (columns, rows) = size.unwrap_or(USUAL_SIZE);
    let mut stdout = io::stdout().lock();
    queue!(stdout, MoveTo(0, 0))?;
    for line in text.lines().take(usize::from(rows.saturating_sub(1))) {
        let line: String = line.chars().take(usize::from(columns)).collect();
        queue!(stdout, Print(line), Clear(ClearType::UntilNewLine), Print("\n"))?;
    }
    queue!(stdout, Clear(ClearType::FromCursorDown))?;
    stdout.flush()
}

pub(crate) fn status(control: &Control, name: &str) -> Result<Status, FleetError> {
    let run = control.status()?;
    let account = run.has_started.then(|| control.account()).transpose()?;
    Ok(Status::new(name, run, account))
}
