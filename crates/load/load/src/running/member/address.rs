//! Defines the address of a fleet's store, and describes errors about the store.

use crate::console::Unreachable;
use anyhow::{Context, anyhow};
use nanopace_fleet::FleetError;
use std::env;

/// The environment variable with the address of the store, which keeps a password out of the command line.
pub(crate) const VARIABLE: &str = "NANOPACE_STORE";

#[derive(Clone, Debug)]
pub(crate) struct RunAddress {
    /// The store's URL, including its password. It must never be shown.
    url: String,
    pub(crate) name: String,
}

impl RunAddress {
    pub(crate) fn new(option: &str, url: Option<&str>, name: &str) -> anyhow::Result<RunAddress> {
        let url = url.map(str::to_owned).or_else(|| env::var(VARIABLE).ok());
        let url = url.with_context(|| {
            format!("no store is given: write {option} redis://HOST:PORT/, or set {VARIABLE}")
        })?;
        Ok(RunAddress { url, name: name.to_owned() })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn told(&self, error: FleetError) -> anyhow::Error {
        let (store, name) = (without_password(&self.url), &self.name);
        match error {
            FleetError::Store(why) => Unreachable(format!(
                "no usable response from the store at {store}: {why}; start redis-server or valkey-server \
                 there, or write another address"
            ))
            .into(),
            FleetError::NoRun => anyhow!(
                "there is no run {name} at {store}: start it with a load, as in --fleet {store} --run {name} \
                 --rate 100/s"
            ),
            FleetError::NotBuilt => anyhow!(
                "this program was built without fleets: build it with the feature fleet of \
                 nanopace-cli or nanopace-load"
            ),
            FleetError::Tls => anyhow!(
                "rediss:// needs TLS: build this program with the feature store-tls of \
                 nanopace-cli or nanopace-load"
            ),
            other => anyhow!("{other}"),
        }
    }
}

pub(crate) fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        (None, Some((_, host))) => host.to_owned(),
        _ => url.to_owned(),
    }
}

/// Removes the password of the fleet's store from the text of `--print-config`. The password can come from the
/// environment.
pub(crate) fn without_secret(config: &str) -> String {
    let line = |line: &str| match line.strip_prefix("fleet = ") {
        Some(url) => format!("fleet = \"{}\"\n", without_password(url.trim_matches('"'))),
        None => format!("{line}\n"),
    };
    config.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (url, shown) in [
            ("redis://host:1/", "redis://host:1/"),
            ("redis://:secret@host:1/2", "redis://host:1/2"),
            ("rediss://user:s@cret@host/", "rediss://host/"),
            ("user:secret@host", "host"),
            ("redis://:se/cret@host/", "redis://host/"),
        ] {
            assert_eq!(without_password(url), shown);
            let lines = |url| format!("rate = \"1/s\"\nfleet = \"{url}\"\n");
            assert_eq!(without_secret(&lines(url)), lines(shown));
        }
    }

    #[test]
    fn errors_are_one_line_and_have_no_password() {
        let run = RunAddress { url: "redis://:secret@host/".into(), name: "checkout".into() };
        for error in [
            FleetError::Store("connection refused".into()),
            FleetError::NoRun,
            FleetError::Address,
            FleetError::Differs("hold 1/s 1s".into()),
            FleetError::Nodes,
            FleetError::NotBuilt,
            FleetError::Tls,
        ] {
            let told = format!("{:#}", run.told(error));
            assert!(!told.contains("secret") && !told.contains('\n'), "{told}");
            let advice = ["write", "give", "start ", "build"];
            assert!(advice.iter().any(|advice| told.contains(advice)), "{told}");
        }
    }

    /// The error of the fleet crate names a feature of that crate. Users of this crate cannot enable it, so the message
    /// names the feature of this crate.
    #[test]
    fn a_feature_that_is_missing_has_the_name_that_it_has_here() {
        let run = RunAddress { url: "rediss://host/".into(), name: "checkout".into() };
        for (error, feature) in [(FleetError::NotBuilt, "fleet"), (FleetError::Tls, "store-tls")] {
            let told = format!("{:#}", run.told(error));
            assert!(told.contains(&format!("feature {feature} ")), "{told}");
            assert!(!told.contains("nanopace-fleet"), "{told}");
        }
    }
}
