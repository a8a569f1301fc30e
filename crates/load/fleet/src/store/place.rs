//! Finds the server that is the store: a single server, a server of a cluster, or the master that sentinels report.
//! During a run, the store can move to another server.

use crate::error::FleetError;
use redis::{
    Client, Connection, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo, RedisError,
    RedisResult, cmd,
};
use std::time::{Duration, Instant};

const SENTINEL_PORT: &str = "26379";

const SENTINELS: [(&str, &str); 2] = [("redis+sentinel", "redis"), ("rediss+sentinel", "rediss")];

pub(super) struct Place {
    servers: Vec<ConnectionInfo>,
    turn: usize,
    /// The name under which the sentinels know the store, and the connection settings for the store.
    master: Option<(String, ConnectionInfo)>,
    named: Option<ConnectionInfo>,
}

impl Place {
    /// Parses a URL of the form `SCHEME://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]/...`.
    pub(super) fn new(url: &str) -> Result<Place, FleetError> {
        if url.starts_with("rediss") && !cfg!(feature = "tls") {
            return Err(FleetError::Tls);
        }
        let (scheme, rest) = url.split_once("://").ok_or(FleetError::Address)?;
        let (user, rest) = rest.rsplit_once('@').map_or(("", rest), |(user, rest)| (user, rest));
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        let at = if user.is_empty() { "" } else { "@" };
        let info = |scheme: &str, host: &str, path: &str| {
            info(&format!("{scheme}://{user}{at}{host}/{path}"))
        };
        let sentinels = SENTINELS.into_iter().find(|(name, _)| *name == scheme);
        let Some((_, scheme)) = sentinels else {
            let servers = hosts.split(',').map(|host| info(scheme, host, path));
            let servers = servers.collect::<Result<_, _>>()?;
            return Ok(Place { servers, turn: 0, master: None, named: None });
        };
        let (name, database) = path.split_once('/').unwrap_or((path, ""));
        if name.is_empty() {
            return Err(FleetError::Address);
        }
        let servers = hosts.split(',').map(|host| info(scheme, &with_port(host), ""));
        let servers = servers.collect::<Result<Vec<_>, _>>()?;
        let master = Some((name.to_owned(), info(scheme, "master", database)?));
        Ok(Place { servers, turn: 0, master, named: None })
    }

    pub(super) fn connect(&mut self, timeout: Duration) -> RedisResult<Connection> {
        let ends = Instant::now() + timeout;
        let mut tries = self.servers.len() + usize::from(self.named.is_some());
        loop {
            let error = match self.try_connect(ends) {
                Ok(connection) => return Ok(connection),
                Err(error) => error,
            };
            tries -= 1;
            self.lost();
            if tries == 0 || left(ends).is_zero() {
                return Err(error);
            }
        }
    }

    fn try_connect(&self, ends: Instant) -> RedisResult<Connection> {
        let server = &self.servers[self.turn % self.servers.len()];
        match (&self.master, &self.named) {
            (Some((name, told)), _) => open(&found(name, told, server, ends)?, ends),
            (None, Some(named)) => open(named, ends),
            (None, None) => open(server, ends),
        }
    }

    pub(super) fn lost(&mut self) {
        if self.named.take().is_none() {
            self.turn += 1;
        }
    }

    /// Follows the redirection of a cluster to another server, which is used from then on. Returns whether the error is
    /// such a redirection.
    pub(super) fn follows(&mut self, error: &RedisError) -> bool {
        let named = error.redirect_node().filter(|_| error.code() == Some("MOVED"));
        let Some((host, port)) = named.and_then(|(address, _)| address.rsplit_once(':')) else {
            return false;
        };
        let Ok(port) = port.parse() else { return false };
        let server = self.named.as_ref().unwrap_or(&self.servers[self.turn % self.servers.len()]);
        let moved = moved(server.addr(), host, port);
        self.named = Some(server.clone().set_addr(moved));
        true
    }

    /// Returns whether an error is temporary, because a hash slot of a cluster or the role of the master is moving.
    /// Without sentinels, a read-only replica is not a temporary error.
    pub(super) fn is_passing(&self, error: &RedisError) -> bool {
        match error.code() {
            Some("ASK" | "TRYAGAIN") => true,
            Some("READONLY") => self.master.is_some(),
            _ => false,
        }
    }
}

fn info(url: &str) -> Result<ConnectionInfo, FleetError> {
    let info = url.into_connection_info().map_err(|_| FleetError::Address)?;
    // With this setting, a new connection does not report the name of its library, which saves a round trip.
    let settings = info.redis_settings().clone().set_skip_set_lib_name();
    Ok(info.set_redis_settings(settings))
}

fn with_port(host: &str) -> String {
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    if has_port { host.to_owned() } else { format!("{host}:{SENTINEL_PORT}") }
}

fn left(ends: Instant) -> Duration {
    ends.saturating_duration_since(Instant::now())
}

fn open(info: &ConnectionInfo, ends: Instant) -> RedisResult<Connection> {
    let left = left(ends).max(Duration::from_millis(1));
    let connection = Client::open(info.clone())?.get_connection_with_timeout(left)?;
    connection.set_read_timeout(Some(left))?;
    connection.set_write_timeout(Some(left))?;
    Ok(connection)
}

/// Returns the address of the server that a redirection names. If a cluster does not know the host name of a server, it
/// reports an empty one, and the host is that of `server`.
fn moved(server: &ConnectionAddr, host: &str, port: u16) -> ConnectionAddr {
    let named = |known: &str| if host.is_empty() { known.to_owned() } else { host.to_owned() };
    match server {
        ConnectionAddr::TcpTls { host: known, insecure, tls_params, .. } => {
            ConnectionAddr::TcpTls {
                host: named(known),
                port,
                insecure: *insecure,
                tls_params: tls_params.clone(),
            }
        }
        ConnectionAddr::Tcp(known, _) => ConnectionAddr::Tcp(named(known), port),
        _ => ConnectionAddr::Tcp(host.to_owned(), port),
    }
}

/// Asks a sentinel for the address of the master. Sentinels may have the same password as the store, or none.
fn found(
    name: &str,
    told: &ConnectionInfo,
    sentinel: &ConnectionInfo,
    ends: Instant,
) -> RedisResult<ConnectionInfo> {
    let mut connection = open(sentinel, ends).or_else(|error| match error.kind() {
        ErrorKind::AuthenticationFailed => open(&without_user(sentinel), ends),
        _ => Err(error),
    })?;
    let mut ask = cmd("SENTINEL");
    ask.arg("GET-MASTER-ADDR-BY-NAME").arg(name);
    let (host, port) = ask
        .query::<Option<(String, u16)>>(&mut connection)?
        .ok_or((ErrorKind::Client, "the sentinels report no master with that name"))?;
    Ok(told.clone().set_addr(moved(told.addr(), &host, port)))
}

fn without_user(info: &ConnectionInfo) -> ConnectionInfo {
    info.clone().set_redis_settings(redis::RedisConnectionInfo::default().set_skip_set_lib_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(url: &str) -> Vec<String> {
        let place = Place::new(url).unwrap();
        place.servers.iter().map(|server| server.addr().to_string()).collect()
    }

    #[test]
    fn addresses_name_one_server_or_several() {
        for (url, expected) in [
            ("redis://host", &["host:6379"][..]),
            ("redis://user:p%40ss@host:1/2", &["host:1"]),
            ("redis://:pass@a:1,b,[::1]:3/", &["a:1", "b:6379", "::1:3"]),
            ("redis+sentinel://a,b:2,[::1]/store", &["a:26379", "b:2", "::1:26379"]),
            ("unix:///a,b", &["/a,b"]),
        ] {
            assert_eq!(servers(url), expected, "{url}");
        }
    }

    #[test]
    fn each_server_gets_the_same_settings() {
        let place = Place::new("redis+sentinel://me:secret@a,b/store/7").unwrap();
        let (name, told) = place.master.unwrap();
        assert_eq!((&name[..], told.redis_settings().db()), ("store", 7));
        for info in place.servers.iter().chain([&told]) {
            let user = (info.redis_settings().username(), info.redis_settings().password());
            assert_eq!(user, (Some("me"), Some("secret")));
        }
    }

    #[test]
    fn text_that_is_not_an_address_is_refused() {
        for url in
            ["host", "redis://a,,b/", "redis+sentinel://a/", "redis+sentinel://a", "redis://a/x"]
        {
            let place = Place::new(url).err();
            assert!(matches!(place, Some(FleetError::Address)), "{url} {place:?}");
        }
    }
}
