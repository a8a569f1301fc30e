//! Stores the newest value of each figure in one file, and generates the tables in the pages from it.
//!
//! A table is between `<!-- figures: NAME -->` and `<!-- end of figures -->`. Its rows are the figures whose `tables`
//! contain that name. A figure stays in its tables when it is measured again. A test checks the tables in the pages.

use crate::figure::{Figure, Sense};
use crate::machine::Machine;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

const PAGES: [&str; 4] = [
    "README.md",
    "docs/PERFORMANCE.md",
    "crates/engine/core/docs/schedules.md",
    "crates/load/load/docs/own.md",
];
const FILE: &str = "benches/results/figures.json";

const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- end of figures -->";
const HEAD: &str =
    "| figure | measured | bound | verdict | machine, date |\n|---|---|---|---|---|\n";

/// The newest value of each figure, as stored in the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The machines, by the letters that pages use for them.
    machines: BTreeMap<char, String>,
    figures: Vec<Quoted>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Quoted {
    name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tables: Vec<String>,
    /// The ratio to the baseline, with the unit `x`. For a figure without a baseline: the figure's value.
    value: f64,
    /// The upper end of the range, if several runs differ. Written by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<f64>,
    unit: String,
    bound: Option<Bound>,
    holds: Option<bool>,
    machine: char,
    date: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Record {
    /// Reads the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not a valid record.
    pub fn read() -> io::Result<Record> {
        Ok(serde_json::from_str(&fs::read_to_string(root().join(FILE))?)?)
    }

    /// Writes the file and the tables in the pages.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or written.
    pub fn write(&self) -> io::Result<()> {
        fs::write(root().join(FILE), serde_json::to_string_pretty(self)? + "\n")?;
        for page in PAGES.map(|page| root().join(page)) {
            fs::write(&page, self.fill(&fs::read_to_string(&page)?))?;
        }
        Ok(())
    }

    /// Adds figures, and replaces existing figures with the same names.
    ///
    /// # Panics
    /// Panics if there are more machines than letters.
    pub fn add(&mut self, figures: &[Figure], machine: &Machine) {
        let known = self.machines.iter().find(|(_, name)| **name == machine.processor);
        let letter = known.map_or_else(|| self.free_letter(), |(&letter, _)| letter);
        self.machines.insert(letter, machine.processor.clone());
        let date = machine.date.split('T').next().unwrap_or_default();
        for figure in figures {
            let new = Quoted::new(figure, letter, date);
            match self.figures.iter_mut().find(|old| old.name == new.name) {
                Some(old) => *old = Quoted { tables: old.tables.clone(), ..new },
                None => self.figures.push(new),
            }
        }
    }

    fn free_letter(&self) -> char {
        let free = ('A'..='Z').find(|letter| !self.machines.contains_key(letter));
        free.expect("no more than 26 machines")
    }

    fn fill(&self, page: &str) -> String {
        let mut parts = page.split(BEGIN);
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (table, rest) = part.split_once(" -->").expect("the end of a comment");
            let (_, rest) = rest.split_once(END).expect("the end of a table");
            let rows = self.rows(table);
            filled += &[BEGIN, table, " -->\n", HEAD, &rows, END, rest].concat();
        }
        filled
    }

    fn rows(&self, table: &str) -> String {
        let is_in = |figure: &&Quoted| figure.tables.iter().any(|name| name == table);
        let rows: String = self.figures.iter().filter(is_in).map(Quoted::row).collect();
        assert!(!rows.is_empty(), "{FILE} has nothing for the table {table:?}");
        rows
    }
}

impl Quoted {
    fn new(figure: &Figure, machine: char, date: &str) -> Quoted {
        let bound = figure.bound.map(|bound| match figure.sense {
            Sense::AtMost => Bound::AtMost(bound),
            Sense::AtLeast => Bound::AtLeast(bound),
        });
        Quoted {
            name: figure.name.clone(),
            tables: Vec::new(),
            value: figure.ratio.unwrap_or(figure.value),
            to: None,
            unit: figure.ratio.map_or(figure.unit, |_| "x").to_owned(),
            bound,
            holds: figure.holds,
            machine,
            date: date.to_owned(),
        }
    }

    fn row(&self) -> String {
        let Quoted { name, unit, machine, date, .. } = self;
        let to = self.to.map(|to| format!(" to {}", short(to))).unwrap_or_default();
        let bound = match self.bound {
            Some(Bound::AtMost(bound)) => format!("at most {bound} {unit}"),
            Some(Bound::AtLeast(bound)) => format!("at least {bound} {unit}"),
            None => String::new(),
        };
        let verdict = match (self.bound, self.holds) {
            (None, _) => "",
            (_, Some(true)) => "holds",
            (_, Some(false)) => "**missed**",
            (_, None) => "too noisy to judge",
        };
        let value = short(self.value);
        format!("| {name} | {value}{to} {unit} | {bound} | {verdict} | {machine}, {date} |\n")
    }
}

fn short(value: f64) -> f64 {
    format!("{value:.2e}").parse().expect("a number that was just written")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_quote_the_file() {
        let record = Record::read().unwrap();
        for page in PAGES {
            let text = fs::read_to_string(root().join(page)).unwrap();
            assert!(text.contains(BEGIN), "{page} has no table of figures between the comments");
            assert!(
                record.fill(&text) == text,
                "{page} does not quote {FILE}; to update it: `figures --tables`"
            );
        }
    }

    #[test]
    fn a_new_figure_takes_the_place_of_the_old_one() {
        let machine = |processor: &str| Machine {
            date: "2026-11-22T06:24:38Z".into(),
            processor: processor.into(),
            kernel: String::new(),
            compiler: String::new(),
        };
        let figure = |value| Figure::plain("lateness", "ns", value).bound(Sense::AtMost, 150.0);
        let mut record = Record::default();
        record.add(&[figure(112.34)], &machine("one"));
        record.figures[0].tables.push("late".into());
        let row = "| lateness | 112 ns | at most 150 ns | holds | A, 2026-11-22 |\n";
        assert_eq!(record.rows("late"), row);
        record.add(&[figure(150.4)], &machine("another"));
        let row = "| lateness | 150 ns | at most 150 ns | **missed** | B, 2026-11-22 |\n";
        assert_eq!(record.rows("late"), row);
        let page = "one\n<!-- figures: late -->\n| old |\n<!-- end of figures -->\ntwo\n";
        let filled = record.fill(page);
        assert!(filled.contains(row) && filled.ends_with("\ntwo\n"));
        assert_eq!(record.fill(&filled), filled);
    }
}
