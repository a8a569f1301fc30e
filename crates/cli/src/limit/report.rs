//! The report: who got in, for people.

use super::chart::{self, Chart, Columns};
use super::lane::{Answers, Lane};
use super::results::{Dropped, Results};
use crate::human;
use std::fmt::{self, Display, Formatter};
use std::iter;

/// Shows results as text of many lines.
pub(crate) struct Report<'run> {
    /// What came of the requests.
    pub(crate) results: &'run Results,
    /// Whether limiters are shown side by side, or one in detail.
    pub(crate) compare: bool,
    /// Characters in a line.
    pub(crate) width: usize,
}

impl Display for Report<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.heading(f)?;
        if self.compare {
            return self.comparison(f);
        }
        self.phases(f, &self.results.lanes[0])?;
        write!(f, "\n{}", Chart::new(self.results, self.width))
    }
}

/// What limiters' names take of a line.
const NAME: usize = 21;

impl Report<'_> {
    fn heading(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Results { limit, cost, title, faults, .. } = self.results;
        let lane = &self.results.lanes[0];
        let cost =
            if *cost == 1 { String::new() } else { format!(", each request counting as {cost}") };
        writeln!(f, "limit     {limit}{cost}")?;
        let keys = if lane.keys() == 1 { String::new() } else { format!(", {} keys", lane.keys()) };
        writeln!(f, "requests  {} {title}{keys}", lane.total().asked)?;
        if faults.skipped > 0 {
            writeln!(f, "skipped   {} that could not be read", faults.skipped)?;
        }
        if faults.out_of_order > 0 {
            let number = faults.out_of_order;
            writeln!(
                f,
                "late      {number} out of order, taken as if they came at the latest time before"
            )?;
        }
        if !self.results.complete {
            writeln!(f, "          interrupted: there would have been more")?;
        }
        if self.compare {
            Ok(())
        } else {
            writeln!(f, "limiter   {}: {}", lane.kind, lane.kind.meaning())
        }
    }

    fn phases(&self, f: &mut Formatter<'_>, lane: &Lane) -> fmt::Result {
        let results = self.results;
        let each = format!("phase ({})", chart::time(results.row_length()));
        let names = [&each, "from", "asked", "admitted", "rejected", "admitted/s", "longest retry"];
        let rows = results.rows.rows.iter().map(|row| {
            let answers = row.answers(lane);
            let from = chart::time(results.row_start(row));
            cells(&row.name, from, &answers, human::short_hz(results.rate(&answers)))
        });
        let all = cells("all", String::new(), &lane.total(), String::new());
        writeln!(f)?;
        table(
            f,
            &iter::once(names.map(str::to_owned).to_vec())
                .chain(rows)
                .chain([all])
                .collect::<Vec<_>>(),
        )
    }

    fn comparison(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let results = self.results;
        let [each, period] = [results.row_length(), results.limit.period()].map(chart::time);
        writeln!(
            f,
            "\nadmitted in each phase of {each}, and in all; the most let through in any {period},"
        )?;
        writeln!(f, "and how many times the limit that is; the most rejected in a row")?;
        let lanes = results.lanes.iter().map(|lane| self.compared(lane));
        table(
            f,
            &[self.compared_names(), self.compared_asked()]
                .into_iter()
                .chain(lanes)
                .collect::<Vec<_>>(),
        )?;
        for Dropped { kind, reason } in &results.dropped {
            writeln!(f, "not tried: {kind}: {reason}")?;
        }
        self.lines(f)?;
        self.meanings(f)
    }

    fn compared_names(&self) -> Vec<String> {
        let rows = self.results.rows.rows.iter().map(|row| row.name.clone());
        let rest = ["all", "most", "times", "in a row"].map(str::to_owned);
        iter::once(String::new()).chain(rows).chain(rest).collect()
    }

    fn compared_asked(&self) -> Vec<String> {
        let lane = &self.results.lanes[0];
        let rows = self.results.rows.rows.iter().map(|row| row.answers(lane).asked.to_string());
        let rest = [lane.total().asked.to_string(), String::new(), String::new(), String::new()];
        iter::once("asked".to_owned()).chain(rows).chain(rest).collect()
    }

    fn compared(&self, lane: &Lane) -> Vec<String> {
        let rows = self.results.rows.rows.iter().map(|row| row.answers(lane).admitted.to_string());
        let rest = [
            lane.total().admitted.to_string(),
            lane.most_in_period().to_string(),
            format!("{:.2}", self.results.worst(lane)),
            lane.longest_streak().to_string(),
        ];
        iter::once(lane.kind.to_string()).chain(rows).chain(rest).collect()
    }

    /// Each limiter's rate over time in a line, under what was asked.
    fn lines(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let results = self.results;
        let columns = Columns::of(results, self.width - NAME - 2);
        let asked = columns.rates(&results.asked);
        let top = asked.iter().copied().fold(0.0, f64::max);
        let each = chart::time(columns.width());
        writeln!(f, "\nrate over time, each column {each}, full height {}", human::short_hz(top))?;
        let passed =
            results.lanes.iter().map(|lane| (lane.kind.to_string(), columns.rates(&lane.passed)));
        for (name, rates) in iter::once(("asked".to_owned(), asked)).chain(passed) {
            writeln!(f, "{name:<NAME$}  {}", chart::line(&rates, top).trim_end())?;
        }
        Ok(())
    }

    fn meanings(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        let mut kinds = self.results.lanes.iter().map(|lane| lane.kind);
        kinds.try_for_each(|kind| writeln!(f, "{kind:<NAME$}  {}", kind.meaning()))
    }
}

fn cells(name: &str, from: String, answers: &Answers, rate: String) -> Vec<String> {
    let numbers =
        [answers.asked, answers.admitted, answers.rejected()].map(|number| number.to_string());
    let [asked, admitted, rejected] = numbers;
    vec![name.to_owned(), from, asked, admitted, rejected, rate, longest_retry(answers)]
}

fn longest_retry(answers: &Answers) -> String {
    match answers {
        Answers { too_large: 1.., .. } => "never".to_owned(),
        answers if answers.rejected() == 0 => "-".to_owned(),
        answers => chart::time(answers.longest_retry),
    }
}

/// Lines of as many cells each: a name, then numbers in columns as wide as they have to be.
fn table(f: &mut Formatter<'_>, lines: &[Vec<String>]) -> fmt::Result {
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: Vec<_> = (0..lines[0].len()).map(width).collect();
    for line in lines {
        let cells = line.iter().zip(&widths).skip(1);
        let numbers: Vec<_> = cells.map(|(cell, width)| format!("  {cell:>width$}")).collect();
        writeln!(f, "{:<2$}{}", line[0], numbers.concat().trim_end(), widths[0])?;
    }
    Ok(())
}
