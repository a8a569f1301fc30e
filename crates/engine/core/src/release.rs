//! Defines releases: the times from which slots may start.

/// The time from which a slot may start by the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// The slot may start at this time or later.
    At(i64),
    /// The slot may not start before the pacer is resumed.
    Paused,
    /// The time of the slot is not known yet, or the slot never starts.
    Unknown,
}

impl Release {
    /// Returns the time of the release, or `i64::MAX` if it is not known.
    pub(crate) fn moment(self) -> i64 {
        match self {
            Release::At(moment) => moment,
            Release::Paused | Release::Unknown => i64::MAX,
        }
    }
}
