//! Runs a cluster of store servers as child processes.

use crate::product::Product;
use crate::server::Server;
use crate::wire::texts;
use std::io::{self, ErrorKind};
use std::thread;
use std::time::{Duration, Instant};

const AGREES: Duration = Duration::from_secs(30);

const HASH_SLOTS: u32 = 16_384;

const SILENT_MS: &str = "500";

/// A cluster of three servers that share all hash slots, and a fourth server that can become a replica.
#[derive(Debug)]
pub struct Cluster {
    /// The three servers that own hash slots at first, in the order of their slots, and then the fourth server.
    pub servers: Vec<Server>,
}

impl Cluster {
    /// Starts a cluster, and waits until its servers agree on its state.
    ///
    /// # Errors
    /// Fails if a server does not start or reports an error, or if the servers need more than 30 s for one of the three
    /// checks of their state.
    pub fn start(product: Product) -> io::Result<Cluster> {
        let start = || {
            let server = Server::with(product).setting("cluster-enabled", "yes");
            let server = server.setting("cluster-node-timeout", SILENT_MS);
            server.setting("cluster-require-full-coverage", "no").start()
        };
        let servers: Vec<Server> = (0..4).map(|_| start()).collect::<Result<_, _>>()?;
        let port = servers[0].address().port();
        for (server, number) in servers.iter().zip(0..) {
            if number < 3 {
                let (from, to) = (HASH_SLOTS * number / 3, HASH_SLOTS * (number + 1) / 3 - 1);
                server.ask(&format!("CLUSTER ADDSLOTSRANGE {from} {to}"))?;
            }
            server.ask(&format!("CLUSTER SET-CONFIG-EPOCH {}", number + 1))?;
            server.ask(&format!("CLUSTER MEET 127.0.0.1 {port}"))?;
        }
        let cluster = Cluster { servers };
        for text in ["cluster_state:ok", "cluster_known_nodes:4", "cluster_size:3"] {
            cluster.wait_for("CLUSTER INFO", text)?;
        }
        Ok(cluster)
    }

    /// Returns the URL for clients, with the addresses of all servers.
    #[must_use]
    pub fn url(&self) -> String {
        let servers: Vec<_> = self.servers.iter().map(|it| it.address().to_string()).collect();
        format!("redis://{}/", servers.join(","))
    }

    /// Returns the hash slot of a key, and the index of the server that owned the slot at first.
    ///
    /// # Errors
    /// Fails if the first server does not respond.
    pub fn slot(&self, key: &str) -> io::Result<(u32, usize)> {
        let slot = number(&self.servers[0].ask(&format!("CLUSTER KEYSLOT {key}"))?)?;
        let owner = (0..3).find(|number| slot < HASH_SLOTS * (number + 1) / 3).unwrap_or(2);
        Ok((slot, owner as usize))
    }

    /// Makes the fourth server a replica of the server with this index, and waits until the replica has the data of
    /// that server.
    ///
    /// # Errors
    /// Fails if a server does not respond or reports an error, or the replica does not get the data within 30 s.
    pub fn replicate(&self, server: usize) -> io::Result<()> {
        let (id, replica) = (self.id(server)?, &self.servers[3]);
        replica.ask(&format!("CLUSTER REPLICATE {id}"))?;
        wait_until("the replica", || {
            Ok(replica.ask("INFO replication")?.contains("master_link_status:up"))
        })
    }

    /// Moves a hash slot and at most 1000 of its keys from one server to another.
    ///
    /// # Errors
    /// Fails if a server does not respond or reports an error.
    pub fn move_slot(&self, slot: u32, from: usize, to: usize) -> io::Result<()> {
        let (source, target) = (&self.servers[from], &self.servers[to]);
        let set = |state: &str| format!("CLUSTER SETSLOT {slot} {state}");
        target.ask(&set(&format!("IMPORTING {}", self.id(from)?)))?;
        source.ask(&set(&format!("MIGRATING {}", self.id(to)?)))?;
        let port = target.address().port();
        let keys = source.ask(&format!("CLUSTER GETKEYSINSLOT {slot} 1000"))?;
        for key in texts(&keys) {
            source.ask(&format!("MIGRATE 127.0.0.1 {port} {key} 0 5000"))?;
        }
        let id = self.id(to)?;
        for server in [target, source] {
            server.ask(&set(&format!("NODE {id}")))?;
        }
        Ok(())
    }

    fn id(&self, server: usize) -> io::Result<String> {
        let answer = self.servers[server].ask("CLUSTER MYID")?;
        Ok(texts(&answer).concat())
    }

    fn wait_for(&self, command: &str, text: &str) -> io::Result<()> {
        wait_until(text, || {
            let says = |server: &Server| Ok(server.ask(command)?.contains(text));
            self.servers
                .iter()
                .map(says)
                .try_fold(true, |all, one: io::Result<bool>| Ok(all & one?))
        })
    }
}

fn number(answer: &str) -> io::Result<u32> {
    texts(answer).concat().parse().map_err(io::Error::other)
}

fn wait_until(what: &str, is_so: impl Fn() -> io::Result<bool>) -> io::Result<()> {
    let deadline = Instant::now() + AGREES;
    while !is_so()? {
        if Instant::now() >= deadline {
            return Err(io::Error::new(ErrorKind::TimedOut, format!("timed out: {what}")));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
