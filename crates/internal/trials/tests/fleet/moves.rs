//! Tests stores that move to another server, in a cluster and with sentinels.

use crate::{PATIENCE, all_started, end, program, stop, wait_for_run};
use anyhow::Result;
use nanopace_services::{Cluster, Product, Server};
use nanopace_trials::fleet::{Outcome, Trial};
use std::thread;
use std::time::{Duration, Instant};

const SHAPE: &str = "hold 1k/s 3s";

/// Runs a test with all products at the same time, because the test mostly waits for the servers to agree.
fn side_by_side(test: impl Fn(Product) -> Result<()> + Sync) -> Result<()> {
    let test = &test;
    thread::scope(|scope| {
        let tests = Product::ALL.map(|product| scope.spawn(move || test(product)));
        tests.into_iter().try_for_each(|test| test.join().expect("no panic"))
    })
}

/// Returns the run, the hash slot of the run's keys, and the index of the server that owns it.
fn clustered(cluster: &Cluster, shape: &str) -> Result<(Trial, u32, usize)> {
    let urls: Vec<String> = cluster.servers[..3].iter().map(Server::url).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let trial = Trial::begin_at(program(), &cluster.url(), shape, &urls, &[])?;
    let (slot, owner) = cluster.slot(&format!("nanopace:{{{}}}:run", trial.name()))?;
    Ok((trial, slot, owner))
}

fn stop_later(trial: Trial) -> Result<Outcome> {
    wait_for_run(trial.control(), |_| true)?;
    let goes_on = trial.elapsed() + Duration::from_secs(2);
    stop(trial, u64::try_from(goes_on.as_millis())?)
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_slot_of_a_cluster_is_moved() -> Result<()> {
    side_by_side(|product| {
        let cluster = Cluster::start(product)?;
        let (trial, slot, owner) = clustered(&cluster, SHAPE)?;
        for (at, hop) in [(300, 1), (1_000, 2), (1_700, 0)] {
            trial.until(at);
            cluster.move_slot(slot, (owner + (hop + 2) % 3) % 3, (owner + hop) % 3)?;
        }
        all_started(&end(trial)?, 0);
        Ok(())
    })
}

/// The replica may lack the latest data, which the nodes then restore.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_server_of_a_cluster_dies_and_its_replica_takes_its_place() -> Result<()> {
    side_by_side(|product| {
        let mut cluster = Cluster::start(product)?;
        let name = cluster.url();
        let mut trial = Trial::new(program(), &name, "hold 1k/s 60s")?;
        let (_, owner) = cluster.slot(&format!("nanopace:{{{}}}:run", trial.name()))?;
        cluster.replicate(owner)?;
        for _ in 0..3 {
            trial.add(&name, &["--nodes", "3"])?;
        }
        trial.start()?;
        trial.until(500);
        cluster.servers[owner].kill();
        all_started(&stop_later(trial)?, 0);
        Ok(())
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_master_dies_and_the_sentinel_promotes_its_replica() -> Result<()> {
    side_by_side(|product| {
        let mut master = Server::start(product)?;
        let address = master.address();
        let at = format!("{} {}", address.ip(), address.port());
        let replica = Server::with(product).setting("replicaof", at).start()?;
        let sentinel = Server::with(product).sentinel("store", address).start()?;
        let deadline = Instant::now() + PATIENCE;
        while !sentinel
            .ask("SENTINEL REPLICAS store")?
            .contains(&replica.address().port().to_string())
        {
            anyhow::ensure!(Instant::now() < deadline, "the sentinel does not know the replica");
            thread::sleep(Duration::from_millis(50));
        }
        let url = format!("redis+sentinel://127.0.0.1:1,{}/store/", sentinel.address());
        let trial = Trial::begin(program(), &url, "hold 1k/s 60s", 3)?;
        trial.until(500);
        master.kill();
        all_started(&stop_later(trial)?, 0);
        Ok(())
    })
}
