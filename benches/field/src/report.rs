//! Medians, as a table, as JSON and as a plot.

use anyhow::Result;
use serde::Serialize;
use std::fmt;

/// One run of one tool.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sample {
    /// Operations per second.
    pub rate: f64,
    /// The share of gaps within a quarter of the nominal one.
    pub even: f64,
    /// Cores that the tool used.
    pub cores: f64,
    /// Processor time of the tool for one operation, in us.
    pub micros: f64,
    /// Cores that others on the machine used meanwhile.
    pub others: f64,
}

/// One tool at one rate.
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
            "| tool | asked | before: rate | even gaps | cores | us each | others' cores \
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
        String::new()
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
