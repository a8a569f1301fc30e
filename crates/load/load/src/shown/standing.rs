//! Describes the state of a node in its fleet in a few words.

use crate::console::human;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) nodes: u32,
    /// The time for which this node has had no connection to the store, or `None` if it is connected.
    pub(crate) blind: Option<Duration>,
    pub(crate) is_paused: bool,
    /// The results of all nodes in about the last second. `None` if this node does not show or does not know them.
    pub(crate) all: Option<String>,
    /// Whether the node has ended, because another run has its name or the store was unavailable for too long.
    pub(crate) is_over: bool,
}

impl Display for Standing {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", human::count(self.nodes, "node"))?;
        if let Some(blind) = self.blind {
            write!(f, ", blind for {:.1} s", blind.as_secs_f64())?;
        }
        self.all.iter().try_for_each(|all| write!(f, ": {all}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standing_is_a_few_words() {
        let alone = Standing { nodes: 1, blind: None, is_paused: false, all: None, is_over: false };
        let blind = Duration::from_millis(1_230);
        let blind = Standing { nodes: 4, blind: Some(blind), ..alone.clone() };
        let first =
            Standing { nodes: 4, all: Some("90.0/s of 90.0/s".to_owned()), ..alone.clone() };
        assert_eq!(
            [alone, blind, first].map(|it| it.to_string()),
            ["1 node", "4 nodes, blind for 1.2 s", "4 nodes: 90.0/s of 90.0/s"]
        );
    }
}
