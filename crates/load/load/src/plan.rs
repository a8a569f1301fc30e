//! Implements `nanopace plan`, which shows a load before it runs.

pub(crate) mod args;
mod chart;
mod list;
mod load;
mod outline;
mod plot;
mod summary;

use crate::console::interrupt::Interrupt;
use crate::console::{ResultFile, chart as console, keep_apart};
use anyhow::ensure;
use args::PlanArgs;
use chart::Chart;
use load::PlannedLoad;
use outline::Outline;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use summary::Summary;

pub(crate) struct Plan<'args> {
    load: PlannedLoad<'args>,
    outline: Outline,
    svg: Option<ResultFile>,
    csv: Option<ResultFile>,
    interrupt: Arc<Interrupt>,
}

impl Plan<'_> {
    pub(crate) fn new(args: &PlanArgs) -> anyhow::Result<Plan<'_>> {
        let load = PlannedLoad::new(args)?;
        ensure!(
            args.csv.is_none() || load.has_end(),
            "--csv: this load never ends: give --duration or --requests"
        );
        let outputs = [("csv", args.csv.as_deref()), ("svg", args.svg.as_deref())];
        keep_apart(outputs, args.schedule.inputs())?;
        let outline = Outline::new(&load)?;
        let interrupt = Interrupt::on_signals(1, || ())?;
        // The files are opened last, so that an invalid plan does not change the files of an earlier plan.
        let svg = ResultFile::optional("--svg", args.svg.as_deref())?;
        let csv = ResultFile::optional("--csv", args.csv.as_deref())?;
        Ok(Plan { load, outline, svg, csv, interrupt })
    }

    pub(crate) fn show(&self) -> io::Result<()> {
        let mut files = [&self.svg, &self.csv].into_iter().flatten();
        if files.any(ResultFile::is_stdout) {
            self.show_on(&mut io::stderr())
        } else {
            self.show_on(&mut io::stdout())
        }
    }

    fn show_on(&self, stream: &mut (impl Write + IsTerminal)) -> io::Result<()> {
        let width = console::width(stream.is_terminal());
        let chart = Chart { outline: &self.outline, width };
        let summary = Summary { load: &self.load, outline: &self.outline };
        if !self.outline.is_instant() {
            writeln!(stream, "{chart}")?;
        }
        stream.write_all(summary.to_string().as_bytes())
    }

    pub(crate) fn draw(&self) -> io::Result<()> {
        let Some(svg) = &self.svg else { return Ok(()) };
        let picture =
            plot::svg(&self.outline, &self.load.schedule.title()).map_err(io::Error::other)?;
        svg.write_text(&picture)
    }

    /// Writes the list of starts. Returns whether the list is complete: an interrupt ends it early.
    pub(crate) fn list(&self) -> io::Result<bool> {
        let Some(csv) = &self.csv else { return Ok(true) };
        let starts = self.load.starts().map_err(io::Error::other)?;
        let mut is_complete = true;
        csv.write(|to| {
            is_complete = list::write(starts, to, &self.interrupt)?;
            Ok(())
        })?;
        Ok(is_complete)
    }
}
