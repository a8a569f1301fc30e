//! Limits as text, for [`serde`]. Anything that can be shown and parsed works: a
//! [`Limits`](crate::Limits), a [`Limit`](crate::Limit), a [`Quota`](nanopace_limits::Quota).
//!
//! ```
//! use nanopace_keyed::Limits;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Settings {
//!     #[serde(with = "nanopace_keyed::as_text")]
//!     guests: Limits,
//! }
//!
//! let settings: Settings = toml::from_str("guests = '10/s burst 20'")?;
//! assert_eq!(settings.guests.each().len(), 1);
//! assert_eq!(toml::to_string(&settings)?, "guests = \"10/s burst 20\"\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::Serializer;
use std::fmt::Display;
use std::str::FromStr;

/// Writes it as text.
///
/// # Errors
/// Those of the format.
///
/// ```
/// use nanopace_limits::Quota;
///
/// #[derive(serde::Serialize)]
/// struct Settings(#[serde(serialize_with = "nanopace_keyed::as_text::serialize")] Quota);
///
/// assert_eq!(serde_json::to_string(&Settings("10/s".parse()?))?, "\"10/s\"");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn serialize<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

/// Reads it from text.
///
/// # Errors
/// Those of the format, and why the text can't be read.
///
/// ```
/// use nanopace_limits::Quota;
///
/// #[derive(Debug, serde::Deserialize)]
/// struct Settings(#[serde(deserialize_with = "nanopace_keyed::as_text::deserialize")] Quota);
///
/// let error = serde_json::from_str::<Settings>("\"much\"").unwrap_err();
/// assert!(error.to_string().starts_with("`much` is no quota"), "{error}");
/// ```
pub fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
    from: D,
) -> Result<T, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}
