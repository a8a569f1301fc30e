//! Reports medians as a table, as JSON and as a plot.

use anyhow::Result;
use serde::Serialize;
use std::fmt;

const PLOTTED: [u32; 2] = [2_000, 10_000];
const LEFT: usize = 130;
const ROOM: usize = 400;
const TOP: usize = 36;
const ROW: usize = 34;

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sample {
    pub rate: f64,
    pub even: f64,
    pub cores: f64,
    /// The CPU time per operation, in us.
    pub micros: f64,
    /// The number of cores that other programs used during the run.
    pub others: f64,
}

#[derive(Debug, Serialize)]
pub struct Cell {
    pub tool: &'static str,
    pub asked: u32,
    pub before: Sample,
    pub after: Sample,
    before_runs: Vec<Sample>,
    after_runs: Vec<Sample>,
}

#[derive(Debug, Serialize)]
pub struct Report {
    seconds: u32,
    rounds: u32,
    pub cells: Vec<Cell>,
}

impl Cell {
    pub fn new(tool: &'static str, asked: u32, before: &[Sample], after: &[Sample]) -> Cell {
        Cell {
            tool,
            asked,
            before: median(before),
            after: median(after),
            before_runs: before.to_vec(),
            after_runs: after.to_vec(),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let side = |of: &Sample| {
            let Sample { rate, even, cores, micros, others } = of;
            let even = even * 100.;
            format!("{rate:.0} | {even:.1} % | {cores:.2} | {micros:.1} | {others:.2}")
        };
        let Cell { tool, asked, before, after, .. } = self;
        write!(f, "| {tool} | {asked} | {} | {} |", side(before), side(after))
    }
}

impl Report {
    pub fn new(seconds: u32, rounds: u32) -> Report {
        Report { seconds, rounds, cells: Vec::new() }
    }

    pub fn table(&self) -> String {
        let mut table = String::from(
            "| tool | requested | before: rate | even gaps | cores | us each | others' cores \
             | after: rate | even gaps | cores | us each | others' cores |\n\
             |---|---|---|---|---|---|---|---|---|---|---|---|\n",
        );
        for cell in &self.cells {
            table += &format!("{cell}\n");
        }
        table
    }

    pub fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    pub fn plot(&self) -> String {
        let cells = || self.cells.iter().filter(|cell| PLOTTED.contains(&cell.asked));
        let width = LEFT + ROOM + 70;
        let height = TOP + ROW * cells().count() + 10;
        let mut svg = format!(
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' \
             font-family='sans-serif' font-size='12'>\n\
             <rect width='{width}' height='{height}' fill='white'/>\n\
             <text x='10' y='20' font-size='14'>Gaps within 25 % of the interval: as \
             published (grey), with nanopace (blue)</text>\n"
        );
        for (row, cell) in cells().enumerate() {
            let y = TOP + ROW * row;
            svg += &format!(
                "<text x='10' y='{}'>{} at {} k/s</text>\n",
                y + 18,
                cell.tool,
                cell.asked / 1_000
            );
            for (y, fill, even) in
                [(y, "#999999", cell.before.even), (y + 13, "#2166ac", cell.after.even)]
            {
                let bar = (even * ROOM as f64).max(1.);
                svg += &format!(
                    "<rect x='{LEFT}' y='{y}' width='{bar:.1}' height='12' fill='{fill}'/>\n\
                     <text x='{:.1}' y='{}' font-size='11'>{:.1} %</text>\n",
                    LEFT as f64 + bar + 5.,
                    y + 10,
                    even * 100.
                );
            }
        }
        svg + "</svg>\n"
    }
}

fn median(samples: &[Sample]) -> Sample {
    let of = |value: fn(&Sample) -> f64| {
        let mut values: Vec<f64> = samples.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Sample {
        rate: of(|sample| sample.rate),
        even: of(|sample| sample.even),
        cores: of(|sample| sample.cores),
        micros: of(|sample| sample.micros),
        others: of(|sample| sample.others),
    }
}
