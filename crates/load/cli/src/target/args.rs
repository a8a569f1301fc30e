//! Defines the options of the embedded target. Their doc comments are `--help` texts.

use super::Target;
use super::behaviour::Behaviour;
use super::share::Share;
use super::stall::Stall;
use clap::Args;
use clap::value_parser;
use nanopace_load::commands::{Embedded, EmbeddedTarget, TimeDistribution};
use std::error::Error;

/// The maximum length of a response body, in bytes. A target keeps one body in memory.
const LONGEST_BODY: i64 = 1 << 30;

#[derive(Args, Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "the fields are named like the options")]
#[command(next_help_heading = "Embedded target")]
pub(crate) struct TargetArgs {
    /// Respond after this time, as in 1ms, or after a random time, as in 'exp 5ms' [see: help target]
    #[arg(long, value_name = "LATENCY", default_value_t, conflicts_with_all = ["url", "targets"])]
    pub(crate) target_latency: TimeDistribution,

    /// Stop responding once: 2s@3s stops from 3 s to 5 s after the load starts
    #[arg(long, value_name = "TIME@TIME", conflicts_with_all = ["url", "targets"])]
    pub(crate) target_stall: Option<Stall>,

    /// Respond with status 500 to this share of the requests, chosen at random, as in 1% or 0.01
    #[arg(long, value_name = "SHARE", default_value_t, conflicts_with_all = ["url", "targets"])]
    pub(crate) target_errors: Share,

    /// Serve HTTPS with a certificate that only this run trusts
    #[arg(long, conflicts_with_all = ["url", "targets"])]
    pub(crate) target_tls: bool,

    /// Respond with a body of this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = 3, conflicts_with_all = ["url", "targets"],
        value_parser = value_parser!(u32).range(..=LONGEST_BODY))]
    pub(crate) target_body: u32,

    /// Seed the random latencies and errors; with the same seed, the n-th request gets the same latency and status
    #[arg(long, value_name = "NUMBER", default_value_t = 1, conflicts_with_all = ["url", "targets"])]
    pub(crate) target_seed: u64,
}

impl EmbeddedTarget for TargetArgs {
    fn start(&self) -> Result<Embedded, Box<dyn Error + Send + Sync>> {
        let target = Target::start(&self.behaviour())?;
        Ok(Embedded {
            url: target.url(),
            certificate_pem: target.certificate_pem().map(str::to_owned),
            schedule_starts: Box::new(move || target.schedule_starts()),
        })
    }
}

impl TargetArgs {
    fn behaviour(self) -> Behaviour {
        Behaviour {
            latency: self.target_latency,
            stall: self.target_stall,
            errors: self.target_errors,
            seed: self.target_seed,
            body: self.target_body,
            tls: self.target_tls,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    #[command(no_binary_name = true)]
    struct CommandLine {
        #[arg(long)]
        url: Option<String>,
        #[arg(long)]
        targets: Option<String>,
        #[command(flatten)]
        target: TargetArgs,
    }

    #[test]
    fn by_default_the_target_responds_ok_at_once() {
        let CommandLine { url, targets, target } = CommandLine::try_parse_from([""; 0]).unwrap();
        let Behaviour { latency, stall, errors, body, tls, .. } = target.behaviour();
        assert_eq!((latency, errors), (TimeDistribution::default(), Share::default()));
        assert_eq!((url, targets, stall, body, tls), (None, None, None, 3, false));
    }

    #[test]
    fn each_option_is_refused_beside_a_url() {
        for options in [
            &["--target-latency", "exp 1ms"][..],
            &["--target-stall", "2s@3s"],
            &["--target-errors", "1%"],
            &["--target-tls"],
            &["--target-body", "1024"],
            &["--target-seed", "7"],
        ] {
            assert!(CommandLine::try_parse_from(options).is_ok(), "{options:?}");
            let beside_url = options.iter().chain(&["--url", "http://localhost/"]);
            assert!(CommandLine::try_parse_from(beside_url).is_err(), "{options:?}");
        }
    }

    #[test]
    fn a_body_that_fills_the_memory_is_refused() {
        assert!(CommandLine::try_parse_from(["--target-body", "1073741824"]).is_ok());
        assert!(CommandLine::try_parse_from(["--target-body", "1073741825"]).is_err());
    }
}
