//! Reads arrival processes: the engine's processes by name, or recordings as `replay:FILE` and `har:FILE`.

use super::recording::Recording;
use nanopace::Arrivals;
use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::str::FromStr;

/// The description of an arrival process.
#[derive(Clone, Debug)]
pub(crate) enum ArrivalProcess {
    /// The name of a process. It has been checked that [`Arrivals`] can parse it.
    Named(String),
    /// The recording in a file.
    Replay(Box<Recording>),
}

impl ArrivalProcess {
    /// Creates the arrivals with this seed. Reads the recording, if there is one.
    pub(crate) fn open(&self, seed: u64) -> anyhow::Result<Arrivals> {
        match self {
            ArrivalProcess::Named(name) => Ok(name.parse::<Arrivals>()?.with_seed(seed)),
            ArrivalProcess::Replay(recording) => Ok(recording.read()?.arrivals()),
        }
    }

    /// Returns the recording, if the process is one.
    pub(crate) fn recording(&self) -> Option<&Recording> {
        match self {
            ArrivalProcess::Named(_) => None,
            ArrivalProcess::Replay(recording) => Some(recording),
        }
    }

    /// Returns the file that contains the recording, if the process is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.recording().map(Recording::file)
    }

    /// Returns the name of the process in reports. For a recording that has been read, the name includes a summary of
    /// the recording.
    pub(super) fn title(&self) -> String {
        match self {
            ArrivalProcess::Named(name) => format!("{name} arrivals"),
            ArrivalProcess::Replay(recording) => recording.title(),
        }
    }

    /// Returns whether the starts come from a recording.
    pub(crate) fn is_replay(&self) -> bool {
        matches!(self, ArrivalProcess::Replay(_))
    }

    /// Returns whether arrivals are random.
    pub(crate) fn is_random(&self) -> bool {
        !self.is_replay() && !self.is_even()
    }

    /// Returns whether arrivals are Poisson arrivals.
    pub(crate) fn is_poisson(&self) -> bool {
        matches!(self, ArrivalProcess::Named(name) if name == "poisson")
    }

    /// Returns whether requests are evenly spaced.
    pub(crate) fn is_even(&self) -> bool {
        matches!(self, ArrivalProcess::Named(name) if name == "even")
    }
}

impl FromStr for ArrivalProcess {
    type Err = String;

    fn from_str(text: &str) -> Result<ArrivalProcess, String> {
        if let Some(recording) = Recording::parse(text) {
            return recording.map(Box::new).map(ArrivalProcess::Replay);
        }
        let named = text.parse::<Arrivals>().map(|_| text.trim().to_owned());
        named.map(ArrivalProcess::Named).map_err(|error| format!("{error}; or replay:FILE"))
    }
}

impl Display for ArrivalProcess {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ArrivalProcess::Named(name) => f.write_str(name),
            ArrivalProcess::Replay(recording) => Display::fmt(recording, f),
        }
    }
}
