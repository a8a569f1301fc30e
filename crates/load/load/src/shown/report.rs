//! Writes the report of a run for people: the headline, a brief report, or all details.

#[cfg(test)]
mod tests;

use super::comparison::{ComparisonText, upshot};
use super::details::Details;
use super::own_times::counter_line;
use super::repetition::{RepetitionTable, sentence};
use super::times::{BriefTable, TimesTable};
use crate::console::human::{self, count};
use crate::judged::advice::advice;
use crate::judged::criteria::Required;
use crate::judged::headline::{Headline, cautions};
use crate::judged::summary::{LoadResults, Summary};
use crate::results::stats::OperationStats;
use std::cmp::Reverse;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;
use toml::Value;

const LINES: usize = 16;
const COLUMNS: usize = 100;
/// The column in which the texts of notes and figures begin.
const INDENT: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Headline,
    Brief,
    All,
}

#[derive(Debug)]
pub(crate) struct RunReport<'run> {
    pub(crate) summary: &'run Summary,
    pub(crate) detail: Detail,
}

impl Display for RunReport<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (summary, detail) = (self.summary, self.detail);
        for LoadResults { name, summary, .. } in &summary.loads {
            let end = if detail == Detail::Headline { "" } else { "\n" };
            f.write_str(&heading("load", name, detail))?;
            RunReport { summary, detail }.write(f, None)?;
            f.write_str(end)?;
        }
        if !summary.loads.is_empty() {
            let loads = count(summary.loads.len(), "load");
            let name = if detail == Detail::Headline { &loads } else { &summary.title.url };
            f.write_str(&heading("whole", name, detail))?;
        }
        self.write(f, advised(summary))
    }
}

impl RunReport<'_> {
    fn write(&self, f: &mut Formatter<'_>, advice: Option<String>) -> fmt::Result {
        let (summary, detail) = (self.summary, self.detail);
        match detail {
            Detail::Headline => {
                writeln!(f, "{}", Headline::new(summary))?;
                let mut wanted = compared(summary).filter(|(option, _)| *option != "baseline");
                wanted.try_for_each(|(option, text)| {
                    writeln!(f, "{option}: {}", human::visible(&text))
                })?;
            }
            Detail::Brief => {
                Head::new(summary).brief(f, &BriefTable::new(summary), advice)?;
                versus(summary).map_or(Ok(()), |table| write!(f, "\n{table}"))?;
            }
            Detail::All => {
                let mut head = Head::new(summary).all().into_iter().chain(advice);
                head.try_for_each(|line| writeln!(f, "{line}"))?;
                let is_closed = summary.is_closed;
                write!(f, "{}", TimesTable { confidence: summary.confidence(), is_closed })?;
                write!(f, "{}", Details(summary))?;
            }
        }
        let repetition = summary
            .repetition
            .as_ref()
            .filter(|it| it.repeated.requests > 0 && detail != Detail::Headline);
        repetition.map_or(Ok(()), |repetition| write!(f, "{}", RepetitionTable(repetition)))
    }
}

fn versus(summary: &Summary) -> Option<ComparisonText<'_>> {
    let comparison = summary.beside.as_ref()?.as_ref().ok()?;
    comparison.is_paired.then_some(ComparisonText(comparison, &[]))
}

fn heading(kind: &str, name: &str, detail: Detail) -> String {
    if detail == Detail::Headline { format!("{name}: ") } else { format!("{kind:<9} {name}\n") }
}

/// The lines of a report before its table: the headline, the figures, and the notes, the most important one first.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) top: Vec<String>,
    pub(crate) figures: Vec<String>,
    pub(crate) notes: Vec<(&'static str, String)>,
}

impl Head {
    fn new(summary: &Summary) -> Head {
        Head { top: top(summary), figures: figures(summary), notes: notes(summary) }
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.lines(usize::MAX, usize::MAX)
    }

    /// If there are more than `room` lines, the last notes are replaced with a line that gives their number. A note of
    /// more than `columns` characters has two lines.
    fn lines(&self, room: usize, columns: usize) -> Vec<String> {
        let Head { top, figures, notes } = self;
        let mut notes: Vec<_> =
            notes.iter().flat_map(|(kind, text)| noted(kind, text, columns)).collect();
        let room = room.saturating_sub(top.len() + figures.len());
        if notes.len() > room {
            let left_out = notes.split_off(room.saturating_sub(1)).len();
            notes.push(format!("more      {} with -v", count(left_out, "line")));
        }
        // The cautions are the last notes.
        let is_caution = |line: &String| line.starts_with("caution") || line.starts_with("more");
        let reasons = notes.iter().position(is_caution).unwrap_or(notes.len());
        let cautions = notes.split_off(reasons);
        [top.clone(), notes, figures.clone(), cautions].concat()
    }

    /// Writes a brief report, in which each line and the number of lines are limited.
    pub(crate) fn brief(
        &self,
        f: &mut Formatter<'_>,
        table: &BriefTable<'_>,
        advice: Option<String>,
    ) -> fmt::Result {
        let table = table.to_string();
        let mut rest: Vec<_> = table.lines().map(str::to_owned).chain(advice).collect();
        // The blank line is left out only if all notes then fit, or if the figures need its place.
        if self.lines(usize::MAX, COLUMNS).len() + rest.len() == LINES + 1 {
            rest.remove(0);
        }
        let head = self.lines(LINES.saturating_sub(rest.len()), COLUMNS);
        if head.len() + rest.len() > LINES {
            rest.remove(0);
        }
        let mut lines = head.into_iter().chain(rest);
        lines.try_for_each(|line| writeln!(f, "{}", cut(&line)))
    }
}

/// Formats a note. A note that is too long for a line continues on a second line, which [`cut`] may shorten.
fn noted(kind: &str, text: &str, columns: usize) -> Vec<String> {
    let line = format!("{kind:<9} {}", human::visible(text));
    let end = line.char_indices().nth(columns).map(|(end, _)| end);
    let space = end.and_then(|end| line[..end].rfind(' ')).filter(|space| *space > INDENT);
    match space {
        None => vec![line],
        Some(space) => {
            let rest = " ".repeat(INDENT) + &line[space + 1..];
            vec![line[..space].to_owned(), rest]
        }
    }
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(COLUMNS) {
        None => line.to_owned(),
        Some(_) => line.chars().take(COLUMNS - 1).chain(['…']).collect(),
    }
}

fn top(summary: &Summary) -> Vec<String> {
    // This is the rate of the whole load, even if this process runs a part of it.
    let rate = summary.title.settings.get("rate").and_then(Value::as_str).unwrap_or_default();
    let note = format!("Default rate of {rate}: choose another with --rate, as in --rate 500");
    let note = summary.title.rate_is_default.then_some(note);
    let headline = Headline::new(summary);
    let is_missed = !summary.missed.is_empty();
    let headline = if is_missed { headline.result } else { headline.to_string() };
    note.into_iter().chain([headline]).collect()
}

/// Returns the notes, the most important one first.
pub(crate) fn notes(summary: &Summary) -> Vec<(&'static str, String)> {
    let is_missed = !summary.missed.is_empty();
    let is_well = summary.verdict.is_well();
    let mut notes: Vec<_> =
        summary.missed.iter().map(|missed| ("missed", missed.clone())).collect();
    if let Some(why) = summary.incomplete.as_ref().filter(|_| is_missed) {
        notes.push(("load", format!("incomplete: {why}")));
    }
    if !is_well && (is_missed || summary.incomplete.is_some()) {
        notes.push(("verdict", summary.verdict_line()));
    }
    notes.extend(summary.title.start_at.iter().map(|start| ("start", start.to_string())));
    notes.extend(summary.parts.iter().map(|part| ("part", part.to_string())));
    notes.extend(compared(summary));
    notes.extend(passed(&summary.required));
    let reached = summary.findings.iter().filter(|found| found.is_well && found.check == "sure");
    notes.extend(reached.map(|found| ("passed", found.text.clone())));
    // If the load was late, the checks would only repeat what the verdict says, so only the warnings are used.
    let most = if is_well { usize::MAX } else { summary.warnings.len() };
    notes.extend(cautions(summary).take(most).map(|text| ("caution", text.to_owned())));
    notes
}

pub(crate) fn passed(required: &[Required]) -> impl Iterator<Item = (&'static str, String)> {
    let passed = required.iter().filter(|required| required.missed.is_none());
    passed.map(|Required { text, value, .. }| ("passed", format!("{text}: {value}")))
}

pub(crate) fn compared(summary: &Summary) -> impl Iterator<Item = (&'static str, String)> {
    let beside = summary.beside.as_ref().map(|beside| match beside {
        Ok(comparison) if comparison.is_paired => ("versus", upshot(&comparison.rows)),
        Ok(comparison) => ("baseline", upshot(&comparison.rows)),
        Err(why) => {
            let is_versus = summary.title.given.contains("versus");
            (if is_versus { "versus" } else { "baseline" }, format!("not compared: {why}"))
        }
    });
    let again = summary.repetition.iter().map(|repetition| ("again", sentence(repetition)));
    beside.into_iter().chain(again)
}

fn figures(summary: &Summary) -> Vec<String> {
    let stats = &summary.stats;
    let rate = if summary.is_closed {
        let span = human::long_time(summary.duration);
        format!("rate      {} over {span}", human::hz(summary.achieved_hz))
    } else {
        let rates = [summary.target_hz, summary.achieved_hz];
        rate(rates, summary.changes_rate, summary.known_ratio(), summary.duration)
    };
    let lines = [rate, requests(stats, summary.is_closed)].into_iter();
    let pool = summary.pool_growth().map(|growth| format!("pool      {growth}"));
    let realtime = summary.realtime.map(|class| format!("realtime  {class}"));
    lines
        .chain(errors(stats))
        .chain(pool)
        .chain(realtime)
        .chain(counter_line(&summary.own_times))
        .collect()
}

pub(crate) fn rate(rates: [f64; 2], changes: bool, ratio: Option<f64>, span: Duration) -> String {
    let [requested, achieved] = rates.map(human::hz);
    let mean = if changes { " on average" } else { "" };
    let share = ratio.map(|ratio| format!(" ({:.2} % started)", ratio * 100.0));
    let (share, span) = (share.unwrap_or_default(), human::long_time(span));
    format!("rate      {achieved} of {requested} requested{mean}{share} over {span}")
}

pub(crate) fn requests(stats: &OperationStats, is_closed: bool) -> String {
    let (completed, failed) = (stats.completed(), stats.failed());
    let scheduled = if is_closed { String::new() } else { format!("{} scheduled: ", stats.due()) };
    let rest = [
        (stats.unfinished, "given up"),
        (stats.skipped, "skipped"),
        (stats.unstarted, "never started"),
    ];
    let rest = rest.into_iter().filter(|(count, _)| *count > 0);
    let counts = [format!("{completed} completed"), format!("{failed} failed")];
    let counts: Vec<_> =
        counts.into_iter().chain(rest.map(|(count, name)| format!("{count} {name}"))).collect();
    format!("requests  {scheduled}{}", counts.join(", "))
}

pub(crate) fn errors(stats: &OperationStats) -> Option<String> {
    let mut kinds: Vec<_> =
        stats.failures.iter().map(|(kind, count)| (Reverse(*count), *kind)).collect();
    kinds.sort_unstable();
    let kinds: Vec<_> = kinds.iter().map(|(count, kind)| format!("{kind}: {}", count.0)).collect();
    (!kinds.is_empty()).then(|| human::visible(&format!("errors    {}", kinds.join(", "))))
}

fn advised(summary: &Summary) -> Option<String> {
    advice(summary).map(|advice| format!("advice    {advice}"))
}
