//! The report for people: how long it took under each limiter.

use crate::limit::chosen::{Chosen, Dropped};
use crate::limit::retry::caller::{Caller, End, Outcome};
use crate::limit::table;
use crate::limit::times::{self, exact};
use std::fmt::{self, Display, Formatter};
use std::iter;
use std::time::Duration;

/// Shows outcomes as text of many lines.
pub(crate) struct Report<'run> {
    /// Who asked.
    pub(crate) caller: &'run Caller,
    /// What was asked.
    pub(crate) chosen: &'run Chosen,
    /// How it went, limiter by limiter.
    pub(crate) outcomes: &'run [Outcome],
}

impl Display for Report<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.heading(f)?;
        let names = ["", "let in", "took", "tries", "rejected"].map(str::to_owned).to_vec();
        let lines = self.outcomes.iter().map(cells);
        table::write(f, &iter::once(names).chain(lines).collect::<Vec<_>>())?;
        for Dropped { kind, reason } in &self.chosen.dropped {
            writeln!(f, "not tried: {kind}: {reason}")?;
        }
        self.reasons(f)
    }
}

impl Report<'_> {
    fn heading(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Caller { start, requests, cost, retry_ns } = *self.caller;
        let cost = if cost == 1 { String::new() } else { format!(", each counting as {cost}") };
        let start = times::seconds(start);
        writeln!(f, "limit     {}", self.chosen.settings.limit)?;
        writeln!(f, "requests  {requests} from {start} on, one after the other{cost}")?;
        let retry = exact(Duration::from_nanos(retry_ns));
        writeln!(f, "retry     {retry} after each refusal, until the request is let in\n")
    }

    /// Why some never end, and what to write instead.
    fn reasons(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let never = self.outcomes.iter().filter_map(|outcome| {
            self.reason(outcome).map(|reason| format!("{} never ends: {reason}", outcome.kind))
        });
        for (index, line) in never.enumerate() {
            writeln!(f, "{}{line}", if index == 0 { "\n" } else { "" })?;
        }
        Ok(())
    }

    fn reason(&self, outcome: &Outcome) -> Option<String> {
        let Chosen { settings, .. } = self.chosen;
        match outcome.end {
            End::After(_) | End::Interrupted => None,
            End::TooLarge { capacity } => Some(format!(
                "a request counts {}, and never more than {capacity} get in at once",
                self.caller.cost
            )),
            End::KeptOut => Some(format!(
                "refused requests count too, and these come too soon: write --retry {} or longer",
                exact(self.caller.shortest_retry(settings.limit))
            )),
        }
    }
}

fn cells(outcome: &Outcome) -> Vec<String> {
    let numbers = [outcome.tries, outcome.rejected()].map(|number| number.to_string());
    let unknown = ["-", "-"].map(str::to_owned);
    let (took, [tries, rejected]) = match outcome.end {
        End::After(took) => (times::short(took), numbers),
        End::TooLarge { .. } | End::KeptOut => ("never ends".to_owned(), unknown),
        End::Interrupted => ("interrupted".to_owned(), numbers),
    };
    vec![outcome.kind.to_string(), outcome.let_in.to_string(), took, tries, rejected]
}
