//! Parses and formats quotas and limits as strings, for users, header fields and serde.

use crate::decision::policy;
use crate::limits::{Law, LimitKind, MOST_AT_ONCE};
use crate::{Limit, Limits, LimitsError, Quota, QuotaError};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

impl FromStr for Quota {
    type Err = QuotaError;

    fn from_str(text: &str) -> Result<Quota, QuotaError> {
        let parse = || {
            let (count, period) = text.split_once('/')?;
            Some((parse_count(count.trim())?, period, parse_period(period.trim())?))
        };
        let (count, written, period) =
            parse().ok_or_else(|| QuotaError::Syntax(text.to_owned()))?;
        if written.split(|letter: char| !letter.is_alphabetic()).any(|unit| unit == "M") {
            return Err(QuotaError::FactorAsPeriod(text.to_owned()));
        }
        Quota::new(count, period)
    }
}

fn parse_count(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['k', 'M', 'G']);
    let multiple = match &text[digits.len()..] {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        _ => return None,
    };
    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    digits.parse::<u64>().ok()?.checked_mul(multiple)
}

fn parse_period(text: &str) -> Option<Duration> {
    let one = if text.starts_with(char::is_alphabetic) { "1" } else { "" };
    humantime::parse_duration(&format!("{one}{text}")).ok()
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let period = humantime::format_duration(self.period()).to_string();
        let unit = period
            .strip_prefix('1')
            .filter(|rest| rest.bytes().all(|byte| byte.is_ascii_alphabetic()));
        write!(f, "{}/{}", self.count(), unit.unwrap_or(&period))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.quota())?;
        match self.kind() {
            LimitKind::Gcra { burst } if burst == self.quota().count() => Ok(()),
            LimitKind::Gcra { burst } => write!(f, " burst {burst}"),
            LimitKind::AggregatedWindow { slots } => write!(f, " in {slots}"),
            LimitKind::SlidingLog => f.write_str(" sliding-log"),
            LimitKind::SlidingLogAll => f.write_str(" sliding-log-all"),
            LimitKind::FixedWindow => f.write_str(" fixed-window"),
            LimitKind::SlidingCounter => f.write_str(" sliding-counter"),
        }
    }
}

impl FromStr for Limit {
    type Err = LimitsError;

    fn from_str(text: &str) -> Result<Limit, LimitsError> {
        let text = text.trim();
        match text {
            "" => return Err(LimitsError::Empty),
            UNLIMITED => return Err(LimitsError::Unlimited),
            _ => (),
        }
        let place = KINDS.iter().filter_map(|word| text.find(word)).min();
        let (quota, kind) = text.split_at(place.unwrap_or(text.len()));
        let quota: Quota = quota
            .parse()
            .map_err(|error: QuotaError| unknown_kind(text).unwrap_or(error.into()))?;
        let number = |word: &str| kind.strip_prefix(word).map(str::trim);
        if let Some(burst) = number(" burst ") {
            let burst = burst.parse().map_err(|_| LimitsError::Burst(burst.to_owned()))?;
            return Ok(Limit::gcra_with_burst(quota, burst)?);
        }
        if let Some(slots) = number(" in ") {
            let slots = slots.parse().map_err(|_| LimitsError::Slots(slots.to_owned()))?;
            return Ok(Limit::window(quota, slots));
        }
        match kind.trim() {
            "" => Ok(Limit::gcra(quota)),
            "sliding-log" => Ok(Limit::sliding_log(quota)),
            "sliding-log-all" => Ok(Limit::sliding_log_counting_rejected(quota)),
            "fixed-window" => Ok(Limit::fixed_window(quota)),
            "sliding-counter" => Ok(Limit::sliding_counter(quota)),
            other => Err(LimitsError::Kind(other.to_owned())),
        }
    }
}

const UNLIMITED: &str = "unlimited";

const KINDS: [&str; 4] = [" burst ", " in ", " sliding-", " fixed-"];

fn unknown_kind(text: &str) -> Option<LimitsError> {
    let (quota, kind) = text.split_once(' ')?;
    quota.parse::<Quota>().ok().map(|_| LimitsError::Kind(kind.trim().to_owned()))
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.each().is_empty() {
            return f.write_str(UNLIMITED);
        }
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
        if text.trim() == UNLIMITED {
            return Ok(Limits::new([]));
        }
        match text.split(',').count() {
            number if number > MOST_AT_ONCE => Err(LimitsError::TooMany(number)),
            _ => {
                text.split(',').map(str::parse).collect::<Result<Vec<Limit>, _>>().map(Limits::new)
            }
        }
    }
}

impl Limit {
    fn policy(&self) -> String {
        let most = self.most();
        let window_ns = match self.law {
            Law::Gcra { .. } => u128::from(self.quota().period_ns()) * u128::from(most),
            _ => u128::from(self.quota().period_ns()) * u128::from(self.quota().count()),
        };
        let whole = u128::from(self.quota().count()) * 1_000_000_000;
        let window = if window_ns % whole == 0 { Some(window_ns / whole) } else { None };
        policy(&self.to_string(), most, window)
    }
}

impl Limits {
    /// Returns the value of the header field `RateLimit-Policy`. Each limit is named by its string. The name is
    /// followed by the maximum number of requests that the limit admits at once, and by the window of that number: the
    /// period, or the time in which a rate recovers its burst. A window that is not a whole number of seconds is
    /// omitted.
    #[must_use]
    pub fn policy(&self) -> String {
        let policies: Vec<String> = self.each().iter().map(Limit::policy).collect();
        policies.join(", ")
    }
}

#[cfg(feature = "serde")]
mod as_text {
    use crate::{Limit, Limits, Quota};
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::{Serialize, Serializer};

    macro_rules! as_text {
        ($($type:ty),+) => {
            $(
                #[cfg_attr(docsrs, doc(cfg(feature = "serde")))]
                impl Serialize for $type {
                    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                        to.collect_str(self)
                    }
                }

                #[cfg_attr(docsrs, doc(cfg(feature = "serde")))]
                impl<'de> Deserialize<'de> for $type {
                    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<$type, D::Error> {
                        String::deserialize(from)?.parse().map_err(D::Error::custom)
                    }
                }
            )+
        };
    }

    as_text!(Limit, Limits, Quota);
}
