//! A store in Redis or Valkey: one script, which is loaded again whenever the server has lost it. A
//! script and not a library of functions, because servers that forbid functions take it too.

use super::{Store, reading, writing};
use crate::error::FleetError;
use crate::message::{Reply, Request};
use redis::{Client, Connection, IntoConnectionInfo, Script, Value};
use std::fmt;
use std::time::Duration;

/// The first connection may take so long.
const PATIENCE: Duration = Duration::from_secs(3);

/// A connection to a store, for one run. It is made when it is needed, and dropped after any error:
/// what would come on it then could be the answer to something else.
pub(crate) struct RedisStore {
    client: Client,
    script: Script,
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
        let address = url.into_connection_info().map_err(|_| FleetError::Address)?;
        // A new connection then says nothing before the first request, which would take time too.
        let settings = address.redis_settings().clone().set_skip_set_lib_name();
        let client = Client::open(address.set_redis_settings(settings));
        let client = client.map_err(|_| FleetError::Address)?;
        let script = Script::new(include_str!("run.lua"));
        let run = run.to_owned();
        Ok(RedisStore { client, script, run, timeout: PATIENCE, connection: None })
    }

    /// From now on an answer may take so long, and so may a new connection.
    pub(crate) fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
        self.connection = None;
    }

    /// How long a request may take: a new connection, the password, and the answer, each a little
    /// longer than asked for, as systems are.
    pub(crate) fn patience(&self) -> Duration {
        2 * self.timeout + Duration::from_millis(8)
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
        let mut invocation = self.script.prepare_invoke();
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
