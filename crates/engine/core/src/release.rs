//! Releases: the moments from which slots may start.

/// When a slot may start by the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// From this moment on.
    At(i64),
    /// Not before the pacer is resumed.
    Paused,
    /// The slot is not known yet, or never comes.
    Unknown,
}

impl Release {
    /// The moment; `i64::MAX` if it is not known.
    pub(crate) fn moment(self) -> i64 {
        match self {
            Release::At(moment) => moment,
            Release::Paused | Release::Unknown => i64::MAX,
        }
    }
}
