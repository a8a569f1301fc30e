//! Arrival processes as they are written: by their name, or as a file with a recording.

use super::recording;
use nanopace::Arrivals;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::str::FromStr;

const REPLAY: &str = "replay:";

/// An arrival process to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrivalProcess {
    /// One that [`Arrivals`] reads; this is known.
    Named(String),
    /// The recording in a file.
    Replay(PathBuf),
}

impl ArrivalProcess {
    /// The process with this seed.
    pub fn open(&self, seed: u64) -> anyhow::Result<Arrivals> {
        match self {
            ArrivalProcess::Named(name) => Ok(name.parse::<Arrivals>()?.with_seed(seed)),
            ArrivalProcess::Replay(file) => recording::read(file),
        }
    }

    /// The file with the recording.
    pub fn file(&self) -> Option<&Path> {
        match self {
            ArrivalProcess::Named(_) => None,
            ArrivalProcess::Replay(file) => Some(file),
        }
    }

    /// Whether requests are those of a recording.
    pub fn is_replay(&self) -> bool {
        matches!(self, ArrivalProcess::Replay(_))
    }

    /// Whether requests lie at random.
    pub fn is_random(&self) -> bool {
        !self.is_replay() && !self.is_even()
    }

    /// Whether they are Poisson arrivals.
    pub fn is_poisson(&self) -> bool {
        *self == ArrivalProcess::Named("poisson".to_owned())
    }

    /// Whether requests are evenly spaced.
    pub fn is_even(&self) -> bool {
        *self == ArrivalProcess::Named("even".to_owned())
    }
}

impl FromStr for ArrivalProcess {
    type Err = String;

    fn from_str(text: &str) -> Result<ArrivalProcess, String> {
        match text.strip_prefix(REPLAY) {
            Some("") => Err("replay needs a file: write replay:FILE".to_owned()),
            Some(file) => Ok(ArrivalProcess::Replay(file.into())),
            None => text
                .parse::<Arrivals>()
                .map(|_| ArrivalProcess::Named(text.trim().to_owned()))
                .map_err(|error| format!("{error}; or replay:FILE")),
        }
    }
}

impl Display for ArrivalProcess {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ArrivalProcess::Named(name) => f.write_str(name),
            ArrivalProcess::Replay(file) => write!(f, "{REPLAY}{}", file.display()),
        }
    }
}
