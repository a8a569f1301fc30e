//! Tests run names, passwords and store addresses.

use crate::{all_started, begin, each_product, one_product, stop, tell};
use anyhow::Result;
use nanopace_fleet::{Control, Fleet, FleetError};
use nanopace_services::{NewConnections, Proxy, Server};
use std::time::{Duration, Instant};

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_name_is_not_taken_from_a_run_that_is_in_progress() -> Result<()> {
    each_product(|product| {
        let server = Server::start(product)?;
        let trial = begin(&server, "hold 500/s 60s", 2)?;
        let other = Fleet::new(&server.url(), trial.name())?.shape("hold 501/s 60s".parse()?);
        let error = other.join().unwrap_err();
        assert!(matches!(&error, FleetError::Differs(shape) if shape.contains("500")), "{error}");
        all_started(&stop(trial, 1000)?, 0);
        Ok(())
    })
}

const SECRET: &str = "Tr0ub4dor";

fn refused(url: &str) -> Result<FleetError> {
    let asked = Instant::now();
    let fleet = Fleet::new(url, "run")?.shape("hold 1/s 1s".parse()?);
    assert!(!format!("{fleet:?}").contains(SECRET));
    let error = fleet.join().unwrap_err();
    let control = Control::open(url, "run")?;
    let other = control.status().unwrap_err();
    for text in [format!("{error} {error:?}"), format!("{other} {other:?} {control:?}")] {
        assert!(!text.contains(SECRET), "{text}");
    }
    assert!(asked.elapsed() < Duration::from_secs(20));
    Ok(error)
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_wrong_password_is_a_clear_error_without_the_password() -> Result<()> {
    each_product(|product| {
        let server = Server::with(product).password("right").start()?;
        let at = server.address();
        for url in [format!("redis://:{SECRET}@{at}/"), format!("redis://{at}/")] {
            let error = refused(&url)?;
            assert!(matches!(error, FleetError::Password), "{error}");
        }
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn an_unreachable_store_is_an_error_soon() -> Result<()> {
    one_product(|product| {
        let server = Server::start(product)?;
        let proxy = Proxy::start(server.address())?;
        for new in [NewConnections::Refused, NewConnections::Hang] {
            proxy.cut(new);
            let url = format!("redis://:{SECRET}@{}/", proxy.address());
            assert!(matches!(refused(&url)?, FleetError::Store(_)));
            proxy.mend()?;
        }
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn an_invalid_load_does_not_become_a_run() -> Result<()> {
    one_product(|product| {
        let server = Server::start(product)?;
        let rate = "1/s".parse()?;
        let fleet = || Fleet::new(&server.url(), "run").map(|fleet| fleet.rate(rate));
        fleet()?.arrivals("nonsense", 1).join().unwrap_err();
        fleet()?.arrivals("poisson", 1).join()?;
        Ok(())
    })
}

/// The name is free again after the run of the other version has ended.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_run_of_another_version_accepts_no_node_and_no_command() -> Result<()> {
    each_product(|product| {
        let server = Server::start(product)?;
        let set = |what: &str| tell(server.address(), &format!("HSET nanopace:{{run}}:run {what}"));
        let fleet = || Fleet::new(&server.url(), "run");
        let rate = "1/s".parse()?;
        let first = fleet()?.rate(rate).join()?;
        let control = Control::open(&server.url(), "run")?;
        let known = control.status()?;
        set("made_by 0.0.1")?;
        let errors = [
            fleet()?.rate(rate).join().unwrap_err(),
            fleet()?.join().unwrap_err(),
            control.status().unwrap_err(),
            control.set_rate("2/s".parse()?).unwrap_err(),
            control.results().unwrap_err(),
        ];
        let own = env!("CARGO_PKG_VERSION");
        for error in errors {
            let told = error.to_string();
            assert!(matches!(error, FleetError::Version { .. }), "{product} {error:?}");
            assert!(told.contains("0.0.1") && told.contains(own), "{told}");
        }
        set(&format!("made_by {own}"))?;
        assert_eq!(control.status()?.nodes, known.nodes, "{product}: no node has joined");
        set("made_by 0.0.1 state 2")?;
        let second = fleet()?.rate(rate).join()?;
        assert_ne!(control.status()?.id, known.id, "{product}");
        drop((first, second));
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn data_of_others_under_the_name_is_kept() -> Result<()> {
    one_product(|product| {
        let server = Server::start(product)?;
        tell(server.address(), "SET nanopace:{run}:run 1")?;
        let error = Fleet::new(&server.url(), "run")?.rate("1/s".parse()?).join().unwrap_err();
        assert!(matches!(error, FleetError::Damaged), "{error}");
        Ok(())
    })
}
