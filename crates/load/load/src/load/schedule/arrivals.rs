//! Reads arrival processes: the engine's processes by name, or recordings as `replay:FILE` and `har:FILE`.

use super::recording::Recording;
use nanopace::Arrivals;
use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::str::FromStr;

#[derive(Clone, Debug)]
pub(crate) enum ArrivalProcess {
    Named(String),
    Replay(Box<Recording>),
}

impl ArrivalProcess {
    pub(crate) fn open(&self, seed: u64) -> anyhow::Result<Arrivals> {
        match self {
            ArrivalProcess::Named(name) => Ok(name.parse::<Arrivals>()?.with_seed(seed)),
            ArrivalProcess::Replay(recording) => Ok(recording.read()?.arrivals()),
        }
    }

    pub(crate) fn recording(&self) -> Option<&Recording> {
        match self {
            ArrivalProcess::Named(_) => None,
            ArrivalProcess::Replay(recording) => Some(recording),
        }
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        self.recording().map(Recording::file)
    }

    pub(super) fn title(&self) -> String {
        match self {
            ArrivalProcess::Named(name) => format!("{name} arrivals"),
            ArrivalProcess::Replay(recording) => recording.title(),
        }
    }

    pub(crate) fn is_replay(&self) -> bool {
        matches!(self, ArrivalProcess::Replay(_))
    }

    pub(crate) fn is_random(&self) -> bool {
        !self.is_replay() && !self.is_even()
    }

    pub(crate) fn is_poisson(&self) -> bool {
        matches!(self, ArrivalProcess::Named(name) if name == "poisson")
    }

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
        named
            .map(ArrivalProcess::Named)
            .map_err(|error| format!("{error}; for a recording, write replay:FILE or har:FILE"))
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
