//! `nanopace calibrate`: what this machine can do, measured in half a minute.
//!
//! Each measurement is a [`steps::Step`] and gets its part of the time; what they find are
//! [`results::Results`]; [`sleeping`] and [`recommend`] draw the conclusions, unless [`busy`] says
//! that there are none to draw. An interrupt ends the measuring, and what there is by then is
//! reported.

mod busy;
mod measure;
mod object;
mod plot;
mod recommend;
mod report;
mod results;
mod sleeping;
mod steps;
mod thread;

use crate::args::CalibrateArgs;
use crate::control::Interrupt;
use crate::json::JsonFile;
use crate::progress::Progress;
use anyhow::Context;
use measure::Bounds;
use report::Report;
use results::Results;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// A calibration, made ready: the files are open.
#[derive(Debug)]
pub(crate) struct Calibration {
    seconds: Duration,
    json: Option<JsonFile>,
    svg: Option<File>,
    interrupt: Arc<Interrupt>,
}

impl Calibration {
    /// Opens the files and listens to signals.
    pub(crate) fn new(args: &CalibrateArgs) -> anyhow::Result<Calibration> {
        let json = args.json.as_deref().map(JsonFile::create).transpose()?;
        let svg = args.svg.as_deref().map(create).transpose()?;
        // Nobody listens to the commands: the measurements look at the interrupt themselves.
        let interrupt = Interrupt::on_signals(mpsc::channel().0)?;
        Ok(Calibration { seconds: args.seconds, json, svg, interrupt })
    }

    /// Measures until everything is measured or it is interrupted.
    pub(crate) fn run(&self) -> Results {
        let progress = Progress::new();
        let mut results = Results::new();
        let steps = steps::all();
        let weights: u32 = steps.iter().map(|step| step.weight()).sum();
        for (index, step) in steps.iter().enumerate() {
            if self.interrupt.is_set_off() {
                break;
            }
            progress.show_text(&format!("{:2}/{}  {step}", index + 1, steps.len()));
            let end = Instant::now() + self.seconds * step.weight() / weights;
            step.perform(Bounds::new(end, &self.interrupt), &mut results);
        }
        progress.show_text(if self.interrupt.is_set_off() { "interrupted" } else { "done" });
        progress.end();
        Results { complete: !self.interrupt.is_set_off(), ..results }
    }

    /// The report goes to standard output, unless that belongs to the JSON object.
    pub(crate) fn publish(&self, results: &Results) -> io::Result<()> {
        if let Some(json) = &self.json {
            json.write(&object::Object::new(results))?;
        }
        if let Some(mut svg) = self.svg.as_ref() {
            svg.write_all(plot::svg(results).map_err(io::Error::other)?.as_bytes())?;
        }
        let report = Report(results);
        match self.json {
            Some(JsonFile::Stdout) => write!(io::stderr(), "{report}"),
            _ => write!(io::stdout(), "{report}"),
        }
    }
}

fn create(path: &Path) -> anyhow::Result<File> {
    File::create(path).with_context(|| format!("cannot write {}", path.display()))
}
