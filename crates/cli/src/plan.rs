//! `nanopace plan`: a load, drawn before anything runs.

pub(crate) mod args;
mod chart;
mod list;
mod load;
mod outline;
mod plot;
mod summary;

use crate::interrupt::Interrupt;
use anyhow::ensure;
use args::PlanArgs;
use chart::Chart;
use load::Load;
use nanopace_console::{chart as console, create_file};
use outline::Outline;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use summary::Summary;

/// A plan that is ready: the load can be made, and the files are open.
pub(crate) struct Plan<'args> {
    args: &'args PlanArgs,
    load: Load<'args>,
    outline: Outline,
    svg: Option<Box<dyn Write>>,
    csv: Option<Box<dyn Write>>,
    interrupt: Arc<Interrupt>,
}

impl Plan<'_> {
    /// Reads the recording, if there is one, and opens the files.
    pub(crate) fn new(args: &PlanArgs) -> anyhow::Result<Plan<'_>> {
        let load = Load::new(args)?;
        ensure!(
            args.csv.is_none() || load.has_end(),
            "--csv: this load never ends: give --duration or --requests"
        );
        ensure!(
            args.csv.is_none() || args.csv != args.svg,
            "--csv and --svg have the same file: give each its own"
        );
        for (option, file) in [("svg", &args.svg), ("csv", &args.csv)] {
            args.schedule.spare(option, file.as_deref())?;
        }
        let outline = Outline::new(&load)?;
        let interrupt = Interrupt::on_signals(1, || ())?;
        // Only now: a plan that can't be made leaves the files of the last one alone.
        let [svg, csv] = [&args.svg, &args.csv].map(|file| file.as_deref().map(open).transpose());
        Ok(Plan { load, outline, svg: svg?, csv: csv?, interrupt, args })
    }

    /// Writes the chart and the summary. They leave standard output to the files that go there.
    pub(crate) fn show(&self) -> io::Result<()> {
        let mut files = [&self.args.svg, &self.args.csv].into_iter().flatten();
        if files.any(|file| is_stdout(file)) {
            self.show_on(&mut io::stderr())
        } else {
            self.show_on(&mut io::stdout())
        }
    }

    fn show_on(&self, stream: &mut (impl Write + IsTerminal)) -> io::Result<()> {
        let width = console::width(stream.is_terminal());
        let chart = Chart { outline: &self.outline, width };
        let summary = Summary { load: &self.load, outline: &self.outline };
        stream.write_all(format!("{chart}\n{summary}").as_bytes())
    }

    /// Writes the picture, if it is wanted.
    pub(crate) fn draw(&mut self) -> io::Result<()> {
        let Some(svg) = &mut self.svg else { return Ok(()) };
        let picture =
            plot::svg(&self.outline, &self.load.schedule.title()).map_err(io::Error::other)?;
        svg.write_all(picture.as_bytes())
    }

    /// Writes the intended starts, if they are wanted.
    pub(crate) fn list(&mut self) -> io::Result<()> {
        let Some(csv) = &mut self.csv else { return Ok(()) };
        let starts = self.load.starts().map_err(io::Error::other)?;
        list::write(starts, csv, &self.interrupt)
    }
}

fn is_stdout(file: &Path) -> bool {
    file == Path::new("-")
}

fn open(file: &Path) -> anyhow::Result<Box<dyn Write>> {
    if is_stdout(file) { Ok(Box::new(io::stdout())) } else { Ok(Box::new(create_file(file)?)) }
}
