//! Tests the requests that the client sends over real sockets, and its results for responses.

mod answers;
mod broken;
mod early;
#[cfg(feature = "http2")]
mod early_http2;
#[cfg(feature = "http2")]
mod ends_http2;
#[cfg(feature = "http2")]
mod frames;
mod idle;
mod large;
mod requests;
mod server;
#[cfg(feature = "http2")]
mod shared;
mod splits;
#[cfg(target_os = "linux")]
mod stamps;
mod streams;

use super::args::ClientArgs;
use super::connection::Connection;
use super::plan::{Draft, Plan};
use super::session::Session;
use super::single_request;
use super::steps::Step;
use crate::net::trust::Trust;
use clap::Parser;
use nanopace::{Nanos, Pacer, Rate};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Builder;

#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct CommandLine {
    #[command(flatten)]
    client: ClientArgs,
}

fn plan(url: &str, options: &[&str], timeout: Duration) -> anyhow::Result<Arc<Plan>> {
    let args = CommandLine::try_parse_from(options)?.client;
    args.check()?;
    let mut draft = Draft::new(&args);
    draft.add(&single_request::target(url, &args)?)?;
    draft.complete(Trust::Anyone, timeout, 0).map(Arc::new)
}

fn session(plan: &Arc<Plan>) -> Session {
    Session::new(plan, &Pacer::new(Rate::per_second(1).unwrap()), 0)
}

fn block_on<F: Future>(client: F) -> F::Output {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(client)
}

#[test]
fn think_times_are_drawn_for_each_slot_and_step() {
    let plan = plan("http://127.0.0.1:1/", &[], Duration::from_secs(1)).unwrap();
    let think = "exp 2s".parse().unwrap();
    let step = Step { request: 0, label: "a", think, takes: Vec::new(), checks: Vec::new() };
    block_on(async {
        let draw = |slot, number| session(&plan).think_time(&step, (slot, number)).as_secs_f64();
        let drawn: Vec<_> = (0..10_000).map(|slot| draw(slot, 0)).collect();
        assert!(drawn.iter().eq(&(0..10_000).map(|slot| draw(slot, 0)).collect::<Vec<_>>()));
        assert!(
            (0..10_000_u16)
                .all(|slot| (draw(slot.into(), 1) - drawn[usize::from(slot)]).abs() > 0.0)
        );
        // The tolerance is five standard deviations of the mean of the draws.
        assert!((drawn.iter().sum::<f64>() / 10_000.0 - 2.0).abs() < 0.1, "{drawn:?}");
    });
}

/// The future of a call is moved as a whole before it begins, so a large future would slow down each call.
#[test]
fn the_future_of_a_call_does_not_contain_that_of_opening_a_connection() {
    let plan = plan("http://127.0.0.1:1/", &[], Duration::from_secs(1)).unwrap();
    block_on(async {
        let mut session = session(&plan);
        let (call, opening) = (session.send(0, Nanos::ZERO), Connection::open(&plan, 0));
        assert!(size_of_val(&call) < size_of_val(&opening));
    });
}
