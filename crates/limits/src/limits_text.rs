//! Limits as text.

use crate::{Limit, Limits, LimitsError};
use std::fmt;
use std::str::FromStr;

impl fmt::Display for Limits {
    /// As [`FromStr`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for limit in self.each() {
            write!(f, "{comma}{limit}")?;
            comma = ", ";
        }
        Ok(())
    }
}

impl FromStr for Limits {
    type Err = LimitsError;

    fn from_str(text: &str) -> Result<Limits, LimitsError> {
        if text.trim().is_empty() {
            return Ok(Limits::new([]));
        }
        let limits: Result<Vec<Limit>, LimitsError> = text.split(',').map(str::parse).collect();
        limits.map(Limits::new)
    }
}
