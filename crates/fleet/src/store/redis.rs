//! A store in Redis or Valkey: two scripts, which are loaded again whenever the server has lost them.
//! Scripts and not a library of functions, because servers that forbid functions take them too.

use super::{Store, reading, writing};
use crate::error::FleetError;
use crate::message::{Reply, Request};
use redis::{Client, Connection, Script, Value};
use std::fmt;
use std::time::Duration;

/// The first connection may take so long.
const PATIENCE: Duration = Duration::from_secs(3);

/// A connection to a store, for one run. It is made when it is needed, and dropped after any error:
/// what would come on it then could be the answer to something else.
pub(crate) struct RedisStore {
    client: Client,
    claim: Script,
    rest: Script,
    run: String,
    /// How long an answer may take.
    timeout: Duration,
    connection: Option<Connection>,
}

/// Without the address, which may have a password.
impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("run", &self.run).finish_non_exhaustive()
    }
}

impl RedisStore {
    pub(crate) fn new(url: &str, run: &str) -> Result<RedisStore, FleetError> {
        let client = Client::open(url).map_err(|_| FleetError::Address)?;
        let claim = Script::new(concat!(include_str!("common.lua"), include_str!("claim.lua")));
        let rest = Script::new(concat!(include_str!("common.lua"), include_str!("rest.lua")));
        let run = run.to_owned();
        Ok(RedisStore { client, claim, rest, run, timeout: PATIENCE, connection: None })
    }

    /// From now on an answer may take so long, and so may a new connection.
    pub(crate) fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
        self.connection = None;
    }

    fn connect(&self) -> redis::RedisResult<Connection> {
        let connection = self.client.get_connection_with_timeout(self.timeout)?;
        connection.set_read_timeout(Some(self.timeout))?;
        connection.set_write_timeout(Some(self.timeout))?;
        Ok(connection)
    }

    fn invoke(&mut self, request: &Request) -> redis::RedisResult<Value> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let is_claim = matches!(request, Request::Claim(_));
        let script = if is_claim { &self.claim } else { &self.rest };
        let mut invocation = script.prepare_invoke();
        let text = writing::write(&self.run, request);
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
        let value = self.invoke(request).map_err(|error| FleetError::Store(described(&error)))?;
        reading::read(value).ok_or(FleetError::Damaged)
    }
}

/// An error without anything that could be secret.
fn described(error: &redis::RedisError) -> String {
    if error.is_timeout() {
        return "it takes too long".to_owned();
    }
    match (error.kind(), error.code()) {
        (redis::ErrorKind::AuthenticationFailed, _) | (_, Some("NOAUTH" | "WRONGPASS")) => {
            "the password is wrong or missing".to_owned()
        }
        _ => error.code().map_or_else(
            || error.category().to_owned(),
            |code| format!("{} ({code})", error.category()),
        ),
    }
}
