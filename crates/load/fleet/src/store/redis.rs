//! Implements the store in Redis or Valkey. If the server has lost the scripts, they are loaded again.

use super::place::Place;
use super::{Store, reading, scripts, writing};
use crate::error::FleetError;
use crate::message::{Reply, Request};
use redis::{Connection, ErrorKind, RedisError, RedisResult, Script, Value, cmd};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

const PATIENCE: Duration = Duration::from_secs(3);

const RETRY: Duration = Duration::from_millis(5);

/// A run's keys expire after the length of its load plus this time. The time begins again when the nodes send requests.
const KEEP: Duration = Duration::from_secs(24 * 60 * 60);

/// The length that is assumed for a load without an end when the expiry time of keys is computed.
const ENDLESS: Duration = KEEP.saturating_mul(7);

/// A store in Redis or Valkey. Its connection is opened when it is needed. The connection is closed after any error,
/// because the next response on it could belong to an earlier request.
pub(crate) struct RedisStore {
    place: Place,
    claim: Script,
    rest: Script,
    run: String,
    timeout: Duration,
    keep: Duration,
    connection: Option<Connection>,
}

/// Omits the address, because it may contain a password.
impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("run", &self.run).finish_non_exhaustive()
    }
}

impl RedisStore {
    pub(crate) fn new(url: &str, run: &str) -> Result<RedisStore, FleetError> {
        let place = Place::new(url)?;
        let (claim, rest) = (Script::new(scripts::CLAIM), Script::new(scripts::REST));
        let run = run.to_owned();
        Ok(RedisStore { place, claim, rest, run, timeout: PATIENCE, keep: KEEP, connection: None })
    }

    pub(crate) fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Sets the time for which keys are kept. It is longer than the load, because data about the beginning of the load
    /// is needed until its end.
    pub(crate) fn keep_for(&mut self, load: Option<Duration>) {
        self.keep = KEEP + load.unwrap_or(ENDLESS).min(52 * ENDLESS);
    }

    /// Returns an error if the server may evict keys. A server that cannot be reached or does not report its policy is
    /// accepted.
    pub(crate) fn check_policy(&mut self) -> Result<(), FleetError> {
        let Ok(mut connection) = self.connected() else { return Ok(()) };
        let Ok(memory) = cmd("INFO").arg("memory").query::<String>(&mut connection) else {
            return Ok(());
        };
        self.connection = Some(connection);
        let says = |name: &str| memory.lines().find_map(|line| line.strip_prefix(name));
        match (says("maxmemory:"), says("maxmemory_policy:")) {
            (None | Some("0"), _) | (_, None | Some("noeviction")) => Ok(()),
            (_, Some(policy)) => Err(FleetError::Evicts(policy.to_owned())),
        }
    }

    fn invoke(&mut self, request: &Request) -> RedisResult<Value> {
        let ends = Instant::now() + self.timeout;
        loop {
            let error = match self.try_invoke(request) {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let is_moved = self.place.follows(&error);
            let is_passing = self.place.is_passing(&error);
            if !is_moved {
                self.place.lost();
            }
            if !(is_moved || is_passing) || Instant::now() >= ends {
                return Err(error);
            }
            thread::sleep(RETRY);
        }
    }

    fn connected(&mut self) -> RedisResult<Connection> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.place.connect(self.timeout)?,
        };
        connection.set_read_timeout(Some(self.timeout))?;
        connection.set_write_timeout(Some(self.timeout))?;
        Ok(connection)
    }

    fn try_invoke(&mut self, request: &Request) -> RedisResult<Value> {
        let mut connection = self.connected()?;
        let is_claim = matches!(request, Request::Claim(_));
        let script = if is_claim { &self.claim } else { &self.rest };
        let mut invocation = script.prepare_invoke();
        let text = writing::write(&self.run, self.keep, request);
        text.keys.iter().for_each(|key| {
            invocation.key(key);
        });
        text.arguments.iter().for_each(|argument| {
            invocation.arg(argument);
        });
        let value = invocation.invoke(&mut connection)?;
        self.connection = Some(connection);
        Ok(value)
    }
}

impl Store for RedisStore {
    fn call(&mut self, request: &Request) -> Result<Reply, FleetError> {
        let value = self.invoke(request).map_err(|error| {
            if error.kind() == ErrorKind::AuthenticationFailed {
                return FleetError::Password;
            }
            let refused =
                error.code().and_then(|code| refused(code, error.detail().unwrap_or_default()));
            refused.unwrap_or_else(|| FleetError::Store(described(&error)))
        })?;
        reading::read(value).ok_or(FleetError::Damaged)
    }
}

fn described(error: &RedisError) -> String {
    if error.is_timeout() {
        return "the request timed out".to_owned();
    }
    // The cause of the error is inside an `Arc`.
    let cause = error.source().and_then(|source| source.downcast_ref::<Shared>());
    if let Some(error) = cause.and_then(|cause| cause.downcast_ref::<io::Error>()) {
        return error.to_string();
    }
    match error.kind() {
        ErrorKind::Parse => "the server is not Redis or Valkey".to_owned(),
        _ => error.code().map_or_else(
            || error.category().to_owned(),
            |code| format!("{} ({code})", error.category()),
        ),
    }
}

type Shared = Arc<dyn Error + Send + Sync>;

/// Converts the error of a server that rejects a request into an error with advice. Returns `None` if the user cannot fix the cause.
fn refused(code: &str, text: &str) -> Option<FleetError> {
    match code {
        "WRONGTYPE" => Some(FleetError::Damaged),
        "NOAUTH" | "WRONGPASS" => Some(FleetError::Password),
        "NOPERM" => Some(FleetError::Permission),
        "READONLY" => Some(FleetError::Replica),
        "OOM" => Some(FleetError::Full),
        "MOVED" => Some(FleetError::Cluster(text.rsplit(' ').next().unwrap_or(text).to_owned())),
        // Redis and Valkey use these words in the error of a command that a script may not execute.
        "ERR" if MAY_NOT.iter().any(|words| text.contains(words)) => Some(FleetError::Permission),
        _ => None,
    }
}

const MAY_NOT: [&str; 3] =
    ["can't run this command", "can't access at least one of the keys", "ACL failure in script"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_a_lost_connection_is_said() {
        let error = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert_eq!(described(&RedisError::from(error)), "connection refused");
        let error = io::Error::from(io::ErrorKind::TimedOut);
        assert_eq!(described(&RedisError::from(error)), "the request timed out");
    }

    #[test]
    fn keys_are_kept_for_a_day_after_the_load() {
        let mut store = RedisStore::new("redis://127.0.0.1/", "kept").unwrap();
        let hours = |hours: u64| Duration::from_secs(3_600 * hours);
        for (load, kept) in [(Some(hours(0)), 24), (Some(hours(40)), 64), (None, 8 * 24)] {
            store.keep_for(load);
            assert_eq!(store.keep, hours(kept), "{load:?}");
        }
    }

    #[test]
    fn the_node_of_a_cluster_that_has_the_run_is_named() {
        let error = refused("MOVED", "12182 10.0.0.7:7002").unwrap();
        assert!(error.to_string().contains("10.0.0.7:7002"), "{error}");
    }

    #[test]
    fn an_error_that_users_cannot_fix_is_not_explained() {
        assert!(refused("ERR", "something else").is_none());
        assert!(refused("LOADING", "Redis is loading the dataset in memory").is_none());
    }
}
