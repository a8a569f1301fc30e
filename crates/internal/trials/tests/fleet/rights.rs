//! Tests users of the store with limited permissions.

use crate::{each_product, tell};
use anyhow::Result;
use nanopace_fleet::{Control, Fleet, FleetError};
use nanopace_services::Server;

fn rights() -> Vec<&'static str> {
    let page = include_str!("../../../../../docs/FLEET.md");
    let lines = page.lines().filter(|line| line.starts_with('+'));
    lines.flat_map(str::split_whitespace).collect()
}

fn with_rights(server: &Server, keys: &str, rights: &[&str]) -> Result<String> {
    let rights = rights.join(" ");
    let user = format!("ACL SETUSER bob reset on >unspeakable {keys} {rights}");
    tell(server.address(), &user)?;
    tell(server.address(), "SCRIPT FLUSH")?;
    Ok(server.url().replace("redis://", "redis://bob:unspeakable@"))
}

fn run_once(url: &str) -> Result<(), FleetError> {
    let node = Fleet::new(url, "rights")?.shape("hold 100/s 100ms".parse()?).join()?;
    while node.pacer().acquire().is_ok() {}
    node.leave()?;
    node.finish(Vec::new())?;
    assert_eq!(Control::open(url, "rights")?.account()?.expected, 10);
    Ok(())
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn the_documented_permissions_are_enough_and_a_missing_one_is_an_error() -> Result<()> {
    each_product(|product| {
        let server = Server::start(product)?;
        run_once(&with_rights(&server, "~nanopace:*", &rights())?)?;
        let url = with_rights(&server, "~nanopace:*", &[&rights()[..], &["+select"]].concat())?;
        run_once(&format!("{url}2"))?;
        for missing in ["+evalsha", "+hset", "+rpush"] {
            let rights: Vec<&str> = rights().into_iter().filter(|&one| one != missing).collect();
            let error = run_once(&with_rights(&server, "~nanopace:*", &rights)?).unwrap_err();
            assert!(matches!(error, FleetError::Permission), "{product} {missing} {error:?}");
        }
        let error = run_once(&with_rights(&server, "~others:*", &rights())?).unwrap_err();
        assert!(matches!(error, FleetError::Permission), "{product} {error:?}");
        Ok(())
    })
}
