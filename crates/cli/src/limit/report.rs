//! The report for people: how many requests got in.

use crate::limit::candidate::{Answers, Candidate};
use crate::limit::chart::{self, Chart};
use crate::limit::chosen::Dropped;
use crate::limit::columns::Columns;
use crate::limit::results::Results;
use crate::limit::table;
use crate::limit::times;
use nanopace_load::console::human;
use std::fmt::{self, Display, Formatter};
use std::iter;

/// Shows results as text of many lines.
pub(crate) struct Report<'run> {
    /// The results to show.
    pub(crate) results: &'run Results,
    /// Whether limiters are compared, or one is shown in detail.
    pub(crate) compare: bool,
    /// The width of a line, in characters.
    pub(crate) width: usize,
}

impl Display for Report<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.heading(f)?;
        if self.compare {
            return self.comparison(f);
        }
        self.phases(f, &self.results.candidates[0])?;
        write!(f, "\n{}", Chart::new(self.results, self.width))
    }
}

/// The width of limiters' names.
const NAME: usize = 21;

impl Report<'_> {
    fn heading(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Results { limit, cost, title, faults, .. } = self.results;
        let candidate = &self.results.candidates[0];
        let cost =
            if *cost == 1 { String::new() } else { format!(", each request counting as {cost}") };
        writeln!(f, "limit     {limit}{cost}")?;
        let keys = if candidate.keys() == 1 {
            String::new()
        } else {
            format!(", {} keys", candidate.keys())
        };
        writeln!(f, "requests  {} {title}{keys}", candidate.total().asked)?;
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
            writeln!(f, "limiter   {}: {}", candidate.kind, candidate.kind.meaning())
        }
    }

    fn phases(&self, f: &mut Formatter<'_>, candidate: &Candidate) -> fmt::Result {
        let results = self.results;
        let each = format!("phase ({})", times::short(results.row_length()));
        let names = [&each, "from", "asked", "admitted", "rejected", "admitted/s", "longest retry"];
        let rows = results.rows.rows.iter().map(|row| {
            let answers = row.answers(candidate);
            let from = times::short(results.row_start(row));
            cells(&row.name, from, &answers, human::short_hz(results.rate(&answers)))
        });
        let all = cells("all", String::new(), &candidate.total(), String::new());
        writeln!(f)?;
        table::write(
            f,
            &iter::once(names.map(str::to_owned).to_vec())
                .chain(rows)
                .chain([all])
                .collect::<Vec<_>>(),
        )
    }

    fn comparison(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let results = self.results;
        let [each, period] = [results.row_length(), results.limit.period()].map(times::short);
        writeln!(
            f,
            "\nadmitted in each phase of {each}, and in all; the most let through in any {period},"
        )?;
        writeln!(f, "and how many times the limit that is; the most rejected in a row")?;
        let candidates = results.candidates.iter().map(|candidate| self.compared(candidate));
        table::write(
            f,
            &[self.compared_names(), self.compared_asked()]
                .into_iter()
                .chain(candidates)
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
        let candidate = &self.results.candidates[0];
        let rows =
            self.results.rows.rows.iter().map(|row| row.answers(candidate).asked.to_string());
        let rest =
            [candidate.total().asked.to_string(), String::new(), String::new(), String::new()];
        iter::once("asked".to_owned()).chain(rows).chain(rest).collect()
    }

    fn compared(&self, candidate: &Candidate) -> Vec<String> {
        let rows =
            self.results.rows.rows.iter().map(|row| row.answers(candidate).admitted.to_string());
        let rest = [
            candidate.total().admitted.to_string(),
            candidate.most_in_period().to_string(),
            format!("{:.2}", self.results.worst(candidate)),
            candidate.longest_streak().to_string(),
        ];
        iter::once(candidate.kind.to_string()).chain(rows).chain(rest).collect()
    }

    /// The rate over time of the requests, and of what each limiter admitted, one line each.
    fn lines(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let results = self.results;
        let columns = Columns::of(results, self.width.saturating_sub(NAME + 2).max(1));
        let asked = columns.rates(&results.asked);
        let top = asked.iter().copied().fold(0.0, f64::max);
        let each = times::short(columns.width());
        writeln!(f, "\nrate over time, each column {each}, full height {}", human::short_hz(top))?;
        let admitted = results
            .candidates
            .iter()
            .map(|candidate| (candidate.kind.to_string(), columns.rates(&candidate.admitted)));
        for (name, rates) in iter::once(("asked".to_owned(), asked)).chain(admitted) {
            writeln!(f, "{name:<NAME$}  {}", chart::line(&rates, top).trim_end())?;
        }
        Ok(())
    }

    fn meanings(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        let mut kinds = self.results.candidates.iter().map(|candidate| candidate.kind);
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
        answers => times::short(answers.longest_retry),
    }
}
