//! Parses arrival processes, such as `poisson` and `gamma:0.25`.

use super::{Arrivals, ArrivalsError};
use crate::error::shown;
use std::str::FromStr;

impl FromStr for Arrivals {
    type Err = ArrivalsError;

    /// Parses `even`, `poisson`, `exact-poisson:SLOTS`, `gamma:SHAPE` or `jitter:PART`. The seed is 0;
    /// [`with_seed`](Arrivals::with_seed) sets a different seed.
    ///
    /// # Errors
    /// Returns an [`ArrivalsError`]. Its message says what is wrong and what to write instead.
    ///
    /// # Examples
    /// ```
    /// use nanopace::{Arrivals, ArrivalsError};
    ///
    /// for text in ["even", "poisson", "exact-poisson:1000", "gamma:0.25", "jitter:0.3"] {
    ///     text.parse::<Arrivals>()?;
    /// }
    /// let error = "pareto".parse::<Arrivals>().unwrap_err();
    /// assert_eq!(error, ArrivalsError::Unknown("pareto".to_owned()));
    /// # Ok::<(), ArrivalsError>(())
    /// ```
    fn from_str(text: &str) -> Result<Arrivals, ArrivalsError> {
        let (name, number) = match text.split_once(':') {
            Some((name, number)) => (name.trim(), Some(number.trim())),
            None => (text.trim(), None),
        };
        match (name, number.unwrap_or("")) {
            ("even" | "poisson", _) if number.is_some() => {
                Err(ArrivalsError::NoNumber(name.to_owned()))
            }
            ("even", _) => Ok(Arrivals::even()),
            ("poisson", _) => Ok(Arrivals::poisson(0)),
            ("exact-poisson", slots) => Arrivals::exact_poisson(slots.parse().unwrap_or(0), 0),
            ("gamma", shape) => Arrivals::gamma(shape.parse().unwrap_or(f64::NAN), 0),
            ("jitter", part) => Arrivals::jitter(part.parse().unwrap_or(f64::NAN), 0),
            _ => Err(ArrivalsError::Unknown(shown(name))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn usual_spellings_are_read() {
        let shown = |arrivals: Result<Arrivals, ArrivalsError>| format!("{:?}", arrivals.unwrap());
        for (text, arrivals) in [
            ("even", Ok(Arrivals::even())),
            (" poisson ", Ok(Arrivals::poisson(0))),
            ("exact-poisson:1000", Arrivals::exact_poisson(1_000, 0)),
            ("gamma: 0.25", Arrivals::gamma(0.25, 0)),
            ("gamma:4", Arrivals::gamma(4.0, 0)),
            ("jitter:.5", Arrivals::jitter(0.5, 0)),
        ] {
            assert_eq!(shown(text.parse()), shown(arrivals), "{text}");
        }
    }

    #[test]
    fn invalid_processes_are_refused() {
        let unknown = |name: &str| ArrivalsError::Unknown(name.to_owned());
        for (text, error) in [
            ("", unknown("")),
            ("Poisson", unknown("Poisson")),
            ("weibull:2", unknown("weibull")),
            ("0.5", unknown("0.5")),
            ("even:1", ArrivalsError::NoNumber("even".to_owned())),
            ("poisson:", ArrivalsError::NoNumber("poisson".to_owned())),
            ("exact-poisson", ArrivalsError::NoSlots),
            ("exact-poisson:0", ArrivalsError::NoSlots),
            ("exact-poisson:1.5", ArrivalsError::NoSlots),
            ("exact-poisson:4294967296", ArrivalsError::NoSlots),
            ("gamma", ArrivalsError::Gamma),
            ("gamma:0", ArrivalsError::Gamma),
            ("gamma:-1", ArrivalsError::Gamma),
            ("gamma:inf", ArrivalsError::Gamma),
            ("gamma:nan", ArrivalsError::Gamma),
            ("gamma:x", ArrivalsError::Gamma),
            ("jitter", ArrivalsError::Jitter),
            ("jitter:1.01", ArrivalsError::Jitter),
            ("jitter:-0.1", ArrivalsError::Jitter),
            ("jitter:0.3:7", ArrivalsError::Jitter),
        ] {
            assert_eq!(text.parse::<Arrivals>().unwrap_err(), error, "{text:?}");
        }
    }

    #[test]
    fn messages_say_what_to_write() {
        for text in ["", "even:1", "poisson:2", "exact-poisson:0", "gamma:0", "jitter:2"] {
            let message = text.parse::<Arrivals>().unwrap_err().to_string();
            let (_, advice) = message.split_once(": write ").unwrap();
            let text = advice.replace("one such as", "").replace("just", "");
            text.split([',', ' ']).next_back().unwrap().parse::<Arrivals>().unwrap();
        }
    }

    proptest! {
        #[test]
        fn any_string_is_parsed_or_refused(text in "[a-z:.0-9-]{0,30}") {
            let _ = text.parse::<Arrivals>();
        }
    }
}
