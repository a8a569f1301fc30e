//! Writes the results of all nodes of a fleet as text.

use super::account::AccountText;
use crate::console::human;
use crate::judged::shortages;
use crate::judged::whole::{Told, Whole};
use crate::results::confidence::Confidence;
use crate::shown::labels::LabelLines;
use crate::shown::own_times::{OwnTable, counter_line};
use crate::shown::report::{MissedLines, errors, requests};
use crate::shown::times::TimesTable;
use std::fmt::{self, Display, Formatter};

impl Display for Whole {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let nodes = self.account.nodes.len();
        let Told { given, so_far, unreadable, .. } = &self.told;
        let nodes = human::count(nodes, "node");
        writeln!(f, "fleet     {}: {nodes}, {given} with results", self.name)?;
        for (node, until) in so_far {
            let until = human::long_time(*until);
            writeln!(f, "          node {node} has reported only interim results, up to {until}")?;
        }
        if *unreadable > 0 {
            writeln!(
                f,
                "          this version of nanopace cannot read the results of {}",
                human::count(*unreadable, "node")
            )?;
        }
        let [requested, achieved] = self.rates().map(human::hz);
        let span = human::long_time(self.account.span);
        writeln!(f, "rate      {achieved} of {requested} requested over {span}")?;
        write!(f, "{}", AccountText(&self.account))?;
        if let Some(stats) = self.stats() {
            writeln!(f)?;
            writeln!(f, "{}", requests(stats, true))?;
            errors(stats).iter().try_for_each(|errors| writeln!(f, "{errors}"))?;
            write!(f, "{}", LabelLines(stats))?;
            write!(
                f,
                "{}",
                TimesTable {
                    confidence: Confidence::new(stats, &self.over_time()),
                    is_closed: false
                }
            )?;
            write!(f, "{}", OwnTable(self.own_times()))?;
            let counters = counter_line(self.own_times());
            counters.iter().try_for_each(|counters| writeln!(f, "\n{counters}"))?;
            self.sentence().iter().try_for_each(|verdict| writeln!(f, "\nverdict   {verdict}"))?;
            let warnings = shortages::warnings(stats);
            warnings.iter().try_for_each(|warning| writeln!(f, "warning   {warning}"))?;
        }
        write!(f, "{}", MissedLines(&self.missed))
    }
}
