//! Tests quotas as strings.

use nanopace_limits::{Quota, QuotaError};
use proptest::prelude::*;
use std::time::Duration;

#[test]
fn valid_quotas_are_parsed() {
    for (text, count, seconds) in [
        ("10/s", 10, 1),
        ("3/60s", 3, 60),
        ("1000/h", 1_000, 3_600),
        ("1/day", 1, 86_400),
        (" 5k / 2h 30m ", 5_000, 9_000),
        ("1G/s", 1_000_000_000, 1),
        ("10M/s", 10_000_000, 1),
        ("10/m", 10, 60),
        ("10/min", 10, 60),
        ("10/h", 10, 3_600),
        ("10/d", 10, 86_400),
        ("10/w", 10, 604_800),
        ("10/month", 10, 2_630_016),
        ("10/y", 10, 31_557_600),
    ] {
        assert_eq!(
            text.parse::<Quota>(),
            Quota::new(count, Duration::from_secs(seconds)),
            "{text}"
        );
    }
    assert_eq!("7/100ms".parse(), Quota::new(7, Duration::from_millis(100)));
}

#[test]
fn invalid_quotas_are_errors() {
    let syntax = |text: &str| QuotaError::Syntax(text.to_owned());
    for text in [
        "",
        "10",
        "/s",
        "10/",
        "ten/s",
        "-1/s",
        "+1/s",
        "1.5/s",
        "10kk/s",
        "10/fortnight",
        "99999999999999999999/s",
    ] {
        assert_eq!(text.parse::<Quota>(), Err(syntax(text)), "{text:?}");
    }
    for (text, error) in [
        ("0/s", QuotaError::ZeroCount),
        ("1/0s", QuotaError::TooFast),
        ("2G/s", QuotaError::TooFast),
        ("1/300y", QuotaError::PeriodTooLong),
    ] {
        assert_eq!(text.parse::<Quota>(), Err(error), "{text:?}");
    }
}

#[test]
fn a_factor_is_not_a_period() {
    for text in ["10/M", "10/1M", "10 / 2M", "10M/M", "10/1y 2M", "10/2M3d"] {
        let error = text.parse::<Quota>().unwrap_err();
        assert_eq!(error, QuotaError::FactorAsPeriod(text.to_owned()));
        let message = error.to_string();
        assert!(message.contains("10/month") && message.contains("10M/s"), "{message}");
    }
    for text in ["10/k", "10/G", "10/S", "10/H", "10/Mo", "10m/s"] {
        assert_eq!(text.parse::<Quota>(), Err(QuotaError::Syntax(text.to_owned())));
    }
}

proptest! {
    #[test]
    fn a_displayed_quota_is_parsed_back(period_ns in 1..=i64::MAX.unsigned_abs(), part in 0.0..1.0_f64, bits in 0_u32..63) {
        let period_ns = (period_ns >> bits).max(1);
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "any count will do")]
        let count = ((period_ns as f64 * part) as u64).clamp(1, period_ns);
        let quota = Quota::new(count, Duration::from_nanos(period_ns)).unwrap();
        prop_assert_eq!(quota.to_string().parse(), Ok(quota));
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,30}|[0-9kMG/a-z. ]{0,20}") {
        let _ = text.parse::<Quota>();
    }
}
