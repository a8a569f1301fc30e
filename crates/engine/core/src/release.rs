//! Defines releases: the times from which slots may start.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    At(i64),
    Paused,
    /// The time of the slot is not known yet, or the slot never starts.
    Unknown,
}

impl Release {
    pub(crate) fn moment(self) -> i64 {
        match self {
            Release::At(moment) => moment,
            Release::Paused | Release::Unknown => i64::MAX,
        }
    }
}
