//! Implements `nanopace calibrate`, which measures how exactly this machine can start requests.

pub(crate) mod args;
mod disturbance;
mod measure;
mod object;
mod plot;
mod recommend;
mod report;
mod results;
mod sleeping;
mod steps;
mod thread;

use crate::console::interrupt::Interrupt;
use crate::console::{Output, Progress, ResultFile, is_stdout, keep_apart};
use anyhow::ensure;
use args::CalibrateArgs;
use measure::Bounds;
use report::CalibrationReport;
use results::Results;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(crate) struct Calibration {
    seconds: Duration,
    output: Output,
    svg: Option<ResultFile>,
    interrupt: Arc<Interrupt>,
}

impl Calibration {
    pub(crate) fn new(args: &CalibrateArgs) -> anyhow::Result<Calibration> {
        // The report or the JSON object is written to standard output, so the plot must not be written to it.
        let to_stdout = args.svg.as_deref().is_some_and(is_stdout);
        ensure!(!to_stdout, "--svg -: the plot needs a file; only --json goes to standard output");
        keep_apart([("json", args.json.as_deref()), ("svg", args.svg.as_deref())], [])?;
        let output = Output::create(args.json.as_deref())?;
        let svg = ResultFile::optional("--svg", args.svg.as_deref())?;
        let interrupt = Interrupt::on_signals(1, || ())?;
        Ok(Calibration { seconds: args.seconds, output, svg, interrupt })
    }

    pub(crate) fn run(&self) -> Results {
        let progress = Progress::of_a_job();
        let mut results = Results::new();
        let steps = steps::all();
        let weights: u32 = steps.iter().map(|step| step.weight()).sum();
        for (index, step) in steps.iter().enumerate() {
            if self.interrupt.is_triggered() {
                break;
            }
            progress.show(&format_args!("{:2}/{}  {step}", index + 1, steps.len()));
            let end = Instant::now() + self.seconds * step.weight() / weights;
            step.perform(Bounds::new(end, &self.interrupt), &mut results);
        }
        progress.show(&if self.interrupt.is_triggered() { "interrupted" } else { "done" });
        progress.end();
        Results { complete: !self.interrupt.is_triggered(), ..results }
    }

    /// Writes all outputs, even if one fails. Returns the first error.
    pub(crate) fn publish(&self, results: &Results) -> io::Result<()> {
        let json = self.output.write_json(|| object::Object::new(results));
        let drawn = self
            .svg
            .as_ref()
            .map_or(Ok(()), |svg| svg.write_text(&plot::svg(results).map_err(io::Error::other)?));
        json.and(drawn).and(self.output.write_text(&CalibrationReport(results)))
    }
}
