//! Which cells are measured.

use crate::cell::Cell;
use crate::ways::Way;
use nanopace_benches::pacers::rate;
use std::str::FromStr;
use std::time::Duration;

const RATES: [&str; 8] = ["1/s", "10/s", "100/s", "1k/s", "10k/s", "100k/s", "1M/s", "10M/s"];
const THREADS: [usize; 3] = [1, 2, 64];

/// What the command line asks for.
pub(crate) struct Choice {
    rates: Vec<String>,
    threads: Vec<usize>,
    ways: Vec<Way>,
    loads: Vec<bool>,
    /// How long a cell takes, if it has starts enough by then.
    pub(crate) span: Duration,
}

impl Choice {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Choice, String> {
        let mut choice = Choice {
            rates: vec![],
            threads: vec![],
            ways: vec![],
            loads: vec![],
            span: Duration::from_secs(2),
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                // Says cargo.
                "--bench" => {}
                "--quick" => choice = Choice::quick(),
                _ => {
                    let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
                    choice.set(&word, &value)?;
                }
            }
        }
        Ok(choice.or_all())
    }

    fn quick() -> Choice {
        Choice {
            rates: ["1k/s", "100k/s"].map(str::to_owned).to_vec(),
            threads: vec![1],
            ways: ["bare", "sleep", "hybrid"]
                .into_iter()
                .filter_map(|way| way.parse().ok())
                .collect(),
            loads: vec![false],
            span: Duration::from_millis(300),
        }
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), String> {
        match option {
            "--rate" => self.rates.push(parsed::<nanopace::Rate>(value).map(|_| value.to_owned())?),
            "--threads" => self.threads.push(parsed(value)?),
            "--way" => self.ways.push(parsed(value)?),
            "--load" => self.loads.push(value == "yes"),
            "--seconds" => {
                self.span =
                    Duration::try_from_secs_f64(parsed(value)?).map_err(|e| e.to_string())?;
            }
            _ => return Err(format!("there is no {option}")),
        }
        Ok(())
    }

    /// Where nothing was chosen, everything is.
    fn or_all(mut self) -> Choice {
        if self.rates.is_empty() {
            self.rates = RATES.map(str::to_owned).to_vec();
        }
        if self.threads.is_empty() {
            self.threads = THREADS.to_vec();
        }
        if self.ways.is_empty() {
            self.ways = Way::all();
        }
        if self.loads.is_empty() {
            self.loads = vec![false, true];
        }
        self
    }

    pub(crate) fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &load in &self.loads {
            for &threads in &self.threads {
                for text in &self.rates {
                    for &way in self.ways.iter().filter(|way| way.works_with(threads)) {
                        cells.push(Cell {
                            text: text.clone(),
                            rate: rate(text),
                            threads,
                            way,
                            load,
                        });
                    }
                }
            }
        }
        cells
    }
}

fn parsed<T: FromStr<Err: ToString>>(value: &str) -> Result<T, String> {
    value.parse().map_err(|error: T::Err| format!("{value}: {}", error.to_string()))
}
