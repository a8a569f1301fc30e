//! Defines a share of requests, chosen at random.

use fastrand::Rng;
use std::fmt;
use std::str::FromStr;

/// A share, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Share(f64);

impl Share {
    pub(crate) fn draw(self, rng: &mut Rng) -> bool {
        rng.f64() < self.0
    }
}

impl FromStr for Share {
    type Err = String;

    /// Parses `1%` or `0.01`. Numbers of 1 or more need a `%`, because 1 could mean 1 % or 100 %.
    fn from_str(text: &str) -> Result<Share, String> {
        let share = match text.strip_suffix('%') {
            Some(percent) => number(percent.trim_end())? / 100.0,
            None => fraction(text)?,
        };
        if (0.0..=1.0).contains(&share) {
            Ok(Share(share))
        } else {
            Err("a share must lie between 0% and 100%".to_owned())
        }
    }
}

fn fraction(text: &str) -> Result<f64, String> {
    match number(text)? {
        number if number >= 1.0 => Err(format!(
            "{number} is not a share: write a percentage, such as 5%, or a number below 1"
        )),
        fraction => Ok(fraction),
    }
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "write a share of the requests, such as 1%, 0.5% or 0.01".to_owned())
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0 * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_percent_and_fractions() {
        for (text, share) in [
            ("0%", 0.0),
            ("0", 0.0),
            ("1%", 0.01),
            ("0.5%", 0.005),
            ("0.5 %", 0.005),
            ("0.01", 0.01),
            ("1e-3", 0.001),
            ("100%", 1.0),
        ] {
            assert_eq!(text.parse(), Ok(Share(share)), "{text}");
        }
    }

    #[test]
    fn refuses_everything_else_and_says_why() {
        for (text, why) in [
            ("", "such as 1%"),
            ("%", "such as 1%"),
            ("few", "such as 1%"),
            ("1%%", "such as 1%"),
            ("1", "1 is not a share"),
            ("5", "5 is not a share"),
            ("inf", "inf is not a share"),
            ("101%", "between"),
            ("-1%", "between"),
            ("-0.1", "between"),
            ("nan", "between"),
        ] {
            let error = text.parse::<Share>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_displayed_share_can_be_read() {
        for text in ["0%", "1%", "0.5%", "12.5%", "100%"] {
            assert_eq!(text.parse::<Share>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn draws_have_the_given_share() {
        const DRAWS: u32 = 1_000_000;
        let mut rng = Rng::with_seed(1);
        for share in [0.0, 0.001, 0.01, 0.5, 1.0] {
            let drawn = (0..DRAWS).filter(|_| Share(share).draw(&mut rng)).count();
            let expected = f64::from(DRAWS) * share;
            let tolerance = 5.0 * (expected * (1.0 - share)).sqrt();
            let drawn = f64::from(u32::try_from(drawn).unwrap());
            assert!((drawn - expected).abs() <= tolerance, "{share}: {drawn}");
        }
    }
}
