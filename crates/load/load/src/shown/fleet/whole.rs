//! A run of a fleet, all nodes together, as text.

use super::account::AccountText;
use crate::console::human;
use crate::judged::shortages;
use crate::judged::whole::{Told, Whole};
use crate::recorded::confidence::Confidence;
use crate::shown::labels::LabelLines;
use crate::shown::own_times::OwnTable;
use crate::shown::report::{MissedLines, requests};
use crate::shown::times::TimesTable;
use std::fmt::{self, Display, Formatter};

impl Display for Whole {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let nodes = self.account.nodes.len();
        let Told { given, so_far, unreadable, .. } = &self.told;
        writeln!(f, "fleet     {}: {nodes} nodes, of which {given} have given results", self.name)?;
        for (node, until) in so_far {
            let until = human::time(*until);
            writeln!(f, "          node {node} has not: what it did is known up to {until}")?;
        }
        if *unreadable > 0 {
            writeln!(f, "          {unreadable} results can't be read: another version")?;
        }
        let [asked, achieved] = self.rates().map(human::hz);
        let span = human::time(self.account.span);
        writeln!(f, "rate      target {asked}, achieved {achieved} over {span}")?;
        write!(f, "{}", AccountText(&self.account))?;
        if let Some(stats) = self.stats() {
            writeln!(f)?;
            requests(f, stats)?;
            write!(f, "{}", LabelLines(stats))?;
            write!(f, "{}", TimesTable(Confidence::new(stats, &self.over_time())))?;
            write!(f, "{}", OwnTable(self.own_times()))?;
            self.sentence().iter().try_for_each(|verdict| writeln!(f, "\nverdict   {verdict}"))?;
            let warnings = shortages::warnings(stats);
            warnings.iter().try_for_each(|warning| writeln!(f, "warning   {warning}"))?;
        }
        write!(f, "{}", MissedLines(&self.missed))
    }
}
