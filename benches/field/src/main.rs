//! Measures published load generators, each with and without nanopace. A run is one tool at one rate for some seconds.
//! The two builds of a tool alternate, and figures are medians of the rounds.

mod cost;
mod gaps;
mod report;
mod tools;
mod witness;

use anyhow::{Context, Result, bail, ensure};
use cost::Cost;
use gaps::pace;
use report::{Cell, Report, Sample};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;
use tools::{Run, TOOLS, Tool};
use witness::Witness;

const RATES: [u32; 4] = [1_000, 2_000, 10_000, 100_000];
/// The unmeasured time at the start of a run, in seconds, in which tools set up their connections and users.
const SKIP_S: f64 = 1.;
/// The unmeasured time at the end of a run, in seconds, in which some workers of a tool may have ended.
const END_S: f64 = 0.5;

const USAGE: &str = "usage: field FOLDER [--seconds N] [--rounds N] [--rates A,B] [--json FILE] \
                     [--plot FILE] [TOOL ...]";

struct Options {
    folder: PathBuf,
    seconds: u32,
    rounds: u32,
    rates: Vec<u32>,
    json: Option<PathBuf>,
    plot: Option<PathBuf>,
    tools: Vec<String>,
}

fn main() -> Result<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let witness = Witness::start()?;
    let chosen = |tool: &&Tool| {
        let is_named = options.tools.iter().any(|name| name == tool.name);
        is_named || options.tools.is_empty() && tool.is_built(&options.folder)
    };
    let mut report = Report::new(options.seconds, options.rounds);
    for tool in TOOLS.iter().filter(chosen) {
        for &rate in &options.rates {
            let cell = measure(tool, rate, &options, &witness)?;
            println!("{cell}");
            report.cells.push(cell);
        }
    }
    println!("\n{}", report.table());
    if let Some(path) = &options.json {
        fs::write(path, report.json()?)?;
    }
    if let Some(path) = &options.plot {
        fs::write(path, report.plot())?;
    }
    Ok(())
}

fn measure(tool: &Tool, rate: u32, options: &Options, witness: &Witness) -> Result<Cell> {
    let [mut before, mut after] = [Vec::new(), Vec::new()];
    for round in 0..options.rounds {
        for is_after in [round % 2 == 1, round % 2 == 0] {
            let state = if is_after { "after" } else { "before" };
            let sample = once(tool, rate, options, state, witness)
                .with_context(|| format!("{} {state} at {rate}/s", tool.name))?;
            if is_after { &mut after } else { &mut before }.push(sample);
        }
    }
    Ok(Cell::new(tool.name, rate, &before, &after))
}

fn once(
    tool: &Tool,
    rate: u32,
    options: &Options,
    state: &'static str,
    witness: &Witness,
) -> Result<Sample> {
    let stamps = options.folder.join("stamps");
    let seconds = options.seconds;
    let run = Run { rate, seconds, witness: witness.address, stamps: &stamps };
    witness.take();
    let (cost, began) = (Cost::now()?, Instant::now());
    let mut command = tool.command(&options.folder.join("bin").join(state), &run);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    let (elapsed, used) = (began.elapsed().as_secs_f64(), Cost::now()?);
    ensure!(status.success(), "{status}");
    let starts = if tool.is_seen { witness.take() } else { read_stamps(&stamps)? };
    let all = starts.len();
    let pace = pace(starts, f64::from(rate), SKIP_S, f64::from(seconds) - SKIP_S - END_S);
    ensure!(pace.rate > 0., "no operation was recorded");
    let children = used.children - cost.children;
    Ok(Sample {
        rate: pace.rate,
        even: pace.even,
        cores: children / elapsed,
        micros: children * 1e6 / all as f64,
        others: used.others_since(&cost) / elapsed,
    })
}

fn read_stamps(path: &Path) -> Result<Vec<u64>> {
    let bytes = fs::read(path)?;
    fs::remove_file(path)?;
    let (stamps, _) = bytes.as_chunks::<8>();
    Ok(stamps.iter().map(|&stamp| u64::from_le_bytes(stamp)).collect())
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Options> {
        let folder = words.next().context(USAGE)?.into();
        let mut options = Options {
            folder,
            seconds: 5,
            rounds: 5,
            rates: RATES.to_vec(),
            json: None,
            plot: None,
            tools: Vec::new(),
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().context(USAGE);
            match word.as_str() {
                "--seconds" => options.seconds = value()?.parse()?,
                "--rounds" => options.rounds = value()?.parse()?,
                "--rates" => {
                    options.rates =
                        value()?.split(',').map(str::parse).collect::<Result<_, _>>()?;
                }
                "--json" => options.json = Some(value()?.into()),
                "--plot" => options.plot = Some(value()?.into()),
                name if TOOLS.iter().any(|tool| tool.name == name) => options.tools.push(word),
                _ => bail!(USAGE),
            }
        }
        ensure!(
            options.seconds >= 3 && options.rounds > 0,
            "write --seconds 3 or more, and --rounds 1 or more"
        );
        Ok(options)
    }
}
