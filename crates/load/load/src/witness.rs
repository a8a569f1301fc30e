//! Implements `nanopace witness`, a server that reports how even the arriving load is.

pub(crate) mod args;
mod plot;
mod recorder;
mod report;
mod server;

use crate::console::interrupt::Interrupt;
use crate::console::{Output, Progress, ResultFile, human, keep_apart};
use crate::judged::checks::Finding;
use crate::results::evenness::{Evenness, ExpectedLoad};
use anyhow::Context;
use args::WitnessArgs;
use recorder::{Limits, Recorder};
use report::WitnessReport;
use serde::Serialize;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(50);
const SHOWN_EACH: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Witness {
    expected: ExpectedLoad,
    recorder: Arc<Recorder>,
    output: Output,
    svg: Option<ResultFile>,
    interrupt: Arc<Interrupt>,
    progress: Progress,
}

impl Witness {
    /// Starts the server, which serves until the process ends.
    pub(crate) fn new(args: &WitnessArgs) -> anyhow::Result<Witness> {
        keep_apart([("json", args.json.as_deref()), ("svg", args.svg.as_deref())], [])?;
        let svg = ResultFile::optional("--svg", args.svg.as_deref())?;
        let is_taken = svg.as_ref().is_some_and(ResultFile::is_stdout);
        let output = Output::create(args.json.as_deref())?.with_stdout_taken(is_taken);
        let interrupt = Interrupt::on_signals(1, || ())?;
        let recorder = Arc::new(Recorder::new(Limits {
            warmup: args.warmup,
            duration: args.duration,
            requests: args.requests,
        }));
        let address = server::start(args.listen, Arc::clone(&recorder))
            .with_context(|| format!("--listen {}: cannot listen on this address", args.listen))?;
        let progress = Progress::of_a_job();
        progress.add_line(&format!("listening on http://{address}/; Ctrl-C ends the measurement"));
        Ok(Witness { expected: args.expected(), recorder, output, svg, interrupt, progress })
    }

    pub(crate) fn run(&self) -> Evenness {
        let mut shown = Instant::now();
        while !(self.interrupt.is_triggered() || self.recorder.has_ended()) {
            thread::sleep(TICK);
            if shown.elapsed() >= SHOWN_EACH {
                shown = Instant::now();
                match self.recorder.requests() {
                    0 => self.progress.show(&"no requests after the warm-up yet"),
                    requests => self.progress.show(&human::count(requests, "request")),
                }
            }
        }
        self.progress.end();
        Evenness::of(&self.recorder.arrivals(), self.expected)
    }

    /// Writes all outputs, even if one fails. Returns the first error.
    pub(crate) fn publish(&self, evenness: &Evenness) -> io::Result<()> {
        let (is_by_kernel, shared) = (self.recorder.is_by_kernel(), self.recorder.shared());
        let timestamps = if is_by_kernel { "kernel" } else { "program" };
        let json = self.output.write_json(|| Object::new(evenness, timestamps, shared));
        let report = WitnessReport { evenness, is_by_kernel, shared };
        let drawn = self.svg.as_ref().map_or(Ok(()), |svg| self.draw(&report, svg));
        let text = self.output.write_text(&report);
        json.and(drawn).and(text)
    }

    fn draw(&self, report: &WitnessReport<'_>, svg: &ResultFile) -> io::Result<()> {
        if report.evenness.gaps.is_none() {
            self.progress.add_line(&format!("--svg: no picture: {}", report.absence()));
            return Ok(());
        }
        let plot = plot::svg(&self.recorder.arrivals(), self.expected);
        svg.write_text(&plot.map_err(io::Error::other)?)
    }
}

#[derive(Serialize)]
struct Object<'run> {
    #[serde(flatten)]
    evenness: &'run Evenness,
    /// The correlation of neighbouring gaps, if Poisson arrivals are expected.
    correlation: Option<f64>,
    checks: Vec<Finding>,
    timestamps: &'static str,
    shared_timestamps: u64,
}

impl<'run> Object<'run> {
    fn new(evenness: &'run Evenness, timestamps: &'static str, shared_timestamps: u64) -> Self {
        let correlation = evenness.randomness.map(|random| random.alike);
        let checks = report::checks(evenness);
        Object { evenness, correlation, checks, timestamps, shared_timestamps }
    }
}
